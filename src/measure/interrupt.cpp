#include "measure/measure.h"

#include <unistd.h>

namespace kvplan {

constexpr int kSignals[] = {SIGINT, SIGTERM, SIGHUP};
static volatile std::sig_atomic_t noticed = 0;

static void notice(int number) {
  noticed = number;
}

InterruptGuard::InterruptGuard() {
  noticed = 0;
  for (int i = 0; i < 3; ++i) {
    // A signal that was ignored stays ignored (nohup).
    sigaction(kSignals[i], nullptr, &before_[i]);
    if (before_[i].sa_handler == SIG_IGN) continue;
    struct sigaction action {};
    action.sa_handler = notice;
    action.sa_flags = static_cast<int>(SA_RESETHAND);
    sigemptyset(&action.sa_mask);
    sigaction(kSignals[i], &action, nullptr);
  }
}

InterruptGuard::~InterruptGuard() {
  for (int i = 0; i < 3; ++i) sigaction(kSignals[i], &before_[i], nullptr);
}

bool InterruptGuard::interrupted() {
  return noticed != 0;
}

void InterruptGuard::pass_on() {
  const int number = noticed != 0 ? static_cast<int>(noticed) : SIGINT;
  std::signal(number, SIG_DFL);
  raise(number);
  _exit(128 + number);
}

}  // namespace kvplan
