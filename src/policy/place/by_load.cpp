// Placements that go by how much work lies on a machine: the remaining service (time left x GPUs
// there) of the jobs that hold its GPUs. A GPU here is one job's alone, so that free GPUs differ by
// their machines only.
//   lwf     Least workload first: a job of more than k GPUs goes to the machines with the least
//           work, each filled before the next, so that it touches few; a smaller one takes a GPU
//           after the other on the machine with the least, wherever that is. With k as large as the
//           cluster it is list scheduling.
//   random  GPUs drawn by lot, one worker after the other: what placement is worth.
#include <algorithm>
#include <numeric>

#include "base/random.h"
#include "policy/members.h"
#include "policy/place/machines.h"

namespace trainyard {
namespace {

/// Where a gang is put together worker by worker: as many on a machine as were dealt to it.
class Dealer {
 public:
  Dealer(const Yard& yard, const Shape& shape, const Avoid* avoid) {
    const CountIndex& machines = yard.free().of(shape.kind).machines;
    const auto gpus = static_cast<std::size_t>(shape.per_worker.gpus);
    for (std::size_t m = machines.next(0, gpus); m != CountIndex::kNone;
         m = machines.next(m + 1, gpus)) {
      if (avoid != nullptr && (*avoid)[m]) continue;
      const MachineId machine{static_cast<std::uint32_t>(m)};
      const std::int32_t slots = shape.fitting(machine, yard.free().on(machine), shape.workers);
      if (slots > 0) open_.push_back({machine, slots, 0});
      slots_ += slots;
    }
  }

  struct Open {
    MachineId machine;
    std::int32_t slots = 0;    // for workers
    std::int32_t workers = 0;  // dealt to it
  };
  [[nodiscard]] std::vector<Open>& open() { return open_; }
  [[nodiscard]] std::int64_t slots() const { return slots_; }

  void write(Placement& out) const {
    out.clear();
    for (const Open& machine : open_)
      if (machine.workers > 0) out.push_back({machine.machine, machine.workers});
  }

 private:
  std::vector<Open> open_;
  std::int64_t slots_ = 0;
};

class LeastWorkloadFirst final : public PlaceStage {
 public:
  LeastWorkloadFirst(const Params& params, PolicyContext& context)
      : PlaceStage(params, context), estimates_(context.estimates()), k_(params.whole("k")) {}

  bool find(JobId job, const Avoid* avoid, Placement& out) override {
    const Shape& shape = yard_.shape(job);
    Dealer dealer(yard_, shape, avoid);
    out.clear();
    if (dealer.slots() < shape.workers) return false;
    find_loads(dealer.open());
    if (shape.gpus() > k_) {
      fill(dealer.open(), shape.workers);
    } else {
      const Duration service = estimates_.remaining(job) * shape.per_worker.gpus;
      deal(dealer.open(), shape.workers, service);
    }
    dealer.write(out);
    return true;
  }

 private:
  /// By machine, those that are open: remaining service in GPU time. Whole numbers, so that what is
  /// equal stays so in whatever order it is summed up.
  void find_loads(const std::vector<Dealer::Open>& open) {
    loads_.resize(yard_.cluster().machines.size());
    for (const Dealer::Open& machine : open) {
      Duration load;
      for (const JobId job : yard_.jobs_on(machine.machine)) {
        for (const Share& share : yard_.placement(job))
          if (share.machine == machine.machine)
            load += estimates_.remaining(job) *
                    (std::int64_t{share.workers} * yard_.job(job).per_worker.gpus);
      }
      loads_[index(machine.machine)] = load;
    }
  }

  [[nodiscard]] Duration& load(const Dealer::Open& machine) {
    return loads_[index(machine.machine)];
  }

  void fill(std::vector<Dealer::Open>& open, std::int32_t left) {
    std::ranges::stable_sort(open, {}, [&](const Dealer::Open& m) { return load(m); });
    for (Dealer::Open& machine : open) {
      machine.workers = std::min(machine.slots, left);
      left -= machine.workers;
    }
  }

  /// Each worker adds to the load of its machine.
  void deal(std::vector<Dealer::Open>& open, std::int32_t left, Duration service) {
    for (; left > 0; --left) {
      Dealer::Open* least = nullptr;
      for (Dealer::Open& machine : open)
        if (machine.workers < machine.slots && (least == nullptr || load(machine) < load(*least)))
          least = &machine;
      ++least->workers;
      load(*least) += service;
    }
  }

  const Estimator& estimates_;
  std::int64_t k_;
  std::vector<Duration> loads_;
};

class RandomPlaces final : public PlaceStage {
 public:
  RandomPlaces(const Params& params, PolicyContext& context)
      : PlaceStage(params, context), start_(context.seed(), kStream), random_(start_) {}

  bool find(JobId job, const Avoid* avoid, Placement& out) override {
    const Shape& shape = yard_.shape(job);
    Dealer dealer(yard_, shape, avoid);
    out.clear();
    std::int64_t slots = dealer.slots();
    if (slots < shape.workers) return false;
    for (std::int32_t left = shape.workers; left > 0; --left, --slots) {
      auto drawn = static_cast<std::int64_t>(random_.below(static_cast<std::uint64_t>(slots)));
      for (Dealer::Open& machine : dealer.open()) {
        drawn -= machine.slots - machine.workers;
        if (drawn >= 0) continue;
        ++machine.workers;
        break;
      }
    }
    dealer.write(out);
    return true;
  }

  void save_learnt(Learnt& learnt) const override {
    learnt[kName] = {static_cast<double>(random_.drawn_since(start_))};
  }
  void recall(const Learnt& learnt, Time /*now*/) override {
    each_learnt(learnt, kName, [&](std::string_view rest, std::span<const double> drawn) {
      if (rest.empty() && drawn.size() == 1)
        random_.skip(static_cast<std::uint64_t>(std::min(drawn[0], 9e15)));
    });
  }

 private:
  static constexpr std::uint64_t kStream = 302;
  static constexpr const char* kName = "random places";
  Random start_, random_;
};

}  // namespace

Member<PlaceStage> place_lwf() {
  return {{"lwf",
           "the machines with the least work left, each filled before the next; jobs of up to k "
           "GPUs a GPU after the other",
           "LWF-k of Wang et al., Ada-SRSF; as our summary of it says",
           {{"k", ParamType::whole, "1",
             "up to so many GPUs a job is not held together; as many as the cluster has: list "
             "scheduling"}}},
          make_member<PlaceStage, LeastWorkloadFirst>};
}

Member<PlaceStage> place_random() {
  return {{"random", "free GPUs drawn by lot", "a baseline of LWF's study"},
          make_member<PlaceStage, RandomPlaces>};
}

}  // namespace trainyard
