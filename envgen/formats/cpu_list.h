#pragma once
// Sets of CPUs as the kernel and NCCL write them, as sorted lists of numbers.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace envgen {

// CPU numbers, ascending, each once.
using CpuList = std::vector<int>;

inline constexpr int kMaxCpus = 1 << 16;

// "0-7,16-23", ascending as the kernel prints it, with white space around it; "" is no CPU. Nothing
// for any other text.
std::optional<CpuList> parse_cpu_list(std::string_view text);

// "000000ff,ffff0000": 32-bit words in hexadecimal, the highest first, each of eight digits but for
// the first one. "0-15" and "0,1,2,3" are none; strtoul, by which NCCL reads them, does not object.
std::optional<CpuList> parse_cpu_mask(std::string_view text);

// "0-7,16-23"
std::string cpu_list_text(const CpuList& cpus);

// The CPUs that are in both.
CpuList common_cpus(const CpuList& one, const CpuList& other);

}  // namespace envgen
