#include "policy/registry.h"

#include <algorithm>
#include <map>

#include "policy/joint/market_and_stages.h"

namespace trainyard {
namespace {

const std::vector<Member<OrderStage>>& orders() {
  static const std::vector<Member<OrderStage>> all{order_fifo(),
                                                   order_sjf(),
                                                   order_srtf(),
                                                   order_srsf(),
                                                   order_smith(),
                                                   order_las(),
                                                   order_attained_service(),
                                                   order_trial_first(),
                                                   order_network_sensitivity()};
  return all;
}

const std::vector<Member<BackfillStage>>& backfills() {
  static const std::vector<Member<BackfillStage>> all{backfill_none(), backfill_greedy(),
                                                      backfill_easy()};
  return all;
}

const std::vector<Member<PlaceStage>>& places() {
  static const std::vector<Member<PlaceStage>> all{
      place_first_fit(), place_best_fit(), place_consolidate(), place_spread(),
      place_delay(),     place_lwf(),      place_random()};
  return all;
}

const std::vector<Member<PreemptStage>>& preempts() {
  static const std::vector<Member<PreemptStage>> all{
      preempt_none(),       preempt_random(),     preempt_longest_remaining(),
      preempt_srtf_blind(), preempt_srsf_blind(), preempt_by_level(),
      preempt_fitgpp(),     preempt_benefit(),    preempt_smith(),
      preempt_lease(),      preempt_closer()};
  return all;
}

const std::vector<Member<FlowStage>>& flows() {
  static const std::vector<Member<FlowStage>> all{flow_fair(),       flow_fifo(),     flow_srtf(),
                                                  flow_las(),        flow_progress(), flow_to_95(),
                                                  flow_milestones(), flow_adadual()};
  return all;
}

const std::vector<Member<Policy>>& joints() {
  static const std::vector<Member<Policy>> all{joint_none(), joint_equal_split(), joint_market(),
                                               joint_allox(), joint_gavel_las()};
  return all;
}

const MemberInfo kQueue{
    "queue",
    "shared by all policies: how long a job may be passed by others",
    "ours",
    {{"patience", ParamType::duration, "never",
      "a job that waited longer, all its waits together, goes first, behind a reservation; never: "
      "no bound"},
     {"fair_wait", ParamType::real, "0",
      "a job that waited so many times as long as all GPUs would have needed for the most work "
      "that "
      "there was of late, and an hour at least, goes first in the same way; 0: no such bound"},
     {"trial_share", ParamType::real, "0.25",
      "of a user's equal part of the GPUs, for trial jobs to act as such; 0: no limit"},
     {"trial_window", ParamType::duration, "1h", "how much of it can be saved up"},
     {"overdue_share", ParamType::real, "1",
      "the part of the GPU time that jobs which have waited so long may take from others; a job "
      "that has had its share may be paused again, and 1 bounds nothing"},
     {"trial_worth", ParamType::real, "1",
      "what a second of a trial job is worth, in seconds of others; at least 1"},
     {"trial_rooms",
      ParamType::choice,
      "none",
      "whether room is kept free for the trial jobs to come, as far as that is worth more to them "
      "than it costs the jobs that wait",
      {"none", "kept"}},
     {"critical",
      ParamType::choice,
      "ordinary",
      "what a second of a job is worth that alone decides when all work is done: as much as any "
      "other, or 10,000 times that",
      {"ordinary", "first"}},
     {"estimates",
      ParamType::choice,
      "declared",
      "what to believe of the time that jobs have left: what they declare, that they go on for as "
      "long as they ran, what their user's jobs took, or what jobs like them that ran as long had "
      "left",
      {"declared", "attained", "history", "residual"}},
     {"error", ParamType::real, "0",
      "of declared estimates: each job's is off by up to this part of it, drawn once"}}};

const MemberInfo kYard{
    "yard",
    "shared by all policies: what the yard itself does not allow",
    "ours",
    {{"min_run", ParamType::duration, "1m", "nothing is paused before it ran so long"},
     {"min_stay", ParamType::duration, "1m",
      "nothing is moved or given another size before it ran so long, or for min_run if that is "
      "less"},
     {"turn", ParamType::duration, "1h",
      "nor before it ran so long for a job that made room for it, twice as long the next time"},
     {"max_pauses", ParamType::whole, "100000", "nothing is paused more often"}}};

template <class Stage>
std::vector<MemberInfo> infos(const std::vector<Member<Stage>>& members) {
  std::vector<MemberInfo> all;
  for (const Member<Stage>& member : members) all.push_back(member.info);
  return all;
}

template <class Stage>
std::unique_ptr<Stage> make(const std::vector<Member<Stage>>& members, const std::string& name,
                            const Params& params, PolicyContext& context) {
  const auto found = std::find_if(members.begin(), members.end(),
                                  [&](const auto& member) { return member.info.name == name; });
  return found->make(params, context);
}

Params easy_defaults() {
  Params params;
  for (const ParamSpec& spec : backfill_easy().info.params)
    params.set(spec.name, spec.default_value);
  return params;
}

template <class Item>
std::vector<std::string> names_of(const std::vector<Item>& items) {
  std::vector<std::string> names;
  for (const Item& item : items) names.push_back(item.name);
  return names;
}

template <class Item>
const Item* find_named(const std::vector<Item>& items, std::string_view name) {
  const auto found =
      std::find_if(items.begin(), items.end(), [&](const Item& item) { return item.name == name; });
  return found == items.end() ? nullptr : &*found;
}

/// "unknown policy 'fifi', did you mean 'fifo'? (known: fifo, ...)"
template <class Item>
tl::unexpected<Error> unknown(std::string_view what, std::string_view name,
                              const std::vector<Item>& known) {
  const std::vector<std::string> names = names_of(known);
  return fail("unknown {} {}{} (known: {})", what, quoted(name), did_you_mean(name, names),
              fmt::join(names, ", "));
}

/// A joint policy that takes some jobs only says so by this parameter.
bool can_have_stages(const PolicySpec& spec) {
  const StageInfo* stage = find_named(stage_infos(), "joint");
  return find_named(find_named(stage->members, spec.member("joint"))->params, "takes") != nullptr;
}

std::vector<Preset> standard_presets() {
  return {
      {"fifo", "order=fifo", "first come, first served; no job passes another", "standard"},
      {"fifo-easy", "order=fifo backfill=easy", "fifo, with backfilling behind a reservation",
       "Lifka, JSSPP 1995"},
      {"sjf", "order=sjf backfill=greedy", "shortest job first, never pausing", "standard"},
      {"srtf", "order=srtf backfill=greedy preempt=srtf-blind",
       "shortest remaining time first, pausing jobs that have more left, whatever it costs",
       "standard"},
      {"srsf", "order=srsf backfill=greedy preempt=srsf-blind",
       "shortest remaining service (time x GPUs) first, pausing jobs that have more left",
       "standard; a baseline of Gu et al., Tiresias, NSDI 2019"},
      {"las", "order=las backfill=greedy preempt=by-level",
       "least attained service first, in levels; needs no estimate",
       "2D-LAS: Gu et al., Tiresias, NSDI 2019"},
      {"tiresias",
       "order=las backfill=greedy place=consolidate place.wait_for=skewed preempt=by-level",
       "las, and models with skewed tensors wait for the fewest machines",
       "Gu et al., Tiresias, NSDI 2019; which models are skewed: see perf/skew.h"},
  };
}

// Of the systems that the yard brings together, the baselines of their studies, and what is ours;
// by the stage that each is about.

std::vector<Preset> preempting_presets() {
  return {
      {"fitgpp", "order=trial-first preempt=fitgpp",
       "trial jobs first; the batch job that is cheapest to pause gives way",
       "Yabuuchi, Taniwaki and Omura, OpML 2019; open choices: see the parameters"},
      {"lrtp", "order=trial-first preempt=longest-remaining",
       "trial jobs first; the batch job with the most time left gives way",
       "a baseline of FitGpp's study"},
      {"rand", "order=trial-first preempt=random",
       "trial jobs first; batch jobs drawn at random give way", "a baseline of FitGpp's study"},
      {"xion", "order=srtf backfill=greedy preempt=benefit",
       "shortest remaining time first, pausing only where that pays",
       "Xion: Go et al. 2023; its rule is not published, ours is in docs/policies.md"},
      {"fitgpp+xion",
       "order=trial-first order.reentry=submission order.within=remaining backfill=greedy "
       "preempt=benefit queue.trial_worth=30",
       "trial jobs first, as their time is worth more; all pauses must pay",
       "ours: FitGpp's trial class under Xion's rule"},
      {"live",
       "order=trial-first order.reentry=submission order.within=remaining backfill=greedy "
       "preempt=benefit queue.trial_worth=30 queue.estimates=attained yard.min_run=10s",
       "fitgpp+xion that needs no estimates and learns nothing",
       "ours; what serve ran before trainyard"},
      {"trainyard",
       "order=smith backfill=greedy place=delay place.timers=learnt preempt=smith "
       "flow=milestones queue.estimates=residual queue.fair_wait=3 "
       "queue.overdue_share=0.003 queue.trial_worth=20 queue.trial_rooms=kept queue.critical=first "
       "joint=market joint.takes=open",
       "what serve runs by default: trial jobs first, close placements as long as waiting for them "
       "pays, pauses that pay; a market for jobs whose size or kind of GPU is open",
       "ours: what the published systems do, together"},
  };
}

std::vector<Preset> placing_presets() {
  return {
      {"dally", "order=network-sensitivity backfill=greedy place=delay preempt=lease",
       "waits for a close placement, with timers that tune themselves", "Sharma et al., Dally"},
      {"dally-manual",
       "order=network-sensitivity backfill=greedy place=delay place.timers=fixed preempt=lease",
       "dally with fixed timers", "Sharma et al., Dally"},
      {"dally-no-wait",
       "order=network-sensitivity backfill=greedy place=delay place.timers=fixed "
       "place.rack_wait=0 place.net_wait=0 preempt=lease",
       "dally without waiting: the closest placement there is", "Sharma et al., Dally"},
      {"dally-consolidated",
       "order=network-sensitivity backfill=greedy place=delay place.timers=fixed "
       "place.rack_wait=never place.net_wait=never preempt=lease",
       "dally that waits for one machine, or the closest that could ever hold it, for ever",
       "Sharma et al., Dally"},
      {"dally-learnt",
       "order=network-sensitivity backfill=greedy place=delay place.timers=learnt preempt=lease",
       "dally that waits as long as what it expects to gain is more than it expects to wait",
       "ours, beyond the paper"},
      {"gandiva", "order=fifo backfill=greedy place=consolidate place.wait_for=none",
       "first come, first served, on the fewest machines there are",
       "affinity of Xiao et al., Gandiva, OSDI 2018; without its migration and time slicing"},
  };
}

std::vector<Preset> network_presets() {
  return {
      {"jpas", "order=fifo flow=progress",
       "first come, first served, and the bytes of the jobs that learn fastest go first",
       "JPAS: Zhou et al., JNCA 2020; what is not published is ours, in docs/policies.md"},
      {"jpas-oracle", "order=fifo flow=progress flow.curves=true",
       "jpas that knows how jobs learn, instead of fitting what they tell",
       "the bound for jpas: how well any fit could do"},
      {"lwf", "order=srsf backfill=greedy place=lwf",
       "least remaining service first, on the machines with the least work",
       "LWF-1 under SRSF: Wang et al., Ada-SRSF"},
      {"srsf-1", "order=srsf backfill=greedy place=lwf flow=adadual flow.at_most=1 flow.by_size=no",
       "lwf, and one all-reduce at a time on every link", "a baseline of Ada-SRSF's study"},
      {"srsf-2", "order=srsf backfill=greedy place=lwf flow=adadual flow.at_most=2 flow.by_size=no",
       "lwf, and at most two all-reduces at a time on every link",
       "a baseline of Ada-SRSF's study"},
      {"ada-srsf", "order=srsf backfill=greedy place=lwf flow=adadual",
       "lwf, and an all-reduce joins another on a link only where both gain",
       "Wang et al., Ada-SRSF; as our summary of it says"},
  };
}

std::vector<Preset> joint_presets() {
  return {
      {"equal-split", "joint=equal-split",
       "every job has an equal part of the cluster, dealt out anew every ten minutes",
       "standard: max-min fairness of workers"},
      {"market", "joint=market", "sizes and kinds of GPU for all jobs at once; pauses must pay",
       "Liu et al., by its abstract"},
      {"blind", "joint=market joint.kinds=ignored",
       "the same market where all kinds of GPU are taken for alike", "baseline of market"},
      {"allox", "joint=allox",
       "every job on the kind of GPU, and in the order, that makes the sum of completion times "
       "least",
       "Le et al., AlloX, EuroSys 2020; a baseline of market"},
      {"gavel-las", "joint=gavel-las",
       "jobs take turns on the kinds of GPU so that the worst-off has the most that it can",
       "Narayanan et al., Gavel, OSDI 2020; a baseline of market"},
  };
}

}  // namespace

const std::vector<Preset>& presets() {
  static const std::vector<Preset> all = [] {
    std::vector<Preset> together = standard_presets();
    for (const std::vector<Preset>& some :
         {preempting_presets(), placing_presets(), network_presets(), joint_presets()})
      together.insert(together.end(), some.begin(), some.end());
    return together;
  }();
  return all;
}

const std::vector<StageInfo>& stage_infos() {
  static const std::vector<StageInfo> all{
      {"order", "which job is next?", infos(orders())},
      {"backfill", "which jobs may go while the first in the queue cannot?", infos(backfills())},
      {"place", "where does a job go?", infos(places())},
      {"preempt", "which jobs give way?", infos(preempts())},
      {"flow",
       "whose bytes go first? (idle where the engine carries out no flow classes: under serve, and "
       "in sim without --network shared)",
       infos(flows())},
      {"joint", "who has what, decided for all jobs at once?", infos(joints()),
       StageInfo::Kind::joint},
      {"queue", "what bounds a wait?", {kQueue}, StageInfo::Kind::shared},
      {"yard", "what is never allowed?", {kYard}, StageInfo::Kind::shared}};
  return all;
}

namespace {

/// A preset by its name, or as NAME+setting+setting, with the settings as a line. A name may have a
/// + in it.
std::pair<const Preset*, std::string> find_preset(std::string_view text) {
  if (const Preset* preset = find_named(presets(), text)) return {preset, {}};
  for (std::size_t at = text.find('+'); at != std::string_view::npos; at = text.find('+', at + 1))
    if (const std::string_view rest = text.substr(at + 1);
        rest.substr(0, rest.find('+')).find('=') != std::string_view::npos) {
      std::string line(rest);
      std::ranges::replace(line, '+', ' ');
      return {find_named(presets(), text.substr(0, at)), std::move(line)};
    }
  return {nullptr, {}};
}

}  // namespace

Expected<PolicySpec> PolicySpec::parse(std::string_view text,
                                       const std::vector<std::string>& settings) {
  PolicySpec spec;
  spec.name_ = text;
  for (const StageInfo& stage : stage_infos())
    spec.members_[stage.name] = stage.members.front().name;
  const auto [preset, changes] = find_preset(text);
  const std::string_view name = text.substr(0, text.find('+'));
  if (preset == nullptr && name.find('=') == std::string_view::npos)
    return unknown("policy", changes.empty() ? text : name, presets());
  if (auto ok = spec.read_line(preset != nullptr ? preset->line : text); !ok)
    return tl::make_unexpected(ok.error());
  if (auto ok = spec.read_line(changes); !ok) return tl::make_unexpected(ok.error());
  for (const std::string& setting : settings) {
    if (auto ok = spec.read_setting(setting); !ok) return tl::make_unexpected(ok.error());
    spec.name_ += " " + setting;
  }
  if (auto ok = spec.check_joint(); !ok) return tl::make_unexpected(ok.error());
  if (auto ok = spec.check_settings(); !ok) return tl::make_unexpected(ok.error());
  return spec;
}

Expected<void> PolicySpec::read_line(std::string_view line) {
  std::map<std::string_view, std::string_view> seen;  // by what is set
  while (!line.empty()) {
    const std::size_t end = std::min(line.find(' '), line.size());
    const std::string_view word = line.substr(0, end);
    line.remove_prefix(std::min(end + 1, line.size()));
    if (word.empty()) continue;
    const auto [before, is_new] = seen.emplace(word.substr(0, word.find('=')), word);
    if (!is_new) return fail("{} is given twice: {} and {}", before->first, before->second, word);
    if (auto ok = read_setting(word); !ok) return ok;
  }
  return {};
}

Expected<void> PolicySpec::read_setting(std::string_view setting) {
  const std::size_t equals = setting.find('=');
  if (equals == std::string_view::npos)
    return fail("{} is not a setting; write stage=member or stage.parameter=value",
                quoted(setting));
  const std::string_view name = setting.substr(0, equals), value = setting.substr(equals + 1);
  const std::size_t dot = name.find('.');
  const std::string_view stage_name = name.substr(0, dot);
  const StageInfo* stage = find_named(stage_infos(), stage_name);
  if (stage == nullptr) return unknown("stage", stage_name, stage_infos());
  if (stage->kind == StageInfo::Kind::stage) of_stages_.emplace_back(setting);
  if (dot != std::string_view::npos) {
    settings_[std::string(name)] = value;
    return {};
  }
  if (find_named(stage->members, value) == nullptr)
    return unknown(stage->name + (stage->kind == StageInfo::Kind::joint ? " policy" : " stage"),
                   value, stage->members);
  members_[stage->name] = value;
  return {};
}

Expected<void> PolicySpec::check_joint() const {
  if (!decides_jointly() || of_stages_.empty()) return {};
  return fail("joint={} decides without stages, so {} has no effect; leave one of them out{}",
              member("joint"), quoted(of_stages_.front()),
              can_have_stages(*this) ? ", or say joint.takes=open" : "");
}

bool PolicySpec::decides_jointly() const {
  return member("joint") != joints().front().info.name && !has_stages_beside();
}

bool PolicySpec::has_stages_beside() const {
  return can_have_stages(*this) && params("joint").choice("takes") == "open";
}

/// Once all is read, because a parameter may be named before the member that has it.
Expected<void> PolicySpec::check_settings() const {
  for (const auto& [name, value] : settings_) {
    const std::size_t dot = name.find('.');
    const StageInfo* stage = find_named(stage_infos(), name.substr(0, dot));
    const MemberInfo* member = find_named(stage->members, members_.at(stage->name));
    const ParamSpec* param = find_named(member->params, name.substr(dot + 1));
    if (param == nullptr && member->params.empty())
      return fail("{}: {}={} has no parameters", name, stage->name, member->name);
    if (param == nullptr)
      return unknown(fmt::format("parameter of {}={},", stage->name, member->name),
                     name.substr(dot + 1), member->params);
    if (auto ok = check_param(*param, value); !ok) return fail_at(name, ok.error());
  }
  if (const double worth = params("queue").real("trial_worth"); worth < 1)
    return fail("queue.trial_worth: {} is less than 1, what a second of any job is worth", worth);
  return {};
}

Params PolicySpec::params(const std::string& stage) const {
  Params params;
  const StageInfo* info = find_named(stage_infos(), stage);
  for (const ParamSpec& spec : find_named(info->members, member(stage))->params) {
    const auto given = settings_.find(stage + "." + spec.name);
    params.set(spec.name, given == settings_.end() ? spec.default_value : given->second);
  }
  return params;
}

YardRules PolicySpec::rules() const {
  const Params yard = params("yard");
  return {yard.duration("min_run"), yard.duration("turn"),
          static_cast<std::uint32_t>(yard.whole("max_pauses")), yard.duration("min_stay")};
}

bool PolicySpec::orders_flows() const {
  return !decides_jointly() && member("flow") != flows().front().info.name;
}

Stages PolicySpec::stages(PolicyContext& context, FlowClasses flow_classes) const {
  Stages stages;
  stages.order = make(orders(), member("order"), params("order"), context);
  context.set_order(*stages.order);
  stages.backfill = make(backfills(), member("backfill"), params("backfill"), context);
  stages.place = make(places(), member("place"), params("place"), context);
  stages.preempt = make(preempts(), member("preempt"), params("preempt"), context);
  if (flow_classes == FlowClasses::carried_out)
    stages.flow = make(flows(), member("flow"), params("flow"), context);
  if (params("queue").choice("trial_rooms") == "kept")
    stages.rooms = std::make_unique<TrialRooms>(context);
  // Where no job can be overtaken for ever there is nothing to bound.
  if (!stages.order->can_starve() && !stages.backfill->can_starve() && !has_stages_beside())
    return stages;
  stages.bounds_waits = context.overdue().any();
  if (stages.bounds_waits && !stages.backfill->keeps_a_place())
    stages.guard = backfill_easy().make(easy_defaults(), context);
  return stages;
}

std::unique_ptr<Policy> PolicySpec::build(Yard& yard, std::uint64_t seed, FlowClasses flows,
                                          ReckoningListener* reckonings) const {
  const Params queue = params("queue");
  auto context = std::make_unique<PolicyContext>(
      yard,
      PolicySettings{.seed = seed,
                     .trial_limit = {queue.real("trial_share"), queue.duration("trial_window")},
                     .estimates = queue.choice("estimates"),
                     .error = queue.real("error"),
                     .patience = {queue.duration("patience"), queue.real("fair_wait")},
                     .overdue_share = queue.real("overdue_share"),
                     .trial_worth = queue.real("trial_worth"),
                     .has_critical = queue.choice("critical") == "first",
                     .reckonings = reckonings});
  auto policy = make(joints(), member("joint"), params("joint"), *context);
  if (!decides_jointly()) {
    auto staged = std::make_unique<StagedPolicy>(*context, stages(*context, flows));
    context->set_queue(staged->queue());
    if (policy) {
      policy = std::make_unique<MarketAndStages>(yard, std::move(policy), std::move(staged));
    } else {
      policy = std::move(staged);
    }
  }
  if (context->has_to_listen()) yard.listen(*context);
  yard.listen(*policy);
  policy->keep(std::move(context));
  return policy;
}

}  // namespace trainyard
