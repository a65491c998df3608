#pragma once
// The checks, one function each, and functions that make their results. The caller sets
// CheckResult::check.

#include <string>
#include <string_view>
#include <vector>

#include "init/doctor/check_result.h"
#include "init/doctor/context.h"
#include "init/doctor/parallel.h"

namespace doctor {

CheckResult ok(std::string found, std::string_view place = {});
CheckResult skipped(std::string why, std::string_view place = {});
CheckResult warning(std::string found, std::string_view fix, std::string_view place = {});
CheckResult failed(std::string found, std::string_view fix, std::string_view place = {});

Results check_plan(const Context& context);

Results check_devices(const Context& context);
Results check_ranktable(const Context& context);
// Returns the output of a driver's tool. If the tool fails, adds a result that says why: skipped if
// the tool does not exist, failed if it hangs or cannot be run.
std::string run_tool(const Context& context, const std::vector<std::string>& argv,
                     Results& results);
Results check_gpu(const Context& context);
Results check_xid(const Context& context);
Results check_npu(const Context& context);

Results check_shm(const Context& context);
Results check_memory(const Context& context);
Results check_cpu(const Context& context);
Results check_memlock(const Context& context);
Results check_nofile(const Context& context);
Results check_pids(const Context& context);

Results check_disk(const Context& context);
Results check_datasets(const Context& context);

Results check_network(const Context& context);
Results check_rdma(const Context& context);
Results check_hosts(const Context& context);
Results check_peers(const Context& context);

Results check_clock(const Context& context);
Results check_kernel(const Context& context);
Results check_seccomp(const Context& context);
Results check_user(const Context& context);

}  // namespace doctor
