#pragma once
// The mask for credentials. Logs, plans, snapshots, saved environments and state files contain no
// credentials. The mask finds them by names, addresses and known forms of tokens. In doubt it masks
// too much.

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/secrets/secret_addresses.h"
#include "base/secrets/secret_names.h"

namespace base {

// Masks the credentials in any text: in addresses, NAME=VALUE, "name": "value" (JSON),
// "Authorization: ...", tokens with a known beginning (hf_, ghp_, AKIA, ...), and private keys.
std::string mask_secrets(std::string_view text);

// Masks text that a process printed. Besides mask_secrets() it masks the values in a command
// ("--token VALUE") and in a line of YAML ("secret_key: VALUE").
std::string mask_printed(std::string_view text);

// Returns the value of a variable as it may be shown. The value of a secret is "***". Any other
// value is masked as by mask_secrets(), and "--token VALUE" as in a command.
std::string masked_value(std::string_view name, std::string_view value);
std::string masked_entry(std::string_view entry);

// masked_entry() with a cache, for many environments that are nearly equal, as those of the ranks
// of a node. Each different entry is masked once.
class EntryMask {
 public:
  const std::string& of(const std::string& entry);

 private:
  std::unordered_map<std::string, std::string> known_;
};

// Masks the arguments of a command: --password=X, --token X, NAME=X for env(1), scripts of `sh -c`,
// the operand of `login`.
std::vector<std::string> masked_arguments(const std::vector<std::string>& arguments);

}  // namespace base
