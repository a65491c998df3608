// Variables of platforms: each one that a profile names is in the table from which the signs and
// init/early follow, and each platform is in the documents.

#include "base/constants/platform_variables.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <set>
#include <string>

#include "base/text.h"
#include "envgen/platform/platform.h"
#include "tests/source_path.h"

namespace envgen {
namespace {

constexpr const char* kTable = "base/constants/platform_variables.h";

std::string text_of(const std::filesystem::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::set<std::string> found_in(const std::string& text, const char* pattern) {
  const std::regex regex(pattern);
  std::set<std::string> found;
  for (std::sregex_iterator at(text.begin(), text.end(), regex), end; at != end; ++at) {
    found.insert((*at)[1]);
  }
  return found;
}

// The names that a profile's source has: texts in capitals with a '_', and all that it asks for.
std::set<std::string> names_in(const std::filesystem::path& path) {
  const std::string code = std::regex_replace(text_of(path), std::regex("//[^\n]*"), "");
  std::set<std::string> names = found_in(code, R"(\"([A-Z_][A-Z0-9]*_[A-Z0-9_]*)\")");
  names.merge(found_in(code, R"(\"([A-Z]+_MCA_[a-z_]+)\")"));
  names.merge(found_in(code, R"(variable\(\s*\"([A-Z][A-Z0-9_]*)\")"));
  names.merge(found_in(code, R"(number_in\(\s*inputs,\s*\"([A-Z][A-Z0-9_]*)\")"));
  return names;
}

// Parts of names that a profile puts together, and values.
bool is_part(const std::string& name) {
  static const std::set<std::string> parts = {"_",    "_HOST", "_HOSTS",   "_NUM",
                                              "PAI_", "_PORT", "MS_SCHED", "BATCH_CUSTOM"};
  return parts.contains(name);
}

TEST(PlatformVariables, HaveEachOneThatAProfileReads) {
  std::size_t count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(source_path("envgen/platform"))) {
    for (const std::string& name : names_in(entry.path())) {
      if (is_part(name)) continue;
      ++count;
      EXPECT_TRUE(base::is_platform_variable(name.c_str(), name.size()))
          << entry.path().filename() << " reads " << name << ": add it to " << kTable;
    }
  }
  EXPECT_GT(count, 200U);
}

TEST(PlatformVariables, BeginWithThePrefixOfTheirRowAndAreThereOnce) {
  std::set<std::string_view> names;
  std::set<std::string> prefixes;
  for (const base::PlatformVariables& row : base::kPlatformVariables) {
    for (const std::string_view name : base::words_of(row.names)) {
      EXPECT_TRUE(name.starts_with(row.prefix)) << name << " in " << kTable;
      EXPECT_TRUE(names.insert(name).second) << name << " is twice in " << kTable;
    }
    if (row.prefix[0] != '\0') {
      EXPECT_TRUE(prefixes.insert(row.prefix).second) << row.prefix << " is twice in " << kTable;
    }
  }
  EXPECT_EQ(prefixes.size(), std::size(base::kPlatformPrefixes.text));
}

TEST(PlatformVariables, OnlyWholeNamesAreInTheTable) {
  for (const char* name : {"SLURM_NNODES", "RANK", "XDL_IP", "PAI_HOST_IP_"}) {
    EXPECT_TRUE(base::is_platform_variable(name, std::string_view(name).size())) << name;
  }
  for (const char* name : {"SLURM_NNODE", "SLURM_NNODES_", "RAN", "", " ", "NO_SUCH_PLATFORM"}) {
    EXPECT_FALSE(base::is_platform_variable(name, std::string_view(name).size())) << name;
  }
}

TEST(PlatformDocuments, NameEachPlatform) {
  for (const char* page : {"docs/platforms.md", "docs/glossary.md"}) {
    const std::string text = text_of(source_path(page));
    for (const Platform* platform : platforms()) {
      EXPECT_TRUE(text.contains("`" + std::string(platform->name) + "`"))
          << page << " does not have the platform " << platform->name << ": add it there";
    }
  }
}

}  // namespace
}  // namespace envgen
