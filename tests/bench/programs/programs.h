#pragma once
// What runs below the inits: bench --program NAME [ARG...]. Where a program tells something it
// writes stamps (CLOCK_MONOTONIC in ns, 8 bytes) to stdout.
//   fork-exec N COMMAND...   N times fork and exec, then waits for all
//   handler                  a stamp when it is ready, then one from each SIGUSR1's handler
//   ends-on-term             a stamp when it is ready; 42 by a SIGTERM, 43 by a SIGWINCH
//   leave ZOMBIES            ends with so many dead children; a stamp right before
//   orphans N                a stamp; N orphans that end at once, one after the other; a stamp
//   burst N                  N orphans, a stamp when all are there; they end when stdin does
//   train MB EVERY           so many MB of lines as trainings print them; of EVERY lines one tells
//                            the times of an iteration
//   copy-raw FROM TO         copies a tree with read and write, one file after the other
//   sleep                    sleeps

namespace bench {

// argv[0] is the name.
int run_program(int argc, char** argv);

}  // namespace bench
