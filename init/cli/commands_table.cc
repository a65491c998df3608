// The table of subcommands.

#include <array>

#include "init/cli/commands.h"
#include "init/doctor/doctor.h"

namespace cli {
namespace {

std::string checks_of_doctor() {
  constexpr std::size_t kColumn = 15;
  std::string text = "\nChecks:\n";
  for (const doctor::Check& check : doctor::all_checks()) {
    std::string line = "  " + std::string(check.name);
    line.resize(kColumn, ' ');
    text += line + std::string(check.help) + "\n";
  }
  return text;
}

// The order is that of the first screen of help.
constexpr Command kRows[] = {
    {.bit = kRun,
     .arguments = "[OPTIONS] [--] COMMAND [ARG...]",
     .help = "run a job; the word may be left out",
     .about = "Finds out which node this is and who the others are, starts the ranks, passes "
              "signals on, and ends with the job's exit code: of the first rank that failed, 143 "
              "after a stop, 75 to be started again, 125 for an error of trainit's own, 126 or 127 "
              "where the command cannot be started.",
     .examples =
         "trainit --fan-out --slots 2 -- python3 train.py\n"
         "trainit --grace 60s --stall-timeout 30m --data /mnt/imagenet -- python3 train.py"},
    {.bit = kPlan,
     .arguments = "[--verbose | --json] [OPTIONS] [--] COMMAND [ARG...]",
     .help = "show what run would start, and start nothing",
     .about =
         "Shows the platform, the nodes, warnings, the command, the ranks with their variables "
         "and files, and how the job ends. Give it what run is to be given. The text fits one "
         "screen; --verbose prints every variable of every process.",
     .examples = "trainit plan --fan-out --slots 2 -- python3 train.py\n"
                 "trainit plan --snapshot node-3.json",
     .run = plan_command},
    {.bit = kStatus,
     .arguments = "[--cluster] [--json] [--watch]",
     .help = "phase, ranks, and first failure of the job that runs",
     .about = "Ends with 0 while all is well, 1 after a failure, 2 where no instance runs.",
     .examples = "docker exec JOB trainit status --watch\ntrainit status --cluster",
     .run = status_command},
    {.bit = kStacks,
     .arguments = "[--json]",
     .help = "where each rank is, and whom the others wait for",
     .about = "Each rank's stacks, the ranks that are at the same place, and the one that the "
              "others wait for, where that is clear. 0 taken, 1 no rank runs, 2 no instance.",
     .examples = "kubectl exec POD -- trainit stacks",
     .run = stacks_command},
    {.bit = kCheckpoint,
     .arguments = "[--keep-running]",
     .help = "save a checkpoint, then end with exit code 75",
     .about = "0 asked for, 1 not now or not allowed, 2 no instance.",
     .examples = "trainit checkpoint --keep-running",
     .run = control_command},
    {.bit = kExtend,
     .arguments = "--for DURATION",
     .help = "give a running job more time, or less",
     .about = "--for needs a job with --max-duration. 0 done, 1 not now or not allowed, "
              "2 no instance.",
     .examples = "trainit extend --for 2h\ntrainit extend --left 30m",
     .run = control_command,
     .operands = true},
    {.bit = kHold,
     .arguments = "--for DURATION",
     .help = "keep the debug window of a failed job open for so long",
     .about = "The window opens when a job fails that was started with --hold. 0 done, 1 not now "
              "or not allowed, 2 no instance.",
     .examples = "trainit hold --for 2h",
     .run = control_command,
     .operands = true},
    {.bit = kRelease,
     .help = "end the debug window of a failed job",
     .about = "The container ends, with the job's exit code. 0 done, 1 not now or not allowed, 2 "
              "no instance.",
     .examples = "trainit release",
     .run = control_command},
    {.bit = kRunReport,
     .arguments = "[OPTIONS] [DIR...]",
     .help = "what happened in a job, as a page, a text or a trace",
     .about = "Of one node or of several: the first failure, where the time went, a time line. DIR "
              "is a run directory, or one that --timeline copied to; without one that of this "
              "container. An OUT that ends with .html gets a page that opens without a network, "
              "one with .json a trace for Perfetto and chrome://tracing, any other text. 0 done, "
              "125 bad input.",
     .examples = "trainit report -o report.html\ntrainit report node-0 node-1 -o trace.json",
     .run = report_command,
     .operands = true},
    {.bit = kDoctor,
     .arguments = "[--only CHECK,...] [OPTIONS] [-- COMMAND]",
     .help = "what is wrong with this machine, for a job",
     .about = "Checks this machine for the job that run would start with these options: put -- and "
              "the job's command behind them. 0 nothing has failed, 1 something has, 125 doctor "
              "itself.",
     .examples = "trainit doctor\ntrainit doctor --only gpu,shm,network --json",
     .run = doctor_command,
     .more = checks_of_doctor},
    {.bit = kCopy,
     .arguments = "[OPTIONS] SRC DST",
     .help = "copy a dataset; DST is complete or not there",
     .about = "Makes DST a copy of the directory or file SRC, by several processes; DST appears "
              "when it is complete, and never partly. Killed, it goes on where it was when it is "
              "run again.\n"
              "DST that is there is exchanged for the copy; what is no copy of trainit's, or was "
              "changed since, is kept in .trainit-copy.<name> beside it. A mount point gets "
              "DST/current, a link to the copy.\n"
              "SRC is only read. Kept: contents, permissions, mtimes, symbolic and hard links, "
              "holes; of what gets another owner or group no set-ID bits.\n"
              "0 done or there already, 1 failed, 69 timed out, 125 bad input, 128+n by a signal.",
     .examples = "trainit copy /mnt/imagenet /cache/imagenet\n"
                 "trainit copy --include 'train/**' --verify /mnt/data /cache/data",
     .run = copy_command,
     .operands = true},
    {.bit = kCacheLs,
     .arguments = "[OPTIONS]",
     .help = "list the node's cache of datasets",
     .about = "The datasets in this node's cache, which --data copies to, and the room that is "
              "left.",
     .examples = "trainit cache ls --data-root /cache",
     .run = cache_command},
    {.bit = kCacheGc,
     .arguments = "[OPTIONS]",
     .help = "remove what is due from the cache",
     .about = "Removes those not used for the time to live, then the least recently used until the "
              "limits hold; never one that a job uses. 0 done, 1 not all of it could be, 125 bad "
              "input.",
     .examples = "trainit cache gc --cache-max-size 500g --dry-run",
     .run = cache_command},
    {.bit = kTableCheck,
     .arguments = "FILE...",
     .help = "whether HCCL would accept a rank table",
     .about = "0 yes, 1 no; a line for each finding.",
     .examples = "trainit ranktable check /user/config/jobstart_hccl.json",
     .run = ranktable_command,
     .operands = true},
    {.bit = kTableConvert,
     .arguments = "[OPTIONS] FILE",
     .help = "a rank table of template 2 as one of template 1",
     .about = "Template 1 on stdout or in OUT.",
     .examples = "trainit ranktable convert jobstart_hccl.json -o hccl.json",
     .run = ranktable_command,
     .operands = true},
    {.bit = kTableGenerate,
     .arguments = "[OPTIONS]",
     .help = "a rank table of this host",
     .about = "From /etc/hccn.conf, else from hccn_tool for the devices that are named.",
     .examples = "trainit ranktable generate --devices 0-7 -o hccl.json",
     .run = ranktable_command},
    {.bit = kHostsCheck,
     .arguments = "[--for DIALECT] FILE...",
     .help = "whether the program that reads a hostfile would accept it",
     .about = "0 yes, 1 no; a line for each finding.",
     .examples = "trainit hostfile check --for openmpi hostfile",
     .run = hostfile_command,
     .operands = true},
    {.bit = kHostsConvert,
     .arguments = "--to DIALECT [OPTIONS] FILE",
     .help = "a hostfile for another program",
     .about = "The same hosts and slots, on stdout or in OUT; plain has a host a line.",
     .examples = "trainit hostfile convert --to deepspeed hostfile -o hostfile.ds",
     .run = hostfile_command,
     .operands = true},
    {.bit = kSnapshot,
     .arguments = "[OPTIONS] [--] COMMAND [ARG...]",
     .help = "save all that plan sees, for a bug report; secrets are masked",
     .about = "JSON on stdout, which plan --snapshot reads on any machine.",
     .examples = "trainit snapshot -- python3 train.py >node-3.json",
     .run = snapshot_command},
    {.bit = kInstall,
     .arguments = "DIR",
     .help = "put this program into a volume, for images without it",
     .about = "Writes DIR/trainit, for a pod whose images do not have it: an init container "
              "installs it into a volume, the job's container starts with it. DIR is made where it "
              "does not exist; a trainit that is there is replaced, also one that runs.",
     .examples = "trainit install /opt/trainit",
     .run = install_command,
     .operands = true},
    {.bit = kReference,
     .arguments = "man|markdown|bash|zsh|fish",
     .help = "the manual page, or completion for a shell",
     .about = "man is for man(1), markdown a table of all options. Completion goes to\n"
              "bash: /usr/share/bash-completion/completions/trainit\n"
              "zsh: a directory of $fpath, as _trainit\n"
              "fish: /usr/share/fish/vendor_completions.d/trainit.fish",
     .examples = "trainit reference man | man -l -\nsource <(trainit reference bash)",
     .run = reference_command,
     .operands = true},
    {.bit = kPeerServe,
     .arguments = "--dir D --port P [OPTIONS]",
     .about =
         "sshd between nodes, for the launcher, until that says how the job ended. Plans start "
         "it.",
     .run = peer_command},
    {.bit = kPeerSession,
     .arguments = "--dir D",
     .about = "What that sshd starts: a command of the launcher, with the job's environment.",
     .run = peer_command},
    {.bit = kPeerEnd,
     .arguments = "--dir D [OPTIONS]",
     .about = "Tells the workers how the job ended.",
     .run = peer_command},
    {.bit = kEnvironment, .run = environment_command, .operands = true},
};

constexpr auto kCommands = [] {
  std::array<Command, std::size(kRows)> all{};
  for (std::size_t i = 0; i < all.size(); ++i) {
    all[i] = kRows[i];
    all[i].name = name_of(all[i].bit);
  }
  return all;
}();

}  // namespace

std::span<const Command> command_table() { return kCommands; }

}  // namespace cli
