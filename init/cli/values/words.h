#pragma once
// The words of options that take one word of a short list, with their meanings.

#include "envgen/plan/request.h"
#include "init/cli/values/kinds.h"
#include "init/sys/log.h"

namespace cli {

// The output formats of `trainit report`.
enum class ReportFormat : unsigned char { kText, kHtml, kTrace };

inline constexpr Word<envgen::TorchLauncher> kTorchLaunchers[] = {
    {"torchrun", envgen::TorchLauncher::kTorchrun},
    {"launch", envgen::TorchLauncher::kLaunch},
    {"fan-out", envgen::TorchLauncher::kFanOut}};
inline constexpr Word<envgen::RankMeans> kRankMeans[] = {{"node", envgen::RankMeans::kNode},
                                                         {"process", envgen::RankMeans::kProcess}};
inline constexpr Word<envgen::AscendLauncher> kAscendLaunchers[] = {
    {"rank-table", envgen::AscendLauncher::kRankTable},
    {"msrun", envgen::AscendLauncher::kMsrun},
    {"dynamic", envgen::AscendLauncher::kDynamic}};
inline constexpr Word<envgen::OnNodeFailure> kOnNodeFailure[] = {
    {"stop", envgen::OnNodeFailure::kStop}, {"tell", envgen::OnNodeFailure::kTell}};
inline constexpr Word<base::RestartVerdict> kRestartVerdicts[] = {
    {"enforce", base::RestartVerdict::kEnforce},
    {"tell", base::RestartVerdict::kTell},
    {"off", base::RestartVerdict::kOff}};
inline constexpr Word<envgen::RankOrder> kRankOrders[] = {
    {"pod-index", envgen::RankOrder::kPodIndex}, {"server-id", envgen::RankOrder::kServerId}};
inline constexpr Word<envgen::DeviceIds> kDeviceIds[] = {
    {"logical", envgen::DeviceIds::kLogical}, {"physical", envgen::DeviceIds::kPhysical}};
inline constexpr Word<envgen::Output> kOutputs[] = {{"first", envgen::Output::kFirst},
                                                    {"inherit", envgen::Output::kInherit},
                                                    {"files", envgen::Output::kFiles},
                                                    {"tee", envgen::Output::kTee}};
inline constexpr Word<envgen::Bind> kBinds[] = {
    {"numa", envgen::Bind::kNuma}, {"core", envgen::Bind::kCore}, {"none", envgen::Bind::kNone}};
inline constexpr Word<bool> kSecondTerm[] = {{"kill", true}, {"ignore", false}};
inline constexpr Word<bool> kPerfPolicy[] = {{"alert", false}, {"reschedule", true}};
inline constexpr Word<bool> kStallOn[] = {{"both", false}, {"output", true}};
inline constexpr Word<bool> kStallAction[] = {{"report", false}, {"end", true}};
inline constexpr Word<envgen::OnDataFailure> kOnDataFailure[] = {
    {"source", envgen::OnDataFailure::kSource}, {"fail", envgen::OnDataFailure::kFail}};
inline constexpr Word<sys::log::Level> kLevels[] = {{"debug", sys::log::Level::kDebug},
                                                    {"info", sys::log::Level::kInfo},
                                                    {"warning", sys::log::Level::kWarning},
                                                    {"error", sys::log::Level::kError}};
inline constexpr Word<sys::log::Format> kFormats[] = {{"human", sys::log::Format::kHuman},
                                                      {"json", sys::log::Format::kJson}};

inline constexpr Word<ReportFormat> kReportFormats[] = {
    {"text", ReportFormat::kText}, {"html", ReportFormat::kHtml}, {"trace", ReportFormat::kTrace}};

}  // namespace cli
