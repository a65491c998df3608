// Structs as bytes: all comes back, and of anything else nothing is taken.

#include "base/wire.h"

#include <gtest/gtest.h>

#include <array>

namespace base {
namespace {

enum class Colour : std::uint32_t { kRed = 1, kGreen };

struct Inner {
  std::string name;
  std::vector<std::uint32_t> numbers;
  bool operator==(const Inner&) const = default;
};
void fields(FieldVisitor& v, Inner& inner) {
  v("name", inner.name);
  v("numbers", inner.numbers, {.most = 0xFFFF'FFF0, .most_items = 3});
}

enum class Shape : std::uint8_t { kFlat, kRound };
constexpr std::array<std::string_view, 2> kShapes = {"flat", "round"};

struct Named {
  Shape shape = Shape::kFlat;
  bool operator==(const Named&) const = default;
};
void fields(FieldVisitor& v, Named& named) { v("shape", named.shape, kShapes); }

struct Outer {
  int rank = -1;
  std::uint64_t id = 0;
  std::int64_t at_ms = 0;
  bool flag = false;
  Colour colour = Colour::kRed;
  std::optional<Inner> inner;
  std::vector<Inner> list;
  bool operator==(const Outer&) const = default;
};
void fields(FieldVisitor& v, Outer& outer) {
  v("rank", outer.rank, {.least = -1, .most = 100});
  v("id", outer.id);
  v("at_ms", outer.at_ms, {.least = 0});
  v("flag", outer.flag);
  v("colour", outer.colour, Colour::kGreen, Colour::kRed);
  v("inner", outer.inner);
  v("list", outer.list);
}

const Outer kFull{.rank = 100,
                  .id = ~0ULL,
                  .at_ms = std::int64_t{1} << 40,
                  .flag = true,
                  .colour = Colour::kGreen,
                  .inner = Inner{std::string("a\0b", 3), {1, 0xFFFF'FFF0}},
                  .list = {{}, {"x", {7}}}};

// The place of a member in to_wire(Outer{}).
constexpr std::size_t kRankAt = 0, kFlagAt = 20, kColourAt = 21, kInnerAt = 25, kListAt = 26;

std::string changed(std::size_t at, std::string_view bytes) {
  return to_wire(Outer{}).replace(at, bytes.size(), bytes);
}

TEST(Wire, BringsEverythingBack) {
  EXPECT_EQ(from_wire<Outer>(to_wire(kFull)), kFull);
  EXPECT_EQ(from_wire<Outer>(to_wire(Outer{})), Outer{});
}

TEST(Wire, IsLittleEndianInTheOrderOfTheMembers) {
  EXPECT_EQ(to_wire(Inner{"ab", {258}}), std::string("\2\0\0\0ab\1\0\0\0\2\1\0\0", 14));
  EXPECT_EQ(to_wire(Outer{}).size(), kListAt + 4);
}

TEST(Wire, RefusesWhatIsCutOrLonger) {
  const std::string bytes = to_wire(kFull);
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_FALSE(from_wire<Outer>(std::string_view(bytes).substr(0, size))) << size;
  }
  EXPECT_FALSE(from_wire<Outer>(bytes + '\0'));
}

TEST(Wire, RefusesWhatIsOutOfRange) {
  for (const auto& bytes :
       {changed(kRankAt, std::string_view("\145\0\0\0", 4)), changed(kRankAt, "\xfe\xff\xff\xff"),
        changed(kFlagAt, "\2"), changed(kColourAt, std::string_view("\0\0\0\0", 4)),
        changed(kColourAt, std::string_view("\3\0\0\0", 4)), changed(kInnerAt, "\2")}) {
    EXPECT_FALSE(from_wire<Outer>(bytes));
  }
  Outer early;
  early.at_ms = -1;
  EXPECT_FALSE(from_wire<Outer>(to_wire(early)));
  EXPECT_FALSE(from_wire<Inner>(to_wire(Inner{"", {0xFFFF'FFF1}})));
}

TEST(Wire, RefusesANumberThatNamesNothing) {
  EXPECT_EQ(from_wire<Named>(to_wire(Named{Shape::kRound})), Named{Shape::kRound});
  EXPECT_FALSE(from_wire<Named>(std::string_view("\2\0\0\0", 4)));
}

TEST(Wire, MakesNoItemsBehindOneThatIsDamaged) {
  // Forty, as many bytes, and the text of the first would be longer than them.
  std::string bytes = changed(kListAt, std::string_view("\x28\0\0\0", 4));
  bytes += std::string(40, '\x7f');
  WireIn in(bytes);
  Outer outer;
  fields(in, outer);
  EXPECT_FALSE(in.finished());
  EXPECT_EQ(outer.list.size(), 1U);
}

TEST(Wire, RefusesMoreItemsThanMayBeOrThanBytesAreLeft) {
  EXPECT_FALSE(from_wire<Inner>(to_wire(Inner{"", {1, 2, 3, 4}})));
  EXPECT_FALSE(from_wire<Outer>(changed(kListAt, "\xff\xff\xff\xff")));
  const std::string bytes = changed(kListAt, std::string_view("\0\0\1\0", 4));
  EXPECT_FALSE(from_wire<Outer>(bytes));
  WireIn in(bytes);
  Outer outer;
  fields(in, outer);
  EXPECT_EQ(outer.list.capacity(), 0U) << "a count alone takes no memory";
}

}  // namespace
}  // namespace base
