// From a rank's death on one of two nodes to running ranks on both, beside torchrun's agents: what
// tests/cluster/link_recovery.py measures, in containers with the container tests' PyTorch.

#include <stdio.h>

#include <string>

#include "tests/bench/engine.h"
#include "tests/bench/topics.h"

namespace bench {

void recovery(const Field& field) {
  puts("## The way back from a fault on one of two nodes\n");
  const Engine engine(field.folder);
  const std::string tar = torch_tar(field.self);
  const std::string missing =
      tar.empty() ? "no image of PyTorch; run make test-all PART=clusters first" : engine.missing();
  if (!missing.empty()) {
    printf("not measured: %s\n\n", missing.c_str());
    return;
  }
  const std::string said = field.folder + "/said";
  const std::string rounds = variable("TRAINIT_BENCH_QUICK") == "1" ? "1" : "7";
  const std::string script = TRAINIT_SOURCE_DIR "/tests/cluster/link_recovery.py";
  measure({"python3", script, field.trainit, tar, "--rounds", rounds}, said);
  puts(read_text(said).c_str());
}

}  // namespace bench
