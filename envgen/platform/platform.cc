#include "envgen/platform/platform.h"

#include <array>
#include <cstddef>

#include "base/text.h"
#include "envgen/plan/given_names.h"

namespace envgen {

// Each platform is in the file of its name. lsf and pbs share platform_batch.cc, and the rows of
// given_names.h share platform_counted.cc.
extern const Platform kAzureMlPlatform;
extern const Platform kBarePlatform;
extern const Platform kDeterminedPlatform;
extern const Platform kDlcPlatform;
extern const Platform kEnvPlatform;
extern const Platform kIndexedPlatform;
extern const Platform kKubeflowPlatform;
extern const Platform kLsfPlatform;
extern const Platform kMlpPlatform;
extern const Platform kModelArtsPlatform;
extern const Platform kOpenPaiPlatform;
extern const Platform kPbsPlatform;
extern const Platform kSageMakerPlatform;
extern const Platform kSlurmPlatform;
extern const Platform kTfConfigPlatform;
extern const Platform kVertexPlatform;
extern const Platform kVkPlatform;
extern const Platform kVolcanoPlatform;
extern const std::array<Platform, kGivenNames> kCountedPlatforms;

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

constexpr auto kBefore = std::to_array({
    &kModelArtsPlatform,
    &kDlcPlatform,
    &kVkPlatform,
    &kVolcanoPlatform,
    &kVertexPlatform,
    // These platforms come first, because they also set variables by which other platforms are
    // detected: MASTER_ADDR, OpenMPI's, TF_CONFIG.
    &kSageMakerPlatform,
    &kAzureMlPlatform,
    &kMlpPlatform,
    &kOpenPaiPlatform,
    &kDeterminedPlatform,
});
constexpr auto kBehind = std::to_array({
    &kKubeflowPlatform,
    &kSlurmPlatform,
    &kIndexedPlatform,
    &kLsfPlatform,
    &kPbsPlatform,
    // These come last: their variables can be set without a platform.
    &kTfConfigPlatform,
    &kEnvPlatform,
    &kBarePlatform,
    &kLocalPlatform,
});

// Platforms in the order of detection. The rows of given_names.h are between the two lists.
constexpr auto kPlatforms = [] {
  std::array<const Platform*, kBefore.size() + kGivenNames + kBehind.size()> all{};
  std::size_t count = 0;
  for (const Platform* one : kBefore) all.at(count++) = one;
  for (const Platform& one : kCountedPlatforms) all.at(count++) = &one;
  for (const Platform* one : kBehind) all.at(count++) = one;
  return all;
}();

}  // namespace

std::span<const Platform* const> platforms() { return kPlatforms; }

base::Result<ChosenPlatform> choose_platform(Inputs& inputs) {
  const std::string& wanted = inputs.request().platform;
  std::string names;
  for (const Platform* platform : kPlatforms) {
    std::optional<std::string> reason;
    if (wanted.empty()) {
      reason = platform->detect(inputs);
    } else if (wanted == platform->name) {
      reason = "--platform says so";
    }
    if (reason) return ChosenPlatform{platform, std::move(*reason)};
    names += base::concat({names.empty() ? "" : ", ", platform->name});
  }
  return base::fail("choosing the platform", "--platform", base::quoted(wanted),
                    "use one of " + names);
}

}  // namespace envgen
