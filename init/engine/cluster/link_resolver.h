#pragma once
// The addresses of node 0's name, found by a process of its own as often as it may be another one:
// a name is not known before its container is there, is known to another address after a restart,
// and whoever answers may not. Nobody waits for it.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/environ.h"
#include "init/proc/child_run.h"

namespace engine {

class LinkResolver {
 public:
  LinkResolver(std::string host, const envgen::Environ& env);
  LinkResolver(const LinkResolver&) = delete;
  LinkResolver& operator=(const LinkResolver&) = delete;

  // The last ones that were found.
  [[nodiscard]] const std::vector<std::string>& addresses() const { return addresses_; }
  [[nodiscard]] const std::string& why() const { return why_; }  // when there are none
  // They are of no use: looks again, if the last look is some seconds ago.
  void look_again();
  [[nodiscard]] int fd() const {
    return run_ ? run_->fd() : -1;
  }  // to be read; -1: it does not look
  void ready();
  // Ends the process of the last look once it exits. Call it in every loop iteration; never blocks.
  void reap();

 private:
  void start();

  std::string host_;
  const envgen::Environ& env_;
  std::vector<std::string> addresses_;
  std::string why_ = "its name is not resolved yet";
  bool is_number_ = false;
  std::int64_t looked_ms_ = 0;
  std::optional<proc::ChildRun> run_;
};

}  // namespace engine
