#include "init/sys/mac.h"

#include <fcntl.h>
#include <sodium/crypto_auth_hmacsha256.h>
#include <sodium/crypto_verify_32.h>
#include <sys/random.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "init/sys/fd.h"
#include "init/sys/path_state.h"

// Two functions that replace libsodium's, with the same behaviour. Otherwise the linker would add
// the library's versions, and with them all its ciphers, 200 KB. No code here calls them.
extern "C" {
[[noreturn]] void sodium_misuse() { std::abort(); }
void randombytes_buf(void* bytes, std::size_t size) {
  if (!sys::random_bytes({static_cast<unsigned char*>(bytes), size})) std::abort();
}
}

namespace sys {
namespace {

static_assert(sizeof(MacKey) == crypto_auth_hmacsha256_KEYBYTES);
static_assert(sizeof(Mac) == crypto_auth_hmacsha256_BYTES);
static_assert(sizeof(Mac) == crypto_verify_32_BYTES);

class Hmac {
 public:
  explicit Hmac(std::string_view key) {
    crypto_auth_hmacsha256_init(&state_, address(key), key.size());
  }
  void add(std::string_view bytes) {
    crypto_auth_hmacsha256_update(&state_, address(bytes), bytes.size());
  }
  Mac end() {
    Mac mac;
    crypto_auth_hmacsha256_final(&state_, mac.data());
    return mac;
  }

 private:
  static const unsigned char* address(std::string_view bytes) {
    return reinterpret_cast<const unsigned char*>(bytes.data());
  }

  crypto_auth_hmacsha256_state state_;
};

// Returns the length as bytes, in an order that is the same on each node.
std::array<unsigned char, 8> length_of(std::string_view part) {
  std::array<unsigned char, 8> bytes;
  std::uint64_t length = part.size();
  for (unsigned char& byte : bytes) {
    byte = static_cast<unsigned char>(length);
    length >>= 8;
  }
  return bytes;
}

}  // namespace

MacKey derive_key(std::string_view secret, std::string_view label) {
  Hmac hmac(secret);
  hmac.add(label);
  return hmac.end();
}

MacKey derive_key(const MacKey& secret, std::string_view label) {
  return derive_key(bytes_of(secret), label);
}

Mac mac_of(const MacKey& key, std::initializer_list<std::string_view> parts) {
  Hmac hmac(bytes_of(key));
  for (const std::string_view part : parts) {
    hmac.add(bytes_of(length_of(part)));
    hmac.add(part);
  }
  return hmac.end();
}

bool same(const Mac& one, const Mac& other) {
  return crypto_verify_32(one.data(), other.data()) == 0;
}

base::Status random_bytes(std::span<unsigned char> bytes) {
  Fd device;
  while (!bytes.empty()) {
    ssize_t count = ::getrandom(bytes.data(), bytes.size(), 0);
    if (count < 0 && errno != EINTR) {
      if (!device.valid()) device.reset(::open("/dev/urandom", O_RDONLY | O_CLOEXEC));
      if (device.valid()) count = ::read(device.get(), bytes.data(), bytes.size());
    }
    if (count > 0) {
      bytes = bytes.subspan(static_cast<std::size_t>(count));
    } else if (count == 0 || errno != EINTR) {
      return base::fail("asking the kernel for random bytes", "/dev/urandom",
                        count == 0 ? "its end" : errno_text(errno),
                        "let the container's seccomp profile allow getrandom");
    }
  }
  return {};
}

}  // namespace sys
