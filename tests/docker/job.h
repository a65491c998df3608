#pragma once
// A job as ModelArts starts it: RANK_TABLE_FILE names a mounted directory with a rank table of
// template 2, and trainit is the container's entrypoint. The payload's records come out in
// PAYLOAD_OUT.

#include <memory>
#include <string>

#include "tests/docker/container.h"

namespace docker {

inline constexpr const char* kTable =
    "config/jobstart_hccl.json";  // in the job's scratch directory
inline constexpr const char* kInitializing = R"({"status":"initializing"})";

struct Pod {
  std::string name;
  std::string server_id;
  int first_device = 0;
  int devices = 8;
};
// Template 2, completed.
std::string rank_table(const std::vector<Pod>& pods);
// The usual one: pod "job-0" with so many devices.
std::string rank_table(int devices);

struct JobSpec {
  Words command;       // of the payload
  Words options = {};  // trainit's
  Words flags = {};    // docker run's
  std::string pod = "job-0";
  bool payload_records = true;  // mount PAYLOAD_OUT
};

class JobTest : public EngineTest {
 protected:
  JobTest();

  // docker run's flags and arguments for it; start() is a container with them.
  [[nodiscard]] Words flags_of(const JobSpec& spec) const;
  [[nodiscard]] static Words args_of(const JobSpec& spec);
  [[nodiscard]] std::unique_ptr<Container> start(const JobSpec& spec) const;

  // Until these ranks' signals are set up: `count` of them from `first`.
  void await_ranks(int count, int first = 0) const;
  // How many ranks told `name`.
  [[nodiscard]] int told(std::string_view name, int ranks) const;
  // A rank's log file.
  [[nodiscard]] std::string log_of(int rank) const;

  Scratch scratch_;
};

}  // namespace docker
