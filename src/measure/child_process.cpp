#include "measure/child_process.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/inotify.h>
#ifdef __linux__
#include <sys/prctl.h>
#endif
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <thread>

#include "base/library.h"
#include "kvplan/error.h"
#include "measure/process_tree.h"

namespace kvplan {

namespace {

[[noreturn]] void cannot_start(const std::string& program, int number) {
  fail(one_line(program, 80) + " cannot be started: " + std::strerror(number), "check the command behind --");
}

}  // namespace

ChildProcess::ChildProcess(const std::vector<std::string>& command, bool outlives) {
  std::string place = environment_or("TMPDIR", "/tmp") + "/kvplan-start-XXXXXX";
  log_ = mkostemp(place.data(), O_CLOEXEC);
  if (log_ < 0)
    fail(one_line(place, 200) + ": no file can be made for its output",
         "set TMPDIR to a folder that can be written to");
  log_file_ = place;
  changes_ = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
  if (changes_ >= 0) inotify_add_watch(changes_, place.c_str(), IN_MODIFY);
  const int output = open(place.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
  int failed[2] = {-1, -1};  // reports whether and why exec failed; a successful exec closes it
  std::vector<char*> words;
  for (const std::string& word : command) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  if (output >= 0 && pipe2(failed, O_CLOEXEC) == 0) pid_ = fork();
  if (pid_ == 0) {
    setsid();
#ifdef __linux__
    // A second Ctrl-C would end kvplan before it has ended the engine.
    if (!outlives) prctl(PR_SET_PDEATHSIG, SIGTERM);
#endif
    const int nothing = open("/dev/null", O_RDONLY);
    if (nothing >= 0) dup2(nothing, STDIN_FILENO);
    dup2(output, STDOUT_FILENO);
    dup2(output, STDERR_FILENO);
    execvp(words[0], words.data());
    const int number = errno;
    if (write(failed[1], &number, sizeof number) < 0) _exit(126);
    _exit(127);
  }
  int number = pid_ < 0 ? errno : 0;
  if (output >= 0) close(output);
  if (failed[1] >= 0) close(failed[1]);
  if (pid_ > 0) {
    int reason = 0;
    while (read(failed[0], &reason, sizeof reason) < 0 && errno == EINTR) {
    }
    number = reason;
  }
  if (failed[0] >= 0) close(failed[0]);
  if (number == 0) return;
  if (pid_ > 0) waitpid(pid_, nullptr, 0);
  if (changes_ >= 0) close(changes_);
  close(log_);
  unlink(log_file_.c_str());
  cannot_start(command.front(), number);
}

ChildProcess::~ChildProcess() {
  if (!is_left_) end();
  if (changes_ >= 0) close(changes_);
  close(log_);
  if (!keeps_log_) unlink(log_file_.c_str());
}

bool ChildProcess::is_running() {
  if (is_over_) return false;
  int status = 0;
  if (waitpid(pid_, &status, WNOHANG) != pid_) return true;
  is_over_ = true;
  if (WIFEXITED(status)) exit_code_ = WEXITSTATUS(status);
  if (WIFSIGNALED(status)) signal_ = WTERMSIG(status);
  return false;
}

void ChildProcess::wait_for_output(std::chrono::milliseconds longest) const {
  pollfd wanted{changes_, POLLIN, 0};
  // Without the notices, of which a user has a limited number, this only waits.
  poll(&wanted, changes_ >= 0 ? 1 : 0, static_cast<int>(longest.count()));
  char notices[4096];
  while (changes_ >= 0 && read(changes_, notices, sizeof notices) > 0) {
  }
}

std::string ChildProcess::read_output() {
  std::string out(kMostAtOnce, '\0');
  std::size_t used = 0;
  while (used < out.size()) {
    const ssize_t count = read(log_, out.data() + used, out.size() - used);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) break;
    used += static_cast<std::size_t>(count);
  }
  out.resize(used);
  return out;
}

void ChildProcess::end() {
  using std::chrono::milliseconds;
  constexpr milliseconds kStep(50);
  constexpr milliseconds kPatience(5000);
  std::vector<pid_t> all = process_tree(pid_);
  for (const pid_t each : all) kill(each, SIGTERM);
  milliseconds waited(0);
  while (waited < kPatience) {
    is_running();
    if (process_tree(pid_).empty()) return;
    std::this_thread::sleep_for(kStep);
    waited += kStep;
  }
  for (const pid_t each : process_tree(pid_)) kill(each, SIGKILL);
  if (!is_over_) waitpid(pid_, nullptr, 0);
}

}  // namespace kvplan
