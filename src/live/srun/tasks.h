// The processes of a step while they run. One thread; the process must have no other children.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/time.h"
#include "live/srun/step_environment.h"
#include "live/system/files.h"

namespace trainyard {

class Tasks {
 public:
  Tasks(Step step, const Variables& variables);

  /// All of them, or none.
  Expected<void> start();
  /// Until all have ended. The highest status.
  int wait();

 private:
  /// One of a task's two outputs that is read by us, to have its lines labelled.
  struct Stream {
    Descriptor from;
    int to = -1;
    std::string label, line;
  };
  struct Task {
    pid_t pid = 0;
    bool ended = false;
  };
  void listen_to_signals();
  Expected<int> file_of(const std::string& pattern, std::int32_t rank);
  Expected<Descriptor> labelled(int to, std::int32_t rank);
  Expected<void> start_task(std::int32_t rank);
  void wait_for_events();
  void pass_on_signals();
  static void put(const Stream& stream, std::string_view text);
  void pump(Stream& stream);
  void reap();
  void on_end(std::size_t rank, int status);
  void signal_all(int number) const;
  void end_in_time();
  void clear_rest();

  Step step_;
  const Variables& variables_;
  std::vector<Task> tasks_;
  std::vector<Stream> streams_;
  std::map<std::string, Descriptor> files_;  // by name
  Descriptor signals_;
  std::size_t left_ = 0;
  int status_ = 0;
  Time end_at_ = Time::never(), kill_at_ = Time::never();
};

}  // namespace trainyard
