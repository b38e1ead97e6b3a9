#include "live/engine/local/gpus.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <iterator>
#include <memory>
#include <sstream>

#include "live/system/files.h"

namespace trainyard {
namespace {

/// The few functions of NVML that are needed, as its documentation has them; 0 is success.
struct Nvml {
  int (*init)() = nullptr;
  int (*shutdown)() = nullptr;
  int (*count)(unsigned*) = nullptr;
  int (*handle)(unsigned, void**) = nullptr;
  int (*name)(void*, char*, unsigned) = nullptr;
  int (*uuid)(void*, char*, unsigned) = nullptr;
  // Not in every version:
  int (*minor_number)(void*, unsigned*) = nullptr;
  int (*mig_mode)(void*, unsigned*, unsigned*) = nullptr;
  int (*most_instances)(void*, unsigned*) = nullptr;
  int (*instance)(void*, unsigned, void**) = nullptr;

  explicit Nvml(void* library) {
    load(library, "nvmlInit_v2", init);
    load(library, "nvmlShutdown", shutdown);
    load(library, "nvmlDeviceGetCount_v2", count);
    load(library, "nvmlDeviceGetHandleByIndex_v2", handle);
    load(library, "nvmlDeviceGetName", name);
    load(library, "nvmlDeviceGetUUID", uuid);
    load(library, "nvmlDeviceGetMinorNumber", minor_number);
    load(library, "nvmlDeviceGetMigMode", mig_mode);
    load(library, "nvmlDeviceGetMaxMigDeviceCount", most_instances);
    load(library, "nvmlDeviceGetMigDeviceHandleByIndex", instance);
  }
  [[nodiscard]] bool is_whole() const {
    return init && shutdown && count && handle && name && uuid;
  }

 private:
  template <class Function>
  static void load(void* library, const char* symbol, Function& function) {
    function = reinterpret_cast<Function>(::dlsym(library, symbol));
  }
};

std::optional<std::int32_t> device_minor(const Nvml& nvml, void* device) {
  unsigned number = 0;
  if (nvml.minor_number == nullptr || nvml.minor_number(device, &number) != 0) return std::nullopt;
  return static_cast<std::int32_t>(number);
}

/// Nothing of one that does not answer: it may have fallen off the bus.
std::optional<Gpu> gpu_of(const Nvml& nvml, void* device, std::int32_t number) {
  std::array<char, 96> name{}, uuid{};
  if (nvml.name(device, name.data(), name.size()) != 0 ||
      nvml.uuid(device, uuid.data(), uuid.size()) != 0)
    return std::nullopt;
  name.back() = uuid.back() = '\0';
  return Gpu{number, gpu_kind(name.data()), uuid.data()};
}

bool is_divided(const Nvml& nvml, void* device) {
  unsigned now = 0, after_a_reset = 0;
  return nvml.mig_mode != nullptr && nvml.most_instances != nullptr && nvml.instance != nullptr &&
         nvml.mig_mode(device, &now, &after_a_reset) == 0 && now == 1;
}

/// The instances of a GPU that MIG divides. Without one it runs nothing. They share its device
/// node.
std::vector<Gpu> instances_of(const Nvml& nvml, void* device, std::int32_t number) {
  unsigned most = 0;
  if (nvml.most_instances(device, &most) != 0) return {};
  std::vector<Gpu> instances;
  for (unsigned i = 0; i < most; ++i) {
    void* instance = nullptr;
    if (nvml.instance(device, i, &instance) != 0) continue;  // numbers have gaps
    if (auto gpu = gpu_of(nvml, instance, number)) instances.push_back(*std::move(gpu));
  }
  return instances;
}

/// One that does not answer is left out. If none does, the driver is of no use.
FoundGpus gpus_of(const Nvml& nvml) {
  unsigned count = 0;
  if (nvml.count(&count) != 0) return std::nullopt;
  std::vector<Gpu> gpus;
  bool has_answered = count == 0;
  for (unsigned i = 0; i < count; ++i) {
    void* device = nullptr;
    const auto number = static_cast<std::int32_t>(i);
    const auto gpu =
        nvml.handle(i, &device) == 0 ? gpu_of(nvml, device, number) : std::optional<Gpu>();
    has_answered |= gpu.has_value();
    if (!gpu) continue;
    const std::size_t before = gpus.size();
    if (is_divided(nvml, device))
      std::ranges::move(instances_of(nvml, device, number), std::back_inserter(gpus));
    else
      gpus.push_back(*gpu);
    const auto minor_number = device_minor(nvml, device);
    for (std::size_t added = before; added < gpus.size(); ++added)
      gpus[added].device_minor = minor_number;
  }
  return has_answered ? FoundGpus(std::move(gpus)) : std::nullopt;
}

/// Nothing if it takes too long.
std::optional<std::string> read_until_end(int pipe, Duration patience) {
  using Clock = std::chrono::steady_clock;
  const auto deadline = Clock::now() + std::chrono::microseconds(patience.us);
  std::string text;
  for (;;) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
    pollfd ready{.fd = pipe, .events = POLLIN, .revents = 0};
    if (left <= 0 || ::poll(&ready, 1, static_cast<int>(left)) <= 0) return std::nullopt;
    std::array<char, 4096> part;
    const ssize_t got = ::read(pipe, part.data(), part.size());
    if (got <= 0) return text;
    text.append(part.data(), static_cast<std::size_t>(got));
  }
}

std::optional<pid_t> spawn_query(const std::string& program, int output) {
  posix_spawn_file_actions_t files;
  ::posix_spawn_file_actions_init(&files);
  ::posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_adddup2(&files, output, 1);
  ::posix_spawn_file_actions_addopen(&files, 2, "/dev/null", O_WRONLY, 0);
  ::posix_spawn_file_actions_addclosefrom_np(&files, 3);
  std::string query = "--query-gpu=uuid,name", format = "--format=csv,noheader", name = program;
  std::array<char*, 4> arguments{name.data(), query.data(), format.data(), nullptr};
  pid_t pid = 0;
  const int failed =
      ::posix_spawnp(&pid, program.c_str(), &files, nullptr, arguments.data(), environ);
  ::posix_spawn_file_actions_destroy(&files);
  return failed == 0 ? std::optional(pid) : std::nullopt;
}

}  // namespace

std::string name(const Gpu& gpu) {
  return gpu.uuid.empty() ? fmt::format("number-{}", gpu.number) : gpu.uuid;
}

FoundGpus gpus_from_nvml(const std::string& library) {
  const std::unique_ptr<void, int (*)(void*)> handle(
      ::dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL),
      [](void* loaded) { return loaded != nullptr ? ::dlclose(loaded) : 0; });
  if (!handle) return std::nullopt;
  const Nvml nvml(handle.get());
  if (!nvml.is_whole() || nvml.init() != 0) return std::nullopt;
  FoundGpus gpus = gpus_of(nvml);
  nvml.shutdown();
  return gpus;
}

FoundGpus gpus_from_nvidia_smi(const std::string& program, Duration patience) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return std::nullopt;
  const Descriptor read_end(ends[0]);
  Descriptor write_end(ends[1]);
  const auto pid = spawn_query(program, write_end.get());
  write_end.reset();
  if (!pid) return std::nullopt;
  const auto text = read_until_end(read_end.get(), patience);
  if (!text) ::kill(*pid, SIGKILL);
  int status = 0;
  ::waitpid(*pid, &status, 0);
  if (!text || status != 0) return std::nullopt;
  std::vector<Gpu> gpus;
  std::istringstream lines(*text);
  for (std::string line; std::getline(lines, line);) {
    if (line.empty()) continue;
    const std::size_t comma = line.find(',');
    if (comma == std::string::npos) return std::nullopt;
    gpus.push_back({static_cast<std::int32_t>(gpus.size()), gpu_kind(line.substr(comma + 1)),
                    line.substr(0, comma)});
  }
  return gpus;
}

FoundGpus find_gpus(const std::string& library, const std::string& program) {
  if (FoundGpus gpus = gpus_from_nvml(library)) return gpus;
  return gpus_from_nvidia_smi(program);
}

std::string gpu_kind(std::string_view product_name) {
  std::istringstream words{std::string(product_name)};
  std::string kind;
  for (std::string word; words >> word;) {
    if (word == "NVIDIA" || word == "Tesla" || word == "GeForce" || word == "Quadro") continue;
    kind += (kind.empty() ? "" : "-") + word;
  }
  return kind.empty() ? "GPU" : kind;
}

}  // namespace trainyard
