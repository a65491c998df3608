// Real platforms without a profile (unlisted_platforms.txt): a node of a job of several is never
// planned as a job of its own without a word, never as a wrong node, and a container that is alone
// is not refused. Advice: what an error about the nodes says is done, and leads to the right plan.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "base/text.h"
#include "tests/sim/job_parts.h"
#include "tests/source_path.h"

namespace sim {
namespace {

using base::take_part;
using base::trimmed;
using envgen::to_line;

constexpr int kNodes = 2;
constexpr int kSlots = 8;

struct Environment {
  std::string name;
  bool is_job = false;
  std::array<Words, kNodes> lines;  // of each node
};

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size()) {
    text.replace(at, from.size(), to);
  }
  return text;
}

std::vector<Environment> environments() {
  std::ifstream file(source_path("tests/sim/unlisted_platforms.txt"));
  std::vector<Environment> all;
  for (std::string line; std::getline(file, line);) {
    std::string_view text = trimmed(line);
    if (text.empty() || text.starts_with('#')) continue;
    if (!line.starts_with(' ')) {
      const bool is_job = text.starts_with("job ");
      all.push_back({std::string(text.substr(text.find(' ') + 1)), is_job, {}});
      continue;
    }
    for (int node = 0; node < kNodes; ++node) {
      const bool of_one = text.starts_with("0: ") || text.starts_with("1: ");
      if (of_one && text[0] != '0' + node) continue;
      all.back()
          .lines.at(static_cast<std::size_t>(node))
          .push_back(replaced(std::string(of_one ? text.substr(3) : text), "{i}", number(node)));
    }
  }
  return all;
}

struct Case {
  Container container;
  std::string want;
  std::string source;
  Words lost;  // what the platform sets as well
};

Case case_of(const Environment& environment, int node, const Words& options) {
  Words variables;
  Case one;
  std::string host;
  Words addresses;
  std::map<std::string, envgen::PathState> paths;
  for (const std::string& line : environment.lines.at(static_cast<std::size_t>(node))) {
    std::string_view rest = line;
    const std::string key(take_part(rest, ' '));
    if (key == "source") {
      one.source = rest;
    } else if (key == "host") {
      host = rest;
    } else if (key == "address") {
      addresses.emplace_back(rest);
    } else if (key == "want") {
      one.want = rest;
    } else if (key == "lost") {
      one.lost.emplace_back(rest);
    } else if (key == "file") {
      const std::string path(take_part(rest, ' '));
      paths[path] = file_of(replaced(replaced(std::string(rest), "\\n", "\n"), "\\t", "\t"));
    } else {
      variables.push_back(replaced(line, "\\n", "\n"));
    }
  }
  Words argv = {"--framework", "pytorch"};
  argv.insert(argv.end(), options.begin(), options.end());
  one.container = plain(with_options(argv), variables, host);
  one.container.snapshot.facts.addresses = addresses;
  one.container.paths.insert(paths.begin(), paths.end());
  add_gpus(one.container, kSlots);
  return one;
}

// "node 1 of 2", "refused: the error", "warned", "alone", "wrong: node 0 of 16".
std::string outcome_of(Case one, int node) {
  const envgen::Outcome outcome = resolve(one.container);
  if (const auto* error = std::get_if<base::Error>(&outcome)) return "refused: " + to_line(*error);
  const auto* planned = std::get_if<envgen::Planned>(&outcome);
  if (planned == nullptr) return "wrong: pending";
  const envgen::Plan& plan = planned->plan;
  if (plan.node_count > 1) {
    const int rank = plan.local_node ? plan.local_node->node_rank : -1;
    const bool right =
        rank == node && plan.node_count == kNodes && plan.world_size == kNodes * kSlots;
    return right ? "node"
                 : "wrong: node " + number(rank) + " of " + number(plan.node_count) +
                       ", world size " + number(plan.world_size);
  }
  if (plan.world_size > kSlots) return "wrong: world size " + number(plan.world_size);
  for (const std::string& warning : plan.warnings) {
    if (warning.contains("--nodes")) return "warned: " + warning;
  }
  return "alone";
}

TEST(UnlistedPlatforms, AreNeverAloneNeverWrongAndNotRefusedWithoutReason) {
  int jobs = 0;
  int innocents = 0;
  Words lone;
  Words wrong;
  Words refused;  // without reason
  for (const Environment& environment : environments()) {
    ++(environment.is_job ? jobs : innocents);
    for (int node = 0; node < (environment.is_job ? kNodes : 1); ++node) {
      const Case one = case_of(environment, node, {});
      EXPECT_NE(one.source, "") << environment.name;
      const std::string outcome = outcome_of(one, node);
      const std::string name = environment.name + " " + number(node);
      EXPECT_TRUE(outcome.starts_with(one.want)) << name << ": " << outcome;
      if (environment.is_job && outcome == "alone") lone.push_back(name);
      if (outcome.starts_with("wrong")) wrong.push_back(name + ": " + outcome);
      if (!environment.is_job && outcome.starts_with("refused")) refused.push_back(name);
    }
  }
  EXPECT_GE(jobs, 60);
  EXPECT_GE(innocents, 20);
  EXPECT_THAT(lone, testing::IsEmpty());
  EXPECT_THAT(wrong, testing::IsEmpty());
  EXPECT_THAT(refused, testing::IsEmpty());
}

// A container that is passed all but one of the variables
TEST(UnlistedPlatforms, ALostVariableMakesNoWrongWorld) {
  constexpr int kMaxRefused = 5;
  Words refused;
  for (const Environment& environment : environments()) {
    for (int node = 0; node < (environment.is_job ? kNodes : 1); ++node) {
      const Case whole = case_of(environment, node, {});
      for (const std::string& entry : whole.container.snapshot.env.entries()) {
        Case less = whole;
        const std::string variable = entry.substr(0, entry.find('='));
        unset_variable(less.container, variable);
        const std::string outcome = outcome_of(less, node);
        const std::string name = environment.name + " " + number(node) + " without " + variable;
        EXPECT_FALSE(outcome.starts_with("wrong")) << name << ": " << outcome;
        if (!environment.is_job && outcome.starts_with("refused")) refused.push_back(name);
      }
    }
  }
  EXPECT_LE(refused.size(), kMaxRefused) << join(refused);
}

// --- What an error advises, followed

// What is true of a node of a job of two, for the words of an advice.
struct Truth {
  std::map<std::string, std::string> options;
  std::map<std::string, std::string> variables;
  std::map<std::string, envgen::PathState> paths;
};

void add_variable(Truth& truth, const std::string& entry) {
  const std::size_t equals = entry.find('=');
  truth.variables[entry.substr(0, equals)] = entry.substr(equals + 1);
}

Truth truth_of(int node) {
  const std::string own = number(node);
  Truth truth;
  truth.options = {{"--nodes", "2"},         {"--node-rank", own}, {"--master-addr", "10.9.0.1"},
                   {"--rank-means", "node"}, {"--framework", ""},  {"--platform", ""}};
  for (const std::string variable : {"NNODES=2", "MASTER_ADDR=10.9.0.1", "PET_NNODES=2",
                                     "PET_MASTER_ADDR=10.9.0.1", "WORLD_SIZE=2"}) {
    add_variable(truth, variable);
  }
  for (const char* name : {"NODE_RANK", "PET_NODE_RANK", "RANK"}) truth.variables[name] = own;
  return truth;
}

// The parts of an advice among which a user chooses, but for those of a job of this node alone.
Words alternatives_of(const std::string& fix) {
  std::string text = replaced(replaced(fix, ", or ", ";"), " or ", ";");
  Words all;
  std::string_view rest = text;
  while (!rest.empty()) {
    const std::string part(trimmed(take_part(rest, ';')));
    if (!part.contains("alone") && !part.contains("of its own")) all.push_back(part);
  }
  return all;
}

// Does what one alternative says, by what is true. False: it says nothing that can be done here.
// `where`: what "it" is.
bool follow(const std::string& advice, const std::string& where, const Truth& truth, Case& one) {
  Words& argv = one.container.snapshot.argv;
  bool done = false;
  const bool of_it = (advice + " ").contains(" it ") || advice.starts_with("it ");
  const std::string words = of_it ? advice + " " + where : advice;
  const std::string text = replaced(replaced(words, ",", " "), ":", " ");
  for (std::string_view rest = text; !rest.empty();) {
    const std::string word(take_part(rest, ' '));
    if (word == "TF_CONFIG") return false;  // for another framework
    if (word.starts_with("--")) {
      const auto known = truth.options.find(word);
      EXPECT_NE(known, truth.options.end()) << "who knows " << word << "? " << advice;
      if (known == truth.options.end()) return false;
      std::string value = known->second;
      if (word == "--framework" || word == "--rank-means" || word == "--platform") {
        value = take_part(rest, ' ');
        if (word == "--rank-means" && value != known->second) return false;
        if (value == "mpi") return false;  // for another start
        const auto old = std::ranges::find(argv, word);
        if (old != argv.end()) argv.erase(old, old + 2);
      }
      argv.insert(argv.begin(), {word, value});
      done = true;
      continue;
    }
    const bool all = word.ends_with("_*");
    for (const auto& [name, value] : truth.variables) {
      if (all ? !name.starts_with(word.substr(0, word.size() - 1)) : name != word) continue;
      set_variable(one.container, name, value);
      done = true;
    }
  }
  one.container.paths.insert(truth.paths.begin(), truth.paths.end());
  return done;
}

// Follows each alternative of the error that `one` gets, and expects the plan of the node, at once
// or after what a second error advises.
void expect_good_advice(const Case& one, const Truth& truth, const std::string& name, int node,
                        int steps = 2) {
  Case asked = one;
  const envgen::Outcome outcome = resolve(asked.container);
  const auto* error = std::get_if<base::Error>(&outcome);
  ASSERT_NE(error, nullptr) << name;
  int followed = 0;
  for (const std::string& advice : alternatives_of(error->fix)) {
    Case obeyed = one;
    if (!follow(advice, error->where, truth, obeyed)) continue;
    ++followed;
    const bool once = advice.contains("--framework single");
    const std::string said = outcome_of(obeyed, node);
    if (steps > 1 && said.starts_with("refused")) {
      expect_good_advice(obeyed, truth, name + ": " + advice, node, steps - 1);
      continue;
    }
    EXPECT_EQ(said, once ? "alone" : "node")
        << name << ": " << advice << "\nof: " << to_line(*error);
  }
  EXPECT_GT(followed, 0) << name << ": " << to_line(*error);
}

TEST(Advice, LeadsEachNodeOfAnUnlistedPlatformToItsPlan) {
  for (const Environment& environment : environments()) {
    for (int node = 0; environment.is_job && node < kNodes; ++node) {
      const Case one = case_of(environment, node, {});
      if (one.want != "refused") continue;
      Truth truth = truth_of(node);
      for (const std::string& variable : one.lost) add_variable(truth, variable);
      expect_good_advice(one, truth, environment.name + " " + number(node), node);
    }
  }
}

// Variables of a platform with a profile, of which some were lost on the way.
struct Lost {
  const char* name;
  Words variables;     // of each node; {i} is its number
  Words lost;          // what the platform sets as well
  Words files = {};    // "path text"
  Words options = {};  // that the user gives
};
const Lost kLost[] = {
    {"ranks", {"WORLD_SIZE=2", "RANK={i}"}, {}},
    {"world of processes", {"WORLD_SIZE=16"}, {}},
    {"nodes", {"NNODES=2"}, {}},
    {"a range of nodes", {"NNODES=2:2"}, {}},
    {"master", {"MASTER_ADDR=10.9.0.1"}, {}},
    {"torchrun", {"PET_NNODES=2"}, {}},
    {"slurm",
     {"SLURM_NNODES=2"},
     {"SLURM_JOB_ID=7", "SLURM_STEP_ID=0", "SLURM_JOB_NODELIST=n[0-1]", "SLURM_NODEID={i}"}},
    {"azureml", {"AZUREML_NODE_COUNT=2"}, {}},
    {"skypilot",
     {"SKYPILOT_NUM_NODES=2"},
     {"SKYPILOT_NODE_RANK={i}", "SKYPILOT_NODE_IPS=10.9.0.1\n10.9.0.2"}},
    {"skypilot's list", {"SKYPILOT_NODE_IPS=10.9.0.1\n10.9.0.2"}, {"SKYPILOT_NODE_RANK={i}"}},
    {"mlp",
     {"MLP_WORKER_NUM=2"},
     {"MLP_ROLE=worker", "MLP_ROLE_INDEX={i}", "MLP_WORKER_0_HOST=10.9.0.1",
      "MLP_WORKER_1_HOST=10.9.0.2", "MLP_WORKER_GPU=8"}},
    {"lws", {"LWS_GROUP_SIZE=2"}, {"LWS_LEADER_ADDRESS=t-0.t.ns", "LWS_WORKER_INDEX={i}"}},
    {"lws' leader", {"LWS_LEADER_ADDRESS=t-0.t.ns"}, {"LWS_GROUP_SIZE=2", "LWS_WORKER_INDEX={i}"}},
    {"pbs", {"PBS_NUM_NODES=2"}, {"PBS_NODEFILE=/nodes"}, {"/nodes node-0\nnode-1\n"}},
    {"modelarts",
     {"MA_NUM_HOSTS=2"},
     {"MA_VJ_NAME=job", "MA_TASK_NAME=worker", "MA_NUM_GPUS=8", "VC_TASK_INDEX={i}",
      "VC_WORKER_HOSTS=node-0,node-1"}},
    {"sagemaker", {R"(SM_HOSTS=["algo-1","algo-2"])"}, {"SM_CURRENT_HOST=algo-{i+1}"}},
    {"openpai",
     {"PAI_CURRENT_TASK_ROLE_NAME=worker"},
     {"PAI_TASK_ROLE_LIST=worker", "PAI_TASK_ROLE_TASK_COUNT_worker=2",
      "PAI_CURRENT_TASK_ROLE_CURRENT_TASK_INDEX={i}", "PAI_HOST_IP_worker_0=10.9.0.1",
      "PAI_HOST_IP_worker_1=10.9.0.2"}},
    {"dlc", {"DLC_JOB_ID=dlc1"}, {"NPROC_PER_NODE=8"}},
    {"indexed", {"JOB_COMPLETION_INDEX={i}"}, {}},
    {"tpu", {"TPU_WORKER_HOSTNAMES=t-0.t,t-1.t", "TPU_WORKER_ID={i}"}, {}},
    {"node 1 by skypilot's rank",
     {"SKYPILOT_NODE_RANK={i}"},
     {"SKYPILOT_NODE_IPS=10.9.0.1\n10.9.0.2"}},
    {"node 1 by mlp's index",
     {"MLP_ROLE_INDEX={i}"},
     {"MLP_ROLE=worker", "MLP_WORKER_NUM=2", "MLP_WORKER_0_HOST=10.9.0.1",
      "MLP_WORKER_1_HOST=10.9.0.2", "MLP_WORKER_GPU=8"}},
    {"node 1 by lws' index",
     {"LWS_WORKER_INDEX={i}"},
     {"LWS_LEADER_ADDRESS=t-0.t.ns", "LWS_GROUP_SIZE=2"}},
    {"node 1 by torchrun's rank", {"PET_NODE_RANK={i}"}, {}},
    {"node 1 by slurm's number",
     {"SLURM_NODEID={i}"},
     {"SLURM_JOB_ID=7", "SLURM_STEP_ID=0", "SLURM_JOB_NODELIST=n[0-1]", "SLURM_NNODES=2"}},
    {"openpai's list",
     {"PAI_TASK_ROLE_LIST=worker"},
     {"PAI_CURRENT_TASK_ROLE_NAME=worker", "PAI_TASK_ROLE_TASK_COUNT_worker=2",
      "PAI_CURRENT_TASK_ROLE_CURRENT_TASK_INDEX={i}", "PAI_HOST_IP_worker_0=10.9.0.1",
      "PAI_HOST_IP_worker_1=10.9.0.2"}},
    {"skypilot by option",
     {"SKYPILOT_NODE_IPS=10.9.0.1\n10.9.0.2"},
     {},
     {},
     {"--platform", "skypilot"}},
    {"azureml by option",
     {"AZUREML_NODE_COUNT=2", "MASTER_ADDR=10.9.0.1"},
     {},
     {},
     {"--platform", "azureml"}},
    {"lws by option",
     {"LWS_GROUP_SIZE=2", "LWS_LEADER_ADDRESS=t-0.t.ns"},
     {"LWS_WORKER_INDEX={i}"},
     {},
     {"--platform", "lws"}},
    {"env by option", {"NNODES=2", "MASTER_ADDR=10.9.0.1"}, {}, {}, {"--platform", "env"}},
    {"env without a count",
     {"NODE_RANK={i}", "MASTER_ADDR=10.9.0.1"},
     {},
     {},
     {"--platform", "env"}},
    {"slurm by option",
     {"SLURM_JOB_ID=7", "SLURM_JOB_NODELIST=n[0-1]"},
     {"SLURM_NODEID={i}", "SLURM_STEP_ID=0"},
     {},
     {"--platform", "slurm"}},
    {"torchrun by option",
     {"PET_NNODES=2", "PET_MASTER_ADDR=10.9.0.1"},
     {},
     {},
     {"--platform", "kubeflow"}},
    {"mlp by option",
     {"MLP_WORKER_NUM=2", "MLP_WORKER_0_HOST=10.9.0.1", "MLP_WORKER_1_HOST=10.9.0.2"},
     {"MLP_ROLE=worker", "MLP_ROLE_INDEX={i}"},
     {},
     {"--platform", "mlp"}},
    {"volcano by option",
     {"VC_WORKER_HOSTS=j-worker-0.j,j-worker-1.j"},
     {"VC_TASK_INDEX={i}"},
     {},
     {"--platform", "volcano"}},
    {"a number of nodes by option", {}, {}, {}, {"--nodes", "2"}},
    {"hosts without this one", {}, {}, {}, {"--hosts", "10.9.0.1,10.9.0.2"}},
    {"node 1 and a master of its own", {"NNODES=2", "NODE_RANK={i}", "MASTER_ADDR=localhost"}, {}},
};

TEST(Advice, NamesWhatWasLostOnTheWay) {
  for (const Lost& some : kLost) {
    for (int node = 0; node < kNodes; ++node) {
      if (std::string(some.name).starts_with("node 1") && node == 0) continue;
      Truth truth = truth_of(node);
      const auto own = [node](const std::string& text) {
        return replaced(replaced(text, "{i}", number(node)), "{i+1}", number(node + 1));
      };
      Environment environment{some.name, true, {}};
      environment.lines.at(static_cast<std::size_t>(node)) = {"host node-" + number(node)};
      for (const std::string& variable : some.variables) {
        environment.lines.at(static_cast<std::size_t>(node)).push_back(own(variable));
      }
      for (const std::string& variable : some.lost) {
        add_variable(truth, own(variable));
      }
      for (const std::string& file : some.files) {
        truth.paths[file.substr(0, file.find(' '))] = file_of(file.substr(file.find(' ') + 1));
      }
      expect_good_advice(case_of(environment, node, some.options), truth,
                         std::string(some.name) + " " + number(node), node);
    }
  }
}

}  // namespace
}  // namespace sim
