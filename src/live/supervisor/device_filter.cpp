#include "live/supervisor/device_filter.h"

#include <fcntl.h>
#include <linux/bpf.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstring>

#include "live/system/files.h"

namespace trainyard {
namespace {

constexpr std::uint8_t kResult = BPF_REG_0, kContext = BPF_REG_1, kType = BPF_REG_2,
                       kMajor = BPF_REG_3, kMinor = BPF_REG_4;

bpf_insn instruction(int code, std::uint8_t to, std::uint8_t from, std::int16_t offset,
                     std::uint32_t value) {
  bpf_insn made{};
  made.code = static_cast<std::uint8_t>(code);
  made.dst_reg = to & 0xf;
  made.src_reg = from & 0xf;
  made.off = offset;
  made.imm = static_cast<std::int32_t>(value);
  return made;
}

bpf_insn load(std::uint8_t to, std::size_t offset) {
  return instruction(BPF_LDX | BPF_MEM | BPF_W, to, kContext, static_cast<std::int16_t>(offset), 0);
}

bpf_insn skip_if(int comparison, std::uint8_t left, std::uint32_t right, std::int16_t count) {
  return instruction(BPF_JMP | comparison | BPF_K, left, 0, count, right);
}

void append_answer(bool allow, std::vector<bpf_insn>& program) {
  program.push_back(instruction(BPF_ALU64 | BPF_MOV | BPF_K, kResult, 0, 0, allow ? 1 : 0));
  program.push_back(instruction(BPF_JMP | BPF_EXIT, 0, 0, 0, 0));
}

/// Answers 0 for a character device in one of the ranges, else 1.
std::vector<bpf_insn> filter_program(const std::vector<DeviceRange>& devices) {
  std::vector<bpf_insn> program{
      load(kType, offsetof(bpf_cgroup_dev_ctx, access_type)),
      load(kMajor, offsetof(bpf_cgroup_dev_ctx, major)),
      load(kMinor, offsetof(bpf_cgroup_dev_ctx, minor)),
      // Its upper half says what is asked for: reading, writing or making a node.
      instruction(BPF_ALU64 | BPF_AND | BPF_K, kType, 0, 0, 0xffff),
      skip_if(BPF_JEQ, kType, BPF_DEVCG_DEV_CHAR, 2)};
  append_answer(true, program);
  for (const DeviceRange& range : devices) {
    program.push_back(skip_if(BPF_JNE, kMajor, range.major, 4));
    program.push_back(skip_if(BPF_JLT, kMinor, range.first, 3));
    program.push_back(skip_if(BPF_JGT, kMinor, range.last, 2));
    append_answer(false, program);
  }
  append_answer(true, program);
  return program;
}

int call_bpf(bpf_cmd command, bpf_attr& attributes) {
  return static_cast<int>(::syscall(SYS_bpf, command, &attributes, sizeof attributes));
}

Descriptor load_program(const std::vector<bpf_insn>& program) {
  bpf_attr attributes;
  std::memset(&attributes, 0, sizeof attributes);
  attributes.prog_type = BPF_PROG_TYPE_CGROUP_DEVICE;
  attributes.insns = reinterpret_cast<std::uintptr_t>(program.data());
  attributes.insn_cnt = static_cast<std::uint32_t>(program.size());
  attributes.license = reinterpret_cast<std::uintptr_t>("");
  return Descriptor(call_bpf(BPF_PROG_LOAD, attributes));
}

}  // namespace

Expected<void> deny_devices_in(const std::string& group, const std::vector<DeviceRange>& devices) {
  const Descriptor program = load_program(filter_program(devices));
  if (!program) return fail("{}: no BPF program for devices: {}", group, std::strerror(errno));
  const Descriptor folder(::open(group.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  bpf_attr attributes;
  std::memset(&attributes, 0, sizeof attributes);
  attributes.target_fd = static_cast<std::uint32_t>(folder.get());
  attributes.attach_bpf_fd = static_cast<std::uint32_t>(program.get());
  attributes.attach_type = BPF_CGROUP_DEVICE;
  attributes.attach_flags = BPF_F_ALLOW_MULTI;
  if (!folder || call_bpf(BPF_PROG_ATTACH, attributes) != 0)
    return fail("{}: its devices cannot be confined: {}", group, std::strerror(errno));
  return {};
}

Expected<void> deny_devices_in_v1(const std::string& group,
                                  const std::vector<DeviceRange>& devices) {
  for (const DeviceRange& range : devices)
    for (std::uint32_t minor = range.first; minor <= range.last; ++minor)
      if (!write_to(group + "/devices.deny", fmt::format("c {}:{} rwm", range.major, minor)))
        return fail("{}: its devices cannot be confined: {}", group, std::strerror(errno));
  return {};
}

}  // namespace trainyard
