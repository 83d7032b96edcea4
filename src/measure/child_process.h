// A program that kvplan starts and watches. Its output goes to a file, so that it can continue when kvplan ends.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "base/os.h"

namespace kvplan {

class ChildProcess {
 public:
  // Starts the program, found by PATH, in a new session with an empty standard input. Throws Error(kBadInput) if it
  // cannot be started. If kvplan is killed, the program and its children are ended unless `outlives` is true.
  explicit ChildProcess(const std::vector<std::string>& command, bool outlives = false);
  // Unless `leave` was called, ends the program and the processes it started, including those that left its tree
  // (SIGTERM, then SIGKILL after some seconds). Removes the output file unless `keep_log` was called.
  ~ChildProcess();
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  pid_t pid() const { return pid_; }
  // The program, and everything it started that is still running.
  std::vector<pid_t> processes() const;
  // Whether it is still running.
  bool is_running();
  std::optional<int> exit_code() const { return exit_code_; }  // if it ended by itself
  std::optional<int> signal() const { return signal_; }        // if a signal ended it

  // Returns when the program prints something, or after `longest`.
  void wait_for_output(std::chrono::milliseconds longest) const;
  // The output since the last call, at most this much, so that endless output is read in pieces.
  static constexpr std::size_t kMostAtOnce = std::size_t{1} << 20;
  std::string read_output();
  const std::string& log_file() const { return log_file_; }
  void keep_log() { keeps_log_ = true; }
  void leave() { is_left_ = true; }

 private:
  void end_without_guardian() const;

  pid_t pid_ = -1, guardian_ = -1;
  os::File line_;  // to the guardian
  os::File log_;
  os::File changes_;  // inotify, for growth of the file
  std::string log_file_;
  bool keeps_log_ = false, is_left_ = false, is_over_ = false;
  std::optional<int> exit_code_, signal_;
};

}  // namespace kvplan
