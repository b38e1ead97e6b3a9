#include "live/flow_agent/agent_metrics.h"

#include <fmt/format.h>

namespace trainyard {
namespace {

std::string head(const char* name, const char* type, const char* help) {
  return fmt::format("# HELP trainyard_flow_{0} {2}\n# TYPE trainyard_flow_{0} {1}\n", name, type,
                     help);
}

std::string one(const char* name, const char* type, const char* help, double value) {
  return head(name, type, help) + fmt::format("trainyard_flow_{} {}\n", name, value);
}

}  // namespace

std::string agent_metrics(const FlowAgent::Status& status, const FlowBytes& bytes, Time now) {
  std::string text = head("bytes_total", "counter", "Bytes that jobs sent, by their flow class.");
  for (std::size_t c = 0; c < bytes.by_class.size(); ++c)
    text += fmt::format("trainyard_flow_bytes_total{{class=\"{}\"}} {}\n", c, bytes.by_class[c]);
  text += head("job_bytes_total", "counter", "Bytes that a job's run sent while it was marked.");
  for (const auto& [name, sent] : bytes.by_job)
    text += fmt::format("trainyard_flow_job_bytes_total{{job=\"{}\",run=\"{}\"}} {}\n",
                        name.substr(0, name.find('_')), name.substr(name.find('_') + 1), sent);
  text += head("other_bytes_total", "counter", "Bytes of what is no marked job.") +
          fmt::format("trainyard_flow_other_bytes_total {}\n", bytes.other);
  const double age = status.heard ? (now - *status.heard).seconds() : -1;
  text += one("jobs", "gauge", "Jobs that the daemon says send from here.",
              static_cast<double>(status.jobs));
  text += one("marked_jobs", "gauge", "Those whose packets are marked.",
              static_cast<double>(status.marked));
  text += one("valid", "gauge", "1 while the daemon vouches for the state.", status.is_valid);
  text +=
      one("state_age_seconds", "gauge", "Since the daemon vouched for it; -1: it never did.", age);
  text += one("class_changes_total", "counter", "Times that a job's class changed.",
              static_cast<double>(status.class_changes));
  text += one("kernel_failures_total", "counter", "Changes that the kernel refused.",
              static_cast<double>(status.failures));
  return text;
}

}  // namespace trainyard
