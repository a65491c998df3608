#include "init/engine/cluster/link_worker.h"

#include <csignal>

#include "init/engine/cluster/link_client.h"
#include "init/engine/cluster/link_server.h"

namespace engine {

int run_link(const LinkSettings& settings, const base::Environ& env, int down, int up) {
  ::signal(SIGPIPE, SIG_IGN);  // write() reports the exit of the reader instead
  if (settings.node == 0) return run_link_server(settings, env, down, up);
  return run_link_client(settings, env, down, up);
}

}  // namespace engine
