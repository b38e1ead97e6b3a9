#include "sim/timeline.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

namespace trainyard {
namespace {

std::string json_string(const std::string& text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace

Timeline::Timeline(const Yard& yard, std::ostream& out, TimeWindow window)
    : yard_(yard), out_(out), window_(window) {
  out_ << "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n";
  name_rows();
}

void Timeline::name_rows() {
  for (std::size_t m = 0; m < yard_.cluster().machines.size(); ++m) {
    const Machine& machine = yard_.cluster().machines[m];
    const std::string& kind = yard_.cluster().kinds[index(machine.kind)];
    write(fmt::format(
        R"({{"ph":"M","pid":{},"name":"process_name","args":{{"name":{}}}}})", m,
        json_string(fmt::format("{} ({} {})", machine.name, machine.capacity.gpus, kind))));
    for (std::int32_t gpu = 0; gpu < machine.capacity.gpus; ++gpu)
      write(fmt::format(
          R"({{"ph":"M","pid":{},"tid":{},"name":"thread_name","args":{{"name":"GPU {}"}}}})", m,
          gpu, gpu));
  }
}

void Timeline::write(const std::string& event) {
  if (!first_) out_ << ",\n";
  first_ = false;
  out_ << event;
}

void Timeline::on_phase(JobId job, Phase from, Phase to) {
  if (holds_gpus(from)) close(job);
  if (holds_gpus(to)) open(job, to);
}

void Timeline::on_flow(JobId job) {
  const auto bar = bars_.find(job);
  if (bar == bars_.end()) return;  // its room is being made
  const Phase phase = bar->second.phase;
  close(job);
  open(job, phase);
}

void Timeline::note_links(const SharedNetwork& network) {
  constexpr double kVisible = 0.001;
  if (yard_.now() < window_.from || yard_.now() > window_.to) return;
  const std::vector<SharedNetwork::LinkLoad> loads = network.loads();
  const std::size_t process = yard_.cluster().machines.size();
  if (shares_.empty()) {
    write(fmt::format(R"({{"ph":"M","pid":{},"name":"process_name","args":{{"name":"network"}}}})",
                      process));
    shares_.resize(loads.size());
  }
  for (std::size_t i = 0; i < loads.size(); ++i) {
    const double share = loads[i].capacity > 0 ? loads[i].used / loads[i].capacity : 0;
    if (std::abs(share - shares_[i]) < kVisible) continue;
    shares_[i] = share;
    write(fmt::format(R"({{"ph":"C","pid":{},"ts":{},"name":{},"args":{{"used":{:.3f}}}}})",
                      process, yard_.now().us, json_string(network.links().name(loads[i].link)),
                      share));
  }
}

void Timeline::open(JobId job, Phase phase) {
  Bar& bar = bars_[job];
  bar.phase = phase;
  bar.flow = yard_.flow(job);
  bar.since = yard_.now();
  bar.rows.clear();
  const Placement& placement = yard_.placement(job);
  for (std::size_t i = 0; i < placement.size(); ++i)
    for (const std::int32_t gpu : yard_.gpus(job, i))
      bar.rows.emplace_back(placement[i].machine, gpu);
}

void Timeline::close(JobId job) {
  const auto found = bars_.find(job);
  const Bar& bar = found->second;
  const Time since = std::max(bar.since, window_.from);
  const Duration length = std::min(yard_.now(), window_.to) - since;
  if (length.us > 0) {
    const std::string title =
        yard_.workload().job_name(job) +
        (bar.phase == Phase::running ? "" : fmt::format(" ({})", name(bar.phase)));
    const std::string text = json_string(title);
    for (const auto& [machine, gpu] : bar.rows)
      write(fmt::format(
          R"({{"ph":"X","pid":{},"tid":{},"ts":{},"dur":{},"name":{},"cat":"{},{}","args":{{"flow class":{}}}}})",
          index(machine), gpu, since.us, length.us, text, name(yard_.job(job).job_class),
          name(bar.phase), index(bar.flow)));
  }
  bars_.erase(found);
}

void Timeline::finish() {
  std::vector<JobId> open;
  for (const auto& [job, bar] : bars_) open.push_back(job);
  std::sort(open.begin(), open.end());
  for (const JobId job : open) close(job);
  out_ << "\n]}\n";
}

}  // namespace trainyard
