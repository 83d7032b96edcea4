#include "cli/commands.h"

#include <array>
#include <cstdio>
#include <memory>

#include "kvplan/card_measurement.h"
#include "kvplan/error.h"
#include "kvplan/gpus.h"
#include "kvplan/progress.h"
#include "measure/device.h"
#include "measure/measure.h"
#include "plan/questions.h"

namespace kvplan {

static void show(ProgressLine& progress, std::string_view step, Bytes done, Bytes all) {
  if (!progress.is_due()) return;
  std::array<char, 128> text{};
  std::snprintf(text.data(), text.size(), "%.*s: %.2f of %.2f GiB", static_cast<int>(step.size()), step.data(),
                static_cast<double>(done.count()) / kGiB, static_cast<double>(all.count()) / kGiB);
  progress.show(text.data());
}

// Runs `work`, which allocates on a device. After an interrupt everything is freed before the program ends.
static void guarded(const std::function<void(MeasureOptions&)>& work) {
  const InterruptGuard guard;
  try {
    ProgressLine progress;
    MeasureOptions how;
    how.stop = InterruptGuard::interrupted;
    how.progress = [&](std::string_view step, Bytes done, Bytes all) { show(progress, step, done, all); };
    work(how);
  } catch (const Interrupted&) {
    std::fputs("kvplan: interrupted; everything that was allocated is freed\n", stderr);
    InterruptGuard::pass_on();
  }
}

int run_card(const Invocation& call, const ReportOptions& options) {
  if (!call.measuring.save.empty()) check_writable(call.measuring.save);
  if (call.measuring.device == "host") usage_error("measure card: host memory is not a GPU", "name cuda:0 or hip:0");
  CardMeasurement seen;
  guarded([&](MeasureOptions& how) {
    seen = measure_card([&] { return open_device(call.measuring.device, call.measuring.share); }, how);
  });
  const auto record = calibration_of(seen, today());
  if (record && !call.measuring.save.empty()) save_calibration(call.measuring.save, *record);
  write_output(call.output, written(reply_of(seen), call.format, "a measured GPU", options));
  return static_cast<int>(seen.is_disturbed ? Exit::kDoesNotFit : Exit::kAnswered);
}

int run_measure(const Invocation& call, const ModelAndRequest& asked, const ReportOptions& options) {
  const ModelSpec& model = asked.model;
  if (!call.measuring.save.empty()) check_writable(call.measuring.save);
  Plan plan;
  guarded([&](MeasureOptions& how) {
    const std::unique_ptr<Device> device = open_device(call.measuring.device, call.measuring.share);
    const CardFacts card = device->card();
    if (call.measuring.find_maximum && (card.is_integrated || card.is_wsl))
      usage_error(std::string("--measure-max: ") +
                      (card.is_wsl ? "Windows swaps this GPU's memory" : "this GPU uses main memory") +
                      ", and filling it can freeze the machine",
                  "leave it out");
    Request request = asked.request;
    request.card.measured = device->facts().name;
    // If the request names no GPU, the plan is for the measured one.
    if (device->facts().id != "host" && !request.card.gpu && !request.card.memory) {
      if (const Gpu* known = request.card.known().find(device->facts().name))
        request.card.gpu = known;
      else
        request.card.memory = device->facts().usable;
    }
    plan = with_source(model.source, [&] { return make_plan(model, request); });
    how.tolerance = call.measuring.tolerance.value_or(how.tolerance);
    how.find_maximum = call.measuring.find_maximum;
    plan.measurement = measure_plan(model, plan, *device, how);
    if (plan.measurement->status != MeasureStatus::kFailed)
      plan.measurement->rehearsal = rehearse(model, plan, *device, how);
  });
  const Measurement& seen = *plan.measurement;
  // If the run disagrees, or other programs changed memory, it says nothing about the GPU.
  if (!call.measuring.save.empty() && seen.status == MeasureStatus::kAgrees && seen.others_moved == 0)
    save_calibration(call.measuring.save, calibration_of(seen, today()));
  else if (!call.measuring.save.empty())
    std::fputs("kvplan: nothing was saved: another process changed the memory, or the figures disagree\n", stderr);
  const Gpu* const planned_card = plan.request.card.gpu;
  const Gpu* const seen_card = plan.request.card.known().find(seen.device.name);
  if (planned_card != nullptr && seen_card != nullptr && seen_card != planned_card)
    warn(plan.notes, "another_card",
         {"planned for {planned}, and measured on {device}",
          {{"planned", planned_card->name}, {"device", seen.device.name}}});
  complete(model, {}, plan);
  write_report(call.output, written(reply_of(plan), call.format, "a measurement", options));
  const bool stops = seen.rehearsal && seen.rehearsal->status == RehearsalStatus::kStops;
  const bool good = seen.status == MeasureStatus::kAgrees && !plan.verdict.fails() && !stops;
  return static_cast<int>(good ? Exit::kAnswered : Exit::kDoesNotFit);
}

}  // namespace kvplan
