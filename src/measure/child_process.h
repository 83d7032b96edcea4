// A program that kvplan starts and watches. What it prints goes to a file, so that it can go on when kvplan ends.
#ifndef KVPLAN_MEASURE_CHILD_PROCESS_H_
#define KVPLAN_MEASURE_CHILD_PROCESS_H_

#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace kvplan {

class ChildProcess {
 public:
  // Starts it in a session of its own, found by PATH, with an empty standard input. Throws Error(kBadInput) where it
  // cannot be started. `outlives`: it goes on where kvplan is killed; else it is ended then, where the system can.
  explicit ChildProcess(const std::vector<std::string>& command, bool outlives = false);
  // Ends it and what it started (SIGTERM, then SIGKILL after some seconds), unless `leave` was called; removes the file
  // of its output unless `keep_log` was.
  ~ChildProcess();
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  pid_t pid() const { return pid_; }
  // Whether it has not ended yet.
  bool is_running();
  std::optional<int> exit_code() const { return exit_code_; }  // where it ended by itself
  std::optional<int> signal() const { return signal_; }        // where a signal ended it

  // Returns when it prints something, at the latest after `longest`.
  void wait_for_output(std::chrono::milliseconds longest) const;
  // What it printed since the last call, so much at most: one that prints without end is read piece by piece.
  static constexpr std::size_t kMostAtOnce = std::size_t{1} << 20;
  std::string read_output();
  const std::string& log_file() const { return log_file_; }
  void keep_log() { keeps_log_ = true; }
  void leave() { is_left_ = true; }

 private:
  void end();

  pid_t pid_ = -1;
  int log_ = -1;
  int changes_ = -1;  // the kernel's notices that the file grew
  std::string log_file_;
  bool keeps_log_ = false, is_left_ = false, is_over_ = false;
  std::optional<int> exit_code_, signal_;
};

}  // namespace kvplan

#endif  // KVPLAN_MEASURE_CHILD_PROCESS_H_
