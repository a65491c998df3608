#include "envgen/platform/platform.h"

#include <array>

namespace envgen {

// Each in the file of its name; lsf and pbs share one.
extern const Platform kAzureMlPlatform;
extern const Platform kBarePlatform;
extern const Platform kDlcPlatform;
extern const Platform kEnvPlatform;
extern const Platform kIndexedPlatform;
extern const Platform kKubeflowPlatform;
extern const Platform kLsfPlatform;
extern const Platform kLwsPlatform;
extern const Platform kMlpPlatform;
extern const Platform kModelArtsPlatform;
extern const Platform kOpenPaiPlatform;
extern const Platform kPbsPlatform;
extern const Platform kSageMakerPlatform;
extern const Platform kSkyPilotPlatform;
extern const Platform kSlurmPlatform;
extern const Platform kTfConfigPlatform;
extern const Platform kVertexPlatform;
extern const Platform kVkPlatform;
extern const Platform kVolcanoPlatform;

namespace {

// local: `docker run` on a laptop. One node, no cluster.
std::optional<std::string> detect_local(Inputs& /*inputs*/) { return "no platform was recognised"; }

Location locate_local(Inputs& /*inputs*/) {
  PlatformFacts platform;
  platform.alone_by_default = true;
  return ResolvedCluster{.cluster = {},
                         .local_node = {0, "one node"},
                         .platform = std::move(platform),
                         .waits = {},
                         .warnings = {}};
}

constexpr Platform kLocalPlatform = {"local", detect_local, locate_local};

constexpr auto kPlatforms = std::to_array({
    &kModelArtsPlatform,
    &kDlcPlatform,
    &kVkPlatform,
    &kVolcanoPlatform,
    &kVertexPlatform,
    // Each sets variables that others are known by: MASTER_ADDR, OpenMPI's, TF_CONFIG.
    &kSageMakerPlatform,
    &kAzureMlPlatform,
    &kSkyPilotPlatform,
    &kMlpPlatform,
    &kLwsPlatform,
    &kOpenPaiPlatform,
    &kKubeflowPlatform,
    &kSlurmPlatform,
    &kIndexedPlatform,
    &kLsfPlatform,
    &kPbsPlatform,
    // What no platform has set.
    &kTfConfigPlatform,
    &kEnvPlatform,
    &kBarePlatform,
    &kLocalPlatform,
});

}  // namespace

std::span<const Platform* const> platforms() { return kPlatforms; }

}  // namespace envgen
