#pragma once
// Looks up the addresses of node 0's name, in a child process: the name server may not answer, and
// the caller must not block. The lookup is repeated when the addresses may have changed. A name is
// unknown before its container exists, and can have another address after a restart.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/environ.h"
#include "init/proc/child_run.h"

namespace engine {

class LinkResolver {
 public:
  LinkResolver(std::string host, const base::Environ& env);
  LinkResolver(const LinkResolver&) = delete;
  LinkResolver& operator=(const LinkResolver&) = delete;

  // Returns the addresses that were found last.
  [[nodiscard]] const std::vector<std::string>& addresses() const { return addresses_; }
  [[nodiscard]] const std::string& why() const { return why_; }  // why no address is known
  // Looks up the name again; call it if the known addresses did not work. Does nothing while a
  // lookup runs, or if addresses are known and the last lookup began less than five seconds ago.
  void look_again();
  [[nodiscard]] int fd() const {
    return run_ ? run_->fd() : -1;
  }  // poll for reading; -1: no lookup runs
  void ready();
  // Reaps the process of the last lookup when it has exited. Call it in every loop iteration; never
  // blocks.
  void reap();

 private:
  void start();

  std::string host_;
  const base::Environ& env_;
  std::vector<std::string> addresses_;
  std::string why_ = "its name is not resolved yet";
  bool is_number_ = false;
  std::int64_t looked_ms_ = 0;
  std::optional<proc::ChildRun> run_;
};

}  // namespace engine
