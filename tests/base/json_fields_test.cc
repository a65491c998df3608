// Structs as JSON, and from JSON that somebody else has written.

#include "base/json_fields.h"

#include <gtest/gtest.h>

#include <array>

namespace base {
namespace {

enum class Colour : std::uint8_t { kRed, kGreen };
constexpr std::array<std::string_view, 2> kColours = {"red", "green"};

struct Inner {
  std::string name;
  bool operator==(const Inner&) const = default;
};
void fields(FieldVisitor& v, Inner& inner) { v("name", inner.name, {.base64 = true}); }

struct Outer {
  int rank = -1;
  std::int64_t at_ms = 0;
  bool flag = false;
  bool rare = false;
  Colour colour = Colour::kRed;
  std::string message;
  std::string note;
  std::string late = {};
  std::optional<Inner> inner;
  std::optional<int> nice;
  std::vector<Inner> list;
  std::vector<std::string> words;
  bool operator==(const Outer&) const = default;
};
void fields(FieldVisitor& v, Outer& outer) {
  v("rank", outer.rank, {.null = -1});
  v("at_ms", outer.at_ms, {.least = 0, .null = 0});
  v("flag", outer.flag);
  v("rare", outer.rare, {.omit = true});
  v("colour", outer.colour, kColours);
  v("message", outer.message, {.masked = true});
  v("note", outer.note, {.omit = true});
  v("late", outer.late, {.may_miss = true});
  v("inner", outer.inner);
  v("nice", outer.nice, {.omit = true});
  v("list", outer.list);
  v("words", outer.words, {.omit = true});
}

struct Sparse {
  std::vector<std::optional<int>> counts;
  bool operator==(const Sparse&) const = default;
};
void fields(FieldVisitor& v, Sparse& sparse) { v("counts", sparse.counts); }

const Outer kFull{.rank = 3,
                  .at_ms = 5,
                  .flag = true,
                  .rare = true,
                  .colour = Colour::kGreen,
                  .message = "m",
                  .note = "n",
                  .inner = Inner{"\xff"},
                  .nice = -2,
                  .list = {{"a"}, {""}},
                  .words = {"", "w"}};

template <class T>
std::string json_of(const T& value) {
  json::Writer out(false);
  write_json(out, value);
  return std::move(out).take();
}

struct Read {
  Outer outer;
  std::string error;
};
Read read(std::string_view text) {
  Read read;
  const auto document = json::Document::parse(text, "f");
  JsonIn in(document.value().root());
  fields(in, read.outer);
  const Status status = in.finish("reading", "f", "mend it");
  if (!status) read.error = to_line(status.error());
  return read;
}

constexpr std::string_view kEmpty =
    R"({"rank":null,"at_ms":null,"flag":false,"colour":"red","message":"","late":"","inner":null,"list":[]})";

Read read_with(std::string_view member, std::string_view other) {
  std::string text(kEmpty);
  text.replace(text.find(member), member.size(), other);
  return read(text);
}

TEST(JsonFields, LeaveOutOrSayNullForWhatIsNotThere) { EXPECT_EQ(json_of(Outer{}), kEmpty); }

TEST(JsonFields, HoldTheMembersInTheirOrder) {
  EXPECT_EQ(json_of(kFull),
            R"({"rank":3,"at_ms":5,"flag":true,"rare":true,"colour":"green","message":"m",)"
            R"("note":"n","late":"","inner":{"name":{"base64":"/w=="}},"nice":-2,)"
            R"("list":[{"name":"a"},{"name":""}],"words":["","w"]})");
}

TEST(JsonFields, MaskCredentials) {
  Outer outer;
  outer.message = "PASSWORD=abc";
  EXPECT_NE(json_of(outer).find(R"("PASSWORD=***")"), std::string::npos);
}

TEST(JsonFields, ComeBack) {
  for (const Outer& outer : {Outer{}, kFull}) {
    const Read back = read(json_of(outer));
    EXPECT_EQ(back.outer, outer);
    EXPECT_EQ(back.error, "");
  }
}

TEST(JsonFields, HoldAnOptionalThatIsThereEvenIfItIsZero) {
  Outer outer;
  outer.nice = 0;
  EXPECT_NE(json_of(outer).find(R"("nice":0)"), std::string::npos);
  EXPECT_EQ(read(json_of(outer)).outer, outer);
}

TEST(JsonFields, HoldItemsThatAreNotThere) {
  const Sparse sparse{{0, std::nullopt, 2}};
  EXPECT_EQ(json_of(sparse), R"({"counts":[0,null,2]})");
  const auto document = json::Document::parse(json_of(sparse), "f");
  JsonIn in(document.value().root());
  Sparse back;
  fields(in, back);
  EXPECT_TRUE(in.finish("", "", ""));
  EXPECT_EQ(back, sparse);
}

TEST(JsonFields, NameTheMemberThatIsMissing) {
  EXPECT_EQ(read_with(R"("flag":false,)", "").error,
            "reading: f: flag: found no such member; mend it");
  EXPECT_EQ(read_with(R"("list":[])", R"("list":[{}])").error,
            "reading: f: list.name: found no such member; mend it");
}

TEST(JsonFields, TakeWhatOlderVersionsWroteWithout) {
  EXPECT_EQ(read_with(R"("late":"",)", "").error, "");
}

TEST(JsonFields, NameAnUnknownMemberBesideTheMissingOne) {
  EXPECT_EQ(read_with(R"("flag")", R"("flags")").error,
            "reading: f: flag: found no such member, but an unknown flags; mend it");
  EXPECT_EQ(read_with(R"("flag")", R"("later":{},"flag")").error, "") << "of a later version";
}

TEST(JsonFields, NameTheMemberThatIsOfAnotherKindAndLeaveItAsItWas) {
  const auto expect = [](const Read& read, std::string_view error) {
    EXPECT_EQ(read.error, "reading: f: " + std::string(error) + "; mend it");
    EXPECT_EQ(read.outer, Outer{});
  };
  constexpr std::string_view kNumber = "rank: found something that is not an integer in its range";
  expect(read_with(R"("rank":null)", R"("rank":"1")"), kNumber);
  expect(read_with(R"("rank":null)", R"("rank":2147483648)"), kNumber);
  expect(read_with(R"("at_ms":null)", R"("at_ms":-1)"),
         "at_ms: found something that is not an integer in its range");
  expect(read_with(R"(false)", R"(0)"), "flag: found something that is not a boolean");
  expect(read_with(R"("red")", R"("blue")"), "colour: found something that is not red or green");
  expect(read_with(R"("message":"")", R"("message":1)"),
         "message: found something that is not a string");
  expect(read_with(R"("list":[])", R"("list":{})"), "list: found something that is not an array");
}

TEST(JsonFields, AreNoneOfAnythingElse) {
  EXPECT_EQ(read("[]").error, "reading: f: rank: found no such member; mend it");
  const Read odd = read_with(R"("inner":null)", R"("inner":{"name":{"base64":"!"}})");
  EXPECT_EQ(odd.error, "reading: f: inner.name: found something that is not base64; mend it");
}

}  // namespace
}  // namespace base
