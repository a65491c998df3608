#include "tests/docker/job.h"

#include <sys/stat.h>

namespace docker {

std::string rank_table(const std::vector<Pod>& pods) {
  int total = 0;
  std::string instances;
  for (const Pod& pod : pods) {
    std::string devices;
    for (int device = pod.first_device; device < pod.first_device + pod.devices; ++device) {
      devices += devices.empty() ? "" : ",";
      devices += R"({"device_id":")" + std::to_string(device) + R"(","device_ip":"192.168.)" +
                 std::to_string(device) + "." + std::to_string(++total) + R"("})";
    }
    instances += instances.empty() ? "" : ",";
    instances += R"({"pod_name":")" + pod.name + R"(","server_id":")" + pod.server_id +
                 R"(","devices":[)" + devices + "]}";
  }
  return R"({"status":"completed","group_count":"1","group_list":[{"group_name":"job",)"
         R"("device_count":")" +
         std::to_string(total) + R"(","instance_count":")" + std::to_string(pods.size()) +
         R"(","instance_list":[)" + instances + "]}]}";
}

std::string rank_table(int devices) {
  return rank_table({Pod{.name = "job-0", .server_id = "10.0.0.1", .devices = devices}});
}

JobTest::JobTest() {
  for (const char* folder : {"config", "out", "logs"}) {
    mkdir(scratch_.path(folder).c_str(), 0777);
    chmod(scratch_.path(folder).c_str(), 0777);  // whatever the umask is
  }
}

Words JobTest::flags_of(const JobSpec& spec) const {
  Words flags = {"-e", "RANK_TABLE_FILE=/user/config",
                 "-e", "MA_CURRENT_INSTANCE_NAME=" + spec.pod,
                 "-e", "MA_VJ_NAME=ma-job-1234",
                 "-e", "MA_JOB_DIR=/job",
                 "-v", scratch_.path("config") + ":/user/config:ro"};
  if (spec.payload_records) {
    const Words records = {"-e", "PAYLOAD_OUT=/out",      "-v", scratch_.path("out") + ":/out",
                           "-e", "TRAINIT_LOG_DIR=/logs", "-v", scratch_.path("logs") + ":/logs"};
    flags.insert(flags.end(), records.begin(), records.end());
  }
  flags.insert(flags.end(), spec.flags.begin(), spec.flags.end());
  return flags;
}

Words JobTest::args_of(const JobSpec& spec) {
  Words args = spec.options;
  args.insert(args.end(), {"--", "payload"});
  args.insert(args.end(), spec.command.begin(), spec.command.end());
  return args;
}

std::unique_ptr<Container> JobTest::start(const JobSpec& spec) const {
  return std::make_unique<Container>(flags_of(spec), args_of(spec));
}

void JobTest::await_ranks(int count, int first) const {
  for (int rank = first; rank < first + count && !HasFailure(); ++rank) {
    scratch_.await("out/ready-" + std::to_string(rank));
  }
}

int JobTest::told(std::string_view name, int ranks) const {
  int count = 0;
  for (int rank = 0; rank < ranks; ++rank) {
    count += scratch_.has("out/" + std::string(name) + "-" + std::to_string(rank)) ? 1 : 0;
  }
  return count;
}

std::string JobTest::log_of(int rank) const {
  return scratch_.read("logs/rank-" + std::to_string(rank) + ".txt");
}

}  // namespace docker
