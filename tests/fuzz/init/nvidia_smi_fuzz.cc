// Any text as what nvidia-smi prints, by itself and inside a log's frame.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "init/doctor/nvidia_smi.h"
#include "tests/fuzz/fuzzer.h"

namespace {

void check(std::string_view text) {
  const auto report = doctor::parse_nvidia_smi(text, "fuzz");
  if (!report) {
    require(!report.error().found.empty() && !report.error().fix.empty());
    return;
  }
  require(report->attached >= 0 && report->notes.size() <= 8);
  for (const doctor::Gpu& gpu : report->gpus) {
    require(gpu.minor >= -1 && gpu.mig_devices >= 0 && gpu.broken.size() <= 4);
    for (const int pid : gpu.pids) require(pid > 0);
  }
}

void check_rows(std::string_view text) {
  const auto processes = doctor::parse_compute_apps(text, "fuzz");
  if (!processes) return require(!processes.error().found.empty());
  for (const doctor::GpuProcess& one : *processes) require(one.pid >= 0 && !one.bus_id.empty());
}

}  // namespace

TRAINIT_FUZZER(nvidia_smi) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  check(text);
  check_rows(text);
  check_rows("00000000:0A:00.0, " + text);
  check("<nvidia_smi_log><gpu id=\"0:0\">" + text + "</gpu></nvidia_smi_log>");
  return 0;
}
