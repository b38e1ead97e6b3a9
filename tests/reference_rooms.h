// queue.trial_rooms of the reference: what is kept free for trial jobs to come. All that is known
// of them is counted anew whenever it is asked for.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "reference_state.h"

namespace trainyard::reference {

class TrialRooms {
 public:
  TrialRooms(const State& state, const Settings& settings) : state_(state), set_(settings) {}

  /// The machines that have most of a room are looked for once in a round.
  void begin_round() { sites_.clear(); }
  /// Whether this job, in a place that others leave to it or that is free, takes nothing of them.
  [[nodiscard]] bool are_left_by(std::size_t j, const Spots& spots, const Jobs& leaving);
  /// Without the machines where one is kept from this job.
  [[nodiscard]] Free outside(std::size_t j, Free free);
  [[nodiscard]] Time next_look() const;

 private:
  struct Site {
    std::size_t machine;
    double rooms;
  };
  struct Kept {
    KindId kind;
    std::size_t machine;
    Resources each;
    double rooms;
  };

  [[nodiscard]] bool asks_for(std::size_t j, KindId kind) const;
  [[nodiscard]] Jobs trial_jobs(KindId kind) const;
  [[nodiscard]] std::vector<double> waits(KindId kind) const;
  [[nodiscard]] std::vector<KindId> kinds() const;
  [[nodiscard]] std::int32_t times_in_all(const Resources& each, std::int32_t workers, double part,
                                          std::optional<std::size_t> beside) const;
  [[nodiscard]] Gang room(const Jobs& trials) const;
  [[nodiscard]] double back_after_s(const Jobs& trials) const;
  [[nodiscard]] std::int32_t number(const Jobs& trials, std::size_t from) const;
  [[nodiscard]] std::vector<Site> sites_for(const Jobs& trials) const;
  [[nodiscard]] std::vector<Kept> kept_from(std::size_t j);

  const State& state_;
  const Settings& set_;
  std::map<KindId, std::vector<Site>> sites_;
};

}  // namespace trainyard::reference
