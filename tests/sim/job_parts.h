#pragma once
// What the simulated jobs of several platforms have in common.

#include <functional>
#include <string>
#include <vector>

#include "tests/sim/platform_jobs.h"

namespace sim {

using Words = std::vector<std::string>;

std::string number(int value);
std::string join(const Words& words, const std::string& separator = ",");
// name(0), name(1), ...
Words names(int count, const std::function<std::string(int)>& name);
std::string quoted(const Words& words);
std::string address_of(int node);

// An image with python and torchrun, these arguments and variables.
Container plain(const Words& argv, const Words& variables, const std::string& host_name);
void add_gpus(Container& container, int count);

inline const Words kTrain = {"--", "python", "train.py", "--epochs", "3"};
Words with_options(Words options, const Words& command = kTrain);

// Jobs of platforms that tell each node or process its number, and of the options that do.
std::vector<Job> told_jobs(int nodes, int slots);

}  // namespace sim
