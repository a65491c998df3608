#pragma once
// Parsers for sets of CPUs as the kernel and NCCL write them. The sets are sorted lists of numbers.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace envgen {

// CPU numbers in ascending order, without duplicates.
using CpuList = std::vector<int>;

inline constexpr int kMaxCpus = 1 << 16;

// Parses "0-7,16-23", in ascending order as the kernel prints it, with optional white space around
// it. "" is the empty set. Returns nullopt for any other text.
std::optional<CpuList> parse_cpu_list(std::string_view text);

// Parses "000000ff,ffff0000": 32-bit hexadecimal words, the highest first, each of eight digits
// except the first. Returns nullopt for "0-15" and "0,1,2,3". NCCL reads masks with strtoul, which
// accepts even those.
std::optional<CpuList> parse_cpu_mask(std::string_view text);

// Returns "0-7,16-23".
std::string cpu_list_text(const CpuList& cpus);

// Returns the CPUs that are in both lists.
CpuList common_cpus(const CpuList& one, const CpuList& other);

}  // namespace envgen
