#include "envgen/platform/platform.h"

#include <array>

namespace envgen {

// Each in the file of its name.
extern const Platform kBarePlatform;
extern const Platform kDlcPlatform;
extern const Platform kIndexedPlatform;
extern const Platform kKubeflowPlatform;
extern const Platform kModelArtsPlatform;
extern const Platform kSlurmPlatform;
extern const Platform kVkPlatform;
extern const Platform kVolcanoPlatform;

namespace {

// local: `docker run` on a laptop. One node, no cluster.
std::optional<std::string> detect_local(Inputs& /*inputs*/) { return "no platform was recognised"; }

Location locate_local(Inputs& /*inputs*/) {
  return ResolvedCluster{
      .cluster = {}, .local_node = {0, "one node"}, .platform = {}, .waits = {}, .warnings = {}};
}

constexpr Platform kLocalPlatform = {"local", detect_local, locate_local};

constexpr std::array kPlatforms = {
    &kModelArtsPlatform, &kDlcPlatform,     &kVkPlatform,   &kVolcanoPlatform, &kKubeflowPlatform,
    &kSlurmPlatform,     &kIndexedPlatform, &kBarePlatform, &kLocalPlatform,
};

}  // namespace

std::span<const Platform* const> platforms() { return kPlatforms; }

}  // namespace envgen
