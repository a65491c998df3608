#pragma once
// The manifest while it is made: each process writes its own, and they are joined at the end.

#include <cstdint>
#include <string>

#include "base/result.h"
#include "init/copy/manifest.h"
#include "init/sys/fd.h"

namespace copy {

class ManifestFile {
 public:
  // Empty: nothing is written.
  ManifestFile() = default;
  static envgen::Result<ManifestFile> create(const std::string& directory, int number);

  envgen::Status add(const envgen::ManifestLine& line);
  envgen::Status flush();
  [[nodiscard]] bool valid() const { return file_.valid(); }

 private:
  sys::Fd file_;
  std::string text_;
};

// Those of a run that was killed: a process that is never started makes none in their place.
envgen::Status remove_parts(const std::string& directory);
// Makes `<directory>/manifest` of those of `count` processes, and removes these.
envgen::Status join_manifests(const std::string& directory, int count, std::uint32_t mode);

}  // namespace copy
