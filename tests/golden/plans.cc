#include "tests/golden/plans.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <map>

#include "tests/golden/difference.h"
#include "tests/source_path.h"

namespace golden {
namespace {

using Lines = std::vector<std::string>;

constexpr std::size_t kColumns = 120;

Lines lines_of(const std::string& text) {
  Lines lines;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    lines.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return lines;
}

// The line after the value that begins in line `at`: the next one that is not deeper closes it.
std::size_t end_of_value(const Lines& lines, std::size_t at) {
  const char last = lines[at].back();
  if (last != '{' && last != '[') return at + 1;
  const std::size_t indent = lines[at].find_first_not_of(' ');
  std::size_t end = at + 1;
  while (lines[end].find_first_not_of(' ') > indent) ++end;
  return end + 1;
}

using Members = std::map<std::string, Lines>;  // by key; without the comma behind each

Members members_of(const Lines& plan) {
  Members members;
  for (std::size_t at = 1; at + 1 < plan.size();) {
    const std::size_t end = end_of_value(plan, at);
    Lines& member = members[plan[at].substr(0, plan[at].find(':'))];
    member.assign(plan.begin() + static_cast<std::ptrdiff_t>(at),
                  plan.begin() + static_cast<std::ptrdiff_t>(end));
    if (member.back().back() == ',') member.back().pop_back();
    at = end;
  }
  return members;
}

// What a plan has otherwise than the first one.
Lines other_members(const Lines& plan, const Lines& first) {
  const Members here = members_of(plan);
  const Members there = members_of(first);
  Lines others;
  for (const auto& [key, member] : here) {
    const auto same = there.find(key);
    if (same != there.end() && same->second == member) continue;
    others.insert(others.end(), member.begin(), member.end());
  }
  for (const auto& [key, member] : there) {
    if (!here.contains(key)) others.push_back(key + ": is not there");
  }
  return others;
}

class Layout {
 public:
  // All or a part of a plan; the environments of those before are known.
  std::string plan(const Lines& lines) {
    lines_ = lines;
    return text(0, lines.size());
  }

 private:
  std::string text(std::size_t at, std::size_t stop) {
    std::string text;
    for (std::size_t end = 0; at < stop; at = end) {
      end = end_of_value(lines_, at);
      const std::string line = in_one_line(at, end);
      if (line.find(R"("name": )") == line.find('"')) process_ = line.substr(line.find(':') + 2);
      if (end == at + 1 || line.size() <= kColumns || is_words(at)) {
        text += line + "\n";
      } else if (line.find(R"("env": )") == line.find('"')) {
        text += environment(at, end);
      } else {
        text += lines_[at] + "\n" + this->text(at + 1, end - 1) + lines_[end - 1] + "\n";
      }
    }
    return text;
  }

  // What it has otherwise than the last one that was shown whole, or all of it.
  std::string environment(std::size_t at, std::size_t end) {
    std::map<std::string, std::string> variables;
    std::string whole;
    for (std::size_t i = at; i < end; ++i) whole += lines_[i] + "\n";
    for (std::size_t i = at + 1; i + 1 < end; ++i) {
      const std::size_t colon = lines_[i].find(R"(": )") + 1;
      variables[lines_[i].substr(0, colon)] =
          lines_[i].substr(colon, lines_[i].find_last_not_of(',') + 1 - colon);
    }
    std::string others;
    std::size_t count = 0;
    for (const auto& [name, value] : variables) {
      const auto known = known_.find(name);
      if (known != known_.end() && known->second == value) continue;
      others += name + value + "\n";
      ++count;
    }
    for (const auto& [name, value] : known_) {
      if (variables.contains(name)) continue;
      others += name + ": is not there\n";
      ++count;
    }
    if (2 * count > variables.size()) {
      known_ = variables;
      whose_ = process_;
      return whole;
    }
    return lines_[at].substr(0, lines_[at].find('{')) + "as of " + whose_ + " above" +
           (others.empty() ? "\n" : ", but\n" + others);
  }

  [[nodiscard]] std::string in_one_line(std::size_t at, std::size_t end) const {
    std::string line = lines_[at];
    for (std::size_t i = at + 1; i < end; ++i) {
      if (i > at + 1 && i + 1 < end) line += ' ';
      line += lines_[i].substr(lines_[i].find_first_not_of(' '));
    }
    return line;
  }

  [[nodiscard]] bool is_words(std::size_t at) const {
    const std::string& value = lines_[at + 1];
    return lines_[at].back() == '[' && value[value.find_first_not_of(' ')] == '"';
  }

  Lines lines_;
  std::string process_;                       // the last that was named
  std::map<std::string, std::string> known_;  // the last environment that was shown whole
  std::string whose_;
};

}  // namespace

std::string trainit(const std::string& arguments) {
  const char* binary = std::getenv("TRAINIT_BINARY");
  EXPECT_NE(binary, nullptr) << "set TRAINIT_BINARY";
  std::string command = std::string(binary == nullptr ? "false" : binary) + " " + arguments;
  std::FILE* pipe = ::popen(command.c_str(), "r");
  std::string output;
  char chunk[4096];
  while (std::size_t size = std::fread(chunk, 1, sizeof chunk, pipe)) output.append(chunk, size);
  EXPECT_EQ(::pclose(pipe), 0) << command;
  return output;
}

std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::string directory() { return source_path("tests/golden") + "/"; }

void expect_plans(const std::string& file, const std::string& heading,
                  const std::vector<Section>& sections) {
  std::string text = heading;
  Lines first;
  Layout layout;
  for (const Section& section : sections) {
    const Lines plan =
        lines_of(trainit("plan --json --snapshot " + section.snapshot + " " + section.options));
    ASSERT_GT(plan.size(), 2U) << section.title;
    text += "--- " + section.title + "\n";
    text += layout.plan(first.empty() ? plan : other_members(plan, first));
    if (first.empty()) first = plan;
  }
  expect_file(file + ".plans", text);
}

}  // namespace golden
