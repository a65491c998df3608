#pragma once
// The addresses of node 0's name, found by a process of its own as often as it may be another one:
// a name is not known before its container is there, is known to another address after a restart,
// and whoever answers may not. Nobody waits for it.

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "base/environ.h"
#include "init/sys/fd.h"

namespace engine {

class LinkResolver {
 public:
  LinkResolver(std::string host, const envgen::Environ& env);
  LinkResolver(const LinkResolver&) = delete;
  LinkResolver& operator=(const LinkResolver&) = delete;
  ~LinkResolver();

  // The last ones that were found.
  [[nodiscard]] const std::vector<std::string>& addresses() const { return addresses_; }
  [[nodiscard]] const std::string& why() const { return why_; }  // when there are none
  // They are of no use: looks again, if the last look is some seconds ago.
  void look_again();
  [[nodiscard]] int fd() const { return pipe_.get(); }  // to be read; -1: it does not look
  void ready();

 private:
  void start();
  void finish();

  std::string host_;
  const envgen::Environ& env_;
  std::vector<std::string> addresses_;
  std::string why_ = "its name is not resolved yet";
  bool is_number_ = false;
  std::int64_t looked_ms_ = 0;
  pid_t pid_ = -1;
  sys::Fd pipe_;
  std::string answer_;
};

}  // namespace engine
