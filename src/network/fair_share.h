// Who gets which share of the links: strict priority between classes, and within a class max-min
// fairness, so that no flow can be given more without taking from one that has no more than it.
//
// A flow has one rate x, which costs w x on each of its links, and may run at `most`. Its level on
// a link is the rate that this link lets it have, if nothing else limits it:
//
//   w level + sum over the other flows of its class there of  w' min(level, limit')  =  R
//
// R is what higher classes leave of the link, limit' what the other flow can have elsewhere: the
// least of its `most` and its levels on its other links. The rate is the least of `most` and all
// levels. These equations have one solution: the lowest level of all depends on no other, the next
// one only on that, and so on.
//
// Example: links A of 10 and B of 6; f on A, g on A and B, h on B with weight 2. B's level is 2
// (2 + 2 x 2 = 6), so g and h run at 2, and f gets what g leaves of A, 8.
//
// A flow that is sending only a share p of the time (its activity) takes p w' min(level, limit')
// from the others on average, and all of w level while it sends. Alone on a link of capacity C
// flows of weight 1 thus have C / (1 + the others' activities). A link never carries more than its
// capacity on average.
//
// A change is local. A link whose flows, limits or R have changed is looked at again; where that
// changes levels, the other links of those flows are, if it matters there. Lower levels go first,
// because they do not depend on higher ones, so that most links are looked at once or twice. Every
// level is found from its neighbours' present ones, so errors do not add up.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "base/ids.h"
#include "model/flow_class.h"
#include "network/levels.h"
#include "network/link_use.h"

namespace trainyard {

enum class FlowId : std::uint32_t {};

class FairShare {
 public:
  struct Options {
    /// The share of a link that the last class in use on it keeps for itself, as far as the flows
    /// of that class could use it if nothing else limited them; the others' R is that much smaller.
    double floor = 0;
    /// What sharing costs: where c flows of this and higher classes are active, a link of capacity
    /// C carries C c / (c + (c - 1) loss).
    double loss = 0;
    /// Levels that differ by less are not taken over. The default is what rounding leaves, which
    /// must not travel; more makes changes more local.
    double same = 1e-12;
  };

  /// What each link can carry, at least 0.
  explicit FairShare(const std::vector<double>& capacities);
  FairShare(const std::vector<double>& capacities, Options options);

  /// A link may be used twice, which adds up, or with weight 0, which is no use. A flow without
  /// links runs at `most`, which may be infinite. Activity is in (0, 1]. Ids of flows that were
  /// removed are given again.
  FlowId add(std::span<const LinkUse> links, double most, FlowClass flow_class,
             double activity = 1);
  void remove(FlowId flow);
  void set_class(FlowId flow, FlowClass flow_class);
  void set_activity(FlowId flow, double activity);

  /// Brings all rates up to date. Lists the flows that are new and those whose rate is not, to
  /// 1e-9, what it was when they were listed last. Valid until the next call.
  const std::vector<FlowId>& settle();

  // As of the last settle().
  [[nodiscard]] double rate(FlowId flow) const { return flows_[index(flow)].rate; }
  /// Of the link's capacity, on average over the time in which flows do not send.
  [[nodiscard]] double used(LinkId link) const;

 private:
  static constexpr double kUnlimited = std::numeric_limits<double>::infinity();
  static constexpr std::uint32_t kNoHop = std::numeric_limits<std::uint32_t>::max();

  /// A flow's passage over one link.
  struct Hop {
    std::uint32_t link;
    std::uint32_t queue;
    std::uint32_t place;  // among the queue's members
    double weight;
    double level;
  };
  struct FlowState {
    double rate = 0;                  // the least of `most` and all levels
    double next = 0;                  // the least but one
    double bar = 0;                   // a level from here on is as good as none, see relimit
    std::uint32_t tightest = kNoHop;  // whose level is the rate; none: `most` is
    FlowClass flow_class{};
    bool present = false;
    bool noted = false;  // in touched_
    double activity = 1;
    double most = 0;
    double listed = 0;  // the rate when it was listed last
    std::vector<Hop> hops;

    /// What limits it on its other links.
    [[nodiscard]] double limit_beside(std::uint32_t hop) const {
      return hop == tightest ? next : rate;
    }
  };
  struct Member {
    std::uint32_t flow;
    std::uint32_t hop;  // of the flow
    double weight;
    double level;  // the hop's, beside what is read with it
  };
  /// The flows of one class on one link. Most are wide: there is room for all that their flows can
  /// have elsewhere, so the link limits none of them, and is not looked at until the room is used
  /// up. (To look at every link of every flow that changes took ten times as long.)
  struct Queue {
    double due = kUnlimited;  // from which level on it must be looked at; never: unlimited
    double top = 0;           // no level of a member is higher
    double weight = 0;        // of all members
    double room = 0;          // R, a little less; the least if flows have different ones
    double wanted = 0;        // of it by all members on average; if it is wide
    double burst = 0;         // the most that one takes beyond that while it sends; if it is wide
    bool wide = false;
    bool last = true;  // of the link's classes
    FlowClass flow_class{};
    std::uint32_t link = 0;
    std::vector<Member> members;
  };
  /// A level, if all members were limited by this link alone; none of them can be lower.
  static double lowest_possible(const Queue& queue) {
    return queue.weight > 0 && queue.room > 0 ? queue.room / queue.weight : 0;
  }
  struct Link {
    double capacity;
    std::vector<std::uint32_t> queues;  // by class, none is empty
  };
  /// A queue that is due, unless that has changed since.
  struct Visit {
    FlowClass flow_class;
    double level;
    std::uint32_t queue;

    /// The first to be visited is the greatest.
    bool operator<(const Visit& other) const {
      if (flow_class != other.flow_class) return flow_class > other.flow_class;
      return level > other.level;
    }
  };
  void enter(std::uint32_t flow);
  void leave(std::uint32_t flow);
  std::uint32_t queue_for(std::uint32_t link, FlowClass flow_class);
  void drop_queue(std::uint32_t queue);
  void mark_last(const Link& link);

  void want(const FlowState& flow, const Hop& hop, double more);
  void weigh(std::uint32_t queue);
  void look_again(std::uint32_t queue);
  void disturb(const Hop& hop, double more);
  void leave_less(const Hop& hop, double less);
  void make_due(std::uint32_t queue, double level);
  [[nodiscard]] bool any_due();

  void find_levels(Queue& queue);
  void gather(const Queue& queue);
  [[nodiscard]] bool is_wide(Queue& queue) const;
  [[nodiscard]] double used_by(const Queue& queue) const;
  [[nodiscard]] double active_in(const Queue& queue) const;
  [[nodiscard]] double kept_for_last(const Queue& queue) const;

  void take_over(Queue& queue, double tolerance);
  void relimit(std::uint32_t flow);
  void tell(const FlowState& flow, const Hop& hop, double old_limit, double limit);
  void note(std::uint32_t flow);
  void list_changes();

  Options options_;
  std::vector<Link> links_;
  std::vector<Queue> queues_;
  std::vector<FlowState> flows_;
  std::vector<std::uint32_t> free_queues_, free_flows_;
  std::vector<Visit> visits_;           // a heap
  std::vector<std::uint32_t> touched_;  // flows that may have to be listed
  std::vector<FlowId> listed_;

  // Kept between calls so that nothing is allocated.
  std::vector<LinkUse> uses_;
  std::vector<Demand> demands_;
  LevelFinder finder_;
};

}  // namespace trainyard
