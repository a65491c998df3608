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

// Parses a list such as "0-7,16-23", in ascending order as the kernel prints it. White space around
// the list is allowed. "" is the empty set. Returns nullopt for any other text.
std::optional<CpuList> parse_cpu_list(std::string_view text);

// Parses a mask such as "000000ff,ffff0000": 32-bit hexadecimal words, the highest first, each with
// eight digits except the first. Returns nullopt for texts such as "0-15" and "0,1,2,3", although
// NCCL's strtoul would accept them.
std::optional<CpuList> parse_cpu_mask(std::string_view text);

// Returns the CPUs as the kernel prints them: "0-7,16-23".
std::string cpu_list_text(const CpuList& cpus);

// Returns the CPUs that are in both lists.
CpuList common_cpus(const CpuList& one, const CpuList& other);

}  // namespace envgen
