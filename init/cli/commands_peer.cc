// peer serve|session|end: sshd between the nodes of a job (envgen/framework/ssh.h). Started by
// plans, not by people.

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <optional>

#include "init/cli/commands.h"
#include "init/sshd/end.h"
#include "init/sshd/serve.h"
#include "init/sshd/session.h"

namespace cli {
namespace {

constexpr const char* kWhat = "reading the command line";
constexpr const char* kUsage =
    "trainit peer serve --dir D --port P [--key FILE] [--launcher-timeout-ms N], "
    "session --dir D, or end --dir D --hosts-file F --port P [--key FILE] [--code N]";
constexpr std::int64_t kMaxPort = 65535;
constexpr std::int64_t kMaxCode = 255;
constexpr std::int64_t kMaxMs = 1'000'000'000'000;  // 31 years

using Values = std::map<std::string, std::string, std::less<>>;

envgen::Result<Values> parse_values(Arguments arguments) {
  constexpr std::array<std::string_view, 6> kNames = {
      "--dir", "--port", "--key", "--launcher-timeout-ms", "--hosts-file", "--code"};
  Values values;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string_view word = arguments[i];
    const std::size_t equals = word.find('=');
    const std::string name(word.substr(0, equals));
    const bool known = std::find(kNames.begin(), kNames.end(), name) != kNames.end();
    if (!known) return envgen::fail(kWhat, "peer", "\"" + std::string(word) + "\"", kUsage);
    if (equals != std::string_view::npos) {
      values[name] = word.substr(equals + 1);
    } else if (i + 1 < arguments.size()) {
      values[name] = arguments[++i];
    } else {
      return envgen::fail(kWhat, name, "no value", kUsage);
    }
  }
  return values;
}

std::string text_of(const Values& values, std::string_view name) {
  const auto found = values.find(name);
  return found == values.end() ? std::string() : found->second;
}

envgen::Result<std::int64_t> number_in(std::string_view where, std::string_view text,
                                       std::int64_t least, std::int64_t most) {
  std::int64_t value = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc() && stop == text.data() + text.size() && value >= least &&
      value <= most) {
    return value;
  }
  return envgen::fail(
      kWhat, std::string(where), text.empty() ? "nothing" : "\"" + std::string(text) + "\"",
      "give a number from " + std::to_string(least) + " to " + std::to_string(most));
}

envgen::Result<std::string> absolute(const Values& values, std::string_view name) {
  std::string path = text_of(values, name);
  while (path.size() > 1 && path.ends_with('/')) path.pop_back();
  if (path.size() > 1 && path.starts_with('/')) return path;
  return envgen::fail(kWhat, std::string(name), path.empty() ? "nothing" : "\"" + path + "\"",
                      "give an absolute path");
}

int report(const std::expected<int, proc::StartFailure>& result) {
  if (result) return *result;
  complain(result.error().error);
  return result.error().exit_code;
}

int serve(const Values& values, const std::string& directory, const envgen::Environ& env) {
  peer::ServeOptions options;
  options.directory = directory;
  options.key = text_of(values, "--key");
  const auto port = number_in("--port", text_of(values, "--port"), 1, kMaxPort);
  if (!port) return complain(port.error());
  options.port = static_cast<int>(*port);
  constexpr std::string_view kTimeout = "--launcher-timeout-ms";
  if (values.contains(kTimeout)) {
    const auto timeout = number_in(kTimeout, text_of(values, kTimeout), 0, kMaxMs);
    if (!timeout) return complain(timeout.error());
    options.launcher_timeout_ms = *timeout;
  }
  return report(peer::serve(options, env));
}

int end(const Values& values, const std::string& directory, const envgen::Environ& env) {
  peer::EndOptions options;
  options.directory = directory;
  options.key = text_of(values, "--key");
  const auto hosts_file = absolute(values, "--hosts-file");
  if (!hosts_file) return complain(hosts_file.error());
  options.hosts_file = *hosts_file;
  const auto port = number_in("--port", text_of(values, "--port"), 1, kMaxPort);
  if (!port) return complain(port.error());
  options.port = static_cast<int>(*port);
  const bool given = values.contains("--code");
  const std::string text =
      given ? text_of(values, "--code") : std::string(env.get_or("TRAINIT_EXIT_CODE", ""));
  const auto code = number_in(given ? "--code" : "TRAINIT_EXIT_CODE", text, 0, kMaxCode);
  if (!code) return complain(code.error());
  options.exit_code = static_cast<int>(*code);
  const auto told = peer::end(options, env);
  if (told) return 0;
  complain(told.error());
  return 1;
}

}  // namespace

int peer_command(Arguments arguments, const envgen::Environ& env) {
  const std::string_view verb = arguments.empty() ? std::string_view() : arguments[0];
  if (verb == "--help" || verb == "-h") return print(std::string(kUsage) + "\n");
  if (verb != "serve" && verb != "session" && verb != "end") {
    return complain({kWhat, "peer", "\"" + std::string(verb) + "\"", kUsage});
  }
  const auto values = parse_values(arguments.subspan(1));
  if (!values) return complain(values.error());
  const auto directory = absolute(*values, "--dir");
  if (!directory) return complain(directory.error());
  if (verb == "serve") return serve(*values, *directory, env);
  if (verb == "end") return end(*values, *directory, env);
  return report(peer::session(*directory, env));
}

}  // namespace cli
