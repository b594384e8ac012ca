#include <linux/bpf.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "sandbox/cgroup_files.h"

namespace sandbox {
namespace {

using Program = std::vector<bpf_insn>;

// Major and minor numbers (Documentation/admin-guide/devices.txt): null, zero, full, random,
// urandom, tty.
constexpr std::array<std::pair<int, int>, 6> kAllowed{
    {{1, 3}, {1, 5}, {1, 7}, {1, 8}, {1, 9}, {5, 0}}};

bpf_insn instruction(int code, std::uint8_t destination, std::uint8_t source, std::int16_t offset,
                     std::int32_t immediate) {
  bpf_insn made{};
  made.code = static_cast<std::uint8_t>(code);
  made.dst_reg = destination & 15U;
  made.src_reg = source & 15U;
  made.off = offset;
  made.imm = immediate;
  return made;
}

bpf_insn load_word(std::uint8_t destination, std::size_t offset) {
  return instruction(BPF_LDX | BPF_MEM | BPF_W, destination, BPF_REG_1,
                     static_cast<std::int16_t>(offset), 0);
}

bpf_insn skip_unless_equal(std::uint8_t left, std::int32_t right, std::int16_t count) {
  return instruction(BPF_JMP | BPF_JNE | BPF_K, left, 0, count, right);
}

void add_return(Program& program, std::int32_t value) {
  program.push_back(instruction(BPF_ALU64 | BPF_MOV | BPF_K, BPF_REG_0, 0, 0, value));
  program.push_back(instruction(BPF_JMP | BPF_EXIT, 0, 0, 0, 0));
}

// Answers 1 for reading and writing the allowed character devices, else 0 (EPERM).
Program device_program(const std::vector<GpuNode>& devices) {
  Program program;
  program.push_back(load_word(BPF_REG_2, offsetof(bpf_cgroup_dev_ctx, access_type)));
  program.push_back(load_word(BPF_REG_3, offsetof(bpf_cgroup_dev_ctx, major)));
  program.push_back(load_word(BPF_REG_4, offsetof(bpf_cgroup_dev_ctx, minor)));
  // access_type = access << 16 | type. Making a node is never allowed.
  program.push_back(
      instruction(BPF_JMP | BPF_JSET | BPF_K, BPF_REG_2, 0, 2, BPF_DEVCG_ACC_MKNOD << 16));
  program.push_back(instruction(BPF_ALU64 | BPF_AND | BPF_K, BPF_REG_2, 0, 0, 0xffff));
  program.push_back(instruction(BPF_JMP | BPF_JEQ | BPF_K, BPF_REG_2, 0, 2, BPF_DEVCG_DEV_CHAR));
  add_return(program, 0);
  const auto allow = [&program](int major, int minor) {
    program.push_back(skip_unless_equal(BPF_REG_3, major, 3));
    program.push_back(skip_unless_equal(BPF_REG_4, minor, 2));
    add_return(program, 1);
  };
  for (const auto& [major, minor] : kAllowed) allow(major, minor);
  for (const GpuNode& device : devices)
    allow(static_cast<int>(device.major_number), static_cast<int>(device.minor_number));
  add_return(program, 0);
  return program;
}

long bpf(int command, bpf_attr& attributes) {
  return ::syscall(SYS_bpf, command, &attributes, sizeof attributes);
}

}  // namespace

os::Result<void> deny_devices_by_bpf(int directory, const std::vector<GpuNode>& devices) {
  const Program program = device_program(devices);
  constexpr const char* kLicense = "Apache-2.0";
  bpf_attr load{};
  load.prog_type = BPF_PROG_TYPE_CGROUP_DEVICE;
  load.insn_cnt = static_cast<std::uint32_t>(program.size());
  // bpf(2) takes addresses as 64-bit numbers.
  load.insns = reinterpret_cast<std::uintptr_t>(program.data());
  load.license = reinterpret_cast<std::uintptr_t>(kLicense);
  const os::Fd loaded(static_cast<int>(bpf(BPF_PROG_LOAD, load)));
  if (!loaded.is_open()) return os::fail_errno("load the device program");
  bpf_attr attach{};
  attach.target_fd = static_cast<std::uint32_t>(directory);
  attach.attach_bpf_fd = static_cast<std::uint32_t>(loaded.get());
  attach.attach_type = BPF_CGROUP_DEVICE;
  attach.attach_flags = BPF_F_ALLOW_MULTI;
  if (bpf(BPF_PROG_ATTACH, attach) != 0) return os::fail_errno("attach the device program");
  return {};
}

}  // namespace sandbox
