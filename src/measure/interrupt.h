// Ctrl-C during a measurement: everything is freed, then the signal takes effect.
#pragma once

#include <csignal>

namespace kvplan {

// During its lifetime SIGINT, SIGTERM and SIGHUP are recorded; a second one ends the process at once.
class InterruptGuard {
 public:
  InterruptGuard();
  ~InterruptGuard();
  InterruptGuard(const InterruptGuard&) = delete;
  InterruptGuard& operator=(const InterruptGuard&) = delete;

  static bool interrupted();
  // Ends the process as the recorded signal would have.
  [[noreturn]] static void pass_on();

 private:
  struct sigaction before_[3];
};

}  // namespace kvplan
