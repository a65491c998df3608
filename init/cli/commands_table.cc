// The table of the commands.

#include <array>

#include "init/cli/commands.h"
#include "init/cli/kinds.h"
#include "init/doctor/doctor.h"

namespace cli {
namespace {

std::string checks_of_doctor() {
  constexpr std::size_t kColumn = 17;
  std::string text = "Checks:\n";
  for (const doctor::Check& check : doctor::all_checks()) {
    std::string line = "    " + std::string(check.name);
    if (line.size() < kColumn) line.resize(kColumn, ' ');
    text += line + std::string(check.help) + "\n";
  }
  return text + "OPTIONS are those of run, see trainit --help, and\n";
}

constexpr bool kOperands = true;  // it takes words that are no options

constexpr std::array kCommands = {
    Command{"run", kRun, "[OPTIONS] [--] COMMAND [ARG...]", "the default"},
    Command{"plan", kPlan, "[OPTIONS] [--] COMMAND [ARG...]", "print what run would do",
            plan_command},
    Command{"status", kStatus, "[--cluster] [--json] [--watch]", "phase, ranks, first failure",
            status_command},
    Command{"stacks", kStacks, "[--json]", "where each rank is, and whom the others wait for",
            stacks_command, !kOperands,
            "    each rank's stacks, the ranks that are at the same place, and the one that the "
            "others wait\n"
            "    for, where that is clear. 0 taken, 1 no rank runs, 2 no instance\n"},
    Command{"checkpoint", kCheckpoint, "[--keep-running]", "save, then end with exit code 75",
            control_command},
    Command{"extend", kExtend, "--for DURATION", "more time before --max-duration", control_command,
            kOperands},
    Command{"hold", kHold, "--for DURATION", "the debug window ends so long from now",
            control_command, kOperands},
    Command{"release", kRelease, "", "end the debug window", control_command},
    Command{"ranktable check", kTableCheck, "FILE...", "would HCCL accept it?", ranktable_command,
            kOperands, "    does HCCL accept it? 0 yes, 1 no; a line for each finding\n"},
    Command{"ranktable convert", kTableConvert, "[OPTIONS] FILE", "to template 1",
            ranktable_command, kOperands, "    template 1 on stdout or in OUT\n"},
    Command{"ranktable generate", kTableGenerate, "[OPTIONS]", "a table of this host",
            ranktable_command, !kOperands,
            "    a table of this host from /etc/hccn.conf, else from hccn_tool for the "
            "devices named\n"},
    Command{"hostfile check", kHostsCheck, "[--for DIALECT] FILE...", "would its reader accept it?",
            hostfile_command, kOperands,
            "    does the program that reads it accept it? 0 yes, 1 no; a line for each "
            "finding\n"},
    Command{"hostfile convert", kHostsConvert, "--to DIALECT FILE", "for another program",
            hostfile_command, kOperands,
            "    the same hosts and slots for another program, on stdout or in OUT\n",
            [] { return "DIALECT: " + kDialect.list() + "; plain has a host a line\n"; }},
    Command{"copy", kCopy, "[OPTIONS] SRC DST", "a copy that is complete or not there",
            copy_command, kOperands,
            "    makes DST a copy of the directory or file SRC, by several processes; DST appears\n"
            "    when it is complete, and never partly. Killed, it goes on where it was when it "
            "is\n"
            "    run again.\n"
            "    0 done or there already, 1 failed, 69 timed out, 125 bad input, 128+n by a "
            "signal\n"
            "    DST that is there is exchanged for the copy; what is no copy of trainit's, or "
            "was\n"
            "    changed since, is kept in .trainit-copy.<name> beside it. A mount point gets\n"
            "    DST/current, a link to the copy.\n"
            "    SRC is only read. Kept: contents, permissions, mtimes, symbolic and hard links,\n"
            "    holes; of what gets another owner or group no set-ID bits.\n"},
    Command{"snapshot", kSnapshot, "[OPTIONS] [--] COMMAND", "save what plan sees, secrets masked",
            snapshot_command},
    Command{"doctor", kDoctor, "[--only CHECK,...] [OPTIONS]", "what is wrong with this machine",
            doctor_command, !kOperands,
            "    checks this machine for the job that `run` with these options would "
            "start: put -- and the\n"
            "    job's command behind them; 0 nothing has failed, 1 something has, 125 "
            "doctor itself\n",
            checks_of_doctor},
    Command{"install", kInstall, "DIR", "put this program there, for other images", install_command,
            kOperands,
            "    puts this program there as DIR/trainit, for a pod whose images do not "
            "have it: an init\n"
            "    container installs it into a volume, the job's container starts with it. "
            "DIR is made\n"
            "    where it does not exist; a trainit that is there is replaced, also one "
            "that runs\n"},
    Command{"cache ls", kCacheLs, "[OPTIONS]", "the node's cache of datasets", cache_command,
            !kOperands,
            "    the datasets in this node's cache, which --data copies to, and the room "
            "that is left\n"},
    Command{"cache gc", kCacheGc, "[OPTIONS]", "removes what is due", cache_command, !kOperands,
            "    removes those not used for the time to live, then the least recently used "
            "until the\n"
            "    limits hold; never one that a job uses. 0 done, 1 not all of it could be, 125 "
            "bad input\n"},
    Command{"peer serve", kPeerServe, "--dir D --port P", "sshd between nodes; plans start it",
            peer_command, !kOperands,
            "    sshd for the launcher, until that says how the job ended\n"},
    Command{"peer session", kPeerSession, "--dir D", "what that sshd starts", peer_command,
            !kOperands, "    a command of the launcher, with the job's environment\n"},
    Command{"peer end", kPeerEnd, "--dir D [OPTIONS]", "tells the workers how the job ended",
            peer_command, !kOperands, "    tells the workers how the job ended\n"},
    Command{"reference", kReference, "man|markdown|bash",
            "the manual page, the options, completion", reference_command, kOperands,
            "    man       the manual page, for man(1)\n"
            "    markdown  the options and their variables, a table\n"
            "    bash      completion, for /usr/share/bash-completion/completions/trainit\n"},
    Command{"report", kRunReport, "[OPTIONS] [DIR...]", "what happened when, as one page",
            report_command, kOperands,
            "    what happened in a job, of one node or of several: its first failure, where its\n"
            "    time went, a time line. DIR is a run directory, or one that --timeline copied\n"
            "    to; without one that of this container. An OUT that ends with .html gets a page\n"
            "    that opens without a network, one with .json a trace for Perfetto and\n"
            "    chrome://tracing, any other text. 0 done, 125 bad input\n"},
    Command{"print-environment", kEnvironment, "", "", environment_command, kOperands},
};

}  // namespace

std::span<const Command> command_table() { return kCommands; }

}  // namespace cli
