#include "init/dropin/dropin.h"

#include <unistd.h>

#include <utility>

#include "init/dropin/loop.h"
#include "init/dropin/messages.h"
#include "init/sys/files.h"

namespace dropin {
namespace {

std::expected<InitFlavour, Exit> parse(Program program, const Input& input) {
  switch (program) {
    case Program::kTini:
      return parse_tini(input);
    case Program::kDumbInit:
      return parse_dumb_init(input);
    case Program::kCatatonit:
      return parse_catatonit(input);
  }
  return std::unexpected(Exit{});
}

}  // namespace

std::optional<Program> program_of(std::string_view argv0) {
  const std::string_view name = last_part(argv0);
  for (const auto& [known, program] :
       {std::pair{"tini", Program::kTini}, std::pair{"tini-static", Program::kTini},
        std::pair{"docker-init", Program::kTini}, std::pair{"dumb-init", Program::kDumbInit},
        std::pair{"catatonit", Program::kCatatonit}}) {
    if (name == known) return program;
  }
  return std::nullopt;
}

int run(Program program, int argc, char** argv, const proc::SavedSignals& saved,
        const Begun& begun) {
  const auto flavour =
      parse(program, {.argc = argc, .argv = argv, .environment = environ, .pid = ::getpid()});
  if (flavour) return run_loop(*flavour, saved, begun);
  sys::write_all(STDOUT_FILENO, flavour.error().out);
  sys::write_all(STDERR_FILENO, flavour.error().err);
  return flavour.error().code;
}

}  // namespace dropin
