// Ctrl-C during a measurement: it is noticed, so that everything can be freed, and then passed on.
#pragma once

#include <csignal>

namespace kvplan {

// During its lifetime SIGINT, SIGTERM and SIGHUP are noticed; a second one ends the process at once.
class InterruptGuard {
 public:
  InterruptGuard();
  ~InterruptGuard();
  InterruptGuard(const InterruptGuard&) = delete;
  InterruptGuard& operator=(const InterruptGuard&) = delete;

  static bool interrupted();
  // Ends the process as the noticed signal would have.
  [[noreturn]] static void pass_on();

 private:
  struct sigaction before_[3];
};

}  // namespace kvplan
