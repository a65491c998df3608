#include "init/copy/posix_acl.h"

#include <cstddef>

namespace copy {
namespace {

constexpr std::uint32_t kVersion = 2;
constexpr std::size_t kHeaderBytes = 4;
constexpr std::size_t kEntryBytes = 8;
constexpr std::uint32_t kAll = 07;
constexpr std::uint32_t kGroupAndOthers = 077;
constexpr unsigned kGroupShift = 3;

// Tags of entries that are needed. Other entries are those of the owner, the mask and the others,
// which the mode contains.
constexpr std::uint32_t kUser = 0x02;
constexpr std::uint32_t kGroupObject = 0x04;
constexpr std::uint32_t kGroup = 0x08;

// Returns the little-endian number of `size` bytes at `at`.
std::uint32_t number_at(std::string_view bytes, std::size_t at, std::size_t size) {
  std::uint32_t value = 0;
  for (std::size_t i = size; i > 0; --i) {
    value = (value << 8U) | static_cast<unsigned char>(bytes[at + i - 1]);
  }
  return value;
}

}  // namespace

std::uint32_t without_acl(std::uint32_t mode, std::string_view acl) {
  const bool known = acl.size() >= kHeaderBytes && (acl.size() - kHeaderBytes) % kEntryBytes == 0 &&
                     number_at(acl, 0, kHeaderBytes) == kVersion;
  if (!known) return mode & ~kGroupAndOthers;
  // The mask limits all entries except those of the owner and the others. The kernel shows it as
  // the group bits of the mode.
  const std::uint32_t mask = (mode >> kGroupShift) & kAll;
  std::uint32_t group = mask;
  std::uint32_t other = mode & kAll;
  for (std::size_t at = kHeaderBytes; at < acl.size(); at += kEntryBytes) {
    const std::uint32_t tag = number_at(acl, at, 2);
    const std::uint32_t permissions = number_at(acl, at + 2, 2);
    if (tag == kGroupObject || tag == kUser) group &= permissions;
    if (tag == kUser || tag == kGroup) other &= permissions & mask;
  }
  return (mode & ~kGroupAndOthers) | (group << kGroupShift) | other;
}

}  // namespace copy
