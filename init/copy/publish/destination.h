#pragma once
// The destination of a copy, and its state directory. The functions block on the destination's file
// system, which must be local; only find_source() accesses the source.

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "envgen/plan/sandbox.h"
#include "init/copy/tree/options.h"
#include "init/sys/fd.h"

namespace copy {

// The prefix of the names of state directories; at a mount point, the whole name.
inline constexpr std::string_view kStateName = ".trainit-copy";
// Returns the name of the state directory of the destination `name`, which lies beside it.
std::string state_name(const std::string& name);

struct Destination {
  std::string path;       // absolute, links resolved; held (below): by way of a descriptor
  std::string real = "";  // the path as it is named and noted
  // "<parent>/.trainit-copy.<name>", of a long name its start and a hash; of a mount point
  // "<path>/.trainit-copy".
  std::string state;
  // A mount point cannot be replaced: the copy is a version below it, and <path>/current a link.
  bool mount_point = false;
  bool exists = false;  // describes the current content, as do the following fields
  bool directory = false;
  std::uint64_t device = 0;
  std::uint64_t inode = 0;

  [[nodiscard]] std::string parent() const;
  [[nodiscard]] std::string named_parent() const;
  // Return the path of the data.
  [[nodiscard]] std::string data() const { return mount_point ? path + "/current" : path; }
  [[nodiscard]] std::string real_data() const { return mount_point ? real + "/current" : real; }
};

// Describes a destination, whose parents may be missing, and follows a symbolic link. Writes
// nothing. Errors: the root directory, a dangling link, a device, a directory that contains the
// working directory: this process would stay in the replaced directory.
base::Result<Destination> find_destination(const std::string& destination_path);

// A destination with open descriptors. Its parents and its state directory exist; only this user
// can write to the state directory. If another user can change what the path means, as in a job
// user's home, the paths lead through descriptors (/proc/self/fd/N): a later change has no effect.
struct OpenDestination {
  Destination destination;
  sys::Fd directory;  // the destination's parent; of a mount point, the destination
  sys::Fd state;

  // Replaces paths through descriptors in a text by the paths that the user gave.
  [[nodiscard]] std::string with_named_paths(std::string text) const;
};

// Opens a destination. `job_user`: the user that the destination is for, whose rights decide about
// symbolic links; nullptr: this process's. Errors: a link to a directory that the user cannot
// write, a link that another user could have created, a state directory of another user.
base::Result<OpenDestination> open_destination(const std::string& destination_path,
                                               const envgen::Identity* job_user);
// Fills the fields of a destination whose paths are known.
base::Status describe_destination(Destination& destination);
// Reads the fields of a destination again.
base::Status refresh(OpenDestination& open);

// The source of a copy.
struct Source {
  std::string path;  // absolute, links resolved
  bool directory = false;
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  std::uint32_t owner = 0;
};

// Describes a source, by a child process that is abandoned at the deadline of `options`: a process
// that accesses a dead mount cannot be killed. Until the child answers, calls options.report
// several times a second.
base::Result<Source> find_source(const std::string& path, const Options& options);

// Fails if the source and the destination are the same, or one lies inside the other, or one is a
// file and the other one a directory.
base::Status check_apart(const Source& source, const Destination& destination);

}  // namespace copy
