// Checks of accelerators with the drivers' own tools.

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "base/exit_codes.h"
#include "base/text.h"
#include "init/doctor/checks.h"
#include "init/doctor/machine.h"
#include "init/doctor/npu_smi.h"
#include "init/doctor/nvidia_smi.h"
#include "init/doctor/xid.h"
#include "init/proc/child_run.h"
#include "init/proc/privileged.h"
#include "init/sys/fd.h"
#include "init/sys/path_state.h"

namespace doctor {
namespace {

constexpr const char* kReset =
    "drain the node and reset the GPU (nvidia-smi --gpu-reset), or reboot the host";

// Returns the time limit for a tool. It is shorter than that of the check, so that a time-out of
// the tool is reported as such.
std::int64_t limit_of(const Context& context) { return context.limit_ms * 8 / 10; }

CheckResult fault_of(base::Error error) {
  std::string fix = std::exchange(error.fix, {});
  return failed(to_line(error), fix);
}

std::string gpu_place(const Gpu& gpu) {
  std::string place = "GPU " + gpu.bus_id;
  if (gpu.minor >= 0) place += " (/dev/nvidia" + std::to_string(gpu.minor) + ")";
  return place;
}

void check_one(const Gpu& gpu, Results& results) {
  const std::string place = gpu_place(gpu);
  if (!gpu.broken.empty()) {
    results.push_back(failed("the driver has lost it: " + listed(gpu.broken) +
                                 " cannot be read; dmesg on the host has its Xid",
                             kReset, place));
  }
  if (!gpu.recovery_action.empty()) {
    results.push_back(
        failed("the driver asks for a recovery: " + gpu.recovery_action, kReset, place));
  }
  if (gpu.uncorrectable > 0) {
    results.push_back(failed(
        count_text(gpu.uncorrectable, "uncorrectable ECC error") + " since the driver was loaded",
        kReset, place));
  }
  if (gpu.repair_failed) {
    results.push_back(failed("a row of its memory could not be remapped: no spare ones are left",
                             "have the card replaced", place));
  }
  if (gpu.repair_pending) {
    results.push_back(warning("bad memory is taken out of use at its next reset", kReset, place));
  }
  constexpr std::uint64_t kMaxRetired = 60;  // NVIDIA replaces a card from this number on
  if (gpu.retired_pages >= kMaxRetired) {
    results.push_back(warning(count_text(gpu.retired_pages, "page") + " of its memory retired",
                              "have the card replaced", place));
  }
  if (gpu.mig && gpu.mig_devices == 0) {
    results.push_back(failed("MIG is enabled and it has no instance that a rank could use",
                             "make instances (nvidia-smi mig -cgi ... -C), or switch MIG off",
                             place));
  }
}

// Reports conditions that slow a job down, or fail it later.
void check_condition(const Gpu& gpu, Results& results) {
  const std::string place = gpu_place(gpu);
  if (!gpu.fabric.empty()) {
    results.push_back(failed("its NVLink fabric is not up: " + gpu.fabric,
                             "see the service nvidia-fabricmanager on the host", place));
  }
  if (!gpu.slowdowns.empty()) {
    results.push_back(warning("its clocks are held down: " + listed(gpu.slowdowns),
                              "see its temperature, its fans and its power supply", place));
  }
  if (gpu.link_width > 0 && gpu.link_width < gpu.max_link_width) {
    results.push_back(warning("its PCIe link has " + std::to_string(gpu.link_width) + " of " +
                                  std::to_string(gpu.max_link_width) + " lanes",
                              "see whether its slot has more; else reseat it", place));
  }
  if (gpu.ecc_off) {
    results.push_back(warning("ECC is off: a flipped bit in its memory is not noticed",
                              "nvidia-smi --ecc-config=1 on the host, then reset it", place));
  }
}

// Returns true for memory without a process. The driver itself takes some hundred MiB.
bool has_unowned_memory(const Gpu& gpu) {
  constexpr std::uint64_t kMinMib = 1024;
  constexpr std::uint64_t kPart = 20;
  return gpu.pids.empty() && !gpu.mig && gpu.used_mib >= std::max(kMinMib, gpu.memory_mib / kPart);
}

// Returns whether processes on a device are leftovers. While a job runs, they can be the job's own.
bool looks_for_leftovers(const Context& context) { return context.occasion != Occasion::kMonitor; }

// Returns the current content of the kernel's log; each read of the device returns one line. Tests
// use a file instead.
base::Result<std::string> kernel_log(const std::string& path) {
  constexpr std::size_t kMaxBytes = 8U << 20;
  const sys::Fd log(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY));
  if (!log.valid()) return base::fail("reading the kernel's log", path, sys::errno_text(errno), "");
  std::string text;
  std::array<char, 8192> line;
  while (text.size() < kMaxBytes) {
    const ssize_t count = ::read(log.get(), line.data(), line.size());
    // EPIPE: older lines were overwritten in the meantime.
    if (count < 0 && (errno == EINTR || errno == EPIPE)) continue;
    if (count < 0 && errno != EAGAIN) {
      return base::fail("reading the kernel's log", path, sys::errno_text(errno), "");
    }
    if (count <= 0) break;
    text.append(line.data(), static_cast<std::size_t>(count));
  }
  return text;
}

}  // namespace

std::string run_tool(const Context& context, const std::vector<std::string>& argv,
                     Results& results) {
  const auto tool = proc::find_driver_tool(argv[0], context.start);
  auto captured =
      tool ? proc::capture(*tool, {argv.begin() + 1, argv.end()}, {.time_ms = limit_of(context)})
           : std::unexpected(tool.error());
  if (!captured) {
    const bool absent = captured.error().exit_code == exit_code::kNotFound;
    results.push_back(absent ? skipped(argv[0] + " is not in PATH")
                             : failed(to_line(captured.error().error),
                                      "see whether the image has the tool for this machine"));
    return {};
  }
  if (captured->late) {
    results.push_back(
        failed(argv[0] + " has not answered within " + base::seconds(limit_of(context)),
               "the driver hangs: see dmesg on the host for its errors (Xid), and "
               "reboot it"));
    return {};
  }
  return std::move(captured->output);
}

Results check_gpu(const Context& context) {
  Results results;
  const std::string output = run_tool(context, {"nvidia-smi", "-q", "-x"}, results);
  if (!results.empty()) return results;
  auto report = parse_nvidia_smi(output, "nvidia-smi -q -x");
  if (!report) {
    // A container without a GPU can contain the tool, too.
    const bool none = output.find("No devices were found") != std::string::npos;
    return {none ? skipped("nvidia-smi finds no device") : fault_of(report.error())};
  }
  std::vector<std::string> busy;
  for (const Gpu& gpu : report->gpus) {
    check_one(gpu, results);
    check_condition(gpu, results);
    if (!gpu.pids.empty()) busy.push_back(gpu.bus_id);
    if (looks_for_leftovers(context) && has_unowned_memory(gpu)) {
      results.push_back(
          warning(std::to_string(gpu.used_mib) + " of " + std::to_string(gpu.memory_mib) +
                      " MiB of its memory are in use, and no process is shown that has them",
                  "see on the host who has it: another container, or what an earlier "
                  "job left over",
                  gpu_place(gpu)));
    }
  }
  if (report->attached > std::ssize(report->gpus)) {
    results.push_back(warning("the driver has " + std::to_string(report->attached) +
                                  " GPUs attached and lists " + std::to_string(report->gpus.size()),
                              "if all of them are to be used here, see which the container was "
                              "given (NVIDIA_VISIBLE_DEVICES) and whether one was lost (dmesg)"));
  }
  for (const std::string& note : report->notes) {
    results.push_back(warning("nvidia-smi says: " + note, "see NVIDIA's documents of that line"));
  }
  if (!busy.empty() && looks_for_leftovers(context)) {
    results.push_back(warning("other processes use " + listed(busy),
                              "see with nvidia-smi on the host whether they are left over from "
                              "an earlier job, and end them"));
  }
  if (results.empty()) {
    results.push_back(ok(count_text(report->gpus.size(), "GPU") +
                         (report->gpus.empty() ? "" : ", " + report->gpus[0].name) + ", driver " +
                         report->driver));
  }
  return results;
}

Results check_xid(const Context& context) {
  constexpr const char* kLog = "/dev/kmsg";
  const auto log = kernel_log(context.root + kLog);
  if (!log) return {skipped("the kernel's log cannot be read here: " + log.error().found)};
  Results results;
  for (const Xid& xid : find_xids(*log)) {
    if (!is_of_hardware(xid.code)) continue;
    results.push_back(
        warning("Xid " + std::to_string(xid.code) + " since the host's start: " + xid.text,
                "look the number up in NVIDIA's list of Xid errors; drain the node "
                "when it comes again",
                "GPU " + xid.device));
  }
  if (results.empty()) results.push_back(ok("no error of a GPU in the kernel's log"));
  return results;
}

Results check_npu(const Context& context) {
  Results results;
  const std::string output = run_tool(context, {"npu-smi", "info"}, results);
  if (!results.empty()) return results;
  auto report = parse_npu_smi(output, "npu-smi info");
  if (!report) return {fault_of(report.error())};
  for (const NpuChip& chip : report->chips) {
    if (chip.health == "OK") continue;
    const std::string place =
        "NPU " + std::to_string(chip.npu) + " chip " + std::to_string(chip.chip);
    const std::string fix = "see its errors: npu-smi info -t health -i " +
                            std::to_string(chip.npu) + " -c " + std::to_string(chip.chip) +
                            "; drain the node and reset the card";
    const bool usable = chip.health == "Warning";
    results.push_back(usable ? warning("its health is Warning", fix, place)
                             : failed("its health is " + chip.health, fix, place));
  }
  if (!report->processes.empty() && looks_for_leftovers(context)) {
    std::vector<std::string> chips;
    for (const NpuProcess& one : report->processes) {
      std::string chip =
          "NPU " + std::to_string(one.npu) + " (pid " + std::to_string(one.pid) + ")";
      if (std::ranges::find(chips, chip) == chips.end()) chips.push_back(std::move(chip));
    }
    results.push_back(warning(
        "processes are left on " + listed(chips),
        "end them, and wait 10 s before the next start: HCCL refuses a device that is in use "
        "(EJ0001)"));
  }
  if (results.empty()) {
    results.push_back(ok(count_text(report->chips.size(), "chip") + ", " + report->chips[0].name +
                         ", npu-smi " + report->version));
  }
  return results;
}

}  // namespace doctor
