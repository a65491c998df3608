// Amazon SageMaker training jobs. /opt/ml/input/config/resourceconfig.json lists the hosts, in the
// same order on each host, and names the current one. SageMaker's training toolkit sets SM_HOSTS,
// SM_CURRENT_HOST and SM_NUM_GPUS from it for the programs that it starts. If the image chose the
// entry point, the container has only TRAINING_JOB_ARN and the file. Sources: "How Amazon SageMaker
// Provides Training Information"; ENVIRONMENT_VARIABLES.md of aws/sagemaker-training-toolkit.

#include <algorithm>

#include "base/json.h"
#include "base/text.h"
#include "envgen/platform/platform.h"
#include "envgen/platform/platform_common.h"
#include "envgen/platform/platform_ranks.h"

namespace envgen {
namespace {

constexpr const char* kReading = "reading SageMaker's hosts";
constexpr const char* kResources = "/opt/ml/input/config/resourceconfig.json";

struct Resources {
  std::vector<Node> nodes;
  std::string current;
  std::string source;      // name of the list's source
  std::size_t groups = 0;  // number of instance groups, each with its own instance type; 0 = not
                           // given
};

std::unexpected<base::Error> bad_list(const std::string& where, std::string found) {
  return base::fail(kReading, where, std::move(found),
                    R"(it has to be a list such as ["algo-1","algo-2"])");
}

base::Result<std::vector<Node>> nodes_of_list(const base::json::Value& list,
                                              const std::string& where) {
  if (!list.is(base::json::Type::kArray))
    return bad_list(where, std::string(base::json::type_name(list.type())));
  std::vector<Node> nodes;
  for (const base::json::Value& host : list) {
    if (!host.is(base::json::Type::kString) || host.text().empty()) {
      return bad_list(where, std::string(base::json::type_name(host.type())) + " in it");
    }
    Node node;
    node.host = std::string(host.text());
    nodes.push_back(std::move(node));
  }
  if (nodes.empty()) return bad_list(where, "no host");
  return nodes;
}

base::Result<Resources> resources_of_variables(const Inputs& inputs) {
  auto document = base::json::Document::parse(inputs.variable("SM_HOSTS"), "SM_HOSTS");
  if (!document) return std::unexpected(document.error().error);
  Resources resources{{}, std::string(inputs.variable("SM_CURRENT_HOST")), "SM_HOSTS", 0};
  TRY_ASSIGN(resources.nodes, nodes_of_list(document->root(), "SM_HOSTS"));
  const auto groups = base::json::Document::parse(inputs.variable("SM_INSTANCE_GROUPS"), "");
  if (groups && groups->root().is(base::json::Type::kArray))
    resources.groups = groups->root().size();
  return resources;
}

base::Result<Resources> resources_of_file(const PathState& file) {
  if (file.kind != PathState::Kind::kFile) {
    return base::fail(kReading, kResources, "no file",
                      "SageMaker puts it into each container: is this one "
                      "of its jobs? Else use --platform local");
  }
  auto document = base::json::Document::parse(file.content, kResources);
  if (!document) return std::unexpected(document.error().error);
  const base::json::Value root = document->root();
  const auto member = [&root](const char* name) {
    return root.is(base::json::Type::kObject) ? root.find(name) : std::nullopt;
  };
  const auto hosts = member("hosts");
  const auto current = member("current_host");
  if (!hosts || !current) {
    return base::fail(kReading, kResources, "no hosts or no current_host", "it has to have both");
  }
  Resources resources{{}, std::string(current->text()), kResources, 0};
  TRY_ASSIGN(resources.nodes, nodes_of_list(*hosts, std::string(kResources) + ": hosts"));
  const auto groups = member("instance_groups");
  if (groups && groups->is(base::json::Type::kArray)) resources.groups = groups->size();
  return resources;
}

std::optional<std::string> detect_sagemaker(Inputs& inputs) {
  if (!inputs.variable("SM_HOSTS").empty() && !inputs.variable("SM_CURRENT_HOST").empty()) {
    return "SM_HOSTS and SM_CURRENT_HOST are set";
  }
  if (inputs.variable("TRAINING_JOB_ARN").starts_with("arn:")) return "TRAINING_JOB_ARN is set";
  return std::nullopt;
}

Location locate_sagemaker(Inputs& inputs) {
  const bool by_variables =
      !inputs.variable("SM_HOSTS").empty() && !inputs.variable("SM_CURRENT_HOST").empty();
  const PathState* file = by_variables ? nullptr : inputs.content(kResources);
  if (!by_variables && file == nullptr) return NeedsPaths{};
  auto resources = by_variables ? resources_of_variables(inputs) : resources_of_file(*file);
  if (!resources) return resources.error();
  // A host does not know the devices of other hosts.
  const Request& request = inputs.request();
  if (resources->groups > 1 && asks_for_ranks(request) && !request.slots) {
    return base::Error{
        "counting the ranks", resources->source,
        std::to_string(resources->groups) + " instance groups, whose hosts may differ",
        "give all nodes with --platform bare --hosts algo-1:8,algo-2:4, or --slots where "
        "each has as many ranks"};
  }
  auto told = number_in(inputs, "SM_NUM_GPUS", kSlots);
  if (!told) return told.error();
  const int slots = *told ? std::max(1, **told) : 0;  // a host without devices runs one rank

  std::vector<int> places;
  for (std::size_t i = 0; i < resources->nodes.size(); ++i) {
    if (resources->nodes[i].host == resources->current) places.push_back(static_cast<int>(i));
  }
  if (places.size() != 1 && !inputs.request().node_rank) {
    return base::Error{
        "finding this node", resources->source,
        base::quoted(resources->current) + " " + std::to_string(places.size()) + " times",
        "the current host stands once in the list: was one of them changed by hand?"};
  }
  PlatformFacts platform;
  platform.job_id = std::string(inputs.variable("TRAINING_JOB_NAME"));
  const GivenNode own{places.empty() ? 0 : places[0],
                      resources->current + "'s place in " + resources->source};
  return locate_node(inputs, std::move(resources->nodes), own, {}, std::move(platform), slots);
}

}  // namespace

extern const Platform kSageMakerPlatform = {"sagemaker", detect_sagemaker, locate_sagemaker};

}  // namespace envgen
