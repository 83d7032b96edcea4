// Replaces measuring.cpp on systems that cannot measure: its sources need Linux (cmake/Systems.cmake).
#include "cli/commands.h"
#include "kvplan/error.h"
#include "measure/detect.h"

namespace kvplan {

[[noreturn]] static void no_device() {
  fail_in("measure", Exit::kNoDevice, "kvplan measures on Linux only",
          "run kvplan on the Linux machine that has the device");
}

int run_measure(const Invocation&, const ModelAndRequest&, const ReportOptions&) {
  no_device();
}
int run_card(const Invocation&, const ReportOptions&) {
  no_device();
}
int run_watch(const Invocation&, const ModelAndRequest&, const ReportOptions&) {
  no_device();
}

std::vector<DetectedCard> detect_cards() {
  return {};
}
std::vector<DetectedCard> detect_cards_within(std::chrono::milliseconds) {
  return {};
}
void use_cards(const std::vector<DetectedCard>&, Request&) {
  fail("--gpu auto: kvplan finds GPUs on Linux only", "name a GPU (kvplan gpus), or a size with --gpu-memory");
}

}  // namespace kvplan
