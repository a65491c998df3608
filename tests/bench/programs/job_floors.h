#pragma once
// What a start and a stop cost at least with what trainit promises of them: loops on a static C
// library that make the files and processes, without checks, messages, events, metrics, or care for
// processes of others.

namespace bench {

// ranks-floor RANKS TABLE PROGRAM [ARG...]: TRAINIT_RUN_DIR with its lock and control socket; a
// process that reads the table and makes the ranks' directories, the table and the plan; the state;
// a process that writes what the ranks print into their logs; the ranks, each in a session of its
// own, whose exec is reported. Waits for all of them; 1 where one did not start or end well.
int ranks_floor(int argc, char** argv);

// stop-floor FOLDER PROGRAM [ARG...]: a PID 1 that passes TERM on, and leaves the last state in the
// place of one that was there before. With the program's exit code.
int stop_floor(int argc, char** argv);

}  // namespace bench
