#include "every_policy.h"

#include <algorithm>
#include <sstream>

#include "policy/registry.h"

namespace trainyard {

std::string with(const std::string& line, const std::string& key, const std::string& value) {
  std::string changed;
  std::istringstream words(line);
  for (std::string word; words >> word;)
    if (!word.starts_with(key + "=")) changed += word + " ";
  return changed + key + "=" + value;
}

std::vector<std::string> all_policies() {
  std::vector<std::string> lines;
  for (const Preset& preset : presets()) lines.push_back(preset.line);
  const std::vector<std::string> companions{
      "order=fifo ", "order=las backfill=greedy preempt=by-level ",
      "order=srtf backfill=easy place=best-fit preempt=srtf-blind ",
      "order=fifo backfill=greedy place=consolidate preempt=longest-remaining "};
  for (const std::string& others : companions)
    for (const StageInfo& stage : stage_infos())
      for (const MemberInfo& member : stage.members)
        if (stage.kind == StageInfo::Kind::stage)
          lines.push_back(with(others, stage.name, member.name));
  for (const StageInfo& stage : stage_infos())
    for (std::size_t i = 1; stage.kind == StageInfo::Kind::joint && i < stage.members.size(); ++i)
      lines.push_back(stage.name + "=" + stage.members[i].name);
  for (const std::string pays : {"moved", "always"})  // cases last some minutes
    lines.emplace_back(
        "order=network-sensitivity backfill=greedy place=delay place.lease=5s preempt=lease "
        "preempt.lease=20s preempt.pays=" +
        pays);
  const auto trainyard = std::ranges::find(presets(), "trainyard", &Preset::name);
  lines.push_back(with(trainyard->line, "queue.overdue_share", "0.1") +
                  " queue.trial_window=20s place.lease=5s joint.round=20s flow.period=2s");
  lines.emplace_back("joint=equal-split joint.round=20s");
  lines.emplace_back("joint=gavel-las joint.round=20s");
  lines.emplace_back("joint=market joint.round=20s");
  for (const std::string& others : companions)
    lines.push_back(others + "joint=market joint.takes=open joint.round=20s");
  return lines;
}

std::vector<std::string> random_rules(Random& random) {
  const std::vector<std::string> patience{"7d", "5m", "0"}, min_run{"1m", "0", "30s"},
      min_stay{"1m", "0", "10s"}, max_pauses{"64", "2"}, turn{"1h", "1m", "0"};
  return {"queue.patience=" + patience[random.below(patience.size())],
          "yard.min_run=" + min_run[random.below(min_run.size())],
          "yard.min_stay=" + min_stay[random.below(min_stay.size())],
          "yard.max_pauses=" + max_pauses[random.below(max_pauses.size())],
          "yard.turn=" + turn[random.below(turn.size())]};
}

}  // namespace trainyard
