#include "init/sandbox/capabilities.h"

#include <sys/capability.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <memory>
#include <vector>

#include "base/text.h"
#include "init/sys/files.h"

namespace sandbox {
namespace {

constexpr int kMaxCapabilities = 64;

struct CapFree {
  void operator()(void* memory) const { ::cap_free(memory); }
};
using CapState = std::unique_ptr<std::remove_pointer_t<cap_t>, CapFree>;
using CapText = std::unique_ptr<char, CapFree>;

base::Error unknown(std::string_view name, std::string_view option, std::string_view found) {
  return {"reading a capability", std::string(option), std::string(found) + std::string(name) + '"',
          "write names of capabilities(7), such as net_raw or CAP_NET_RAW"};
}

bool set_flag(cap_t state, cap_flag_t flag, std::uint64_t set) {
  for (int number = 0; number < ::cap_max_bits(); ++number) {
    const cap_value_t value = number;
    const cap_flag_value_t wanted = (set & capability_bit(number)) != 0 ? CAP_SET : CAP_CLEAR;
    if (::cap_set_flag(state, flag, 1, &value, wanted) != 0) return false;
  }
  return true;
}

}  // namespace

base::Result<int> capability(std::string_view name, std::string_view option) {
  std::string full = base::lowercased(name);
  if (!full.starts_with("cap_")) full.insert(0, "cap_");
  cap_value_t number = -1;
  // libcap also accepts numbers after the prefix, but none of the formats has them.
  const bool is_number = full.size() > 4 && std::isdigit(static_cast<unsigned char>(full[4])) != 0;
  if (is_number || full.find('\0') != std::string::npos ||
      ::cap_from_name(full.c_str(), &number) != 0) {
    return std::unexpected(unknown(name, option, "the unknown name \""));
  }
  if (number >= ::cap_max_bits()) {
    return std::unexpected(unknown(name, option, "a name that this kernel does not have, \""));
  }
  return number;
}

std::string capability_name(int number) {
  const CapText text(::cap_to_name(number));
  if (!text || std::isdigit(static_cast<unsigned char>(*text)) != 0) {
    return "CAP_" + std::to_string(number);
  }
  std::string name = text.get();
  std::ranges::transform(name, name.begin(),
                         [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return name;
}

std::string capability_names(std::uint64_t set) {
  std::string names;
  for (int number = 0; number < kMaxCapabilities; ++number) {
    if ((set & capability_bit(number)) == 0) continue;
    if (!names.empty()) names += ", ";
    names += capability_name(number);
  }
  return names.empty() ? "none" : names;
}

base::Result<std::uint64_t> keep_capabilities(std::string_view list, std::uint64_t have,
                                              std::string_view option) {
  const std::string whole = base::lowercased(list);
  if (whole == "all") return have;
  if (whole == "none") return 0;
  std::uint64_t kept = 0;
  std::uint64_t taken = 0;
  bool keeps = false;
  bool takes = false;
  for (std::string_view name : base::split(list, ',')) {
    name = base::trimmed(name);
    const bool take = name.starts_with('-');
    if (take) name.remove_prefix(1);
    TRY_ASSIGN(auto number, capability(name, option));
    (take ? taken : kept) |= capability_bit(number);
    (take ? takes : keeps) = true;
  }
  constexpr const char* kWhat = "choosing the job's capabilities";
  if (keeps && takes) {
    return base::fail(kWhat, std::string(option), "names to keep and names to take away",
                      "write either kind: \"net_raw,kill\" or \"-net_raw,-mknod\"");
  }
  if (takes) return have & ~taken;
  if ((kept & ~have) != 0) {
    return base::fail(kWhat, std::string(option),
                      capability_names(kept & ~have) + ", which the container does not have",
                      "start the container with it (docker run --cap-add), or leave it out");
  }
  return kept;
}

base::Result<std::uint64_t> permitted_capabilities() {
  const CapState state(::cap_get_proc());
  if (!state) {
    return base::fail("reading the process's capabilities", "", sys::errno_text(errno), "");
  }
  std::uint64_t set = 0;
  for (int number = 0; number < ::cap_max_bits(); ++number) {
    cap_flag_value_t value = CAP_CLEAR;
    if (::cap_get_flag(state.get(), number, CAP_PERMITTED, &value) == 0 && value == CAP_SET) {
      set |= capability_bit(number);
    }
  }
  return set;
}

std::uint64_t bounding_capabilities() {
  std::uint64_t set = 0;
  for (int number = 0; number < ::cap_max_bits(); ++number) {
    if (::cap_get_bound(number) == 1) set |= capability_bit(number);
  }
  return set;
}

base::Status drop_bounding(std::uint64_t keep) {
  for (int number = 0; number < ::cap_max_bits(); ++number) {
    if ((keep & capability_bit(number)) != 0 || ::cap_get_bound(number) != 1) continue;
    if (::cap_drop_bound(number) != 0) {
      return base::fail("taking a capability out of the bounding set", capability_name(number),
                        sys::errno_text(errno), "the container needs CAP_SETPCAP for --caps");
    }
  }
  return {};
}

base::Status set_capabilities(std::uint64_t permitted, std::uint64_t effective,
                              std::uint64_t inheritable) {
  const CapState state(::cap_init());
  if (!state || !set_flag(state.get(), CAP_PERMITTED, permitted) ||
      !set_flag(state.get(), CAP_EFFECTIVE, effective) ||
      !set_flag(state.get(), CAP_INHERITABLE, inheritable) || ::cap_set_proc(state.get()) != 0) {
    return base::fail("setting the job's capabilities", "", sys::errno_text(errno),
                      "ask for no more than the container has");
  }
  return {};
}

base::Status raise_ambient(std::uint64_t set) {
  if (::cap_reset_ambient() != 0 && set != 0) {
    return base::fail("clearing the ambient capabilities", "", sys::errno_text(errno),
                      "--ambient needs Linux 4.3 or newer");
  }
  for (int number = 0; number < ::cap_max_bits(); ++number) {
    if ((set & capability_bit(number)) == 0) continue;
    if (::cap_set_ambient(number, CAP_SET) != 0) {
      return base::fail("making a capability ambient", capability_name(number),
                        sys::errno_text(errno), "keep it with --caps as well");
    }
  }
  return {};
}

}  // namespace sandbox
