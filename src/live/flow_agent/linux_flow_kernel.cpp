#include "live/flow_agent/linux_flow_kernel.h"

#include <fmt/ranges.h>
#include <sys/stat.h>

#include <utility>

#include "live/system/files.h"

namespace trainyard {
namespace {

Expected<void> make_table(ResidentNft& nft, const FlowHost& host) {
  if (auto ok = nft.start(); !ok) return ok;
  bool is_first = true;
  for (const std::string& command : table_commands(host)) {
    const auto done = nft.run(command);
    if (!done) {
      nft.end();
      const std::string& said = done.error().message;
      if (!is_first) return fail("this kernel cannot mark packets by control group: {}", said);
      // The kernel says no more than that it may not be changed.
      if (has_flow_table())
        return fail("there is a table inet {} already: another agent runs on this machine",
                    kFlowTable);
      return fail(
          "no table that belongs to a process can be made (CAP_NET_ADMIN and Linux 5.13 are "
          "needed): {}",
          said);
    }
    is_first = false;
  }
  return {};
}

}  // namespace

Expected<std::optional<CgroupMount>> cgroup_mount(const FlowHost& host) {
  const auto text = read_small_file("/proc/self/mountinfo");
  if (!text) return tl::make_unexpected(text.error());
  const auto mount = find_cgroup_mount(*text);
  if (mount) return *mount;
  if (host.marks_users) return std::nullopt;
  return fail("{}; with by-user a job whose user has no other job here can be marked",
              mount.error().message);
}

std::optional<std::uint64_t> find_cgroup(const std::optional<CgroupMount>& mount,
                                         const std::string& name) {
  struct stat facts {};
  if (!mount || ::lstat(mount->path(name).c_str(), &facts) != 0 || !S_ISDIR(facts.st_mode))
    return {};
  return facts.st_ino;
}

bool has_flow_table() {
  const auto tables = run_program({"nft", "list", "tables", "inet"}, "");
  return tables && tables->find(fmt::format("table inet {}\n", kFlowTable)) != std::string::npos;
}

Expected<void> try_table(const FlowHost& host) {
  ResidentNft nft;
  return make_table(nft, host);
}

Expected<RootQueueFound> look_at_queue(const std::string& interface) {
  const auto text = run_program({"tc", "-json", "qdisc", "show", "dev", interface}, "");
  if (!text) return tl::make_unexpected(text.error());
  return find_root_queue(*text);
}

Expected<void> clean_queue(const std::string& interface) {
  const auto found = look_at_queue(interface);
  if (!found) return tl::make_unexpected(found.error());
  if (found->what != RootQueue::ours) return {};
  const auto done = run_program({"tc", "qdisc", "del", "dev", interface, "root"}, "");
  if (!done) return tl::make_unexpected(done.error());
  return {};
}

Expected<std::unique_ptr<LinuxFlowKernel>> LinuxFlowKernel::open(FlowHost host, double floor,
                                                                 bool takes_over) {
  auto mount = cgroup_mount(host);
  if (!mount) return tl::make_unexpected(mount.error());
  const auto queue = look_at_queue(host.interface);
  if (!queue) return tl::make_unexpected(queue.error());
  if (host.has_queue() && queue->what == RootQueue::foreign && !takes_over)
    return fail(
        "{} has a queue that is not ours ({}): remove it, say queue = \"none\", or let it be "
        "replaced with take-over",
        host.interface, queue->kind);
  std::unique_ptr<LinuxFlowKernel> kernel(new LinuxFlowKernel(std::move(host), *std::move(mount)));
  if (auto ok = make_table(kernel->nft_, kernel->host_); !ok)
    return tl::make_unexpected(ok.error());
  if (!kernel->host_.has_queue()) return kernel;
  // HTB cannot be replaced by one of the same handle.
  if (queue->what == RootQueue::ours)
    if (auto ok = clean_queue(kernel->host_.interface); !ok) return tl::make_unexpected(ok.error());
  const auto done =
      run_program({"tc", "-batch", "-"},
                  fmt::format("{}\n", fmt::join(queue_commands(kernel->host_, floor), "\n")));
  if (!done) {
    (void)clean_queue(kernel->host_.interface);
    return fail("the queue of {} cannot be made: {}", kernel->host_.interface,
                done.error().message);
  }
  kernel->has_queue_ = true;
  return kernel;
}

LinuxFlowKernel::~LinuxFlowKernel() {
  if (has_queue_) (void)clean_queue(host_.interface);
}

std::optional<std::uint64_t> LinuxFlowKernel::find_cgroup(const std::string& name) const {
  return trainyard::find_cgroup(mount_, name);
}

Expected<void> LinuxFlowKernel::mark(const Marks& marks) {
  if (!nft_.is_alive()) {
    marks_.clear();
    if (auto ok = make_table(nft_, host_); !ok) return ok;
  }
  const auto done = nft_.run(change_command(host_, mount_.value_or(CgroupMount{}), marks_, marks));
  if (!done) {
    nft_.end();
    marks_.clear();
    return tl::make_unexpected(done.error());
  }
  marks_ = marks;
  return {};
}

Expected<void> LinuxFlowKernel::keep_floor(double floor) {
  if (!host_.has_queue()) return {};
  const auto done = run_program({"tc", "-batch", "-"}, floor_command(host_, floor) + "\n");
  if (!done) return tl::make_unexpected(done.error());
  return {};
}

Expected<FlowBytes> LinuxFlowKernel::bytes() {
  const auto text = nft_.run(fmt::format("list counters table inet {}", kFlowTable));
  if (!text) return tl::make_unexpected(text.error());
  return read_counters(*text, host_.classes());
}

}  // namespace trainyard
