// A snapshot is a file from anywhere, and resolving it runs every profile and launcher.

#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "envgen/plan/snapshot.h"
#include "envgen/resolve/resolve.h"
#include "envgen/show/plan_text.h"
#include "tests/fuzz/fuzzer.h"

TRAINIT_FUZZER(snapshot) {
  auto snapshot = envgen::snapshot_from_json({reinterpret_cast<const char*>(data), size}, "input");
  if (!snapshot) return 0;
  std::string text = envgen::to_json(*snapshot, false);
  auto again = envgen::snapshot_from_json(text, "output");
  if (!again || envgen::to_json(*again, false) != text) std::abort();
  envgen::Request request;
  request.command = snapshot->argv;
  envgen::Answer answer = envgen::resolve(*snapshot, request);
  if (const auto* planned = std::get_if<envgen::Planned>(&answer.outcome)) {
    plan_to_text(planned->plan, snapshot->env);
    plan_summary(planned->plan, snapshot->env,
                 {.command = {"python", "train.py"},
                  .run_dir = snapshot->facts.run_dir,
                  .hooks = notes_of_hooks(planned->plan, *snapshot)});
    if (!envgen::decode_plan(envgen::encode_plan(planned->plan))) std::abort();
  }
  return 0;
}
