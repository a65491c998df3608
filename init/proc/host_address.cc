#include "init/proc/host_address.h"

#include <arpa/inet.h>

#include <algorithm>
#include <array>

#include "base/exit_codes.h"
#include "base/text.h"
#include "init/proc/child_run.h"
#include "init/proc/privileged.h"
#include "init/sys/files.h"

namespace proc {
namespace {

constexpr std::size_t kMaxOutputBytes = 64UL * 1024;
constexpr std::size_t kMaxAddresses = 16;

constexpr const char* kFinding = "finding the address of a node";
constexpr const char* kFix = "name the first node by its address with --master-addr";

bool same_name(std::string_view one, std::string_view other) {
  return base::lowercased(one) == base::lowercased(other);
}

void add_address(std::vector<std::string>& list, std::string_view address) {
  if (!is_address(address) || list.size() >= kMaxAddresses) return;
  if (std::ranges::find(list, address) == list.end()) list.emplace_back(address);
}

}  // namespace

bool is_address(std::string_view text) {
  std::array<unsigned char, sizeof(in6_addr)> bytes;
  const std::size_t zone = text.find('%');
  const std::string plain(text.substr(0, zone));
  if (::inet_pton(AF_INET6, plain.c_str(), bytes.data()) == 1) return true;
  return zone == std::string_view::npos && ::inet_pton(AF_INET, plain.c_str(), bytes.data()) == 1;
}

std::vector<std::string> addresses_in_hosts(std::string_view hosts_text, std::string_view host) {
  std::vector<std::string> list;
  while (!hosts_text.empty()) {
    std::string_view line = base::take_line(hosts_text);
    line = line.substr(0, line.find('#'));
    const std::string_view address = base::take_word(line);
    for (auto name = base::take_word(line); !name.empty(); name = base::take_word(line)) {
      if (same_name(name, host)) add_address(list, address);
    }
  }
  return list;
}

std::vector<std::string> addresses_in_getent(std::string_view output) {
  std::vector<std::string> list;
  while (!output.empty()) {
    std::string_view line = base::take_line(output);
    add_address(list, base::take_word(line));
  }
  return list;
}

base::Result<HostAddresses> find_addresses(const std::string& host, const base::Environ& start,
                                           std::int64_t limit_ms, const std::string& hosts_file) {
  std::string name = host;
  if (name.size() > 2 && name.starts_with('[') && name.ends_with(']')) {
    name = name.substr(1, name.size() - 2);
  }
  if (is_address(name)) return HostAddresses{{name}, ""};
  HostAddresses found;
  found.addresses = addresses_in_hosts(sys::inspect(hosts_file, true).content, name);
  if (!found.addresses.empty()) return found;
  auto tool = find_image_tool("getent", start);
  auto answer =
      tool ? capture(*tool, {"ahosts", name}, {.time_ms = limit_ms, .most_bytes = kMaxOutputBytes})
           : std::unexpected(std::move(tool.error()));
  if (!answer && answer.error().exit_code == exit_code::kCannotRun) {
    return base::fail(kFinding, name, "a getent that is not run: " + answer.error().error.found,
                      answer.error().error.fix);
  }
  if (!answer) {
    return base::fail(kFinding, name,
                      "that it is not in /etc/hosts, and no getent in the image to ask: " +
                          to_line(answer.error().error),
                      std::string("install getent (libc-bin), or ") + kFix);
  }
  found.addresses = addresses_in_getent(answer->output);
  if (found.addresses.empty()) {
    found.why = answer->late
                    ? "its name is not resolved within " + std::to_string(limit_ms / 1000) + " s"
                    : "its name is not known";
  }
  return found;
}

}  // namespace proc
