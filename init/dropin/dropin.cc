#include "init/dropin/dropin.h"

#include <unistd.h>

#include <utility>

#include "init/dropin/loop.h"
#include "init/dropin/voice.h"

namespace dropin {
namespace {

std::expected<Personality, Exit> parse(Program program, const Input& input) {
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
  const auto personality =
      parse(program, {.argc = argc, .argv = argv, .environment = environ, .pid = ::getpid()});
  if (personality) return run_loop(*personality, saved, begun);
  print(STDOUT_FILENO, personality.error().out);
  print(STDERR_FILENO, personality.error().err);
  return personality.error().code;
}

}  // namespace dropin
