// A network that the running jobs share: how long an iteration of each takes while others send over
// the same links. Two granularities behind one interface:
//
//   fluid      A job's on-off traffic is averaged. It sends for a share p of its iteration; whoever
//              sends at the same time meets it with that probability. The shares depend on the
//              rates and the rates on the shares, so both are brought to where they agree. Nothing
//              happens between two changes, which makes it fit for long traces.
//   iteration  Every iteration of every job is played: it computes, sends its flow as far as that
//              may overlap, and goes on when both are over. For short studies.
//
// An iteration of a job that computes for c, may hide communication behind a share o of that, and
// whose communication takes r at its present rate, takes c + max(r - o c, r / 20), as in
// perf/speed.h; in the iteration model: after (1 - o) c it begins to send, and a twentieth of its
// bytes is ready only when computing is over.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/ids.h"
#include "base/time.h"
#include "model/cluster.h"
#include "model/flow_class.h"
#include "network/flow.h"
#include "perf/placement_speed.h"

namespace trainyard {

/// What a job does in an iteration.
struct IterationWork {
  Flow flow;  // one without links shares nothing
  double compute_s = 0;
  double overlap = 0;  // the share of the computing that can hide communication

  /// When its streams go at so many bytes/s; infinite at 0.
  [[nodiscard]] double total_s(double rate) const;
  [[nodiscard]] double alone_s() const { return total_s(flow.most); }
};

/// The model of the iteration is known.
IterationWork work_of(const Links& links, const Cluster& cluster, const Placement& placement,
                      std::int32_t gpus_per_worker, const Iteration& iteration);

struct NetworkOptions {
  enum class Model : std::uint8_t { none, fluid, iteration };
  Model model = Model::none;  // none: jobs do not disturb each other
  double loss = 0;            // of a link's capacity by sharing, see fair_share.h
  double jitter = 0;          // relative deviation of the computing, from iteration to iteration
  double steps = 0;           // of a collective, one after the other; 0: its bytes are one stream
  double same = 1e-3;         // of model fluid: shares of time and paces closer than this are equal

  bool operator==(const NetworkOptions&) const = default;
};

/// "alone", "shared", "shared,model=iteration,jitter=0.05,loss=0.3".
Expected<NetworkOptions> parse_network(std::string_view text);

class SharedNetwork {
 public:
  virtual ~SharedNetwork() = default;

  /// A job begins to iterate, so many times; it has links. It is heard of again after so many
  /// iterations, and every so many from then on.
  struct Arrival {
    JobId job = kNoJob;
    IterationWork work;
    FlowClass flow = kFirstFlow;
    double iterations = 0;
    double first_report = 0, report_every = 0;
  };
  virtual void join(Time now, Arrival arrival) = 0;
  virtual void leave(Time now, JobId job) = 0;
  virtual void set_class(Time now, JobId job, FlowClass flow) = 0;

  /// Goes on to `limit`, or to where there is something to report; returns how far it came.
  virtual Time run_until(Time limit) = 0;

  struct Pace {
    JobId job = kNoJob;
    double iteration_s = 0;  // that one takes from now on, as far as can be told
    double iterations = 0;   // that it has done since it joined; 0 in the fluid model
    bool is_over = false;    // it has done all; it has left
  };
  /// Of the jobs whose pace has changed since the last call, or who have done their share.
  virtual void take(std::vector<Pace>& paces) = 0;

  /// What is sent over a link now, on average, and what could be; in bytes/s.
  struct LinkLoad {
    LinkId link{};
    double used = 0, capacity = 0;
  };
  [[nodiscard]] virtual std::vector<LinkLoad> loads() const = 0;
  [[nodiscard]] virtual const Links& links() const = 0;
};

/// For those who make one. What a collective sends up a link it also sends down (flow.h), so the
/// links that lead up stand for both ways.
class FairShare;
std::vector<LinkUse> ways_up(const Flow& flow);
std::vector<SharedNetwork::LinkLoad> loads_of(const Links& links, const FairShare& share);

std::unique_ptr<SharedNetwork> make_fluid_network(const Links& links, const NetworkOptions& options,
                                                  const FlowRules& rules);
std::unique_ptr<SharedNetwork> make_iteration_network(const Links& links,
                                                      const NetworkOptions& options,
                                                      const FlowRules& rules, std::uint64_t seed);

}  // namespace trainyard
