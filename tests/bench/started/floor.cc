// floor COMMAND [ARG...]: fork, exec, wait, on a static C library: no init that is linked like
// trainit, and leaves its start to the C library, can be quicker.

#include <sys/wait.h>
#include <unistd.h>

int main(int /*argc*/, char** argv) {
  const pid_t child = fork();
  if (child == 0) {
    execve(argv[1], argv + 1, environ);
    _exit(127);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WEXITSTATUS(status);
}
