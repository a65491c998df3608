#pragma once
// A machine of its own for tests with the real OpenSSH: a mount namespace with private accounts,
// /run and home directories, in which the test program and all that it starts live. Nothing of the
// host's accounts or keys is read or written.

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "tests/init/child.h"
#include "tests/rules/instance.h"

namespace peers {

struct User {
  const char* name;
  unsigned uid;
};
inline constexpr User kRoot{"root", 0};
inline constexpr User kWorker{"worker", 12345};

inline std::string name_of_user(const testing::TestParamInfo<User>& user) {
  return user.param.name;
}

// Why there is no such machine here; "" when there is one.
std::string why_not();

// In a child that is to become the user.
void become(const User& user);

class PeerTest : public child::Scratch, public testing::WithParamInterface<User> {
 protected:
  PeerTest();

  [[nodiscard]] const User& user() const { return GetParam(); }
  [[nodiscard]] std::string directory() const { return path("ssh"); }
  [[nodiscard]] std::string home() const;
  [[nodiscard]] rules::Words env(const rules::Words& more = {}) const;

  // `peer VERB --dir D ARGS` as the user.
  [[nodiscard]] rules::Spec peer(const std::string& verb, const rules::Words& args,
                                 const rules::Words& variables = {}) const;
  // A worker that listens on port() and has answered.
  [[nodiscard]] std::unique_ptr<rules::Instance> worker(const rules::Words& more = {});
  // Does not wait until it answers.
  [[nodiscard]] std::unique_ptr<rules::Instance> started_worker(const rules::Words& more = {});
  void await_answer(rules::Instance& serve) const;
  // The ssh client, with `command` for the worker.
  [[nodiscard]] rules::Spec client(const std::string& command) const;
  [[nodiscard]] rules::Result ssh(const std::string& command) const;
  // A session that says "open" and ends when `close_session` opens the FIFO of this name. Returns
  // when it is open.
  [[nodiscard]] std::unique_ptr<rules::Instance> open_session(const std::string& fifo) const;
  void make_fifo(const std::string& name) const;
  void close_session(const std::string& fifo) const;
  // Sends the end message by `peer end`.
  [[nodiscard]] rules::Result end(int code, const std::string& hosts = "127.0.0.1\n") const;

  [[nodiscard]] int port() const { return port_; }
  [[nodiscard]] std::string key() const { return path("job_key"); }
  // Gives a file of ours to the user.
  void give(const std::string& file) const;

 private:
  int port_ = rules::free_port();
};

}  // namespace peers
