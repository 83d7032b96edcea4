#include "measure/guardian.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#ifdef __linux__
#include <sys/prctl.h>
#endif
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <thread>

#include "measure/process_tree.h"

namespace kvplan {

namespace {

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
#ifdef __linux__
  if (!outlives) {
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != guardian) _exit(126);
  }
#endif
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

  // Reaps processes that have ended, and tells whether the program has.
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
    // On systems without subreapers orphans are found by their session.
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

}  // namespace

void guard(const std::vector<std::string>& command, int output, int line, bool outlives) noexcept {
  setsid();
  bool is_parent_of_all = false;
#ifdef __linux__
  prctl(PR_SET_NAME, "kvplan-guardian");
  is_parent_of_all = prctl(PR_SET_CHILD_SUBREAPER, 1) == 0;
#endif
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

}  // namespace kvplan
