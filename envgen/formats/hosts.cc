#include "envgen/formats/hosts.h"

#include <algorithm>
#include <set>
#include <tuple>

#include "base/text.h"

namespace envgen {
namespace {

constexpr int kMaxPort = 65535;

bool is_alphanumeric(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

// Returns true if `text` consists of characters that a host name can have. The grammar of names is
// not checked, because platforms cut and pad names, and the resolver decides. Other characters show
// that the text is no host.
bool is_name(std::string_view text) {
  return !text.empty() && text.front() != '-' && std::ranges::any_of(text, is_alphanumeric) &&
         std::ranges::all_of(
             text, [](char c) { return is_alphanumeric(c) || c == '-' || c == '_' || c == '.'; });
}

// Returns true if `text` has the form of an IPv6 address; the resolver or the kernel decides.
// "a:1:2" does not have it.
bool is_ipv6(std::string_view text) {
  std::string_view address = text.substr(0, text.find('%'));
  const auto colons = std::ranges::count(address, ':');
  const bool shortened = address.find("::") != std::string_view::npos;
  if (colons < 2 || colons > 7 || (!shortened && colons < 6)) return false;
  return std::ranges::all_of(address, [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F') || c == ':' ||
           c == '.';
  });
}

std::optional<int> parse_port(std::string_view text) {
  const auto port = base::parse_number<int>(text);
  return port && *port >= 1 && *port <= kMaxPort ? port : std::nullopt;
}

// Parses "[fd00::2]" and "[fd00::2]:2222".
std::optional<HostPort> parse_bracketed(std::string_view text) {
  std::size_t close = text.find(']');
  if (close == std::string_view::npos || !is_ipv6(text.substr(1, close - 1))) return std::nullopt;
  HostPort result{std::string(text.substr(1, close - 1)), 0};
  std::string_view rest = text.substr(close + 1);
  if (rest.empty()) return result;
  auto port = rest.front() == ':' ? parse_port(rest.substr(1)) : std::nullopt;
  if (!port) return std::nullopt;
  result.port = *port;
  return result;
}

// Turns "[a:1,b:2]" into "a:1,b:2". Returns "[fd00::1]:1,[fd00::2]:1" unchanged: its brackets do
// not enclose the list.
std::string_view without_outer_brackets(std::string_view text) {
  if (!text.starts_with('[') || !text.ends_with(']')) return text;
  int depth = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    depth += text[i] == '[' ? 1 : text[i] == ']' ? -1 : 0;
    if (depth == 0) return i + 1 == text.size() ? base::trimmed(text.substr(1, i - 1)) : text;
  }
  return text;
}

// Removes quotes around an item. A quote on one side only is removed too, because the other one may
// be at the end of the whole variable.
std::string_view without_quotes(std::string_view item) {
  constexpr std::string_view kQuotes = "\"'";
  const std::size_t first = item.find_first_not_of(kQuotes);
  if (first == std::string_view::npos) return {};
  return base::trimmed(item.substr(first, item.find_last_not_of(kQuotes) - first + 1));
}

// Splits a list at commas and blanks. Two commas without an item between them give an empty item,
// which is an error later: a list with a hole would number the following nodes wrongly.
std::vector<std::string_view> split_list(std::string_view text) {
  std::vector<std::string_view> items;
  while (true) {
    std::size_t comma = text.find(',');
    std::string_view part = base::trimmed(text.substr(0, comma));
    do {
      items.push_back(base::take_word(part));
    } while (!part.empty());
    if (comma == std::string_view::npos) return items;
    text.remove_prefix(comma + 1);
  }
}

// Returns the label without its number: "job-worker-" for "job-worker-3.job". Returns "" if the
// label does not end with a number.
std::string_view stem_of(std::string_view host) {
  if (is_address(host)) return {};
  const std::string_view label = label_of(host);
  const std::size_t last = label.find_last_not_of("0123456789");
  if (last == std::string_view::npos || last + 1 == label.size()) return {};
  return label.substr(0, last + 1);
}

constexpr const char* kReading = "reading the list of hosts";

}  // namespace

bool is_address(std::string_view host) {
  return host.find(':') != std::string_view::npos ||
         host.find_first_not_of("0123456789.") == std::string_view::npos;
}

std::string_view label_of(std::string_view host) {
  return is_address(host) ? host : host.substr(0, host.find('.'));
}

std::optional<HostPort> parse_host_port(std::string_view text) {
  if (text.starts_with('[')) return parse_bracketed(text);
  if (is_ipv6(text)) return HostPort{std::string(text), 0};
  std::size_t colon = text.find(':');
  std::string_view host = text.substr(0, colon);
  if (!is_name(host)) return std::nullopt;
  if (colon == std::string_view::npos) return HostPort{std::string(host), 0};
  auto port = parse_port(text.substr(colon + 1));
  if (!port) return std::nullopt;
  return HostPort{std::string(host), *port};
}

base::Result<std::vector<HostPort>> parse_host_list(std::string_view text, std::string_view where) {
  std::string_view list = without_outer_brackets(without_quotes(base::trimmed(text)));
  if (list.find(',') == std::string_view::npos && base::trimmed(list).empty()) {
    return base::fail(kReading, std::string(where), "no host",
                      "give the hosts of all nodes, separated by commas");
  }
  std::vector<HostPort> hosts;
  std::set<std::tuple<std::string, int>> seen;
  for (std::string_view item : split_list(list)) {
    std::string number = std::to_string(hosts.size() + 1);
    item = without_quotes(item);
    if (item.empty()) {
      return base::fail(kReading, std::string(where), "nothing at place " + number,
                        "a host is missing there: give every node's, without empty places");
    }
    auto host = parse_host_port(item);
    if (!host) {
      return base::fail(
          kReading, std::string(where), base::quoted(item) + " at place " + number,
          "write host or host:port, with [brackets] around an IPv6 address with a port");
    }
    if (!seen.emplace(host->host, host->port).second) {
      return base::fail(kReading, std::string(where), to_text(*host) + " twice",
                        "give each node once; two nodes on one host need different ports");
    }
    hosts.push_back(std::move(*host));
  }
  return hosts;
}

base::Status check_own_place(const std::vector<HostPort>& hosts, std::size_t index,
                             const std::vector<std::string>& own, std::string_view where) {
  auto is_own = [&own](const HostPort& host) {
    return std::ranges::any_of(own, [&host](const std::string& name) {
      return !name.empty() && label_of(name) == label_of(host.host);
    });
  };
  if (is_own(hosts[index])) return {};
  constexpr const char* kFix = "the list and the index have to come from the same job";
  const std::string place = "place " + std::to_string(index) + " of " + std::string(where);
  const auto found = std::ranges::find_if(hosts, is_own);
  if (found != hosts.end()) {
    return base::fail("finding this node", place,
                      to_text(hosts[index]) + ", and this node's " + to_text(*found) +
                          " at place " + std::to_string(found - hosts.begin()),
                      kFix);
  }
  const std::string_view stem = stem_of(hosts[index].host);
  const auto sibling =
      std::ranges::find_if(own, [stem](const std::string& name) { return stem_of(name) == stem; });
  if (stem.empty() || sibling == own.end()) return {};
  return base::fail("finding this node", place, to_text(hosts[index]) + ", and nowhere " + *sibling,
                    kFix);
}

bool is_loopback(std::string_view host) {
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  return host == "localhost" || host.starts_with("localhost.") || host == "::1" || host == "::" ||
         host == "0.0.0.0" || (is_address(host) && host.starts_with("127."));
}

std::string to_text(const HostPort& host) {
  if (host.port == 0) return host.host;
  bool ipv6 = host.host.find(':') != std::string::npos;
  std::string name = ipv6 ? '[' + host.host + ']' : host.host;
  return name + ':' + std::to_string(host.port);
}

}  // namespace envgen
