// A run as a timeline in the Chrome trace format, which Perfetto and chrome://tracing open: a
// process for each machine, a row in it for each GPU, a bar for each phase in which a job held it,
// and for each flow class in which it did. Where jobs share a network, another process with a
// counter for each link that was used: what of its capacity.
#pragma once

#include <ostream>
#include <unordered_map>
#include <utility>
#include <vector>

#include "network/shared_network.h"
#include "yard/yard.h"

namespace trainyard {

/// Which part of a run: what is outside is left out, and bars end at its edges.
struct TimeWindow {
  Time from;
  Time to = Time::never();
};

/// Writes bars as they end; listens to the yard from before the first event on.
class Timeline final : public YardListener {
 public:
  Timeline(const Yard& yard, std::ostream& out, TimeWindow window = {});

  void on_phase(JobId job, Phase from, Phase to) override;
  void on_flow(JobId job) override;
  /// All that happens at this instant has happened.
  void note_links(const SharedNetwork& network);
  /// The bars that have not ended, and the end of the file.
  void finish();

 private:
  struct Bar {
    Phase phase{};
    FlowClass flow{};
    Time since;
    std::vector<std::pair<MachineId, std::int32_t>> rows;  // a GPU of a machine each
  };

  void name_rows();
  void open(JobId job, Phase phase);
  void close(JobId job);
  void write(const std::string& event);

  const Yard& yard_;
  std::ostream& out_;
  TimeWindow window_;
  bool first_ = true;
  std::vector<double> shares_;  // of each link's capacity, as last written
  std::unordered_map<JobId, Bar> bars_;
};

}  // namespace trainyard
