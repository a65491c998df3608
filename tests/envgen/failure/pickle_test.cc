#include "envgen/failure/pickle.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace {

using envgen::DataTree;
using envgen::DataValue;
using testing::AllOf;
using testing::HasSubstr;
using Kind = envgen::DataValue::Kind;

// Bytes of hexadecimal digits, and of texts in single quotes: "80 02 K 05 ." has letters as such.
std::string pickle(std::initializer_list<std::string_view> parts) {
  std::string bytes;
  for (const std::string_view part : parts) bytes += part;
  return bytes;
}
std::string bytes(std::initializer_list<int> values) {
  std::string all;
  for (const int value : values) all += static_cast<char>(value);
  return all;
}
const std::string kProto2 = bytes({0x80, 2});

// A pickle of protocol 2 with `body` in front of its end.
std::string of(const std::string& body) { return kProto2 + body + "."; }

// As Python's repr() would show it; "!" and the error, if it is refused.
std::string shown(const DataValue& value) {
  std::string text;
  switch (value.kind()) {
    case Kind::kNone:
      return "None";
    case Kind::kBool:
      return *value.integer() != 0 ? "True" : "False";
    case Kind::kInteger:
      return std::to_string(*value.integer());
    case Kind::kNumber:
      return "number";
    case Kind::kText:
      return "'" + std::string(value.text()) + "'";
    case Kind::kBytes:
      return "b'" + std::string(value.text()) + "'";
    case Kind::kDict:
      for (std::size_t i = 0; i < value.size(); ++i) {
        text += (i > 0 ? ", " : "") + shown(value.key(i)) + ": " + shown(value.item(i));
      }
      return "{" + text + "}";
    default:
      break;
  }
  for (std::size_t i = 0; i < value.size(); ++i) text += (i > 0 ? ", " : "") + shown(value.item(i));
  return value.kind() == Kind::kList ? "[" + text + "]" : "(" + text + ")";
}

std::string read(const std::string& text) {
  const auto tree = DataTree::from_pickle(text, "d");
  return tree ? shown(tree->root()) : "!" + to_line(tree.error());
}

TEST(Pickle, ReadsEachOpcodeOfData) {
  EXPECT_EQ(read(of("N")), "None");
  EXPECT_EQ(read(of("\x88")), "True");
  EXPECT_EQ(read(of("\x89")), "False");
  EXPECT_EQ(read(of("K\xff")), "255");
  EXPECT_EQ(read(of("M\x01\x02")), "513");
  EXPECT_EQ(read(of("J\xfe\xff\xff\xff")), "-2");
  EXPECT_EQ(read(of(bytes({0x8a, 0}))), "0");
  EXPECT_EQ(read(of(bytes({0x8a, 2, 0xff, 0xff}))), "-1");
  EXPECT_EQ(read(of(bytes({0x8a, 3, 0xff, 0xff, 0}))), "65535");
  EXPECT_EQ(read(of(bytes({0x8a, 8, 0, 0, 0, 0, 0, 0, 0, 0x80}))), "-9223372036854775808");
  EXPECT_EQ(read(of(bytes({0x8a, 9, 0, 0, 0, 0, 0, 0, 0, 0, 1}))), "number");
  EXPECT_EQ(read(of(bytes({0x8b, 1, 0, 0, 0, 7}))), "7");
  EXPECT_EQ(read(of("G" + std::string(8, 'x'))), "number");
  EXPECT_EQ(read(of(bytes({'T', 2, 0, 0, 0}) + "ab")), "'ab'");
  EXPECT_EQ(read(of(bytes({'U', 2}) + "ab")), "'ab'");
  EXPECT_EQ(read(of(bytes({'X', 2, 0, 0, 0}) + "ab")), "'ab'");
  EXPECT_EQ(read(of(bytes({0x8c, 2}) + "ab")), "'ab'");
  EXPECT_EQ(read(of(bytes({0x8d, 2, 0, 0, 0, 0, 0, 0, 0}) + "ab")), "'ab'");
  EXPECT_EQ(read(of(bytes({'B', 2, 0, 0, 0}) + "ab")), "b'ab'");
  EXPECT_EQ(read(of(bytes({'C', 2}) + "ab")), "b'ab'");
  EXPECT_EQ(read(of(bytes({0x8e, 1, 0, 0, 0, 0, 0, 0, 0}) + "a")), "b'a'");
  EXPECT_EQ(read(of(bytes({0x96, 1, 0, 0, 0, 0, 0, 0, 0}) + "a")), "b'a'");
  EXPECT_EQ(read(of("]")), "[]");
  EXPECT_EQ(read(of("]K\1a")), "[1]");
  EXPECT_EQ(read(of("](K\1K\2e")), "[1, 2]");
  EXPECT_EQ(read(of("(K\1K\2l")), "[1, 2]");
  EXPECT_EQ(read(of(")")), "()");
  EXPECT_EQ(read(of("K\1\x85")), "(1)");
  EXPECT_EQ(read(of("K\1K\2\x86")), "(1, 2)");
  EXPECT_EQ(read(of("K\1K\2K\3\x87")), "(1, 2, 3)");
  EXPECT_EQ(read(of("(K\1K\2K\3K\4t")), "(1, 2, 3, 4)");
  EXPECT_EQ(read(of("}")), "{}");
  EXPECT_EQ(read(of("}K\1Ns")), "{1: None}");
  EXPECT_EQ(read(of("}(K\1NK\2Nu")), "{1: None, 2: None}");
  EXPECT_EQ(read(of("(K\1Nd")), "{1: None}");
}

TEST(Pickle, RunsTheStackAndTheMemo) {
  EXPECT_EQ(read(of("K\1K\2"
                    "0")),
            "1");
  EXPECT_EQ(read(of("K\1(K\2K\3"
                    "1")),
            "1");
  EXPECT_EQ(read(of("K\1"
                    "2\x86")),
            "(1, 1)");
  EXPECT_EQ(read(of(pickle({"](K\1q", std::string(1, '\0'), "h", std::string(1, '\0'), "e"}))),
            "[1, 1]");
  EXPECT_EQ(read(of(bytes({'K', 1, 'r', 0, 0, 0, 0, 'j', 0, 0, 0, 0, 0x86}))), "(1, 1)");
  EXPECT_EQ(read(bytes({0x80, 4, 0x95, 7, 0, 0, 0, 0, 0, 0, 0, 'K', 1, 0x94, 'h', 0, 0x86, '.'})),
            "(1, 1)");
  EXPECT_EQ(read(bytes({0x80, 5, 'N', '.'})), "None");
  EXPECT_EQ(read(of("N") + "what follows"), "None");
}

TEST(Pickle, FindsTheLastEntryOfAName) {
  const std::string name = bytes({'X', 1, 0, 0, 0}) + "a";
  const std::string text = of("}(" + name + "K\1" + name + "K\2u");
  const auto tree = DataTree::from_pickle(text, "d");
  ASSERT_TRUE(tree);
  EXPECT_EQ(tree->root().find("a")->integer(), 2);
  EXPECT_FALSE(tree->root().find("b"));
  EXPECT_FALSE(tree->root().item(0).find("a"));
}

TEST(Pickle, RefusesWhatWouldImportOrCall) {
  const std::pair<int, const char*> refused[] = {
      {'c', "GLOBAL"},    {0x93, "STACK_GLOBAL"}, {'R', "REDUCE"},          {'b', "BUILD"},
      {'i', "INST"},      {'o', "OBJ"},           {0x81, "NEWOBJ"},         {0x92, "NEWOBJ_EX"},
      {0x82, "EXT1"},     {0x83, "EXT2"},         {0x84, "EXT4"},           {'P', "PERSID"},
      {'Q', "BINPERSID"}, {0x97, "NEXT_BUFFER"},  {0x98, "READONLY_BUFFER"}};
  for (const auto& [code, name] : refused) {
    EXPECT_THAT(read(of("NN" + bytes({code}) + "os\nsystem\n")),
                AllOf(HasSubstr("reading a pickle: d: byte 4: found the opcode " +
                                std::string(name) + ", which makes a reader import or call"),
                      HasSubstr("do not load this file with Python")));
  }
}

TEST(Pickle, RefusesAnyOtherByte) {
  const std::string known =
      "(.012BCGJKMNTUX]adehjlqrstu)}"
      "\x80\x85\x86\x87\x88\x89\x8a\x8b\x8c\x8d\x8e\x94\x95\x96"
      "c\x93Rbio\x81\x92\x82\x83\x84PQ\x97\x98";
  for (int code = 0; code < 256; ++code) {
    if (known.contains(static_cast<char>(code))) continue;
    EXPECT_THAT(read(of("N" + bytes({code}))), HasSubstr("which is no opcode of data")) << code;
  }
}

TEST(Pickle, SaysWhereItIsDamaged) {
  EXPECT_EQ(read(""),
            "!reading a pickle: d: byte 0: found the end of the file; let the rank finish writing, "
            "then read the dump again");
  EXPECT_THAT(read("dump"), HasSubstr("byte 0: found no pickle of protocol 2 to 5"));
  EXPECT_THAT(read(bytes({0x80, 6, 'N', '.'})), HasSubstr("found protocol 6"));
  EXPECT_THAT(read(of("X\xff")), HasSubstr("byte 2: found the end of the file"));
  EXPECT_THAT(read(of("K\1K\2")), HasSubstr("byte 6: found the end of the pickle with 2 values"));
  EXPECT_THAT(read(of("")), HasSubstr("the end of the pickle with 0 values"));
  EXPECT_THAT(read(of("(N")), HasSubstr("the end of the pickle"));
  EXPECT_THAT(read(of("Ne")), HasSubstr("a container that was not begun"));
  EXPECT_THAT(read(of("N(Ne")), HasSubstr("items for something else"));
  EXPECT_THAT(read(of("(Ne")), HasSubstr("items without a container"));
  EXPECT_THAT(read(of("}(NNNu")), HasSubstr("a key without a value"));
  EXPECT_THAT(read(of("(Nd")), HasSubstr("a key without a value"));
  EXPECT_THAT(read(of("](K\1K\2sN")), HasSubstr("an entry without a dictionary"));
  EXPECT_THAT(read(of("](a")), HasSubstr("an item without a list"));
  EXPECT_THAT(read(of("]}(NNNs")), HasSubstr("items for something else"));
  EXPECT_THAT(read(of("N\x86")), HasSubstr("a tuple of more values"));
  EXPECT_THAT(read(of("0")), HasSubstr("nothing to remove"));
  EXPECT_THAT(read(of("2")), HasSubstr("nothing to repeat"));
  EXPECT_THAT(read(of("h\5")), HasSubstr("memo entry 5, which does not exist"));
  EXPECT_THAT(read(of("q\1")), HasSubstr("a memo entry without a value"));
  EXPECT_THAT(read(of("T\xff\xff\xff\xff")), HasSubstr("a negative length"));
}

TEST(Pickle, HasLimits) {
  EXPECT_THAT(read(of(std::string(65, '('))), HasSubstr("more than 64 nested containers"));
  EXPECT_THAT(read(of(bytes({'X', 1, 0, 1, 0}) + std::string(65537, 'x'))),
              HasSubstr("a text of 65537 bytes"));
  EXPECT_THAT(read(of("](" + std::string(DataTree::kMaxValues + 1, 'N') + "e")),
              HasSubstr("more than 1048576 values"));
  EXPECT_THAT(read(of("N" + std::string(DataTree::kMaxValues + 1, '2'))),
              HasSubstr("more than 1048576 values"));
  EXPECT_THAT(read(of(bytes({'N', 'r', 0xff, 0xff, 0xff, 0x7f}))), HasSubstr("memo entry"));
  EXPECT_THAT(read(of(bytes({'N', 'r', 0xff, 0xff, 0, 0}))), HasSubstr("before all lower ones"));
  EXPECT_THAT(read(std::string(DataTree::kMaxBytes + 1, 'N')), HasSubstr("8388609 bytes"));
}

// Ten lists, each of which has the one before it ten times: 10^10 values, if they were copied.
TEST(Pickle, SharesWhatIsReferredTo) {
  std::string body = "Nq" + std::string(1, '\0');
  for (int level = 1; level <= 10; ++level) {
    body += "](";
    for (int i = 0; i < 10; ++i) body += bytes({'h', level - 1});
    body += "e" + bytes({'q', level});
  }
  body += bytes({'h', 10, 0x86});
  const std::string text = of("](" + body + "ee");
  EXPECT_FALSE(DataTree::from_pickle(text, "d"));  // one "e" too many: no crash
  std::string good = "(" + body + "l";
  const auto tree = DataTree::from_pickle(good = of(good), "d");
  ASSERT_TRUE(tree) << to_line(tree.error());
  DataValue value = tree->root().item(tree->root().size() - 1).item(0);
  for (int level = 10; level > 0; --level) {
    ASSERT_EQ(value.size(), 10U);
    value = value.item(9);
  }
  EXPECT_EQ(value.kind(), Kind::kNone);
}

// A list that contains itself is finite in memory.
TEST(Pickle, KeepsARing) {
  const std::string text = of(bytes({']', 'q', 0, '(', 'h', 0, 'e'}));
  const auto tree = DataTree::from_pickle(text, "d");
  ASSERT_TRUE(tree);
  EXPECT_EQ(tree->root().item(0).item(0).item(0).size(), 1U);
}

TEST(Pickle, HoldsJsonToo) {
  const auto document = base::json::Document::parse(
      R"({"a": [1, -2.5, null, true, "x"], "b": {}, "c": 99999999999999999999})", "d");
  ASSERT_TRUE(document);
  EXPECT_EQ(shown(DataTree::from_json(*document).root()),
            "{'a': [1, number, None, True, 'x'], 'b': {}, 'c': number}");
}

}  // namespace
