#pragma once
// Masks credentials. Logs, plans, snapshots, saved environments and state files contain no
// credentials. The mask recognizes credentials by their names, by addresses and by known forms of
// tokens. In doubt it masks too much.

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

// Masks text that a process has printed. Like mask_secrets(), and also masks the values in a
// command ("--token VALUE") and in a line of YAML ("secret_key: VALUE").
std::string mask_printed(std::string_view text);

// Returns the value of the variable `name` in the form that may be shown. If the name is that of a
// credential, this is "***". Other values are masked as by mask_secrets(), and also "--token
// VALUE".
std::string masked_value(std::string_view name, std::string_view value);
std::string masked_entry(std::string_view entry);

// A cache for masked_entry(). The environments of a node's ranks are nearly equal, so each entry is
// masked only once.
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
