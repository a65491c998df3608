#include "init/copy/publish/filling.h"

#include <stdio.h>
#include <unistd.h>

#include <cerrno>

#include "init/copy/publish/publication_journal.h"
#include "init/copy/publish/publish.h"
#include "init/copy/tree/contents.h"
#include "init/copy/tree/pass.h"
#include "init/sys/boot.h"
#include "init/sys/clock.h"
#include "init/sys/files.h"

namespace copy {
namespace {

std::string note_of(const Destination& destination) { return filling_of(destination) + "/source"; }

std::string note_text(const Source& source) {
  return std::to_string(source.inode) + " " + source.path + "\n";
}

base::Status write_note(const Source& source, const Destination& destination) {
  TRY(sys::make_directories(filling_of(destination), 0755));
  return sys::write_file_atomic(note_of(destination), 0644, note_text(source));
}

// Deletes the unfinished copy of another source. It proves nothing: two files of different sources
// can have equal name, size and mtime but other contents, because some builds set one time for all
// files.
base::Status begin(const Source& source, const Destination& destination, const Keep& keep) {
  if (read_kept_file(note_of(destination)).content == note_text(source)) return {};
  auto status = remove_tree(tree_of(destination), keep);
  if (status) status = remove_tree(filling_of(destination), keep);
  return status ? write_note(source, destination) : status;
}

bool is_there(const std::string& path) { return ::access(path.c_str(), F_OK) == 0; }

}  // namespace

base::Result<Scan> fill(const Source& source, const Destination& destination,
                        const Options& options, const SharedCounters& counters) {
  TRY(begin(source, destination, options.keep));
  return run_copy_job(root_of(source.path, source.directory), tree_of(destination),
                      filling_of(destination), options, counters);
}

std::string source_of_filling(const Destination& destination) {
  const std::string note = read_kept_file(note_of(destination)).content;
  const std::size_t space = note.find(' ');
  if (space == std::string::npos || !note.ends_with('\n')) return "";
  return note.substr(space + 1, note.size() - space - 2);
}

base::Status reopen(const Source& source, const Destination& destination) {
  const std::string record = record_of(destination);
  let_move(destination.path);
  if (::unlink(record.c_str()) != 0 && errno != ENOENT) return fail_on(record, errno);
  TRY(remove_tree(tree_of(destination), {}));
  TRY(remove_tree(filling_of(destination), {}));
  TRY(write_note(source, destination));
  if (::rename(destination.path.c_str(), tree_of(destination).c_str()) == 0) return {};
  return fail_on(destination.path, errno);
}

base::Status take_over(const Destination& from, const Destination& destination) {
  if (!is_there(tree_of(from)) || is_there(tree_of(destination))) return {};
  TRY(remove_tree(filling_of(destination), {}));
  let_move(tree_of(from));
  // The notes in `filling` are moved before the tree. A tree without notes proves nothing, so after
  // a kill between the two renames the copy starts again.
  const bool notes = ::rename(filling_of(from).c_str(), filling_of(destination).c_str()) == 0;
  if (notes && ::rename(tree_of(from).c_str(), tree_of(destination).c_str()) == 0) return {};
  const int error = errno;
  if (notes) ::rename(filling_of(destination).c_str(), filling_of(from).c_str());
  if (error == EXDEV || error == ENOENT) return {};
  return fail_on(tree_of(destination), error);
}

CopyRecord record_for(const Source& source, const Destination& destination, const Options& options,
                      const Scan& scan) {
  return {.source = source.path,
          .digest = to_text(scan.digest),
          .version = "",
          .options = to_text(options),
          .path = destination.real_data(),
          .entries = scan.size.entries,
          .bytes = scan.size.bytes,
          .allocated = scan.size.allocated,
          .finished_ms = sys::wall_ms(),
          .boot_id = sys::boot_id(),
          .synced = options.durable,
          .hashed = options.verify};
}

}  // namespace copy
