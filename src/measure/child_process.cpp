#include "measure/child_process.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/inotify.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "base/library.h"
#include "kvplan/error.h"
#include "measure/proc.h"

namespace kvplan {

namespace {

// A guardian is a process between kvplan and the program that kvplan starts. It becomes the parent of whatever the
// program leaves behind, and ends all of it when kvplan ends for any reason.
//
// The guardian's first message. It sends the program's status, in waitpid()'s form, when the program has ended.
struct GuardedStart {
  pid_t pid = -1;
  int error = 0;  // why it could not be started; 0 if it was
};

// kvplan's commands to the guardian. If kvplan is killed before it sends one, a program that `outlives` it keeps
// running and any other is ended.
enum class GuardWord : char { kEnd = 'e', kLeave = 'l' };

using std::chrono::milliseconds;

constexpr milliseconds kLook(20);
constexpr milliseconds kPatience(5000);

void tell(int line, const void* what, std::size_t size) {
  while (send(line, what, size, MSG_NOSIGNAL) < 0 && errno == EINTR) {
  }
}

// Becomes the program; if that fails the reason goes to `failed`, which a successful exec closes.
[[noreturn]] void become(const std::vector<char*>& words, int output, int failed, bool outlives, pid_t guardian) {
  setsid();
  if (!outlives) {
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != guardian) _exit(126);
  }
  dup2(output, STDOUT_FILENO);
  dup2(output, STDERR_FILENO);
  execvp(words[0], words.data());
  const int reason = errno;
  if (write(failed, &reason, sizeof reason) < 0) _exit(126);
  _exit(127);
}

GuardedStart start(const std::vector<std::string>& command, int output, bool outlives) {
  std::vector<char*> words;
  for (const std::string& word : command) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  int failed[2] = {-1, -1};
  GuardedStart out;
  const pid_t guardian = getpid();
  if (pipe2(failed, O_CLOEXEC) == 0) out.pid = fork();
  if (out.pid == 0) become(words, output, failed[1], outlives, guardian);
  if (out.pid < 0) out.error = errno;
  if (failed[1] >= 0) close(failed[1]);
  if (out.pid > 0)
    while (read(failed[0], &out.error, sizeof out.error) < 0 && errno == EINTR) {
    }
  if (failed[0] >= 0) close(failed[0]);
  return out;
}

class Guard {
 public:
  Guard(int line, pid_t program, bool is_parent_of_all)
      : line_(line), program_(program), is_parent_of_all_(is_parent_of_all) {}

  // Reaps ended processes, and returns whether the program was one of them.
  void reap() const {
    int status = 0;
    for (pid_t ended = 0; (ended = waitpid(-1, &status, WNOHANG)) > 0;)
      if (ended == program_) tell(line_, &status, sizeof status);
  }

  // Ends everything: SIGTERM, then SIGKILL, repeated if something keeps starting processes.
  void end() const {
    signal_all(SIGTERM);
    for (milliseconds waited(0); waited < 2 * kPatience; waited += 2 * kLook) {
      reap();
      if (all().empty()) return;
      if (waited >= kPatience) signal_all(SIGKILL);
      std::this_thread::sleep_for(2 * kLook);
    }
  }

 private:
  std::vector<pid_t> all() const {
    // Where the kernel has no subreapers, orphans are found by their session.
    std::vector<pid_t> out = process_tree(is_parent_of_all_ ? getpid() : program_);
    std::erase(out, getpid());
    return out;
  }
  void signal_all(int number) const {
    for (const pid_t each : all()) kill(each, number);
  }

  int line_;
  pid_t program_;
  bool is_parent_of_all_;
};

// Called in a child of kvplan: starts the program with its output in the file `output`, and answers at `line`, a
// socket.
[[noreturn]] void guard(const std::vector<std::string>& command, int output, int line, bool outlives) noexcept {
  setsid();
  prctl(PR_SET_NAME, "kvplan-guardian");
  const bool is_parent_of_all = prctl(PR_SET_CHILD_SUBREAPER, 1) == 0;
  // It must not keep a terminal or a shell's pipe open.
  if (const int nothing = open("/dev/null", O_RDWR); nothing >= 0)
    for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) dup2(nothing, stream);
  const GuardedStart started = start(command, output, outlives);
  // kvplan handles signals; the program gets the same signals as without a guardian.
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) std::signal(number, SIG_IGN);
  tell(line, &started, sizeof started);
  const Guard guarded(line, started.pid, is_parent_of_all);
  while (started.error == 0) {
    pollfd wanted{line, POLLIN, 0};
    poll(&wanted, 1, static_cast<int>(kLook.count()));
    guarded.reap();
    if (wanted.revents == 0) continue;
    char word = 0;
    const ssize_t got = recv(line, &word, 1, MSG_DONTWAIT);
    if (got < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    const bool leaves = got > 0 ? word == static_cast<char>(GuardWord::kLeave) : outlives;
    if (!leaves) guarded.end();
    break;
  }
  _exit(0);
}

[[noreturn]] void cannot_start(const std::string& program, int number) {
  fail(one_line(program, 80) + " cannot be started: " + std::strerror(number), "check the command after --");
}

}  // namespace

ChildProcess::ChildProcess(const std::vector<std::string>& command, bool outlives) {
  std::string place = environment_or("TMPDIR", "/tmp") + "/kvplan-start-XXXXXX";
  log_ = os::File(mkostemp(place.data(), O_CLOEXEC));
  if (!log_.is_open())
    fail(one_line(place, 200) + ": cannot create a file for its output", "set TMPDIR to a writable folder");
  log_file_ = place;
  changes_ = os::File(inotify_init1(IN_CLOEXEC | IN_NONBLOCK));
  if (changes_.is_open()) inotify_add_watch(changes_.get(), place.c_str(), IN_MODIFY);
  const os::File output(open(place.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC));
  // If SIGCHLD is ignored, the program inherits that, and the kernel drops the exit status of its children.
  std::signal(SIGCHLD, SIG_DFL);
  int line[2] = {-1, -1};
  if (output.is_open() && socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, line) == 0) guardian_ = fork();
  if (guardian_ == 0) {
    close(line[0]);
    guard(command, output.get(), line[1], outlives);
  }
  GuardedStart started{-1, guardian_ < 0 ? errno : ECHILD};
  if (line[1] >= 0) close(line[1]);
  line_ = os::File(line[0]);
  if (guardian_ > 0)
    while (recv(line_.get(), &started, sizeof started, MSG_WAITALL) < 0 && errno == EINTR) {
    }
  pid_ = started.pid;
  if (started.error == 0) return;
  line_ = os::File();
  if (guardian_ > 0) waitpid(guardian_, nullptr, 0);
  unlink(log_file_.c_str());
  cannot_start(command.front(), started.error);
}

ChildProcess::~ChildProcess() {
  const GuardWord word = is_left_ ? GuardWord::kLeave : GuardWord::kEnd;
  if (send(line_.get(), &word, sizeof word, MSG_NOSIGNAL) < 0 && !is_left_) end_without_guardian();
  while (waitpid(guardian_, nullptr, 0) < 0 && errno == EINTR) {
  }
  if (!keeps_log_) unlink(log_file_.c_str());
}

bool ChildProcess::is_running() {
  if (is_over_) return false;
  int status = 0;
  const ssize_t got = recv(line_.get(), &status, sizeof status, MSG_DONTWAIT);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return true;
  is_over_ = true;
  // If no status arrived, the guardian was killed and the program's status is unknown.
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
  pollfd wanted{changes_.get(), POLLIN, 0};
  // Without inotify, which is limited per user, this only waits.
  poll(&wanted, changes_.is_open() ? 1 : 0, static_cast<int>(longest.count()));
  char notices[4096];
  while (changes_.is_open() && read(changes_.get(), notices, sizeof notices) > 0) {
  }
}

std::string ChildProcess::read_output() {
  std::string out(kMostAtOnce, '\0');
  std::size_t used = 0;
  while (used < out.size()) {
    const ssize_t count = read(log_.get(), out.data() + used, out.size() - used);
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
