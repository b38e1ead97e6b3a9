// All policies by name. A policy is a line of text, "order=srtf place=best-fit preempt=none", with
// parameters as "place.wait_for=skewed"; a preset is such a line with a name. What a line leaves
// out is filled in: order=fifo backfill=none place=first-fit preempt=none flow=fair. A joint policy
// takes the place of all stages: "joint=equal-split"; but "joint=market joint.takes=open" only that
// of jobs whose size or kind of GPU is open.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "policy/members.h"
#include "policy/policy.h"
#include "policy/staged_policy.h"

namespace trainyard {

struct Preset {
  std::string name, line, summary, source;
};

/// What there is to choose from, as `trainyard policies` lists it: a stage; the joint policies, of
/// which the first leaves all to the stages; or parameters that all policies share, with a member
/// of their own name.
struct StageInfo {
  enum class Kind : std::uint8_t { stage, joint, shared };
  std::string name, question;
  std::vector<MemberInfo> members;  // the first is the default
  Kind kind = Kind::stage;
};

const std::vector<Preset>& presets();
const std::vector<StageInfo>& stage_infos();

/// A policy that has been checked: every name is known and every parameter parses.
class PolicySpec {
 public:
  /// `text` is a preset or a line; each of `settings` is "stage.param=value" and overrides it.
  static Expected<PolicySpec> parse(std::string_view text,
                                    const std::vector<std::string>& settings = {});

  /// The preset's name, or the line as it was written; with the settings that were given.
  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] const std::string& member(const std::string& stage) const {
    return members_.at(stage);
  }
  /// Whether one policy decides for all jobs at once, and no stage has a say.
  [[nodiscard]] bool decides_jointly() const;
  /// All parameters of a stage, defaults included.
  [[nodiscard]] Params params(const std::string& stage) const;

  [[nodiscard]] YardRules rules() const;
  /// True if it has a flow stage that would order bytes where flow classes are carried out.
  [[nodiscard]] bool orders_flows() const;
  /// The policy at work on this yard: it sees all that happens there from now on. `seed` is for
  /// members that draw lots; `reckonings`, if given, is told what pauses are expected to gain.
  [[nodiscard]] std::unique_ptr<Policy> build(Yard& yard, std::uint64_t seed, FlowClasses flows,
                                              ReckoningListener* reckonings = nullptr) const;

 private:
  Expected<void> read_line(std::string_view line);
  Expected<void> read_setting(std::string_view setting);
  Expected<void> check_settings() const;
  Expected<void> check_joint() const;
  [[nodiscard]] bool has_stages_beside() const;
  [[nodiscard]] Stages stages(PolicyContext& context, FlowClasses flows) const;

  std::string name_;
  std::map<std::string, std::string> members_;   // by stage
  std::map<std::string, std::string> settings_;  // by "stage.param"
  std::vector<std::string> of_stages_;           // what names stages, as it was written
};

}  // namespace trainyard
