#include "perf/catalogue.h"

#include <algorithm>
#include <fstream>
#include <sstream>
#include <stdexcept>

#include "perf/catalogue_data.h"
#include "perf/catalogue_toml.h"

namespace trainyard {
namespace {

Catalogue read_builtin() {
  Catalogue catalogue;
  // Not input but part of the program: a test reads it, and there is nothing to go on with.
  if (const auto ok = catalogue.add_toml(kCatalogueData, "catalogue"); !ok)
    throw std::logic_error(ok.error().message);
  return catalogue;
}

}  // namespace

const Catalogue& Catalogue::builtin() {
  static const Catalogue catalogue = read_builtin();
  return catalogue;
}

Expected<void> Catalogue::add_toml(std::string_view text, std::string_view origin) {
  auto file = parse_catalogue_toml(text, origin);
  if (!file) return tl::make_unexpected(file.error());
  for (ModelProfile& model : file->models) add(std::move(model));
  for (KindFactor& kind : file->kinds) add(std::move(kind));
  return {};
}

Expected<void> Catalogue::add_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return fail("{}: cannot be opened; is the path right?", path);
  std::ostringstream text;
  text << file.rdbuf();
  return add_toml(text.str(), path);
}

const ModelProfile* Catalogue::find(std::string_view name) const {
  const auto found = by_name_.find(plain_name(name));
  return found == by_name_.end() ? nullptr : &models_[found->second];
}

Expected<const ModelProfile*> Catalogue::get(std::string_view name) const {
  if (const ModelProfile* model = find(name)) return model;
  std::vector<std::string> known;
  for (const ModelProfile& model : models_) known.push_back(model.name);
  return fail("there is no model {}{}; trainyard models lists them", quoted(name),
              did_you_mean(name, known));
}

Figure Catalogue::samples_per_s(const ModelProfile& model, std::string_view kind) const {
  const std::string plain = plain_name(kind);
  for (const KindSpeed& speed : model.speeds)
    if (plain_name(speed.kind) == plain) return speed.samples_per_s;
  const KindSpeed& known = model.speeds.front();
  return {known.samples_per_s.value * relative(kind) / relative(known.kind),
          fmt::format("assumed: from {} by how the kinds compare", known.kind)};
}

void Catalogue::add(ModelProfile model) {
  const auto known = by_name_.find(plain_name(model.name));
  const bool replaces =
      known != by_name_.end() && plain_name(models_[known->second].name) == plain_name(model.name);
  const std::size_t at = replaces ? known->second : models_.size();
  if (!replaces) models_.emplace_back();
  by_name_[plain_name(model.name)] = at;
  for (const std::string& alias : model.aliases) by_name_[plain_name(alias)] = at;
  models_[at] = std::move(model);
}

void Catalogue::add(KindFactor kind) {
  for (KindFactor& known : kinds_)
    if (plain_name(known.kind) == plain_name(kind.kind)) {
      known = std::move(kind);
      return;
    }
  kinds_.push_back(std::move(kind));
}

double Catalogue::relative(std::string_view kind) const {
  for (const KindFactor& known : kinds_)
    if (plain_name(known.kind) == plain_name(kind)) return known.relative.value;
  return 1;
}

bool Catalogue::knows_kind(std::string_view kind) const {
  const auto has = [&](const auto& list) {
    return std::ranges::any_of(
        list, [&](const auto& known) { return plain_name(known.kind) == plain_name(kind); });
  };
  return has(kinds_) ||
         std::ranges::any_of(models_, [&](const ModelProfile& model) { return has(model.speeds); });
}

std::string Catalogue::meant_by(std::string_view kind) const {
  if (knows_kind(kind)) return {};
  const auto looks = [](std::string_view name) {
    std::string signs = plain_name(name);
    std::ranges::replace(signs, 'o', '0');
    std::ranges::replace(signs, 'i', '1');
    std::ranges::replace(signs, 'l', '1');
    std::ranges::sort(signs);
    return signs;
  };
  const std::string signs = looks(kind);
  for (const KindFactor& known : kinds_)
    if (looks(known.kind) == signs) return known.kind;
  for (const ModelProfile& model : models_)
    for (const KindSpeed& known : model.speeds)
      if (looks(known.kind) == signs) return known.kind;
  return {};
}

}  // namespace trainyard
