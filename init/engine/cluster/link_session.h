#pragma once
// The authentication of the link's frames. A tag proves that a frame comes from a node of this job,
// on this connection, and at this place in the sequence. So a stranger cannot forge, change, repeat
// or leave out a frame. Frames are not encrypted: everyone with access to the network can read
// them.
//
// The job's key is derived from its secret. Without a secret it is derived from data that all nodes
// of the job have alike (common_key()). A node's hello is tagged with that key, over node 0's
// nonce. The session's key is derived from the job's key, that nonce and the hello, which contains
// the node's own nonce. So node 0's first frame proves that node 0 knows the job's key too.
//
// The hello also contains a digest of the list of nodes. If a node knows the secret but has another
// list, node 0 sends it the reason and refuses it.

#include <cstdint>
#include <string>
#include <string_view>

#include "init/engine/cluster/link_wire.h"
#include "init/sys/mac.h"

namespace engine {

std::string new_link_nonce();  // returns "" if the kernel has no random bytes

// The session at one end of a connection, from the hello on: it makes and checks the tags of
// frames.
class LinkSession {
 public:
  LinkSession() = default;  // no session yet: opens() returns false

  // Returns the tag of the next frame that this end sends.
  LinkFrame::Tag seal(LinkFrame::Kind kind, std::string_view payload);
  // Checks the tag of a received frame. Returns true if it is the next frame of the other end.
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
