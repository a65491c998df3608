#pragma once
// What a signal that arrives is to the job, by the rules of --signal. Pure.

#include <string>
#include <variant>
#include <vector>

#include "envgen/plan/request.h"

namespace engine {

struct Stop {
  int signal = 0;  // what arrived, or what it was made
  int told = 0;    // what the job is sent
};
struct Forward {
  int signal = 0;
};
struct Save {};
struct Touch {
  std::string path;
};
struct Drop {};
using Meaning = std::variant<Stop, Forward, Save, Touch, Drop>;

// `stops`: what asks the job to stop at this point of its course. A stop request that is given
// another name stays one, and a signal that is made a stop request becomes one.
Meaning meaning_of(int signal, const std::vector<envgen::SignalRule>& rules, bool stops);

}  // namespace engine
