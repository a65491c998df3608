#include "base/xml.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace base {
namespace {

using testing::HasSubstr;

TEST(Xml, ReadsElementsAttributesAndTextAtAPath) {
  const auto root = xml::parse(
      "<?xml version=\"1.0\"?><!DOCTYPE log SYSTEM \"nvsmi.dtd\">\n"
      "<log a='1'><!-- no --><gpu id=\"x &amp; y\"><pci><bus> 0A:00 \n</bus></pci></gpu></log>",
      "smi");
  ASSERT_TRUE(root.has_value());
  EXPECT_EQ(root->name, "log");
  EXPECT_EQ(root->attribute("a"), "1");
  EXPECT_EQ(root->attribute("b"), "");
  EXPECT_EQ(root->child("gpu")->attribute("id"), "x & y");
  EXPECT_EQ(root->text_at("gpu/pci/bus"), "0A:00");
  EXPECT_EQ(root->text_at("gpu/none/bus"), "");
}

TEST(Xml, TellsTheLineOfAFault) {
  const auto root = xml::parse("<a>\n<b>\n</a>", "topo.xml");
  ASSERT_FALSE(root.has_value());
  EXPECT_EQ(to_line(root.error()),
            "reading XML: topo.xml: line 2: found mismatched element; give the whole of an XML "
            "document");
}

TEST(Xml, RefusesWhatIsNone) {
  EXPECT_FALSE(xml::parse("", "x").has_value());
  EXPECT_FALSE(xml::parse("<!-- nothing -->", "x").has_value());
  EXPECT_FALSE(xml::parse(std::string_view("<a>\0</a>", 8), "x").has_value());
  EXPECT_FALSE(xml::parse(std::string(xml::kMaxBytes + 1, ' '), "x").has_value());
}

TEST(Xml, RefusesTooDeepOnes) {
  auto nested = [](std::size_t depth) {
    std::string text;
    for (std::size_t i = 0; i < depth; ++i) text += "<a>";
    for (std::size_t i = 0; i < depth; ++i) text += "</a>";
    return text;
  };
  EXPECT_TRUE(xml::parse(nested(xml::kMaxDepth), "x").has_value());
  EXPECT_FALSE(xml::parse(nested(xml::kMaxDepth + 1), "x").has_value());
  EXPECT_FALSE(xml::parse(nested(100'000), "x").has_value());
}

TEST(Xml, WritesWhatItReads) {
  xml::Element root{
      "testsuite", {{"name", "a \"b\" <c>"}}, "", {{"testcase"}, {"out", {}, "x\n&"}}};
  const std::string text = xml::write(root);
  EXPECT_THAT(text, HasSubstr("<?xml version=\"1.0\""));
  const auto again = xml::parse(text, "x");
  ASSERT_TRUE(again.has_value()) << text;
  EXPECT_EQ(*again, root);
}

TEST(Xml, WritesControlCharactersAsQuestionMarks) {
  EXPECT_THAT(xml::write({"a", {}, "x\x1b[0m"}), HasSubstr("x?[0m"));
}

}  // namespace
}  // namespace base
