// Runs a program and prints its exit status and peak memory in KiB. A child process starts with its parent's peak, so
// the parent must be as small as this program. An interpreter would change the result.
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  const pid_t child = fork();
  if (child == 0) {
    dup2(open("/dev/null", O_WRONLY), STDOUT_FILENO);
    execv(argv[1], argv + 1);
    _exit(127);
  }
  int status = 0;
  rusage usage{};
  if (child < 0 || wait4(child, &status, 0, &usage) < 0) return 1;
  std::printf("%d %ld\n", WIFEXITED(status) ? WEXITSTATUS(status) : 128, usage.ru_maxrss);
  return 0;
}
