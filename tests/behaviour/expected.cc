#include "tests/behaviour/expected.h"

#include <array>

namespace behaviour {
namespace {

constexpr const char* kSaved = "rc=7 term=y saved=y";
constexpr const char* kBoundedWait =
    "what main leaves is told to end, in other sessions too, and waited for within the grace";

constexpr std::array kExpected{
    Expected{1, "127/126/5", "a shell's codes, and a text is run by sh as execvp does it"},
    Expected{2, "0,1,42,255", ""},
    Expected{3, "143,137,139,134,163", ""},
    Expected{4, "blk ok ign ok clean ok", "dumb-init undoes nohup, catatonit blocks three"},
    Expected{5, "not [3, 37]", "QUIT and RTMIN+3, a STOPSIGNAL of base images, stop by TERM"},
    Expected{6, "value yes, sender yes", "the siginfo is passed on, not only the number"},
    Expected{7, "200/200; 10/10", ""},
    Expected{9, "closes", "only main inherits: the reader of the pipe sees its end"},
    Expected{10, "/", "a start directory on a volume can be unmounted"},
    Expected{11, "the caller's", ""},
    Expected{12, kSaved, kBoundedWait},
    Expected{13, kSaved, kBoundedWait},
    Expected{14, kSaved, "told when main has ended: a data loader's worker is no target before"},
    Expected{15, kSaved, "the same"},
    Expected{16, "killed, rc=137", "the grace ends in KILL"},
    Expected{17, "T/S -> S/S", "main has a group of its own, so it can stop"},
    Expected{18, "T/S -> S/S", "it stops with main only where a shell waits for it: on a terminal"},
    Expected{19, "ok", ""},
    Expected{20, "yes", "a parent-death signal: no rank keeps the devices"},
    Expected{21, "3", "options end at the command, as POSIX has it"},
    Expected{22, "9", "a closed descriptor becomes /dev/null"},
    Expected{23, "6", ""},
    Expected{24, "6", "a refused subreaper is a warning"},
    Expected{25, "yes", "a job's orphans are to be found wherever it runs"},
    Expected{26, "11", ""},
    Expected{27, "125", "trainit's own failures have a code of their own"},
    Expected{28, "ok", ""},
    Expected{29, "yes", "a socket-activated main takes what is its own"},
    Expected{30, "fg=y rc=130", ""},
    Expected{31, "yes; fg, ^C: 130", "as dumb-init"},
    Expected{32, "yes", "as dumb-init"},
    Expected{33, "125", "trainit's own failures have a code of their own"},
};

constexpr const char* kFaults = "signals that stand for faults, sent by others, are passed on";
constexpr const char* kSiginfo = "a value is passed on where one process is the target";
constexpr const char* kNoAbort = "goes on without what the kernel refuses";
constexpr const char* kBackground = "a job in the background leaves the terminal to its shell";

constexpr std::array kDeviations{
    Deviation{4, Kind::kCatatonit, "blk ok ign ok clean ok",
              "blocks nothing in the child that the caller has not blocked"},
    Deviation{5, Kind::kTini, "not [21, 22]", kFaults},
    Deviation{5, Kind::kCatatonit, "not [20, 21, 22]", kFaults},
    Deviation{6, Kind::kTini, "value yes, sender yes", kSiginfo},
    Deviation{6, Kind::kDumbInit, "value yes, sender yes", kSiginfo},
    Deviation{6, Kind::kCatatonit, "value yes, sender yes", kSiginfo},
    Deviation{22, Kind::kTini, "9", "a closed stdin is no reason to end"},
    Deviation{24, Kind::kTini, "6", kNoAbort},
    Deviation{24, Kind::kCatatonit, "6", kNoAbort},
    Deviation{32, Kind::kTini, "yes", kBackground},
    Deviation{32, Kind::kCatatonit, "yes", kBackground},
};

}  // namespace

std::span<const Expected> expected_of_trainit() { return kExpected; }
std::span<const Deviation> deviations() { return kDeviations; }

}  // namespace behaviour
