#pragma once
// The mask for credentials: logs, plans, snapshots, saved environments and states hold none. By
// names, addresses and the well-known shapes of tokens; rather too much is masked than too little.

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/secrets/secret_addresses.h"
#include "base/secrets/secret_names.h"

namespace envgen {

// Any text: credentials in addresses, NAME=VALUE, "name": "value" (JSON), "Authorization: ...",
// tokens that are known by their beginning (hf_, ghp_, AKIA, ...), and private keys.
std::string mask_secrets(std::string_view text);

// The same of what a process printed, where a command may stand ("--token VALUE"), or a line of
// YAML ("secret_key: VALUE").
std::string mask_printed(std::string_view text);

// What may be shown of a variable: "***" for a secret's value, and of others what mask_secrets and,
// as for a command, "--token VALUE" leave.
std::string masked_value(std::string_view name, std::string_view value);
std::string masked_entry(std::string_view entry);

// masked_entry() for many environments that have most in common, as those of the ranks of a node:
// each entry is looked at once.
class EntryMask {
 public:
  const std::string& of(const std::string& entry);

 private:
  std::unordered_map<std::string, std::string> known_;
};

// The same for a command: --password=X, --token X, NAME=X for env(1), scripts of `sh -c`, the
// operand of `login`.
std::vector<std::string> masked_arguments(const std::vector<std::string>& arguments);

}  // namespace envgen
