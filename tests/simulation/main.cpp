// Simulated daemons, one for each seed (simulation.h).
//
//   simulation seeds FIRST COUNT       so many seeds, on all cores
//   simulation seconds SECONDS FIRST   for so long
//   simulation replay SEED             one, with every step of it
//   simulation first-open              every death while the journal is made for the first time
//   simulation pauses FIRST COUNT      jobs that are paused again and again, so many seeds under
//                                      every preset (pauses.h)
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>

#include "first_open.h"
#include "pauses.h"
#include "policy/registry.h"
#include "simulation.h"

namespace trainyard {
namespace {

using Clock = std::chrono::steady_clock;

struct Sums {
  std::uint64_t seeds = 0, steps = 0, daemons = 0, deaths = 0, jobs = 0, disk_acts = 0, wrong = 0;
};

/// What one process found, which it writes into a pipe.
Sums run_some(std::uint64_t first, std::uint64_t stride, std::uint64_t count, double limit) {
  const auto begin = Clock::now();
  Sums sums;
  for (std::uint64_t i = 0; i < count; i += stride) {
    if (std::chrono::duration<double>(Clock::now() - begin).count() > limit) break;
    const std::uint64_t seed = first + i;
    const SimulationResult result = DaemonSimulation(seed, false).run();
    ++sums.seeds, sums.steps += result.steps, sums.daemons += result.daemons;
    sums.deaths += result.deaths, sums.jobs += result.jobs, sums.disk_acts += result.disk_acts;
    if (result.wrong.empty()) continue;
    ++sums.wrong;
    std::printf("seed %llu, step %llu: %s\n  again, step by step: ./yard simulate replay %llu\n",
                static_cast<unsigned long long>(seed),
                static_cast<unsigned long long>(result.steps), result.wrong.c_str(),
                static_cast<unsigned long long>(seed));
    std::fflush(stdout);
  }
  return sums;
}

/// A process for each core: SQLite knows one disk at a time.
int run_all(std::uint64_t first, std::uint64_t count, double limit) {
  const auto begin = Clock::now();
  const std::uint64_t cores = std::max(1U, std::thread::hardware_concurrency());
  int ends[2];
  if (::pipe(ends) != 0) return 1;
  for (std::uint64_t core = 0; core < cores; ++core) {
    if (::fork() != 0) continue;
    const Sums sums = core < count ? run_some(first + core, cores, count - core, limit) : Sums{};
    const bool told = ::write(ends[1], &sums, sizeof sums) == sizeof sums;
    std::_Exit(told ? 0 : 1);
  }
  ::close(ends[1]);
  Sums all, one;
  bool is_whole = true;
  while (::read(ends[0], &one, sizeof one) == sizeof one)
    all.seeds += one.seeds, all.steps += one.steps, all.daemons += one.daemons,
        all.deaths += one.deaths, all.jobs += one.jobs, all.disk_acts += one.disk_acts,
        all.wrong += one.wrong;
  for (int status = 0; ::wait(&status) > 0;) is_whole = is_whole && status == 0;
  const double took = std::chrono::duration<double>(Clock::now() - begin).count();
  std::printf(
      "%llu seeds from %llu on in %.1f s, %.1f a second: %llu steps, %llu daemons of which %llu "
      "died, %llu jobs, %llu writes and syncs; %llu seeds went wrong\n",
      static_cast<unsigned long long>(all.seeds), static_cast<unsigned long long>(first), took,
      static_cast<double>(all.seeds) / took, static_cast<unsigned long long>(all.steps),
      static_cast<unsigned long long>(all.daemons), static_cast<unsigned long long>(all.deaths),
      static_cast<unsigned long long>(all.jobs), static_cast<unsigned long long>(all.disk_acts),
      static_cast<unsigned long long>(all.wrong));
  if (!is_whole) std::printf("a simulation ended before its time\n");
  return all.wrong == 0 && is_whole ? 0 : 1;
}

int replay(std::uint64_t seed) {
  const SimulationResult result = DaemonSimulation(seed, true).run();
  std::printf("seed %llu: digest %016llx, %s\n", static_cast<unsigned long long>(seed),
              static_cast<unsigned long long>(result.digest),
              result.wrong.empty() ? "all held" : result.wrong.c_str());
  return result.wrong.empty() ? 0 : 1;
}

int look_at_first_open() {
  std::uint64_t acts = 0;
  const std::string wrong = die_while_making_the_journal(acts);
  std::printf("%llu acts of making the journal, a death at each: %s\n",
              static_cast<unsigned long long>(acts),
              wrong.empty() ? "nothing is lost" : wrong.c_str());
  return wrong.empty() ? 0 : 1;
}

int run_pauses(std::uint64_t first, std::uint64_t count) {
  std::uint64_t pauses = 0, wrong = 0;
  for (const Preset& preset : presets())
    for (std::uint64_t seed = first; seed < first + count; ++seed) {
      const StarvationResult result = keep_pausing(preset.name, seed);
      pauses += result.pauses;
      if (result.wrong.empty()) continue;
      ++wrong;
      std::printf("%s, seed %llu: %s\n", preset.name.c_str(), static_cast<unsigned long long>(seed),
                  result.wrong.c_str());
    }
  std::printf("%zu policies: %llu pauses; %llu runs went wrong\n", presets().size(),
              static_cast<unsigned long long>(pauses), static_cast<unsigned long long>(wrong));
  return wrong == 0 && pauses > 0 ? 0 : 1;
}

int run_program(int count, char** words) {
  const std::string what = count > 1 ? words[1] : "";
  const auto number = [&](int at) { return std::strtoull(words[at], nullptr, 10); };
  if (what == "first-open" && count == 2) return look_at_first_open();
  if (what == "replay" && count == 3) return replay(number(2));
  if (what == "pauses" && count == 4) return run_pauses(number(2), number(3));
  if (what == "seeds" && count == 4) return run_all(number(2), number(3), 1e9);
  if (what == "seconds" && count == 4)
    return run_all(number(3), std::uint64_t{1} << 60, std::strtod(words[2], nullptr));
  std::fprintf(stderr,
               "usage: simulation seeds FIRST COUNT | seconds SECONDS FIRST | replay SEED | "
               "first-open | pauses FIRST COUNT\n");
  return 2;
}

}  // namespace
}  // namespace trainyard

int main(int count, char** words) {
  return trainyard::run_program(count, words);
}
