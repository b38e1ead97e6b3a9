// How what the daemon knows looks in JSON, for the API and for --json of the commands; docs/api.md
// describes it. Times are in seconds since the epoch, durations in seconds.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "live/service/service.h"

namespace trainyard {

/// `machines`: by MachineId. Never the environment: it is full of secrets.
nlohmann::json to_json(const JobRecord& job, const std::vector<MachineView>& machines);
/// What the curve that the job told tends to and how far it is; null where it has told too little.
nlohmann::json curve_fit_to_json(const ReportedCurve& curve);
/// The job stands for these tasks of its array too.
void add_folded(const ArrayTask& task, const std::vector<std::int32_t>& tasks,
                nlohmann::json& value);
nlohmann::json to_json(const Submitted& submitted);
nlohmann::json to_json(const WhyAnswer& why);
nlohmann::json to_json(const LiveOutlook& outlook);
/// Null if its middle is not known.
nlohmann::json to_json(const TimeBand& band);
nlohmann::json to_json(const ClusterView& cluster);
nlohmann::json to_json(const PolicyView& policy);
nlohmann::json to_json(const RetentionView& retention);
nlohmann::json to_json(const MachineFlows& flows);
/// `details` in it is an object; an empty one for what is none.
nlohmann::json to_json(const LiveEvent& event);

/// What is to be supposed: a job more, machines less, another policy.
Expected<OutlookQuestion> question_from_json(std::string_view text);
Expected<PolicyView> policy_from_json(std::string_view text);

/// What is not UTF-8 (a file name may be anything) is replaced rather than refused.
std::string dump(const nlohmann::json& value);

}  // namespace trainyard
