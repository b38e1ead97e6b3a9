#include "live/loop/report_order.h"

#include <algorithm>
#include <iterator>
#include <set>

namespace trainyard {

std::vector<EngineReport> in_order(std::vector<EngineReport> reports) {
  std::set<RunId> ended;
  for (const EngineReport& report : reports)
    if (const auto* run = std::get_if<RunReport>(&report); run != nullptr && is_end(run->kind))
      ended.insert(run->id);
  std::vector<EngineReport> ordered, machines, late;
  std::set<RunId> are_late;
  const auto flush = [&] {
    std::ranges::move(std::exchange(machines, {}), std::back_inserter(ordered));
    std::ranges::move(std::exchange(late, {}), std::back_inserter(ordered));
    are_late.clear();
  };
  for (EngineReport& report : reports) {
    auto* run = std::get_if<RunReport>(&report);
    if (run != nullptr && ended.contains(run->id)) run->places.clear();
    if (run != nullptr && !run->places.empty()) are_late.insert(run->id);
    if (std::holds_alternative<ClusterReport>(report)) flush();
    const bool is_late = run != nullptr && are_late.contains(run->id);
    const bool is_of_machine = std::holds_alternative<MachineReport>(report);
    (is_late ? late : is_of_machine ? machines : ordered).push_back(std::move(report));
  }
  flush();
  return ordered;
}

}  // namespace trainyard
