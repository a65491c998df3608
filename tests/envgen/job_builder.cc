#include "tests/envgen/job_builder.h"

#include "base/json.h"

namespace envgen {
namespace {

std::string host_of(const JobShape& shape, int pod) {
  int host = pod / shape.pods_per_host;
  return "10.0." + std::to_string(200 - host / 100) + "." + std::to_string(200 - host % 100);
}

void write_pod(base::json::Writer& out, const JobShape& shape, int pod) {
  out.begin_object();
  out.key("pod_name").string("job-worker-" + std::to_string(pod));
  out.key("server_id").string(host_of(shape, pod));
  out.key("devices").begin_array();
  int first = pod % shape.pods_per_host * shape.devices;
  for (int i = 0; i < shape.devices; ++i) {
    std::string ip = "192." + std::to_string(first + i) + "." + std::to_string(pod / 250) + "." +
                     std::to_string(1 + pod % 250);
    out.begin_object();
    out.key("device_id").string(std::to_string(first + i));
    out.key("device_ip").string(ip);
    out.end_object();
  }
  out.end_array().end_object();
}

}  // namespace

std::string template2(const JobShape& shape, const std::string& status) {
  base::json::Writer out;
  out.begin_object();
  out.key("status").string(status);
  out.key("group_count").string("1");
  out.key("group_list").begin_array().begin_object();
  out.key("group_name").string("worker");
  out.key("device_count").string(std::to_string(shape.pods * shape.devices));
  out.key("instance_count").string(std::to_string(shape.pods));
  out.key("instance_list").begin_array();
  for (int pod = shape.pods - 1; pod >= 0; --pod) write_pod(out, shape, pod);
  out.end_array().end_object().end_array().end_object();
  return std::move(out).take();
}

Snapshot modelarts_snapshot(const JobShape& shape, int pod) {
  Snapshot snapshot;
  snapshot.env = base::Environ({"PATH=/usr/bin:/bin", "RANK_TABLE_FILE=/user/config",
                                "MA_CURRENT_INSTANCE_NAME=job-worker-" + std::to_string(pod),
                                "MA_VJ_NAME=ma-job-77"});
  snapshot.facts.cwd = "/home/ma-user";
  snapshot.facts.host_name = "job-worker-" + std::to_string(pod);
  snapshot.facts.addresses = {host_of(shape, pod)};
  snapshot.facts.run_dir = "/run/trainit";
  PathState directory;
  directory.kind = PathState::Kind::kDirectory;
  directory.writable = true;
  snapshot.paths["/user/config"] = directory;
  snapshot.paths["/home/ma-user"] = directory;
  for (const char* absent :
       {"/etc/trainit/hooks", "/user/config/hccl.json",
        "/usr/local/Ascend/ascend-toolkit/set_env.sh", "/usr/local/Ascend/nnal/atb/set_env.sh",
        "/usr/local/Ascend/driver/lib64", "/usr/local/Ascend/driver/lib64/common",
        "/usr/local/Ascend/driver/lib64/driver"}) {
    snapshot.paths[absent] = {};
  }
  PathState table;
  table.kind = PathState::Kind::kFile;
  table.content = template2(shape);
  table.size_bytes = table.content.size();
  snapshot.paths[kTablePath] = table;
  return snapshot;
}

Request request_for(std::vector<std::string> command) {
  Request request;
  request.command = std::move(command);
  return request;
}

}  // namespace envgen
