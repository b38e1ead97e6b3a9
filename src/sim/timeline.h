// A run as a timeline in the Chrome trace format, which Perfetto and chrome://tracing open: a
// process for each machine, a row in it for each GPU, a bar for each phase in which a job held it.
#pragma once

#include <ostream>
#include <unordered_map>
#include <utility>
#include <vector>

#include "yard/yard.h"

namespace trainyard {

/// Writes bars as they end; listens to the yard from before the first event on.
class Timeline final : public YardListener {
 public:
  Timeline(const Yard& yard, std::ostream& out);

  void on_phase(JobId job, Phase from, Phase to) override;
  /// The bars that have not ended, and the end of the file.
  void finish();

 private:
  struct Bar {
    Phase phase{};
    Time since;
    std::vector<std::pair<MachineId, std::int32_t>> rows;  // a GPU of a machine each
  };

  void name_rows();
  void open(JobId job, Phase phase);
  void close(JobId job);
  void write(const std::string& event);

  const Yard& yard_;
  std::ostream& out_;
  bool first_ = true;
  std::unordered_map<JobId, Bar> bars_;
};

}  // namespace trainyard
