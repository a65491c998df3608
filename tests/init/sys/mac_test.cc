#include "init/sys/mac.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <set>
#include <string>

#include "tests/init/child.h"
#include "tests/init/refuse.h"

namespace {

using sys::derive_key;
using sys::Mac;
using sys::mac_of;
using sys::MacKey;

std::string hex(const Mac& mac) {
  std::string text;
  for (const unsigned char byte : mac) {
    char digits[3];
    std::snprintf(digits, sizeof digits, "%02x", byte);
    text += digits;
  }
  return text;
}

// RFC 4231, 4.2 to 4.4 and 4.7 to 4.8: HMAC-SHA-256.
struct Vector {
  std::string key;
  std::string data;
  std::string mac;
};

std::string counted(unsigned char first, unsigned char last) {
  std::string bytes;
  for (unsigned byte = first; byte <= last; ++byte) bytes += static_cast<char>(byte);
  return bytes;
}

const Vector kVectors[] = {
    {std::string(20, '\x0b'), "Hi There",
     "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7"},
    {"Jefe", "what do ya want for nothing?",
     "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"},
    {std::string(20, '\xaa'), std::string(50, '\xdd'),
     "773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe"},
    {counted(1, 25), std::string(50, '\xcd'),
     "82558a389a443c0ea4cc819899f2083a85f0faa3e578f8077a2e3ff46729665b"},
    {std::string(131, '\xaa'), "Test Using Larger Than Block-Size Key - Hash Key First",
     "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54"},
    {std::string(131, '\xaa'),
     "This is a test using a larger than block-size key and a larger than block-size data. The key "
     "needs to be hashed before being used by the HMAC algorithm.",
     "9b09ffa71b942fcb27635fbcd5b0e944bfdc63644f0713938a7f51535c3a35e2"},
};

TEST(Mac, IsHmacSha256AsInRfc4231) {
  for (const Vector& vector : kVectors) {
    EXPECT_EQ(hex(derive_key(vector.key, vector.data)), vector.mac);
  }
}

TEST(Mac, OfPartsIsThatOfEachBehindItsLengthInEightBytes) {
  const MacKey key = derive_key("a secret", "a label");
  const std::string joined = {1, 0, 0, 0, 0, 0, 0, 0, 'a', 2, 0, 0, 0, 0, 0, 0, 0, 'b', 'c'};
  EXPECT_EQ(mac_of(key, {"a", "bc"}), derive_key(key, joined));
}

TEST(Mac, OfOtherPartsAnotherKeyOrAnotherLabelIsAnother) {
  const MacKey key = derive_key("a secret", "a label");
  const std::set<Mac> macs = {
      mac_of(key, {}),
      mac_of(key, {""}),
      mac_of(key, {"", ""}),
      mac_of(key, {"abc"}),
      mac_of(key, {"ab", "c"}),
      mac_of(key, {"a", "bc"}),
      mac_of(key, {"a", "bc", ""}),
      mac_of(key, {std::string_view("a\0bc", 4)}),
      mac_of(derive_key("a secret", "b label"), {"abc"}),
      mac_of(derive_key("b secret", "a label"), {"abc"}),
      mac_of(derive_key(key, "a label"), {"abc"}),
  };
  EXPECT_EQ(macs.size(), 11U);
}

TEST(Mac, IsTheSameOnlyWhereEachBitIs) {
  const Mac mac = mac_of(MacKey{}, {"text"});
  EXPECT_TRUE(sys::same(mac, mac));
  for (std::size_t bit = 0; bit < 8 * mac.size(); ++bit) {
    Mac other = mac;
    other[bit / 8] ^= static_cast<unsigned char>(1U << bit % 8);
    EXPECT_FALSE(sys::same(mac, other)) << bit;
  }
}

TEST(RandomBytes, FillAllOfIt) {
  std::array<unsigned char, 4096> bytes{};
  ASSERT_TRUE(sys::random_bytes(bytes));
  const std::set<unsigned char> values(bytes.begin(), bytes.end());
  EXPECT_GT(values.size(), 250U);
  EXPECT_TRUE(sys::random_bytes({}));
}

TEST(RandomBytes, AreThereWhereGetrandomIsNot) {
  for (const int error : {ENOSYS, EPERM}) {
    EXPECT_EQ(child::run([error] {
                refuse::calls({SYS_getrandom}, error);
                MacKey one{};
                MacKey other{};
                if (!sys::random_bytes(one) || !sys::random_bytes(other)) return 1;
                return one == other || one == MacKey{} ? 2 : 0;
              }).code,
              0);
  }
}

}  // namespace
