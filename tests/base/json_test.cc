#include "base/json.h"

#include <gtest/gtest.h>

#include <optional>
#include <ostream>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

namespace base::json {
namespace {

Document parsed(std::string_view text) {
  auto document = Document::parse(text, "t.json");
  EXPECT_TRUE(document) << to_line(document.error().error);
  return document ? std::move(*document) : *Document::parse("null", "");
}

ParseError refused(std::string_view text) {
  auto document = Document::parse(text, "t.json");
  EXPECT_FALSE(document) << text;
  return document ? ParseError{} : document.error();
}

Value member(const Value& object, std::string_view key) {
  std::optional<Value> found = object.find(key);
  EXPECT_TRUE(found) << key;
  return found.value_or(object);
}

std::string compact(const Value& value) {
  Writer writer(false);
  writer.copy(value);
  return std::move(writer).take();
}

TEST(JsonParse, KeepsTypesTextsAndOrder) {
  Document document =
      parsed(R"({"b":"x","a":[1,-2,3.50,true,false,null,{}],"":{"k":"v"},"empty":[]})");
  Value root = document.root();
  ASSERT_EQ(root.type(), Type::kObject);
  EXPECT_EQ(root.size(), 4U);
  std::vector<std::string_view> keys;
  for (Value member : root) keys.push_back(member.key());
  EXPECT_EQ(keys, (std::vector<std::string_view>{"b", "a", "", "empty"}));

  Value list = member(root, "a");
  EXPECT_EQ(list.size(), 7U);
  std::vector<Type> types;
  std::vector<std::string_view> texts;
  for (Value item : list) {
    types.push_back(item.type());
    texts.push_back(item.text());
  }
  EXPECT_EQ(types, (std::vector{Type::kInteger, Type::kInteger, Type::kFloat, Type::kBool,
                                Type::kBool, Type::kNull, Type::kObject}));
  EXPECT_EQ(texts, (std::vector<std::string_view>{"1", "-2", "3.50", "true", "false", "", ""}));
  EXPECT_EQ(member(member(root, ""), "k").text(), "v");
  EXPECT_EQ(member(root, "empty").begin(), member(root, "empty").end());
  EXPECT_FALSE(root.find("c"));
  EXPECT_FALSE(list.find("b"));
}

TEST(JsonParse, NumbersKeepTheirLiteral) {
  for (std::string literal :
       {"0", "-0", "9223372036854775807", "-9223372036854775808", "18446744073709551615",
        "123456789012345678901234567890", "1e0", "1E+2", "0.10", "-1.5e-7"}) {
    Document document = parsed(literal);
    EXPECT_EQ(document.root().text(), literal);
    EXPECT_EQ(compact(document.root()), literal);
  }
}

TEST(JsonParse, IntegersAreThoseThatFit) {
  EXPECT_EQ(parsed("-7").root().integer(), -7);
  EXPECT_EQ(parsed("9223372036854775807").root().integer(), INT64_MAX);
  EXPECT_EQ(parsed("9223372036854775808").root().integer(), std::nullopt);
  EXPECT_TRUE(parsed("123456789012345678901234567890").root().is(Type::kInteger));
  EXPECT_EQ(parsed("123456789012345678901234567890").root().integer(), std::nullopt);
  EXPECT_TRUE(parsed("1e0").root().is(Type::kFloat));
  EXPECT_EQ(parsed("1e0").root().integer(), std::nullopt);
  EXPECT_EQ(parsed("\"1\"").root().integer(), std::nullopt);
}

TEST(JsonParse, OfTwoMembersWithOneKeyTheLastIsFound) {
  Document document = parsed(R"({"a":1,"b":2,"a":3})");
  EXPECT_EQ(member(document.root(), "a").text(), "3");
  EXPECT_EQ(document.root().size(), 3U);
}

TEST(JsonParse, UnescapesStringsAndKeys) {
  Document document = parsed(R"({"k\u0041":"a\"b\\c\n\u00e9\ud83d\ude00"})");
  EXPECT_EQ(member(document.root(), "kA").text(), "a\"b\\c\n\xC3\xA9\xF0\x9F\x98\x80");
}

TEST(JsonParse, ToleratesAByteOrderMarkAsHcclDoes) {
  Document document = parsed("\xEF\xBB\xBF{\"a\":1}");
  EXPECT_EQ(member(document.root(), "a").text(), "1");
}

TEST(JsonParse, DepthIsLimitedAndThePlaceNamed) {
  std::string deep(Document::kMaxDepth, '[');
  std::string closed = deep + std::string(Document::kMaxDepth, ']');
  EXPECT_TRUE(Document::parse(closed, "t.json"));
  ParseError error = refused("[" + closed + "]");
  EXPECT_FALSE(error.incomplete);
  EXPECT_EQ(error.error.where, "t.json: line 1, column 65");
  EXPECT_EQ(error.error.found, "more than 64 nested levels");
  // Depth costs no stack: a million brackets are refused like 65.
  EXPECT_FALSE(refused(std::string(1'000'000, '[')).incomplete);
  EXPECT_FALSE(refused("[\"[\\\"[\"," + std::string(70, '{')).incomplete);
}

TEST(JsonParse, ATextThatEndsEarlyIsIncomplete) {
  for (std::string_view text : {"", " \n\t", "{", "{\"a", "{\"a\\", "{\"a\":", "{\"a\":tr", "[1,",
                                "[-", "[1e", "{\"a\":\"\\u12", "{\"a\":\"\xC3", "\xEF\xBB\xBF"}) {
    EXPECT_TRUE(refused(text).incomplete) << text;
  }
}

TEST(JsonParse, NulBytesUpToTheEndAreNotWrittenYet) {
  EXPECT_TRUE(refused(std::string("{\"a\":1\0\0\0", 9)).incomplete);
  EXPECT_TRUE(refused(std::string("\0\0", 2)).incomplete);
  EXPECT_TRUE(refused(std::string("{}\0", 3)).incomplete);
}

TEST(JsonParse, EmptyTextSaysSo) {
  EXPECT_EQ(refused("").error.found, "an empty text");
  EXPECT_EQ(refused(" \n").error.found, "only blanks");
  EXPECT_EQ(refused("{\"a\":1").error.found, "the end of the text before its last bracket");
}

TEST(JsonWriter, GivesPiecesToASink) {
  const auto write = [](Writer& writer) {
    writer.begin_object().key("list").begin_array();
    for (int i = 0; i < 20'000; ++i) writer.begin_object().key("n").integer(i).end_object();
    writer.string("\"\n").begin_array().end_array().end_array().end_object();
  };
  Writer whole;
  write(whole);
  std::string text;
  std::size_t pieces = 0;
  Writer writer([&](std::string_view piece) {
    text += piece;
    ++pieces;
  });
  write(writer);
  EXPECT_GT(pieces, 2U);
  text += std::move(writer).take();
  EXPECT_EQ(text, std::move(whole).take());
  EXPECT_TRUE(Document::parse(text, "t.json"));
}

struct Malformed {
  std::string text;
  std::string position;
  std::string found;
  std::string fix;
};

void PrintTo(const Malformed& test, std::ostream* out) { *out << test.text; }

class JsonMalformed : public testing::TestWithParam<Malformed> {};

TEST_P(JsonMalformed, SaysWhereWhatAndWhatToDo) {
  const Malformed& expected = GetParam();
  ParseError error = refused(expected.text);
  EXPECT_FALSE(error.incomplete);
  EXPECT_EQ(error.error.what, "parsing JSON");
  EXPECT_EQ(error.error.where, "t.json: " + expected.position);
  EXPECT_EQ(error.error.found, expected.found);
  EXPECT_EQ(error.error.fix, expected.fix);
}

constexpr char kMissing[] =
    "a comma, a bracket or a brace is missing before it, or this is one too many";
constexpr char kCorrect[] = "correct the text at this place";

INSTANTIATE_TEST_SUITE_P(
    Texts, JsonMalformed,
    testing::Values(
        Malformed{"{\n  \"a\": 1, // why\n}", "line 2, column 11",
                  "a // comment, which JSON does not have", "remove the comments"},
        Malformed{"/* x */ {}", "line 1, column 1", "a /* comment, which JSON does not have",
                  "remove the comments"},
        Malformed{"{\"a\":1}\n# end", "line 2, column 1", "a # comment, which JSON does not have",
                  "remove the comments"},
        Malformed{"[1,\n 2,\n]", "line 3, column 1", "a comma with nothing between it and ']'",
                  "remove that comma"},
        Malformed{"{\"a\":1,}", "line 1, column 8", "a comma with nothing between it and '}'",
                  "remove that comma"},
        Malformed{"[{\"a\":1}\n \"b\"]", "line 2, column 2", "a string where ',' or ']' belongs",
                  kMissing},
        Malformed{"{\"a\":1 \"b\\\"c\":2}", "line 1, column 8", "a string where ',' or '}' belongs",
                  kMissing},
        Malformed{"[1 234]", "line 1, column 4", "'2' where ',' or ']' belongs", kMissing},
        Malformed{"[{\"a\":1},\"b\":2]", "line 1, column 13", "':' where ',' or ']' belongs",
                  kMissing},
        Malformed{"{\"a\":[1}", "line 1, column 8", "'}' where ',' or ']' belongs", kMissing},
        Malformed{"{'a':1}", "line 1, column 2", "a single quote",
                  "write names and strings in double quotes"},
        Malformed{"{\"a\":{device_count}}", "line 1, column 7",
                  "'d' where a name in double quotes belongs", kCorrect},
        Malformed{"{\"a\" 1}", "line 1, column 6", "'1' where a ':' belongs", kCorrect},
        Malformed{"{} {}", "line 1, column 4", "'{' where nothing more belongs", kCorrect},
        Malformed{"[01]", "line 1, column 2", "a number with a leading zero",
                  "write it without the zero"},
        Malformed{"[-01]", "line 1, column 2", "a number with a leading zero",
                  "write it without the zero"},
        Malformed{"[1 0.5]", "line 1, column 4", "'0' where ',' or ']' belongs", kMissing},
        Malformed{"[1 -5]", "line 1, column 4", "'-' where ',' or ']' belongs", kMissing},
        Malformed{"[1e999]", "line 1, column 2", "a number that is too large",
                  "write a smaller number"},
        Malformed{"{\"a\":\"x\ny\"}", "line 1, column 8",
                  "the byte 0x0A inside a string, where it may not stand",
                  "close the string before the end of the line"},
        Malformed{"[\"\\q\"]", "line 1, column 4", "'q' inside a string, where it may not stand",
                  "correct the escape sequence after the \\"},
        Malformed{"[\"\xFF\"]", "line 1, column 3", "the byte 0xFF, which is not UTF-8 here",
                  "save the text as UTF-8"},
        Malformed{"\xFF\xFE{}", "line 1, column 1", "the byte 0xFF outside a string",
                  "write quotes, commas and blanks in ASCII, and save the text as UTF-8"},
        // A full-width comma.
        Malformed{"[1\xEF\xBC\x8C 2]", "line 1, column 3", "the byte 0xEF outside a string",
                  "write quotes, commas and blanks in ASCII, and save the text as UTF-8"},
        Malformed{std::string("{\"a\":\0 1}", 9), "line 1, column 6", "a NUL byte",
                  "write it as UTF-8 text"},
        // Columns count characters.
        Malformed{"[\"\xC3\xA9\xC3\xA9\",]", "line 1, column 7",
                  "a comma with nothing between it and ']'", "remove that comma"},
        // A byte order mark has no column.
        Malformed{"\xEF\xBB\xBF[,]", "line 1, column 2", "',' where a value belongs", kCorrect}));

TEST(JsonWriter, PrettyAndCompact) {
  auto write = [](bool pretty) {
    Writer writer(pretty);
    writer.begin_object();
    writer.key("a").string("x").key("b").begin_array().integer(-1).boolean(true).null();
    writer.begin_object().end_object().begin_array().end_array().end_array();
    writer.end_object();
    return std::move(writer).take();
  };
  EXPECT_EQ(write(false), R"({"a":"x","b":[-1,true,null,{},[]]})");
  EXPECT_EQ(write(true), R"({
  "a": "x",
  "b": [
    -1,
    true,
    null,
    {},
    []
  ]
}
)");
}

TEST(JsonWriter, EscapesWhatMustBeAndReplacesBrokenUtf8) {
  Writer writer(false);
  writer.begin_array();
  for (std::string_view text :
       {std::string_view("a\"b\\c"), std::string_view("\n\t\x01\x7F"),
        std::string_view("\xC3\xA9/"), std::string_view("\xFFz"), std::string_view("a\0b", 3)}) {
    writer.string(text);
  }
  writer.end_array();
  EXPECT_EQ(std::move(writer).take(),
            "[\"a\\\"b\\\\c\",\"\\n\\t\\u0001\\u007f\",\"\xC3\xA9/\","
            "\"\xEF\xBF\xBDz\",\"a\\u0000b\"]");
}

TEST(JsonWriter, CopyGivesBackWhatWasParsed) {
  std::string text =
      "{\"a\":[1,1.50,-0,1e5,true,null,\"\\u0001\xC3\xA9\",[],{}],\"k\\n\":{\"x\":"
      "123456789012345678901234567890}}";
  EXPECT_EQ(compact(parsed(text).root()), text);
}

TEST(JsonError, ReadsAsOneLine) {
  EXPECT_EQ(to_line(refused("[1,]").error),
            "parsing JSON: t.json: line 1, column 4: found a comma with nothing between it and "
            "']'; remove that comma");
}

}  // namespace
}  // namespace base::json
