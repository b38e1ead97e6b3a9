#include "perf/catalogue_toml.h"

#include "base/toml_table.h"

namespace trainyard {
namespace {

constexpr std::size_t kLongestSource = 300;

/// The figures of one model, each with the source that [model.sources] or the model gives it.
class FigureReader {
 public:
  FigureReader(TableReader& model, const toml::table* sources, std::string_view origin)
      : model_(model), sources_(sources != nullptr ? *sources : none_, origin) {
    fallback_ = model_.text("source", std::string(origin), kLongestSource);
  }

  Figure figure(std::string_view key, double fallback, double low, double high) {
    return {model_.real(key, fallback, low, high), source(key)};
  }
  std::string source(std::string_view key) { return sources_.text(key, fallback_, kLongestSource); }
  /// A figure that follows from another, unless the file says it.
  Figure derived(std::string_view key, double value, std::string_view how, double high) {
    const bool given = model_.find(key) != nullptr;
    Figure figure = this->figure(key, value, 0, high);
    if (!given) figure.source = how;
    return figure;
  }

  Expected<void> finish() { return sources_.finish(); }

 private:
  toml::table none_;
  TableReader& model_;
  TableReader sources_;
  std::string fallback_;
};

template <class Enum>
Enum choice(TableReader& in, std::string_view key, std::initializer_list<Enum> choices) {
  const std::string word = in.text(key, std::string(name(*choices.begin())));
  std::vector<std::string_view> known;
  for (const Enum candidate : choices) {
    if (word == name(candidate)) return candidate;
    known.push_back(name(candidate));
  }
  in.complain(*in.find(key),
              fmt::format("{} = {} is not known{}; it must be one of {}", key, quoted(word),
                          did_you_mean(word, known), fmt::join(known, ", ")));
  return *choices.begin();
}

Expected<KindSpeed> read_speed(const toml::table& table, std::string_view origin,
                               const std::string& source) {
  TableReader in(table, origin);
  KindSpeed speed;
  speed.kind = in.text("kind", "");
  speed.samples_per_s.value = in.real("samples_per_s", 0, 1e-6, 1e9);
  speed.samples_per_s.source = in.text("source", source, kLongestSource);
  if (speed.kind.empty()) in.complain("a speed without kind; write kind = \"V100\"");
  if (speed.samples_per_s.value == 0) in.complain("a speed without samples_per_s");
  if (auto ok = in.finish(); !ok) return tl::make_unexpected(ok.error());
  return speed;
}

Expected<void> read_speeds(const toml::array& tables, std::string_view origin,
                           const std::string& source, ModelProfile& model) {
  for (const toml::node& node : tables) {
    auto speed = read_speed(*node.as_table(), origin, source);
    if (!speed) return tl::make_unexpected(speed.error());
    for (const KindSpeed& other : model.speeds)
      if (plain_name(other.kind) == plain_name(speed->kind))
        return fail("{}:{}: {} has two speeds on {}", origin, node.source().begin.line,
                    quoted(model.name), quoted(speed->kind));
    model.speeds.push_back(std::move(*speed));
  }
  return {};
}

void read_figures(TableReader& in, FigureReader& figures, ModelProfile& model) {
  model.parameters = figures.figure("parameters", 0, 1, 1e13);
  model.batch = figures.figure("batch", 0, 1, 1e9);
  model.start_up_s = figures.figure("start_up_s", 0, 0, 1e6);
  model.overlap = figures.figure("overlap", 0, 0, 1);
  model.messages = figures.figure("messages", 1, 1, 1e6);
  model.compute_scale = figures.figure("compute_scale", 1, 1e-9, 1e9);
  model.largest_tensor = figures.figure("largest_tensor", 0, 0, 1);
  model.gradient_bytes = figures.derived("gradient_mb", model.parameters.value * 4e-6,
                                         "4 bytes for each parameter", 1e8);
  model.gradient_bytes.value *= 1e6;
  if (model.parameters.value == 0) in.complain("a model without parameters");
  if (model.batch.value == 0) in.complain("a model without batch");
}

Expected<ModelCurve> read_curve(const toml::table& table, std::string_view origin,
                                const std::string& source) {
  TableReader in(table, origin);
  ModelCurve curve;
  curve.limit = {in.real("limit", 0, 0, 1e9), source};
  curve.start = {in.real("start", 0, 0, 1e9), source};
  curve.to_95 = {in.real("to_95", 0, 0, 1), source};
  const auto made = make_learning_curve(curve.limit.value, curve.start.value, curve.to_95.value);
  if (!made) in.complain(fmt::format("curve: {}", made.error().message));
  if (auto ok = in.finish(); !ok) return tl::make_unexpected(ok.error());
  return curve;
}

Expected<ModelProfile> read_model(const toml::table& table, std::string_view origin) {
  TableReader in(table, origin);
  ModelProfile model;
  model.name = in.text("name", "");
  model.task = in.text("task", "-", 200);
  model.aliases = in.texts("aliases");
  FigureReader figures(in, in.table("sources"), origin);
  read_figures(in, figures, model);
  model.optimiser = choice(in, "optimiser", {Optimiser::sgd, Optimiser::adam});
  model.collective = choice(in, "collective",
                            {Collective::ring, Collective::hierarchical,
                             Collective::parameter_server, Collective::single_server});
  const toml::array* speeds = in.tables("speed");
  if (plain_name(model.name).empty()) in.complain("a model without a name");
  if (speeds == nullptr) in.complain("a model without speed; add a [[model.speed]] table");
  const std::string speed_source = figures.source("speed");
  const std::string curve_source = figures.source("curve");
  const toml::table* curve = in.table("curve");
  if (auto ok = in.finish(); !ok) return tl::make_unexpected(ok.error());
  if (auto ok = figures.finish(); !ok) return tl::make_unexpected(ok.error());
  if (auto ok = read_speeds(*speeds, origin, speed_source, model); !ok)
    return tl::make_unexpected(ok.error());
  if (curve == nullptr) return model;
  auto read = read_curve(*curve, origin, curve_source);
  if (!read) return tl::make_unexpected(read.error());
  model.curve = std::move(*read);
  return model;
}

Expected<KindFactor> read_kind(const toml::table& table, std::string_view origin) {
  TableReader in(table, origin);
  KindFactor kind;
  kind.kind = in.text("name", "");
  kind.relative.value = in.real("relative", 0, 1e-6, 1e6);
  kind.relative.source = in.text("source", std::string(origin), kLongestSource);
  if (plain_name(kind.kind).empty()) in.complain("a kind without a name");
  if (kind.relative.value == 0) in.complain("a kind without relative, its speed (a V100 is 1)");
  if (auto ok = in.finish(); !ok) return tl::make_unexpected(ok.error());
  return kind;
}

/// Every table of the array, which may be null, as one more of the list.
template <class Item>
Expected<void> read_each(const toml::array* tables, std::string_view origin,
                         Expected<Item> (*read)(const toml::table&, std::string_view),
                         std::vector<Item>& list) {
  if (tables == nullptr) return {};
  for (const toml::node& node : *tables) {
    auto item = read(*node.as_table(), origin);
    if (!item) return tl::make_unexpected(item.error());
    list.push_back(std::move(*item));
  }
  return {};
}

}  // namespace

Expected<CatalogueFile> parse_catalogue_toml(std::string_view text, std::string_view origin) {
  const auto parsed = parse_toml(text, origin);
  if (!parsed) return tl::make_unexpected(parsed.error());
  TableReader in(*parsed, origin);
  const toml::array* models = in.tables("model");
  const toml::array* kinds = in.tables("kind");
  if (auto ok = in.finish(); !ok) return tl::make_unexpected(ok.error());
  if (models == nullptr && kinds == nullptr)
    return fail("{}: nothing in it; describe a model in a [[model]] table", origin);
  CatalogueFile file;
  if (auto ok = read_each(models, origin, read_model, file.models); !ok)
    return tl::make_unexpected(ok.error());
  if (auto ok = read_each(kinds, origin, read_kind, file.kinds); !ok)
    return tl::make_unexpected(ok.error());
  return file;
}

}  // namespace trainyard
