#include "measure/child_process.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/inotify.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>

#include "base/library.h"
#include "kvplan/error.h"
#include "measure/guardian.h"
#include "measure/process_tree.h"

namespace kvplan {

namespace {

[[noreturn]] void cannot_start(const std::string& program, int number) {
  fail(one_line(program, 80) + " cannot be started: " + std::strerror(number), "check the command after --");
}

}  // namespace

ChildProcess::ChildProcess(const std::vector<std::string>& command, bool outlives) {
  std::string place = environment_or("TMPDIR", "/tmp") + "/kvplan-start-XXXXXX";
  log_ = mkostemp(place.data(), O_CLOEXEC);
  if (log_ < 0) fail(one_line(place, 200) + ": cannot create a file for its output", "set TMPDIR to a writable folder");
  log_file_ = place;
  changes_ = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
  if (changes_ >= 0) inotify_add_watch(changes_, place.c_str(), IN_MODIFY);
  const int output = open(place.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
  // If SIGCHLD is ignored, which a program inherits, the exit status of a process is lost.
  std::signal(SIGCHLD, SIG_DFL);
  int line[2] = {-1, -1};
  if (output >= 0 && socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, line) == 0) guardian_ = fork();
  if (guardian_ == 0) {
    close(line[0]);
    guard(command, output, line[1], outlives);
  }
  GuardedStart started{-1, guardian_ < 0 ? errno : ECHILD};
  if (output >= 0) close(output);
  if (line[1] >= 0) close(line[1]);
  line_ = line[0];
  if (guardian_ > 0)
    while (recv(line_, &started, sizeof started, MSG_WAITALL) < 0 && errno == EINTR) {
    }
  pid_ = started.pid;
  if (started.error == 0) return;
  if (line_ >= 0) close(line_);
  if (guardian_ > 0) waitpid(guardian_, nullptr, 0);
  if (changes_ >= 0) close(changes_);
  close(log_);
  unlink(log_file_.c_str());
  cannot_start(command.front(), started.error);
}

ChildProcess::~ChildProcess() {
  const GuardWord word = is_left_ ? GuardWord::kLeave : GuardWord::kEnd;
  if (send(line_, &word, sizeof word, MSG_NOSIGNAL) < 0 && !is_left_) end_without_guardian();
  while (waitpid(guardian_, nullptr, 0) < 0 && errno == EINTR) {
  }
  close(line_);
  if (changes_ >= 0) close(changes_);
  close(log_);
  if (!keeps_log_) unlink(log_file_.c_str());
}

bool ChildProcess::is_running() {
  if (is_over_) return false;
  int status = 0;
  const ssize_t got = recv(line_, &status, sizeof status, MSG_DONTWAIT);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return true;
  is_over_ = true;
  // Without a status the guardian was killed, and the program's status is unknown.
  if (got == sizeof status && WIFEXITED(status)) exit_code_ = WEXITSTATUS(status);
  if (got == sizeof status && WIFSIGNALED(status)) signal_ = WTERMSIG(status);
  return false;
}

std::vector<pid_t> ChildProcess::processes() const {
  std::vector<pid_t> out = process_tree(pid_);
  for (const pid_t each : process_tree(guardian_))
    if (each != guardian_ && std::find(out.begin(), out.end(), each) == out.end()) out.push_back(each);
  return out;
}

void ChildProcess::wait_for_output(std::chrono::milliseconds longest) const {
  pollfd wanted{changes_, POLLIN, 0};
  // Without inotify, which is limited per user, this only waits.
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

void ChildProcess::end_without_guardian() const {
  for (const pid_t each : process_tree(pid_)) kill(each, SIGKILL);
}

}  // namespace kvplan
