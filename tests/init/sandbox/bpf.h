#pragma once
// What a seccomp filter answers, without a kernel that would have to be of the right architecture:
// the instructions of classic BPF that libseccomp writes.

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

namespace bpf {

struct Call {
  std::uint32_t arch = AUDIT_ARCH_X86_64;
  int number = 0;
  std::array<std::uint64_t, 6> arguments = {};
};

inline constexpr std::uint32_t kAllow = SECCOMP_RET_ALLOW;
inline constexpr std::uint32_t kBroken = 0xDEAD'BEEF;  // no answer: the filter is not valid
constexpr std::uint32_t error(std::uint32_t number) { return SECCOMP_RET_ERRNO | number; }

inline bool holds(const sock_filter& jump, std::uint32_t value) {
  switch (BPF_OP(jump.code)) {
    case BPF_JA:
      return true;
    case BPF_JEQ:
      return value == jump.k;
    case BPF_JGT:
      return value > jump.k;
    case BPF_JGE:
      return value >= jump.k;
    default:
      return (value & jump.k) != 0;
  }
}

// The SECCOMP_RET_ value for `call`.
inline std::uint32_t run(std::string_view program, const Call& call) {
  std::vector<sock_filter> code(program.size() / sizeof(sock_filter));
  std::memcpy(code.data(), program.data(), code.size() * sizeof(sock_filter));
  const seccomp_data data = {call.number,
                             call.arch,
                             0,
                             {call.arguments[0], call.arguments[1], call.arguments[2],
                              call.arguments[3], call.arguments[4], call.arguments[5]}};
  std::uint32_t accumulator = 0;
  for (std::size_t at = 0; at < code.size(); ++at) {
    const sock_filter& step = code[at];
    if (step.code == (BPF_RET | BPF_K)) return step.k;
    if (step.code == (BPF_LD | BPF_W | BPF_ABS)) {
      if (step.k + sizeof accumulator > sizeof data) return kBroken;
      std::memcpy(&accumulator, reinterpret_cast<const char*>(&data) + step.k, sizeof accumulator);
    } else if (step.code == (BPF_ALU | BPF_AND | BPF_K)) {
      accumulator &= step.k;
    } else if (step.code == (BPF_JMP | BPF_JA)) {
      at += step.k;
    } else if (BPF_CLASS(step.code) == BPF_JMP && BPF_SRC(step.code) == BPF_K) {
      at += holds(step, accumulator) ? step.jt : step.jf;
    } else {
      return kBroken;
    }
  }
  return kBroken;
}

}  // namespace bpf
