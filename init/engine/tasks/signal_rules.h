#pragma once
// The meaning of a signal that arrives, by the rules of --signal. Pure.

#include <string>
#include <variant>
#include <vector>

#include "envgen/plan/request.h"

namespace engine {

struct Stop {
  int signal = 0;  // what arrived, or what it was made
  int sent = 0;    // what the job is sent
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

// What asks the job to stop by itself: HUP and QUIT are the job's to answer; while there is none
// yet (`preparing`) they mean what they mean to any program that is started.
bool asks_to_stop(int signal, bool preparing);

// `stops`: what asks the job to stop in this phase. A stop request that is given another name stays
// one, and a signal that is made a stop request becomes one.
Meaning meaning_of(int signal, const std::vector<envgen::SignalRule>& rules, bool stops);

}  // namespace engine
