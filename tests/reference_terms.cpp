// What jobs ask of their machines, read off the words of the job and of the machine whenever it
// matters.
#include <algorithm>
#include <cctype>
#include <set>

#include "reference_state.h"

namespace trainyard::reference {
namespace {

std::string in_small_letters(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

bool is_allowed(const MachineTerms& terms, const Machine& machine, const std::string& kind) {
  std::set<std::string> has{in_small_letters(machine.name), in_small_letters(kind)};
  for (const std::string& feature : machine.features) has.insert(in_small_letters(feature));
  if (terms.constraint.empty()) return true;
  for (const std::vector<std::string>& words : terms.constraint)
    if (std::all_of(words.begin(), words.end(), [&](const auto& w) { return has.contains(w); }))
      return true;
  return false;
}

}  // namespace

std::optional<Resources> State::each_on(std::size_t j, std::size_t machine) const {
  const Machine& there = cluster.machines[machine];
  const std::string& kind = cluster.kinds[index(there.kind)];
  Resources each = job(j).per_worker;
  if (job(j).terms == kNoTerms) return each;
  const MachineTerms& terms = workload_.terms[job(j).terms];
  if (!takes(j, kind) || each.gpus > there.capacity.gpus || !is_allowed(terms, there, kind))
    return {};
  const double part = there.capacity.gpus == 0 ? 0 : 1.0 * each.gpus / there.capacity.gpus;
  if (terms.shares_cpus)
    each.milli_cpus = static_cast<std::int32_t>(part * there.capacity.milli_cpus + 1e-6);
  if (terms.shares_memory)
    each.memory_mib = static_cast<std::int32_t>(part * there.capacity.memory_mib + 1e-6);
  return each;
}

Gang State::gang(std::size_t j) const {
  Gang gang{job(j).per_worker, job(j).workers};
  if (job(j).terms == kNoTerms) return gang;
  bool is_first = true;
  for (std::size_t m = 0; m < up.size(); ++m) {
    const std::optional<Resources> each = each_on(j, m);
    gang.by_machine.push_back(each);
    if (!each) continue;
    if (std::exchange(is_first, false)) gang.each = *each;
    gang.each.milli_cpus = std::min(gang.each.milli_cpus, each->milli_cpus);
    gang.each.memory_mib = std::min(gang.each.memory_mib, each->memory_mib);
  }
  return gang;
}

}  // namespace trainyard::reference
