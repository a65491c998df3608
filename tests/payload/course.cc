// Commands for jobs that are started more than once, and for their hooks in images without a shell.

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "tests/payload/payload.h"

namespace payload {

namespace {

std::string variable(const std::string& name) {
  const char* value = getenv(name.c_str());
  return value != nullptr ? value : "";
}

// $NAME at the word's end is the variable's value.
std::string expanded(const std::string& word) {
  const auto dollar = word.find('$');
  if (dollar == std::string::npos) return word;
  return word.substr(0, dollar) + variable(word.substr(dollar + 1));
}

std::string joined(Args words) {
  std::string text;
  for (const char* word : words) text += (text.empty() ? "" : " ") + std::string(word);
  return text;
}

// One write, so that lines of several processes stay whole.
void append(const std::string& path, const std::string& line) {
  const int fd = open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
  if (fd < 0 || write(fd, line.data(), line.size()) != static_cast<ssize_t>(line.size())) {
    fail(path);
  }
  close(fd);
}

int run_line(const std::string& line) {
  std::istringstream stream(line);
  std::vector<std::string> words;
  for (std::string word; stream >> word;) words.push_back(expanded(word));
  if (words.empty() || words[0].starts_with('#')) return 0;
  std::vector<char*> args;
  args.reserve(words.size());
  for (std::string& word : words) args.push_back(word.data());
  return run(Args(args));
}

}  // namespace

// until-restart N CODE [COMMAND...]: exits with CODE as long as TRAINIT_RESTART_COUNT is below N.
int until_restart(Args args) {
  printf("start %s\n", variable("TRAINIT_RESTART_COUNT").c_str());
  fflush(stdout);
  if (atoi(variable("TRAINIT_RESTART_COUNT").c_str()) < atoi(args[0])) return atoi(args[1]);
  return args.size() > 2 ? run(args.subspan(2)) : 0;
}

// journal WORD...: a line in PAYLOAD_OUT/journal.
int journal(Args args) {
  append(variable("PAYLOAD_OUT") + "/journal", joined(args) + "\n");
  return 0;
}

// export NAME=VALUE: what a hook hands on.
int export_line(Args args) {
  append(variable("TRAINIT_ENV"), std::string(args[0]) + "\n");
  return 0;
}

// tell NAME WORD...: the same as PAYLOAD_OUT/NAME-<rank>, anew.
int tell_words(Args args) {
  tell(args[0], joined(args.subspan(1)));
  return 0;
}

// lines FILE [ARG...]: the commands of a file, one a line, up to the first that fails; a word may
// end in $NAME. A hook's first line is `#!/usr/local/bin/payload lines`.
int lines(Args args) {
  std::ifstream file(args[0]);
  if (!file) fail(args[0]);
  for (std::string line; std::getline(file, line);) {
    if (const int code = run_line(line); code != 0) return code;
  }
  return 0;
}

}  // namespace payload
