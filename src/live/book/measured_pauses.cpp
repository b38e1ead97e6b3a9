#include "live/book/measured_pauses.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace trainyard {

using nlohmann::json;

MeasuredPauses::Cost MeasuredPauses::of(const std::string& user, const std::string& model) const {
  const auto models = users_.find(user);
  if (models == users_.end()) return {};
  const auto known = models->second.find(model);
  return known == models->second.end() ? Cost{} : known->second.cost;
}

MeasuredPauses::Cost& MeasuredPauses::edit(const std::string& user, const std::string& model) {
  std::map<std::string, Known>& models = users_[user];
  if (models.size() >= kMostModels && !models.contains(model))
    models.erase(
        std::ranges::min_element(models, {}, [](const auto& each) { return each.second.order; }));
  Known& known = models[model];
  known.order = ++last_;
  return known.cost;
}

void MeasuredPauses::note_save(const std::string& user, const std::string& model, Duration save) {
  if (of(user, model).save != save) edit(user, model).save = save;
}

void MeasuredPauses::note_load(const std::string& user, const std::string& model, Duration load) {
  if (of(user, model).load != load) edit(user, model).load = load;
}

/// A list, the one that was measured longest ago first.
std::string MeasuredPauses::to_json() const {
  std::map<std::uint64_t, json> in_order;
  for (const auto& [user, models] : users_)
    for (const auto& [model, known] : models) {
      json& cost = in_order[known.order];
      cost = {{"user", user}, {"model", model}};
      if (known.cost.save) cost["save"] = known.cost.save->us;
      if (known.cost.load) cost["load"] = known.cost.load->us;
    }
  json all = json::array();
  for (auto& [order, cost] : in_order) all.push_back(std::move(cost));
  return all.dump(-1, ' ', false, json::error_handler_t::replace);
}

Expected<void> MeasuredPauses::read(std::string_view text) try {
  MeasuredPauses read;
  const auto duration = [](const json& us) {
    return std::clamp(Duration{us.get<std::int64_t>()}, Duration{}, kLongestDuration);
  };
  for (const json& cost : json::parse(text)) {
    Cost& known = read.edit(cost.at("user"), cost.at("model"));
    if (cost.contains("save")) known.save = duration(cost["save"]);
    if (cost.contains("load")) known.load = duration(cost["load"]);
  }
  *this = std::move(read);
  return {};
} catch (const json::exception& problem) {
  return fail("{}", problem.what());
}

}  // namespace trainyard
