#pragma once
// One measurement each: prints its tables. A measurement judges nothing.

#include <string>

#include "tests/bench/inits.h"

namespace bench {

void start_up(const Field& field);      // INIT nop, from before its vfork to its end
void start_image(const Field& field);   // the same with a grace and hooks
void stop(const Field& field);          // TERM until the init's end, of a job that is idle
void prompt(const Field& field);        // help, status and plan
void idle(const Field& field);          // memory and wake-ups over a process that sleeps
void orphans(const Field& field);       // CPU for each, zombies seen
void forward(const Field& field);       // a signal to the init until the handler below it
void exit_delay(const Field& field);    // from the command's end to the init's
void lost_signals(const Field& field);  // a TERM while the init starts
void start_work(const Field& field);    // instructions, system calls, page faults of a start
void rank_table(const Field& field);    // reading, planning and converting against Python
void line_watch(const Field& field);    // the tee with and without lines that are watched
void tee(const Field& field);           // throughput, and PID 1's part of it
void copy(const Field& field);          // trainit copy against cp, rsync, rclone, tar, fpsync
void image(const Field& field);         // bytes in an image, docker run with and without
void recovery(const Field& field);      // a fault in a job of two containers, beside torchrun
void warm(const Field& field);          // a restart whose ranks stood by, a cold one, torchrun's
void fan_out(const Field& field, const std::string& payload);  // ranks against a fork-exec loop

}  // namespace bench
