#include "policy/estimator.h"

#include <array>
#include <cmath>
#include <map>
#include <utility>

#include "base/grow.h"
#include "policy/declarations.h"
#include "policy/residual.h"

namespace trainyard {
namespace {

class Declared final : public Estimator {
 public:
  using Estimator::Estimator;

  [[nodiscard]] Duration remaining(JobId job) const override {
    return yard_.expected_remaining(job);
  }
  [[nodiscard]] Time rank(JobId job) const override { return yard_.expected_end(job); }
  [[nodiscard]] bool is_declared() const override { return true; }
};

/// Estimates of the whole that are made once, when a job is submitted.
class AtSubmission : public Estimator {
 public:
  using Estimator::Estimator;

  [[nodiscard]] Duration remaining(JobId job) const override {
    return yard_.expected_remaining(job, estimates_[index(job)]);
  }
  [[nodiscard]] Time rank(JobId job) const override {
    return yard_.expected_end(job, estimates_[index(job)]);
  }
  void on_phase(JobId job, Phase from, Phase to) override {
    if (to == Phase::done) finished(job);
    if (from != Phase::absent) return;
    grow_to(estimates_, index(job), yard_.workload().jobs.size());
    set(job, estimate(job));
  }
  void save_learnt(Learnt& learnt) const override {
    JobNotes notes(learnt, kName, 1);
    for (std::size_t j = 0; j < estimates_.size(); ++j)
      if (const JobId job{static_cast<std::uint32_t>(j)}; !has_ended(yard_.state(job).phase))
        notes.add(job, {number_of(estimates_[j])});
  }
  void recall_jobs(const Learnt& learnt) override {
    each_note(learnt, kName, 1, estimates_.size(), [&](JobId job, std::span<const double> kept) {
      set(job, std::min(duration_of(kept[0]), kLongestDuration));
    });
  }

 protected:
  void set(JobId job, Duration estimate) {
    estimates_[index(job)] = std::max(estimate, microseconds(1));
  }
  [[nodiscard]] virtual Duration estimate(JobId job) = 0;
  virtual void finished(JobId /*job*/) {}

 private:
  static constexpr const char* kName = "estimates";

  std::vector<Duration> estimates_;  // by job
};

class WithError final : public AtSubmission {
 public:
  WithError(const Yard& yard, double error, std::uint64_t seed)
      : AtSubmission(yard), declarations_(yard, error, seed) {}
  [[nodiscard]] bool is_declared() const override { return true; }
  void on_estimate(JobId job) override { set(job, declarations_.of(job)); }
  void save_learnt(Learnt& learnt) const override {
    AtSubmission::save_learnt(learnt);
    declarations_.save_learnt(learnt);
  }
  void recall_jobs(const Learnt& learnt) override {
    AtSubmission::recall_jobs(learnt);
    declarations_.recall_jobs(learnt);
  }

 private:
  Duration estimate(JobId job) override {
    declarations_.on_submission(job);
    return declarations_.of(job);
  }

  Declarations declarations_;
};

class History final : public AtSubmission {
 public:
  using AtSubmission::AtSubmission;

  /// By the names of users.
  void save_learnt(Learnt& learnt) const override {
    AtSubmission::save_learnt(learnt);
    for (const auto& [of, seen] : seen_)
      learnt[fmt::format("{}{}/{}", kName, of.second, of.first)] = {seen.sum_us, seen.count};
  }
  void recall(const Learnt& learnt) override {
    each_learnt(learnt, kName, [&](std::string_view name, std::span<const double> kept) {
      int gpus = 0;
      std::string_view user;
      if (kept.size() == 2 && kept[1] >= 1 && split_number(name, gpus, user))
        seen_[{std::string(user), gpus}] = {kept[0], kept[1]};
    });
  }

 private:
  struct Seen {
    double sum_us = 0;
    double count = 0;
  };

  Duration estimate(JobId id) override {
    for (const Key& key : keys_of(yard_.job(id)))
      if (const auto seen = seen_.find(key); seen != seen_.end())
        return Duration{std::llround(seen->second.sum_us / seen->second.count)};
    return kAssumedTime;
  }

  void finished(JobId id) override {
    const auto took_us = static_cast<double>(yard_.state(id).done.us);
    for (const Key& key : keys_of(yard_.job(id))) {
      Seen& seen = seen_[key];
      seen.sum_us += took_us;
      ++seen.count;
    }
  }

  using Key = std::pair<std::string, std::int32_t>;  // a user, and how many GPUs
  static constexpr const char* kName = "history/";
  static constexpr std::int32_t kAny = -1;

  /// Its user's jobs of its size, all of its user's, everybody's.
  [[nodiscard]] std::array<Key, 3> keys_of(const Job& job) const {
    const Names& users = yard_.workload().users;
    const std::size_t number = index(job.user);
    const std::string user =
        number < users.size() ? "=" + users[number] : "#" + std::to_string(number);
    return {Key{user, job.gpus()}, Key{user, kAny}, Key{"", kAny}};
  }

  std::map<Key, Seen> seen_;
};

/// Left is what was done so far, so a running job's grows with the clock.
class Attained final : public Estimator {
 public:
  using Estimator::Estimator;

  [[nodiscard]] Duration remaining(JobId job) const override {
    return std::max(yard_.attained(job), microseconds(1));
  }
  [[nodiscard]] Time rank(JobId job) const override { return rank_of(yard_.attained(job)); }
  [[nodiscard]] Time rank_of(Duration left) const override {
    return Time{left.us - yard_.now().us};
  }
  [[nodiscard]] Duration left_at(Time rank) const override {
    return Duration{rank.us + yard_.now().us};
  }
  [[nodiscard]] bool grows() const override { return true; }
};

}  // namespace

std::unique_ptr<Estimator> make_estimator(const Yard& yard, std::string_view name, double error,
                                          std::uint64_t seed) {
  if (name == "attained") return std::make_unique<Attained>(yard);
  if (name == "history") return std::make_unique<History>(yard);
  if (name == "residual") return std::make_unique<Residual>(yard, error, seed);
  if (error > 0) return std::make_unique<WithError>(yard, error, seed);
  return std::make_unique<Declared>(yard);
}

}  // namespace trainyard
