// Prints the behaviour table of trainit, its drop-ins and the installed programs, as markdown:
// behaviour [ROW...]

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <iostream>

#include "tests/behaviour/rows.h"
#include "tests/rules/isolation.h"

namespace {

using behaviour::Init;
using behaviour::Row;

std::vector<Init> columns(const std::string& links) {
  std::vector<Init> drop_ins;
  std::vector<Init> peers;
  for (const behaviour::Pair& pair : behaviour::pairs(links)) {
    if (pair.drop_in.options.empty()) drop_ins.push_back(pair.drop_in);
    if (pair.peer) {
      peers.push_back(*pair.peer);
    } else {
      std::cerr << "behaviour: " << pair.drop_in.title << ": the original is not installed\n";
    }
  }
  std::vector<Init> all = {behaviour::trainit()};
  all.insert(all.end(), drop_ins.begin(), drop_ins.end());
  all.insert(all.end(), peers.begin(), peers.end());
  return all;
}

void print_line(const std::vector<std::string>& cells) {
  for (const std::string& cell : cells) std::cout << "| " << cell << " ";
  std::cout << "|\n" << std::flush;
}

bool is_wanted(const Row& row, std::span<char* const> numbers) {
  const auto is_it = [&row](const char* text) { return std::atoi(text) == row.number; };
  return numbers.empty() || std::ranges::any_of(numbers, is_it);
}

// Of the build tree that this program is of.
void find_programs() {
  const std::filesystem::path folder =
      std::filesystem::read_symlink("/proc/self/exe").parent_path();
  ::setenv("TRAINIT_BINARY", (folder.parent_path() / "trainit").c_str(), 0);
  ::setenv("TRAINIT_PAYLOAD", (folder / "payload").c_str(), 0);
}

}  // namespace

int main(int argc, char** argv) {
  find_programs();
  if (!rules::may_unshare()) {
    std::cerr << "behaviour: may not make pid namespaces and mount here: nothing is measured\n";
    return 1;
  }
  const behaviour::ScratchDirectory links;
  const std::vector<Init> inits = columns(links.path());
  std::vector<std::string> titles = {"check"};
  for (const Init& init : inits) titles.push_back(init.title);
  print_line(titles);
  print_line(std::vector<std::string>(titles.size(), "-"));
  const std::span<char* const> numbers(argv + 1, static_cast<std::size_t>(argc - 1));
  for (const Row& row : behaviour::rows()) {
    if (!is_wanted(row, numbers)) continue;
    std::vector<std::string> cells = behaviour::measure(row, inits);
    cells.insert(cells.begin(), (row.number < 10 ? "0" : "") + std::to_string(row.number) + " " +
                                    std::string(row.title));
    print_line(cells);
  }
  return 0;
}
