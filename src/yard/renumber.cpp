// The engine's own choice of GPUs. The yard orders numbers, and an engine that goes through a
// cluster's manager may have to take what that gives it. Two jobs that start at once may get each
// other's: so what is asked for is exchanged with jobs that do not run yet.
#include <algorithm>
#include <bit>

#include "yard/yard.h"

namespace trainyard {
namespace {

bool runs(Phase phase) {
  return phase == Phase::running || phase == Phase::draining;
}

/// As bits; empty when one is named twice, or beyond the words.
std::vector<std::uint64_t> bits_of(const std::vector<std::int32_t>& gpus, std::size_t words) {
  std::vector<std::uint64_t> bits(words, 0);
  for (const std::int32_t gpu : gpus) {
    const std::size_t word = static_cast<std::size_t>(gpu) / 64;
    if (gpu < 0 || word >= words || (bits[word] >> (gpu % 64) & 1) != 0) return {};
    bits[word] |= 1ULL << (gpu % 64);
  }
  return bits;
}

/// The lowest `count` of the bits in `from`, which lose them.
std::vector<std::uint64_t> take_bits(std::span<std::uint64_t> from, int count) {
  std::vector<std::uint64_t> taken(from.size(), 0);
  for (std::size_t w = 0; w < from.size(); ++w)
    for (; count > 0 && from[w] != 0; --count) {
      const std::uint64_t lowest = from[w] & (~from[w] + 1);
      taken[w] |= lowest, from[w] &= ~lowest;
    }
  return taken;
}

}  // namespace

Verdict Yard::check_chosen(JobId job, std::span<const std::vector<std::int32_t>> gpus) const {
  if (index(job) >= states_.size()) return Verdict::no_such_subject;
  if (!holds_gpus(state(job).phase)) return Verdict::wrong_phase;
  const Run& run = runs_[state(job).run];
  if (gpus.size() != run.shares.size()) return Verdict::wrong_gang;
  for (std::size_t i = 0; i < gpus.size(); ++i) {
    const Share& share = run.shares[i];
    if (std::ssize(gpus[i]) != std::int64_t{share.workers} * each(run, i).gpus)
      return Verdict::wrong_gang;
    const std::vector<std::uint64_t> wanted = bits_of(gpus[i], gpu_words_);
    const auto most = cluster_.machine(share.machine).capacity.gpus;
    if (wanted.empty() || std::ranges::any_of(gpus[i], [&](auto gpu) { return gpu >= most; }))
      return Verdict::wrong_gang;
    for (const JobId other : jobs_on(share.machine)) {
      if (other == job || !runs(state(other).phase)) continue;
      const Run& theirs = runs_[state(other).run];
      for (std::size_t k = 0; k < theirs.shares.size(); ++k)
        for (std::size_t w = 0; theirs.shares[k].machine == share.machine && w < gpu_words_; ++w)
          if ((theirs.gpu_masks[k * gpu_words_ + w] & wanted[w]) != 0) return Verdict::no_room;
    }
  }
  return Verdict::ok;
}

Verdict Yard::renumber(JobId job, std::span<const std::vector<std::int32_t>> gpus) {
  if (const Verdict verdict = check_chosen(job, gpus); verdict != Verdict::ok) return verdict;
  Run& run = runs_[state(job).run];
  for (std::size_t i = 0; i < gpus.size(); ++i) exchange_gpus(run, i, bits_of(gpus[i], gpu_words_));
  tell_of_room(job);
  return Verdict::ok;
}

void Yard::exchange_gpus(Run& run, std::size_t share, std::span<const std::uint64_t> wanted) {
  const MachineId machine = run.shares[share].machine;
  const auto own = std::span(run.gpu_masks).subspan(share * gpu_words_, gpu_words_);
  const auto free = std::span(free_gpus_).subspan(index(machine) * gpu_words_, gpu_words_);
  std::vector<std::uint64_t> given_up(gpu_words_);
  for (std::size_t w = 0; w < gpu_words_; ++w) {
    given_up[w] = own[w] & ~wanted[w];
    free[w] &= ~wanted[w];
  }
  std::vector<std::uint32_t> others;
  for (const JobId other : jobs_on(machine))
    if (other != run.job) others.push_back(state(other).run);
  for (const JobId other : moving_) others.push_back(room_of(other));
  for (const std::uint32_t other : others) {
    Run& theirs = runs_[other];
    for (std::size_t k = 0; k < theirs.shares.size(); ++k) {
      if (theirs.shares[k].machine != machine) continue;
      int lost = 0;
      for (std::size_t w = 0; w < gpu_words_; ++w) {
        std::uint64_t& mask = theirs.gpu_masks[k * gpu_words_ + w];
        lost += std::popcount(mask & wanted[w]);
        mask &= ~wanted[w];
      }
      const std::vector<std::uint64_t> instead = take_bits(given_up, lost);
      for (std::size_t w = 0; w < gpu_words_; ++w)
        theirs.gpu_masks[k * gpu_words_ + w] |= instead[w];
      if (lost > 0) tell_of_room(theirs.job);
    }
  }
  for (std::size_t w = 0; w < gpu_words_; ++w) {
    own[w] = wanted[w];
    free[w] |= given_up[w];
  }
}

}  // namespace trainyard
