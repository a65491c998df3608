#pragma once
// How a test runs a program away from the machine: namespaces of its own, system calls refused. No
// test framework in it, so that programs which only measure use it too.

#include <sys/types.h>

#include <string>
#include <vector>

namespace rules {

// What the new process exits with when it cannot run its program.
inline constexpr int kCannotStart = 99;

// fork, into new namespaces (CLONE_NEWPID and the like).
pid_t clone_into(unsigned long flags);

// In a new pid and mount namespace: /proc as it is in there. Ends the process where it cannot.
void mount_own_proc();

// The processes whose parent it is, zombies included.
std::vector<pid_t> children_of(pid_t parent);

// Makes these system calls fail with `error`, for the caller and all below it.
void refuse_calls(const std::vector<long>& numbers, int error);

// Whether this process may make pid namespaces and mount.
bool may_unshare();

// A port of the loopback that stays free until its user binds it: below those that the kernel gives
// to connections and to whoever binds port 0, and of this process alone among the tests that run
// beside it.
int free_port();

// A user of whom no test beside this one has a process: limits of processes count them all.
uid_t lone_user();

// The path in this variable. Without it nothing can be tested: the program ends.
std::string program_of(const char* variable);
inline std::string trainit() { return program_of("TRAINIT_BINARY"); }
inline std::string payload() { return program_of("TRAINIT_PAYLOAD"); }

}  // namespace rules
