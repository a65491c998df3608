// A first line as USER[:GROUP], the rest as both /etc/passwd and /etc/group: what is read can be
// found again, and an identity is one that the kernel takes.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <set>
#include <string>
#include <string_view>

#include "init/sandbox/passwd.h"
#include "tests/fuzz/fuzzer.h"

namespace {

void check_name(const std::string& name) {
  require(!name.empty() && !std::string_view("+-#").contains(name.front()));
  require(name.find_first_of(":\n") == std::string::npos);
}

void check_identity(const envgen::Identity& identity) {
  require(identity.uid <= sandbox::kMaxId && identity.gid <= sandbox::kMaxId);
  require(!identity.home.empty() && !identity.groups.empty());
  require(identity.groups.front() == identity.gid);
  const std::set<std::uint32_t> groups(identity.groups.begin(), identity.groups.end());
  require(groups.size() == identity.groups.size());
}

}  // namespace

TRAINIT_FUZZER(passwd) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const std::size_t line = std::min(text.find('\n'), text.size());
  const std::string_view rest = text.substr(std::min(line + 1, text.size()));
  const auto found = sandbox::find_identity(text.substr(0, line), rest, rest, "--user");
  if (found) {
    check_identity(*found);
  } else {
    require(!found.error().found.empty() && !found.error().fix.empty());
  }
  std::set<std::string> seen;
  for (const sandbox::PasswdEntry& entry : sandbox::parse_passwd(rest)) {
    check_name(entry.name);
    const bool first = seen.insert(entry.name).second;
    const bool is_number = entry.name.find_first_not_of("0123456789") == std::string::npos;
    constexpr std::size_t kMaxNames = 8;  // each reads the text again
    if (!first || is_number || seen.size() > kMaxNames) continue;
    const auto again = sandbox::find_identity(entry.name, rest, "", "--user");
    require(again && again->uid == entry.uid && again->gid == entry.gid);
  }
  for (const sandbox::GroupEntry& entry : sandbox::parse_group(rest)) {
    check_name(entry.name);
    for (const std::string& member : entry.members) require(!member.empty());
  }
  return 0;
}
