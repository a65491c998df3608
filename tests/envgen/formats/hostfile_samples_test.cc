// Real hostfiles from public sources, read in place.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>

#include "envgen/formats/hostfile.h"

namespace envgen {
namespace {

using Dialect = HostfileDialect;
using testing::HasSubstr;

struct Sample {
  const char* name;
  Dialect dialect;  // as its consumer reads it, and as it is guessed
  std::size_t hosts;
  const char* refused;  // what is said of it, "" for an accepted one
};

class HostfileSamples : public testing::TestWithParam<Sample> {};

TEST_P(HostfileSamples, IsAcceptedOrRefusedForTheRightReason) {
  const char* samples = std::getenv("TRAINIT_SAMPLES");
  if (samples == nullptr) GTEST_SKIP() << "TRAINIT_SAMPLES is not set";
  const Sample& sample = GetParam();
  std::ifstream file(std::string(samples) + "/hostfile/" + sample.name, std::ios::binary);
  ASSERT_TRUE(file) << sample.name;
  const std::string text{std::istreambuf_iterator<char>(file), {}};

  const Hostfile hostfile = parse_hostfile(text, sample.dialect);
  std::string refused;
  for (const Finding& finding : hostfile.findings) {
    if (is_refused(finding)) refused += to_line(finding) + "\n";
  }
  EXPECT_EQ(refused.empty(), std::string(sample.refused).empty()) << refused;
  EXPECT_THAT(refused, HasSubstr(sample.refused));
  EXPECT_EQ(hostfile.entries.size(), sample.hosts);
  if (refused.empty()) {
    EXPECT_EQ(guess_dialect(text), sample.dialect);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Public, HostfileSamples,
    testing::Values(
        Sample{"2610jun-mpi-hostfile", Dialect::kMpich, 16, ""},
        Sample{"deepspeed-doc-duplicate", Dialect::kDeepSpeed, 2, "line 3: \"worker-1\" again"},
        Sample{"deepspeed-doc-duplicate", Dialect::kOpenMpi, 2, "line 3: \"worker-1\" again"},
        Sample{"kubeflow-mpi-operator-intel", Dialect::kMpich, 3, ""},
        Sample{"kubeflow-mpi-operator-openmpi", Dialect::kOpenMpi, 2, ""},
        Sample{"mindspore-ai-docs-docs-sample_code-startup_method-hostfile", Dialect::kOpenMpi, 0,
               "line 1: \"192.168.*.1\" as the host"},
        Sample{"ospv12-typo-slot", Dialect::kOpenMpi, 0, "line 1: \"slot\""},
        Sample{"ospv12-typo-slot", Dialect::kDeepSpeed, 0, "line 1: \"aihc-master-0 slot=8\""},
        Sample{"volcano-worker.host", Dialect::kPlain, 2, ""}));

}  // namespace
}  // namespace envgen
