#pragma once
// The manifest during a copy. Each process writes a part in a file of its own, and the parts are
// joined at the end.

#include <cstdint>
#include <string>

#include "base/result.h"
#include "init/copy/manifest.h"
#include "init/sys/fd.h"

namespace copy {

class ManifestFile {
 public:
  // Makes an object that ignores all lines.
  ManifestFile() = default;
  static base::Result<ManifestFile> create(const std::string& directory, int number);

  base::Status add(const ManifestLine& line);
  base::Status flush();
  [[nodiscard]] bool valid() const { return file_.valid(); }

 private:
  sys::Fd file_;
  std::string text_;
};

// Deletes the parts of a killed run, because this run may have fewer processes.
base::Status remove_parts(const std::string& directory);
// Joins the parts of `count` processes to `<directory>/manifest`, and removes the parts.
base::Status join_manifests(const std::string& directory, int count, std::uint32_t mode);

}  // namespace copy
