#pragma once
// The destination of a copy, and its state directory. The functions block on the destination's file
// system, which must be local. Only find_source() accesses the source.

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
  std::string path;       // absolute, without symlinks; in an OpenDestination it may lead through a
                          // descriptor
  std::string real = "";  // the path for messages and records, never through a descriptor
  // The path of the state directory: "<parent>/.trainit-copy.<name>". A long name is shortened and
  // gets a hash. For a mount point: "<path>/.trainit-copy".
  std::string state;
  // True if the destination is a mount point, which cannot be replaced. The copy is then a version
  // below it, and <path>/current a symlink to the version.
  bool mount_point = false;
  bool exists = false;  // the fields from here on describe the current content
  bool directory = false;
  std::uint64_t device = 0;
  std::uint64_t inode = 0;

  [[nodiscard]] std::string parent() const;
  [[nodiscard]] std::string named_parent() const;
  // Returns the path of the data.
  [[nodiscard]] std::string data() const { return mount_point ? path + "/current" : path; }
  [[nodiscard]] std::string real_data() const { return mount_point ? real + "/current" : real; }
};

// Describes a destination. Its parents may be missing, and symlinks are followed. Writes nothing.
// Fails for the root directory, a dangling link, and a device. Also fails for a directory that
// contains the working directory, because this process would stay in the replaced directory.
base::Result<Destination> find_destination(const std::string& destination_path);

// A destination whose parents and state directory exist and are open. Only this user can write to
// the state directory. If another user could change what the path means, as in the home of a job's
// user, the paths lead through descriptors (/proc/self/fd/N), so that a later change has no effect.
struct OpenDestination {
  Destination destination;
  sys::Fd directory;  // descriptor of the destination's parent; for a mount point, of the
                      // destination
  sys::Fd state;

  // Replaces paths through descriptors in a text by the paths for messages.
  [[nodiscard]] std::string with_named_paths(std::string text) const;
};

// Opens a destination. `job_user` is the user for whom the copy is made, whose rights decide which
// symlinks are followed; nullptr: this process's user. Fails for a link to a directory that the
// user cannot write, a link that another user could have created, and a state directory of another
// user.
base::Result<OpenDestination> open_destination(const std::string& destination_path,
                                               const envgen::Identity* job_user);
// Sets the fields that describe the current content. The paths must be set.
base::Status describe_destination(Destination& destination);
// Reads the fields that describe the current content again.
base::Status refresh(OpenDestination& open);

// The source of a copy.
struct Source {
  std::string path;  // absolute, links resolved
  bool directory = false;
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  std::uint32_t owner = 0;
};

// Describes a source. A child process accesses it, because a process that accesses a dead mount
// cannot be killed. The child is abandoned at the deadline of `options`. Until it answers,
// options.report is called several times a second.
base::Result<Source> find_source(const std::string& path, const Options& options);

// Fails if the source and the destination are the same or one contains the other. Also fails if one
// of them is a file and the other one a directory.
base::Status check_apart(const Source& source, const Destination& destination);

}  // namespace copy
