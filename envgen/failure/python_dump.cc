#include "envgen/failure/python_dump.h"

#include <algorithm>
#include <array>

#include "base/constants/packed_texts.h"
#include "base/text.h"

namespace envgen {
namespace {

constexpr std::size_t kMaxThreads = 256;
constexpr std::size_t kMaxFrames = 256;  // faulthandler itself stops at 100

// Replaces characters that are not printable ASCII. faulthandler writes only that, but the job can
// write anything into its file.
std::string printable_ascii(std::string_view text) {
  constexpr std::size_t kMaxBytes = 1024;
  std::string clean(text.substr(0, kMaxBytes));
  std::ranges::replace_if(clean, [](char c) { return c < ' ' || c > '~'; }, '?');
  return clean;
}

// Parses `  File "train.py", line 31 in load`. faulthandler shortens a long name with "...".
std::optional<Frame> parse_frame(std::string_view line) {
  constexpr std::string_view kStart = "  File ";
  constexpr std::string_view kLine = ", line ";
  if (!line.starts_with(kStart)) return std::nullopt;
  line.remove_prefix(kStart.size());
  const std::size_t at = line.rfind(kLine);
  if (at == std::string_view::npos) return std::nullopt;
  std::string_view file = line.substr(0, at);
  if (file.size() >= 2 && file.front() == '"' && file.back() == '"') {
    file = file.substr(1, file.size() - 2);
  }
  std::string_view rest = line.substr(at + kLine.size());
  const std::string_view number = base::take_word(rest);
  const std::string_view word = base::take_word(rest);
  if (word != "in" || base::trimmed(rest).empty()) return std::nullopt;
  return Frame{printable_ascii(file), base::parse_count<int>(number).value_or(0),
               printable_ascii(base::trimmed(rest))};
}

// Returns the thread's id in the first line of its stack, "0x00007f6aad2642c0"; "" for any other
// line.
std::string_view thread_of(std::string_view line) {
  const bool header = line.starts_with("Thread 0x") || line.starts_with("Current thread 0x");
  if (!header || !line.contains("(most recent call first):")) return "";
  std::string_view rest = line.substr(line.find("0x"));
  return base::take_word(rest);
}

struct CollectiveFile {
  std::string_view part;           // text that the file's path contains
  std::string_view function = "";  // name of the function; "": any
};

// Files and functions that wait for other ranks, or for a device on which collectives run.
constexpr CollectiveFile kRows[] = {
    {"/torch/distributed/distributed_c10d.py"},
    {"/torch/distributed/c10d_logger.py"},
    {"/torch/distributed/rendezvous.py"},
    {"/torch/distributed/_functional_collectives"},
    {"/torch/nn/parallel/distributed.py"},
    {"/torch/cuda/__init__.py", "synchronize"},
    {"/torch/cuda/streams.py", "synchronize"},
    {"/torch_npu/npu/utils.py", "synchronize"},
    {"/torch_npu/npu/streams.py", "synchronize"},
    {"/horovod/torch/mpi_ops.py"},
    {"/horovod/common/"},
    {"/mindspore/communication/"},
    {"/deepspeed/comm/"},
    {"/tensorflow/python/distribute/"},
};
constexpr base::PackedTable<kRows, &CollectiveFile::part, &CollectiveFile::function>
    kCollectiveFiles;

bool is_collective(const Frame& frame) {
  return std::ranges::any_of(kCollectiveFiles.all(), [&frame](const CollectiveFile& one) {
    return frame.file.contains(one.part) &&
           (one.function.empty() || frame.function == one.function);
  });
}

}  // namespace

std::vector<PythonThread> parse_python_dump(std::string_view text) {
  std::vector<PythonThread> threads;
  std::vector<std::string_view> ids;
  bool inside = false;
  while (!text.empty()) {
    const std::string_view line = base::take_line(text);
    if (const std::string_view id = thread_of(line); !id.empty()) {
      if (threads.size() == kMaxThreads) break;
      // A later dump replaces an earlier one of the same thread.
      if (const auto known = std::ranges::find(ids, id); known != ids.end()) {
        threads.erase(threads.begin() + (known - ids.begin()));
        ids.erase(known);
      }
      threads.emplace_back();
      ids.push_back(id);
      inside = true;
      continue;
    }
    // A line without indentation ends the threads. faulthandler may write a stack of C frames after
    // them.
    if (!line.starts_with("  ")) inside = false;
    if (!inside || threads.back().frames.size() == kMaxFrames) continue;
    if (auto frame = parse_frame(line)) threads.back().frames.push_back(std::move(*frame));
  }
  std::ranges::reverse(threads);
  return threads;
}

bool is_library(std::string_view file) {
  constexpr auto kParts = std::to_array(
      {"/site-packages/", "/dist-packages/", "/lib/python3", "/lib64/python3", "<frozen "});
  return std::ranges::any_of(kParts, [file](const char* part) { return file.contains(part); });
}

const Frame* user_frame(const PythonThread& thread) {
  const auto found = std::ranges::find_if(
      thread.frames, [](const Frame& frame) { return !is_library(frame.file); });
  if (found != thread.frames.end()) return &*found;
  return thread.frames.empty() ? nullptr : &thread.frames.front();
}

std::string place_of(const Frame& frame) {
  const std::string file = frame.file.substr(frame.file.rfind('/') + 1);
  const std::string text = file + ":" + std::to_string(frame.line);
  return frame.function == "<module>" ? text : text + " in " + frame.function;
}

std::optional<std::string> collective_of(const PythonThread& thread) {
  std::optional<std::string> name;
  for (const Frame& frame : thread.frames) {
    // Skips a frame that waits for one of Python's locks.
    if (!name && is_library(frame.file) && frame.file.ends_with("/threading.py")) continue;
    if (!is_collective(frame)) break;
    // Skips helpers of a collective, whose names begin with '_', and "wrapper", which only logs the
    // call.
    if (!name || (!frame.function.starts_with('_') && frame.function != "wrapper")) {
      name = frame.function;
    }
  }
  return name;
}

bool is_between_two(std::string_view collective) {
  constexpr auto kNames = std::to_array({"send", "recv", "isend", "irecv", "batch_isend_irecv",
                                         "wait", "send_object_list", "recv_object_list"});
  return std::ranges::find(kNames, collective) != kNames.end();
}

bool has_frame(const PythonThread& thread, std::string_view file_end, std::string_view function) {
  return std::ranges::any_of(thread.frames, [&](const Frame& frame) {
    return frame.file.ends_with(file_end) && (function.empty() || frame.function == function);
  });
}

}  // namespace envgen
