#include "live/srun/step_gpus.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <thread>

namespace trainyard {
namespace {

constexpr std::chrono::milliseconds kLookAgain{200};

Expected<Descriptor> open_lock(const std::string& path) {
  Descriptor file(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!file) return fail("{}: cannot be opened: {}", path, std::strerror(errno));
  return file;
}

Expected<Descriptor> lock(const std::string& path) {
  auto file = open_lock(path);
  while (file && ::flock(file->get(), LOCK_EX) != 0)
    if (errno != EINTR) return fail("{}: cannot be locked: {}", path, std::strerror(errno));
  return file;
}

/// Those of the job's that nobody has taken, up to `count`.
Expected<StepGpus> try_to_take(std::size_t count, const std::vector<std::string>& of_job,
                               const std::string& directory) {
  // Else two could each hold half of what both need.
  const auto turn = lock(directory + "/gpus");
  if (!turn) return tl::make_unexpected(turn.error());
  StepGpus step;
  for (const std::string& gpu : of_job) {
    if (step.all.size() == count) break;
    auto file = open_lock(directory + "/gpu." + gpu);
    if (!file) return tl::make_unexpected(file.error());
    if (::flock(file->get(), LOCK_EX | LOCK_NB) != 0) continue;
    step.all.push_back(gpu);
    step.taken.push_back(std::move(*file));
  }
  return step;
}

}  // namespace

std::optional<std::int32_t> gpus_asked(const StepOptions& options) {
  if (options.gpus_per_task) return *options.gpus_per_task * options.tasks;
  return options.gpus;
}

std::vector<std::vector<std::string>> share_out(const std::vector<std::string>& gpus,
                                                const StepOptions& options) {
  const auto tasks = static_cast<std::size_t>(options.tasks);
  if (!options.gpus_per_task || !options.binds_gpus)
    return std::vector<std::vector<std::string>>(tasks, gpus);
  const auto each = static_cast<std::ptrdiff_t>(*options.gpus_per_task);
  std::vector<std::vector<std::string>> shares;
  for (auto begin = gpus.begin(); shares.size() < tasks; begin += each)
    shares.emplace_back(begin, begin + each);
  return shares;
}

Expected<StepGpus> take_gpus(const StepOptions& options, const std::vector<std::string>& of_job,
                             const std::string& directory) {
  const auto asked = gpus_asked(options);
  const std::size_t count = asked ? static_cast<std::size_t>(*asked) : of_job.size();
  if (count > of_job.size())
    return fail("{} GPUs for this step, and the job has {}", count, of_job.size());
  StepGpus step;
  step.all.assign(of_job.begin(), of_job.begin() + static_cast<std::ptrdiff_t>(count));
  if (asked && !options.overlap) {
    for (bool told = false;; told = true) {
      auto taken = try_to_take(count, of_job, directory);
      if (!taken) return taken;
      step = std::move(*taken);
      if (step.all.size() == count) break;
      if (!told)
        fmt::print(stderr, "srun: waits for {} GPUs; other steps of the job leave {} of its {}\n",
                   count, step.all.size(), of_job.size());
      step.taken.clear();
      std::this_thread::sleep_for(kLookAgain);
    }
  }
  step.named = asked.has_value();
  step.by_task = share_out(step.all, options);
  return step;
}

Expected<std::int64_t> next_step_number(const std::string& directory) {
  const auto file = lock(directory + "/steps");
  if (!file) return tl::make_unexpected(file.error());
  std::array<char, 32> text{};
  const ssize_t got = ::pread(file->get(), text.data(), text.size(), 0);
  std::int64_t number = 0;
  if (got > 0) std::from_chars(text.data(), text.data() + got, number);
  const std::string next = std::to_string(number + 1);
  if (::pwrite(file->get(), next.data(), next.size(), 0) != static_cast<ssize_t>(next.size()))
    return fail("{}/steps: cannot be written: {}", directory, std::strerror(errno));
  return number;
}

}  // namespace trainyard
