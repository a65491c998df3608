#pragma once
// Who may speak on the link: what proves that a frame is of a node of this job, of this connection,
// and of this place in it, so that none can be made, changed, repeated or left out by a stranger.
// Frames are not hidden: whoever can read the network reads them.
//
// The job's key is derived from its secret; where it has none, from what all its nodes are told
// alike. A hello is tagged by it over node 0's nonce; the key of the session is derived from it,
// that nonce and the hello, which has the other's nonce, so that node 0's first frame proves that
// it knows it too. A digest of the list of nodes is in the hello: who knows the secret and has
// another list is told so, and is not let in.

#include <cstdint>
#include <string>
#include <string_view>

#include "init/engine/cluster/link_wire.h"
#include "init/sys/mac.h"

namespace engine {

std::string new_link_nonce();  // "": the kernel has none

// One end of a connection whose hello has been sent.
class LinkSession {
 public:
  LinkSession() = default;  // of none: fits no frame

  // Of the next frame that this end sends.
  LinkFrame::Tag seal(LinkFrame::Kind kind, std::string_view payload);
  // Whether it is the next frame of the other end.
  bool opens(const LinkFrame& frame);

 private:
  friend class LinkKey;
  [[nodiscard]] LinkFrame::Tag tag(bool of_node0, std::uint64_t number, LinkFrame::Kind kind,
                                   std::string_view payload) const;

  sys::MacKey key_{};
  bool exists_ = false;
  bool node0_ = false;
  std::uint64_t sent_ = 0;
  std::uint64_t opened_ = 0;
};

class LinkKey {
 public:
  LinkKey(const std::string& secret, const std::string& common);

  [[nodiscard]] LinkFrame::Tag hello_tag(const std::string& nonce, std::string_view hello) const;
  [[nodiscard]] bool fits_hello(const std::string& nonce, const LinkFrame& hello) const;
  [[nodiscard]] LinkSession session(const std::string& nonce, std::string_view hello,
                                    bool node0) const;

 private:
  sys::MacKey key_;
};

}  // namespace engine
