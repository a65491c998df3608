#pragma once
// Parts of a plan's text that the summary and the listing share.

#include <cstdint>
#include <string>
#include <string_view>

#include "base/policy.h"
#include "base/shown_lines.h"
#include "envgen/plan/plan.h"

namespace envgen {

// Returns true if trainit replaces the value of this variable by a free port at the start.
bool is_free_port(const Plan& plan, std::string_view variable);
inline constexpr std::string_view kFreePort = ": a free port, chosen at the start";

// Returns the value of a variable as one word for a shell. Only a value that could be taken for
// several words or a line's end is quoted.
std::string value_text(std::string_view value);

// Returns ", N s within a stop" if a stop leaves the hooks of `event` less time than `timeout_ms`.
std::string within_stop_text(const base::Budget& stop, HookEvent event, std::int64_t timeout_ms);

// Each returns lines for one member of the plan, and none if the member is not set.
base::ShownLines script_lines(const Plan& plan);
base::ShownLines preflight_lines(const Plan& plan);
base::ShownLines hook_right_lines(const Plan& plan);
base::ShownLines device_wait_lines(const Plan& plan);
base::ShownLines warm_lines(const Plan& plan);

}  // namespace envgen
