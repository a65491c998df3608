#include "init/sandbox/passwd.h"

#include <algorithm>
#include <optional>

#include "base/text.h"

namespace sandbox {
namespace {

constexpr const char* kWhat = "finding the job's user";

std::optional<std::uint32_t> to_id(std::string_view text) {
  const auto id = base::parse_number<std::uint32_t>(text);
  return id && *id <= kMaxId ? id : std::nullopt;
}

// Calls `entry` for each line that can be an entry, with the name and the fields after the
// password.
template <class Function>
void for_each_entry(std::string_view text, Function entry) {
  while (!text.empty()) {
    std::string_view line = base::trimmed(base::take_line(text));
    if (line.empty() || std::string_view("#+-:").contains(line.front())) continue;
    const std::string_view name = base::take_part(line, ':');
    base::take_part(line, ':');  // the password
    entry(name, line);
  }
}

std::unexpected<base::Error> no_such(std::string_view kind, std::string_view name,
                                     std::string_view file, std::string_view option) {
  return base::fail(kWhat, std::string(option),
                    "the " + std::string(kind) + ' ' + base::quoted(name) +
                        ", which has no line in " + std::string(file),
                    "add it to the image, or write its number");
}

std::unexpected<base::Error> too_large(std::string_view text, std::string_view option) {
  return base::fail(kWhat, std::string(option), base::quoted(text) + ", which is no id",
                    "ids go up to " + std::to_string(kMaxId));
}

base::Status find_user(std::string_view user, std::string_view passwd, std::string_view option,
                       envgen::Identity& identity) {
  const bool is_number = base::is_digits(user);
  std::uint32_t uid = 0;
  if (is_number) {
    const auto id = to_id(user);
    if (!id) return too_large(user, option);
    uid = *id;
  }
  const auto entries = parse_passwd(passwd);
  const auto entry = std::ranges::find_if(entries, [&](const PasswdEntry& candidate) {
    return is_number ? candidate.uid == uid : candidate.name == user;
  });
  if (entry != entries.end()) {
    identity.uid = entry->uid;
    identity.gid = entry->gid;
    identity.name = entry->name;
    if (!entry->home.empty()) identity.home = entry->home;
  } else if (is_number) {
    identity.uid = uid;
  } else {
    return no_such("user", user, "/etc/passwd", option);
  }
  return {};
}

base::Status find_group(std::string_view name, std::string_view group, std::string_view option,
                        envgen::Identity& identity) {
  if (base::is_digits(name)) {
    const auto gid = to_id(name);
    if (!gid) return too_large(name, option);
    identity.gid = *gid;
    return {};
  }
  const auto entries = parse_group(group);
  const auto entry = std::ranges::find(entries, name, &GroupEntry::name);
  if (entry == entries.end()) return no_such("group", name, "/etc/group", option);
  identity.gid = entry->gid;
  return {};
}

void add_supplementary(std::string_view group, envgen::Identity& identity) {
  if (identity.name.empty()) return;
  for (const GroupEntry& entry : parse_group(group)) {
    if (std::ranges::find(entry.members, identity.name) != entry.members.end()) {
      identity.groups.push_back(entry.gid);
    }
  }
  std::ranges::sort(identity.groups);
  const auto doubles = std::ranges::unique(identity.groups);
  identity.groups.erase(doubles.begin(), doubles.end());
}

}  // namespace

std::vector<PasswdEntry> parse_passwd(std::string_view text) {
  std::vector<PasswdEntry> entries;
  for_each_entry(text, [&entries](std::string_view name, std::string_view fields) {
    const auto uid = to_id(base::take_part(fields, ':'));
    const auto gid = to_id(base::take_part(fields, ':'));
    if (!uid || !gid) return;
    base::take_part(fields, ':');  // the full name
    const std::string_view home = base::take_part(fields, ':');
    entries.push_back({.name = std::string(name),
                       .uid = *uid,
                       .gid = *gid,
                       .home = std::string(home),
                       .shell = std::string(fields)});
  });
  return entries;
}

std::vector<GroupEntry> parse_group(std::string_view text) {
  std::vector<GroupEntry> entries;
  for_each_entry(text, [&entries](std::string_view name, std::string_view fields) {
    const auto gid = to_id(base::take_part(fields, ':'));
    if (!gid) return;
    GroupEntry entry{.name = std::string(name), .gid = *gid, .members = {}};
    while (!fields.empty()) {
      std::string_view member = base::take_part(fields, ',');
      while (member.starts_with(' ')) member.remove_prefix(1);
      while (member.ends_with(' ') || member.ends_with('\r')) member.remove_suffix(1);
      if (!member.empty()) entry.members.emplace_back(member);
    }
    entries.push_back(std::move(entry));
  });
  return entries;
}

base::Result<envgen::Identity> find_identity(std::string_view spec, std::string_view passwd,
                                             std::string_view group, std::string_view option) {
  const std::size_t colon = spec.find(':');
  const std::string_view user = spec.substr(0, colon);
  const bool has_group = colon != std::string_view::npos;
  const std::string_view group_name = has_group ? spec.substr(colon + 1) : "";
  if (user.empty() || (has_group && group_name.empty()) || group_name.contains(':')) {
    return base::fail(kWhat, std::string(option), base::quoted(spec), "write USER, or USER:GROUP");
  }
  envgen::Identity identity;
  identity.home = "/";
  TRY(find_user(user, passwd, option, identity));
  if (has_group) {
    TRY(find_group(group_name, group, option, identity));
  } else {
    add_supplementary(group, identity);
  }
  std::erase(identity.groups, identity.gid);
  identity.groups.insert(identity.groups.begin(), identity.gid);
  if (identity.groups.size() > kMaxGroups) {
    return base::fail(kWhat, std::string(option),
                      std::to_string(identity.groups.size()) + " groups that list the user",
                      "the kernel takes " + std::to_string(kMaxGroups) + "; name one: USER:GROUP");
  }
  return identity;
}

void keep_platform_groups(envgen::Identity& identity, const std::vector<std::uint32_t>& present,
                          const envgen::Identity& own) {
  for (const std::uint32_t gid : present) {
    const auto has = [gid](const std::vector<std::uint32_t>& groups) {
      return std::ranges::find(groups, gid) != groups.end();
    };
    if (!has(own.groups) && !has(identity.groups)) identity.groups.push_back(gid);
  }
}

}  // namespace sandbox
