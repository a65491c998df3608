// From a rank's death to the first all_reduce of the next start, warm, cold and with torchrun: what
// warm.py measures, with this machine's PyTorch.

#include <stdio.h>

#include <string>
#include <utility>

#include "tests/bench/engine.h"
#include "tests/bench/topics.h"

namespace bench {

void warm(const Field& field) {
  puts("## Warm restart: from a rank's death to the first all_reduce of the next start\n");
  const std::string said = field.folder + "/said";
  const Words has_torch = {"/usr/bin/python3", "-c", "import torch.distributed"};
  if (finish(start_saying(has_torch, said)) != 0) {
    puts("not measured: no PyTorch of /usr/bin/python3\n");
    return;
  }
  const std::string rounds = variable("TRAINIT_BENCH_QUICK") == "1" ? "1" : "7";
  const std::string script = TRAINIT_SOURCE_DIR "/tests/bench/warm.py";
  for (const auto& [nodes, ranks] :
       {std::pair{"1", "2"}, std::pair{"1", "4"}, std::pair{"2", "2"}}) {
    measure({"/usr/bin/python3", script, field.trainit, "--rounds", rounds, "--nodes", nodes,
             "--ranks", ranks},
            said);
    puts(read_text(said).c_str());
  }
}

}  // namespace bench
