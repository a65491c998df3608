#include "init/proc/load.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <map>
#include <string>

#include "base/stable_sort.h"
#include "base/text.h"
#include "init/proc/tree.h"
#include "init/sys/fd.h"

namespace proc {
namespace {

constexpr std::size_t kMaxBytes = 4096;
constexpr int kDeepest = 1 << 16;

const Load* find(const std::vector<Load>& loads, pid_t pid) {
  const auto found = std::ranges::lower_bound(loads, pid, {}, &Load::pid);
  return found != loads.end() && found->pid == pid ? &*found : nullptr;
}

bool is_below(const std::vector<Load>& loads, const Load& one, pid_t root) {
  const Load* at = &one;
  for (int depth = 0; at != nullptr && depth < kDeepest; ++depth) {
    if (at->pid == root) return true;
    at = at->parent > 0 ? find(loads, at->parent) : nullptr;
  }
  // A process that PID 1 has adopted is still in the session of its rank, so it belongs to the
  // tree.
  return one.session == root;
}

}  // namespace

std::optional<Load> parse_load(std::string_view stat) {
  // Fields after the name in "pid (name) state parent group session ...". The name may contain
  // blanks and parentheses.
  constexpr int kState = 3;
  constexpr int kParent = 4;
  constexpr int kSession = 6;
  constexpr int kUsed = 14;  // utime, stime, and both of children it waited for
  constexpr int kUsedEnd = 17;
  constexpr int kStart = 22;
  constexpr int kStack = 28;
  const std::size_t end_of_name = stat.rfind(')');
  if (end_of_name == std::string_view::npos) return std::nullopt;
  const auto number = [](std::string_view text, auto* value) {
    const auto parsed = base::parse_number<std::remove_reference_t<decltype(*value)>>(text);
    *value = parsed.value_or(0);
    return parsed.has_value();
  };
  Load load;
  std::int64_t ticks = 0;
  bool ok = number(stat.substr(0, stat.find(' ')), &load.pid);
  std::string_view rest = stat.substr(end_of_name + 1);
  for (int field = kState; field <= kStack; ++field) {
    if (field > kStart && !rest.starts_with(' ')) break;
    if (!ok || !rest.starts_with(' ')) return std::nullopt;
    rest.remove_prefix(1);
    const std::string_view value = rest.substr(0, rest.find_first_of(" \n"));
    rest.remove_prefix(value.size());
    if (field == kState && !value.empty()) load.state = value[0];
    if (field == kParent) ok = number(value, &load.parent);
    if (field == kSession) ok = number(value, &load.session);
    if (field >= kUsed && field <= kUsedEnd) {
      std::int64_t some = 0;
      ok = number(value, &some);
      ticks += some;
    }
    if (field == kStart) ok = number(value, &load.start);
    if (field == kStack) ok = number(value, &load.stack);
  }
  if (!ok) return std::nullopt;
  load.used_ms = ticks * 1000 / std::max(::sysconf(_SC_CLK_TCK), 1L);
  return load;
}

std::vector<Load> all_loads() {
  std::vector<Load> loads;
  for (const pid_t pid : all_pids()) {
    std::array<char, kMaxBytes> text;
    const sys::Fd fd(
        ::open(("/proc/" + std::to_string(pid) + "/stat").c_str(), O_RDONLY | O_CLOEXEC));
    const ssize_t size = fd.valid() ? ::read(fd.get(), text.data(), text.size()) : -1;
    if (size <= 0) continue;
    const auto load = parse_load({text.data(), static_cast<std::size_t>(size)});
    if (load) loads.push_back(*load);
  }
  base::stable_sort(loads, std::less(), &Load::pid);
  return loads;
}

std::int64_t tree_used_ms(const std::vector<Load>& loads, pid_t root) {
  std::int64_t used_ms = 0;
  for (const Load& one : loads) {
    if (is_below(loads, one, root)) used_ms += one.used_ms;
  }
  return used_ms;
}

bool tree_runnable(const std::vector<Load>& loads, pid_t root) {
  return std::ranges::any_of(loads, [&loads, root](const Load& one) {
    return one.state == 'R' && is_below(loads, one, root);
  });
}

std::vector<pid_t> tree_of(const std::vector<Load>& loads, pid_t root) {
  std::vector<pid_t> pids = {root};
  for (const Load& one : loads) {
    if (one.pid != root && is_below(loads, one, root)) pids.push_back(one.pid);
  }
  return pids;
}

std::vector<std::vector<Load>> trees_of(const std::vector<Load>& loads,
                                        const std::vector<pid_t>& roots) {
  std::map<pid_t, std::size_t> places;
  for (std::size_t i = 0; i < roots.size(); ++i) places.emplace(roots[i], i);
  const auto tree_with = [&](const Load& one) {
    const Load* at = &one;
    for (int depth = 0; at != nullptr && depth < kDeepest; ++depth) {
      const auto found = places.find(at->pid);
      if (found != places.end()) return found;
      at = at->parent > 0 ? find(loads, at->parent) : nullptr;
    }
    return places.find(one.session);
  };
  std::vector<std::vector<Load>> trees(roots.size());
  for (const Load& one : loads) {
    const auto tree = tree_with(one);
    if (tree != places.end()) trees[tree->second].push_back(one);
  }
  return trees;
}

}  // namespace proc
