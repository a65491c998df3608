#pragma once
// The condition of a hook, which its second line states:
//
//   #!/bin/sh
//   # trainit-when: nodes devices TRAINIT_NEED_SHM
//
// The hook runs if at least one word is true:
//
//   nodes     the job has several nodes
//   ranks     this node has several ranks
//   devices   /dev has an accelerator or RDMA
//   NAME      this variable is set and not empty in the hook's environment
//
// A hook without the line or without a word always runs, and so does a hook with an unknown word.
// Only constants and loops, because code that runs before libc includes this header.

namespace hook_condition {

// The number of bytes of a hook that are read. The condition line must end within them.
inline constexpr long kMaxBytes = 512;

enum class Need : unsigned char { kNodes, kRanks, kDevices, kVariable, kUnknown };

struct Word {
  const char* text = nullptr;
  long size = 0;
};

constexpr bool is_word(const Word& word, const char* name) {
  for (long at = 0; at < word.size; ++at) {
    if (name[at] == '\0' || word.text[at] != name[at]) return false;
  }
  return name[word.size] == '\0';
}

constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }

constexpr Need need_of(const Word& word) {
  if (is_word(word, "nodes")) return Need::kNodes;
  if (is_word(word, "ranks")) return Need::kRanks;
  if (is_word(word, "devices")) return Need::kDevices;
  for (long at = 0; at < word.size; ++at) {
    const char c = word.text[at];
    const bool letter = (c >= 'A' && c <= 'Z') || c == '_';
    if (!letter && (at == 0 || !is_digit(c))) return Need::kUnknown;
  }
  return Need::kVariable;
}

// Names of accelerator devices in /dev, each followed by a number. The names are arrays and not
// pointers, because this code also runs before relocation.
inline constexpr char kDevices[][16] = {"nvidia", "davinci", "cambricon_dev",
                                        "hl",     "accel",   "neuron"};

// Variables that trainit itself sets for each hook, so a condition can use them even if the
// caller's environment does not contain them.
inline constexpr char kGiven[][32] = {
    "TRAINIT_PLATFORM",   "TRAINIT_FRAMEWORK",  "TRAINIT_NODE_RANK",
    "TRAINIT_NODE_COUNT", "TRAINIT_WORLD_SIZE", "TRAINIT_LOCAL_WORLD_SIZE",
    "TRAINIT_LOG_DIR",    "TRAINIT_RUN_DIR",    "TRAINIT_RESTART_COUNT",
    "TRAINIT_HOOK",       "TRAINIT_ENV",        "TRAINIT_PID"};

constexpr bool is_given(const Word& word) {
  for (const auto& name : kGiven) {
    if (is_word(word, name)) return true;
  }
  return false;
}

// Returns true if `name`, a name in /dev, is that of an accelerator or of RDMA.
constexpr bool is_device(const char* name) {
  for (const auto& device : kDevices) {
    const char* at = name;
    const char* prefix = device;
    while (*prefix != '\0' && *at == *prefix) {
      ++at;
      ++prefix;
    }
    if (*prefix == '\0' && is_digit(*at)) return true;
  }
  return is_word({"infiniband", 10}, name) || is_word({"kfd", 3}, name) ||
         is_word({"accel", 5}, name);
}

// Returns true if one of the names in /dev is that of an accelerator or of RDMA. `names`: a range
// of std::string.
template <class Names>
constexpr bool has_device(const Names& names) {
  for (const auto& name : names) {
    if (is_device(name.c_str())) return true;
  }
  return false;
}

// Returns whether a word is true. `env`: the hook's environment, a base::Environ. `has_devices()`:
// whether /dev has an accelerator or RDMA; called only if the word asks for it. init/early decides
// without the variables that are set later.
template <class Env, class HasDevices>
bool holds(Need need, const Word& word, const Env& env, HasDevices has_devices) {
  if (need == Need::kNodes) return env.get_or("TRAINIT_NODE_COUNT", "1") != "1";
  if (need == Need::kRanks) return env.get_or("TRAINIT_LOCAL_WORLD_SIZE", "1") != "1";
  if (need == Need::kDevices) return has_devices();
  return !env.get_or({word.text, static_cast<unsigned long>(word.size)}, "").empty();
}

// Returns true if `entry` ("NAME=VALUE") sets the variable `name` to a value that is not empty.
constexpr bool sets(const char* entry, const Word& name) {
  for (long at = 0; at < name.size; ++at) {
    if (entry[at] != name.text[at]) return false;
  }
  return entry[name.size] == '=' && entry[name.size + 1] != '\0';
}

inline constexpr char kKey[] = "# trainit-when:";

// Returns true if the hook should run. `head` is the beginning of the hook, at most kMaxBytes.
// `holds(need, word)` returns whether a word is true.
template <class Holds>
constexpr bool applies(const char* head, long size, Holds holds) {
  long at = 0;
  while (at < size && head[at] != '\n') ++at;
  ++at;
  for (const char* key = kKey; *key != '\0'; ++key, ++at) {
    if (at >= size || head[at] != *key) return true;
  }
  long end = at;
  while (end < size && head[end] != '\n') ++end;
  if (end >= size) return true;  // the line is longer than what was read
  bool any = false;
  while (at < end) {
    Word word{head + at, 0};
    while (at < end && head[at] != ' ') {
      ++at;
      ++word.size;
    }
    if (word.size == 0) {
      ++at;
      continue;
    }
    any = true;
    const Need need = need_of(word);
    if (need == Need::kUnknown || holds(need, word)) return true;
  }
  return !any;
}

}  // namespace hook_condition
