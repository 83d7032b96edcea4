// Runs a program and writes to a file what it used: the status from wait4, seconds, and the peak memory in KiB.
//
// usage: kvplan_launcher FILE PROGRAM ARGUMENTS...
//
// The system's count includes the memory of the process that calls exec. The tests may use hundreds of MiB, but this
// program is small.
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  const pid_t child = fork();
  if (child < 0) return 2;
  if (child == 0) {
    execv(argv[2], argv + 2);
    _exit(127);
  }
  int status = 0;
  rusage usage{};
  if (wait4(child, &status, 0, &usage) != child) return 2;
  std::FILE* const file = std::fopen(argv[1], "w");
  if (file == nullptr) return 2;
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
  };
  std::fprintf(file, "%d %f %ld\n", status, seconds(usage.ru_utime) + seconds(usage.ru_stime), usage.ru_maxrss);
  return std::fclose(file) == 0 ? 0 : 2;
}
