#pragma once
// A finding is a problem that the check of an input file (a hostfile or a rank table) found. Four
// types of the project describe what is wrong:
//
//   Finding      a place of an input file; a file can have many, and is read to its end
//   Error        why an operation has no result (base/result.h); there is one, and the caller stops
//   CheckResult  the answer of a check of the machine (init/doctor), also if nothing is wrong
//   ReportNote   a line of a finished job's timeline, with its time (init/report)

#include <string>

namespace envgen {

struct Finding {
  enum class Severity : unsigned char {
    kRefused,   // the file's reader refuses or misreads it
    kRepaired,  // the file's reader refuses it, but trainit's conversion repairs it
    kWarning,   // the file's reader accepts it, but the user should know
  };
  Severity severity = Severity::kRefused;
  std::string rule = {};   // stable identifier, "rank-id-gap"; "": the file has no named rules
  std::string place = {};  // "server_list[0].device[3].device_ip", "line 3"; "": the whole file
  std::string found = {};
  std::string fix = {};

  bool operator==(const Finding&) const = default;
};
inline bool is_refused(const Finding& finding) {
  return finding.severity == Finding::Severity::kRefused;
}
// Returns a line such as "refused [rank-id-gap]: <place>: <found>; <fix>", without the empty parts.
std::string to_line(const Finding& finding);

}  // namespace envgen
