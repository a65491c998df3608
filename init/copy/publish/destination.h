#pragma once
// The destination of a copy, and where what is kept beside it lies. Only local file systems are
// touched here; a copy's source is not.

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "envgen/plan/sandbox.h"
#include "init/sys/fd.h"

namespace copy {

// What names of state directories begin with; all of it at a mount point.
inline constexpr std::string_view kStateName = ".trainit-copy";
// Of the destination of that name in the same directory.
std::string state_name(const std::string& name);

struct Destination {
  std::string path;       // absolute, links resolved; held (below): by way of a descriptor
  std::string real = "";  // the path as it is named and noted
  // "<parent>/.trainit-copy.<name>", of a long name its start and a hash; of a mount point
  // "<path>/.trainit-copy".
  std::string state;
  // A mount point cannot be replaced: the copy is a version below it, and <path>/current a link.
  bool mount_point = false;
  // What is there now.
  bool exists = false;
  bool directory = false;
  std::uint64_t device = 0;
  std::uint64_t inode = 0;

  [[nodiscard]] std::string parent() const;
  [[nodiscard]] std::string named_parent() const;
  // Where the data is to be read.
  [[nodiscard]] std::string data() const { return mount_point ? path + "/current" : path; }
  [[nodiscard]] std::string real_data() const { return mount_point ? real + "/current" : real; }
};

// Makes nothing; parents may be missing. Follows a link. Errors: the root directory, a link to
// nothing, a device, the working directory: whoever is in it would stay in what is replaced.
envgen::Result<Destination> find_destination(const std::string& destination_path);

// A destination that is worked at: its parents and its state directory are made, and the latter is
// ours alone. Where somebody else may change what the path means, as a job's user in its home, the
// paths lead through descriptors (/proc/self/fd/N), and nothing that is swapped later has any
// effect.
struct HeldDestination {
  Destination destination;
  sys::Fd directory;  // that the destination lies in; of a mount point itself
  sys::Fd state;

  // A text with the paths as they were named.
  [[nodiscard]] std::string with_named_paths(std::string text) const;
};

// `job_user`: the user that the destination is for, where that is another one: it is reached as
// that user would. Errors: a link that leads to where the user may not write, or one of somebody
// else; a state directory that is another user's.
envgen::Result<HeldDestination> hold_destination(const std::string& destination_path,
                                                 const envgen::Identity* job_user);
// Of a destination whose paths are known: what is there, and where its state directory lies.
envgen::Status describe_destination(Destination& destination);
// What is there by now.
envgen::Status refresh(HeldDestination& held);

// What is copied, as a process that looked at it said.
struct Source {
  std::string path;  // absolute, links resolved
  bool directory = false;
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  std::uint32_t owner = 0;
};

// Looks at it in a process of its own, which is left behind at the deadline (sys::monotonic_ms; 0 =
// none): a dead mount hangs whoever touches it.
envgen::Result<Source> find_source(const std::string& path, std::int64_t deadline_ms,
                                   const envgen::Identity* job_user = nullptr);

// One may be copied to the other: neither lies inside the other, and both are of one kind.
envgen::Status check_apart(const Source& source, const Destination& destination);

}  // namespace copy
