#include "tests/bench/inits.h"

#include <unistd.h>

namespace bench {
namespace {

std::string find_program(const std::string& name) {
  for (const char* folder : {"/usr/local/bin/", "/usr/bin/", "/bin/"}) {
    if (access((folder + name).c_str(), X_OK) == 0) return folder + name;
  }
  return "";
}

Init peer(const std::string& name, const Words& options) {
  Init init{name, {find_program(name)}, ""};
  if (init.words[0].empty()) init.missing = "not installed";
  init.words.insert(init.words.end(), options.begin(), options.end());
  return init;
}

// Without -s tini spends a write on the warning that it is not PID 1.
std::vector<Init> inits(const Field& field, bool pid1) {
  const Words tini_options = pid1 ? Words{"--"} : Words{"-s", "--"};
  std::vector<Init> all = {{"trainit", {field.trainit, "--"}, ""}};
  for (const char* name : {"docker-init", "dumb-init", "catatonit"}) {
    Init ours{std::string("trainit as ") + name, {field.folder + "/" + name}, ""};
    if (symlink(field.trainit.c_str(), ours.words[0].c_str()) != 0 && errno != EEXIST) {
      fail(ours.words[0]);
    }
    const bool tini = name == std::string("docker-init");
    for (const std::string& option : tini ? tini_options : Words{"--"}) {
      ours.words.push_back(option);
    }
    all.push_back(ours);
  }
  all.push_back(peer("tini-static", tini_options));
  all.push_back(peer("tini", tini_options));
  all.push_back(peer("dumb-init", {"--"}));
  all.push_back(peer("catatonit", {"--"}));
  return all;
}

void check(std::vector<Init>* all, Place place, const std::string& nop) {
  for (Init& init : *all) {
    if (!init.missing.empty()) continue;
    const int code = finish(start(init.command({nop}), {.place = place}));
    if (code != 0) init.missing = text("does not run: exit code %d", code);
  }
}

}  // namespace

Command Init::command(const Words& program) const {
  Words all = words;
  all.insert(all.end(), program.begin(), program.end());
  return Command(std::move(all));
}

Field gather_field(const std::string& trainit, const std::string& self, const std::string& folder) {
  Field field;
  field.folder = folder;
  field.self = self;
  field.nop = self.substr(0, self.rfind('/')) + "/bench_nop";
  field.nap = self.substr(0, self.rfind('/')) + "/bench_nap";
  field.trainit = trainit;
  field.root = geteuid() == 0;
  field.here = inits(field, false);
  field.pid1 = inits(field, true);
  check(&field.here, Place::kHere, field.nop);
  if (field.root) check(&field.pid1, Place::kPid1, field.nop);
  return field;
}

std::vector<Init> floors(const Field& field) {
  const std::string folder = field.self.substr(0, field.self.rfind('/'));
  return {{"floor: fork, exec, wait on static glibc", {folder + "/bench_floor"}, ""},
          {"floor: vfork, exec, wait, no C library", {folder + "/bench_floor_raw"}, ""}};
}

std::string ratio(double value, std::optional<double> base) {
  if (!base || *base <= 0) return "-";
  return text("%.2f", value / *base);
}

}  // namespace bench
