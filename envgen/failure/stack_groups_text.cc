// Writes the stacks as text and as JSON.

#include "base/json.h"
#include "envgen/failure/stack_groups.h"

namespace envgen {
namespace {

constexpr std::size_t kMaxFramesTold = 12;  // maximum number of frames of a thread in the text

std::string frame_text(const Frame& frame) {
  return frame.file + ":" + std::to_string(frame.line) + " in " + frame.function;
}

std::string thread_text(const SeenThread& thread) {
  std::string text = std::to_string(thread.tid) + " (" + thread.name + "), state " + thread.state;
  if (!thread.wait.empty()) text += " in " + thread.wait;
  if (thread.share_of_cpu > 0) text += ", " + std::to_string(thread.share_of_cpu) + " % of a CPU";
  return text;
}

void add_process(const SeenProcess& process, std::string& text) {
  text += "  pid " + std::to_string(process.pid) + " (" + process.name + ")";
  if (!process.no_stack.empty()) text += ": " + process.no_stack;
  text += "\n";
  bool first = true;
  for (const PythonThread& thread : process.python) {
    text += first ? "    main thread\n" : "    thread\n";
    first = false;
    std::size_t left = kMaxFramesTold;
    for (const Frame& frame : thread.frames) {
      if (left-- == 0) {
        text += "      ...\n";
        break;
      }
      text += "      " + frame_text(frame) + "\n";
    }
  }
  for (const SeenThread& thread : process.threads) text += "    " + thread_text(thread) + "\n";
}

void write_frames(base::json::Writer& out, const PythonThread& thread) {
  out.begin_array();
  for (const Frame& frame : thread.frames) {
    out.begin_object();
    out.key("file").string(frame.file);
    out.key("line").integer(frame.line);
    out.key("function").string(frame.function).end_object();
  }
  out.end_array();
}

void write_process(base::json::Writer& out, const SeenProcess& process) {
  out.begin_object();
  out.key("pid").integer(process.pid);
  out.key("name").string(process.name);
  out.key("no_stack").string(process.no_stack);
  out.key("python").begin_array();
  for (const PythonThread& thread : process.python) write_frames(out, thread);
  out.end_array();
  out.key("threads").begin_array();
  for (const SeenThread& thread : process.threads) {
    out.begin_object();
    out.key("tid").integer(thread.tid);
    out.key("name").string(thread.name);
    out.key("state").string({&thread.state, 1});
    out.key("wait").string(thread.wait);
    out.key("cpu_percent").integer(thread.share_of_cpu).end_object();
  }
  out.end_array().end_object();
}

void write_names(base::json::Writer& out, const SeenJob& job,
                 const std::vector<std::size_t>& ranks) {
  out.begin_array();
  for (const std::size_t rank : ranks) out.string(job.ranks[rank].name);
  out.end_array();
}

void write_rank(base::json::Writer& out, const SeenRank& rank) {
  out.begin_object();
  out.key("name").string(rank.name);
  out.key("rank");
  if (rank.rank >= 0) {
    out.integer(rank.rank);
  } else {
    out.null();
  }
  out.key("processes").begin_array();
  for (const SeenProcess& process : rank.processes) write_process(out, process);
  out.end_array().end_object();
}

}  // namespace

std::string stacks_to_text(const SeenJob& job, const StackVerdict& verdict) {
  std::string text = verdict.text + "\n";
  const std::vector<PlacedRank> places = places_of(job);
  for (const StackGroup& group : verdict.groups) text += to_line(places, group) + "\n";
  for (const SeenRank& rank : job.ranks) {
    text += "\n" + rank.name + (rank.ended.empty() ? "" : " " + rank.ended) + "\n";
    for (const SeenProcess& process : rank.processes) add_process(process, text);
  }
  return text;
}

std::string stacks_to_json(const SeenJob& job, const StackVerdict& verdict) {
  base::json::Writer out;
  out.begin_object();
  out.key("verdict").string(verdict.text);
  out.key("suspects");
  write_names(out, job, verdict.suspects);
  out.key("all_wait").boolean(verdict.all_wait);
  out.key("notes").begin_array();
  for (const std::string& note : job.notes) out.string(note);
  out.end_array();
  out.key("groups").begin_array();
  for (const StackGroup& group : verdict.groups) {
    out.begin_object();
    out.key("ranks");
    write_names(out, job, group.ranks);
    out.key("where").string(name_of(group.at.where));
    out.key("does").string(group.at.does);
    out.key("place").string(group.at.place);
    out.key("collective").string(group.at.collective).end_object();
  }
  out.end_array();
  out.key("ranks").begin_array();
  for (const SeenRank& rank : job.ranks) write_rank(out, rank);
  out.end_array().end_object();
  return std::move(out).take();
}

}  // namespace envgen
