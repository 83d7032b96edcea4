#include "cli/measuring.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cstdio>
#include <ctime>
#include <filesystem>
#include <memory>

#include "cli/output.h"
#include "formats/calibration_file.h"
#include "formats/file.h"
#include "kvplan/card_measurement.h"
#include "kvplan/error.h"
#include "kvplan/gpus.h"
#include "measure/card.h"
#include "measure/device.h"
#include "measure/interrupt.h"
#include "measure/measure.h"
#include "measure/rehearsal.h"
#include "plan/complete.h"

namespace kvplan {

namespace {

[[noreturn]] void usage_error(const std::string& what, const std::string& remedy) {
  Error error(Exit::kBadInput, what, remedy);
  error.set_source("command line");
  throw error;
}

// One line on a terminal's standard error, written over until it is done.
class Progress {
 public:
  Progress() : shown_(isatty(STDERR_FILENO) == 1) {}
  ~Progress() {
    if (dirty_) std::fputs("\r\033[K", stderr);
  }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void show(std::string_view step, Bytes done, Bytes all) {
    if (!shown_) return;
    std::fprintf(stderr, "\r\033[K%.*s: %.2f of %.2f GiB", static_cast<int>(step.size()), step.data(),
                 static_cast<double>(done.count()) / kGiB, static_cast<double>(all.count()) / kGiB);
    std::fflush(stderr);
    dirty_ = true;
  }

 private:
  bool shown_;
  bool dirty_ = false;
};

// Others that save to the same folder wait; nothing is left behind.
class FolderLock {
 public:
  explicit FolderLock(const std::string& folder) : fd_(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {
    if (fd_ >= 0) flock(fd_, LOCK_EX);
  }
  ~FolderLock() {
    if (fd_ >= 0) close(fd_);
  }
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;

 private:
  int fd_;
};

std::string place_of(const std::string& path) {
  if (path != "default") return path;
  std::string out = default_calibration_path();
  if (out.empty()) usage_error("--save-calibration default: neither XDG_CONFIG_HOME nor HOME is set", "name a file");
  return out;
}

// Before a long measurement: whether its result can be kept.
void check_writable(const std::string& path) {
  const std::string place = place_of(path);
  if (exists(place)) load_calibration(place);
  if (path != "default" && access(folder_of(place).c_str(), W_OK) != 0)
    usage_error("--save-calibration: " + one_line(folder_of(place), 200) + " cannot be written to",
                "name another file");
}

}  // namespace

std::string today() {
  const std::time_t now = std::time(nullptr);
  std::tm date{};
  char text[16] = "1970-01-01";
  if (gmtime_r(&now, &date) != nullptr) std::strftime(text, sizeof text, "%Y-%m-%d", &date);
  return text;
}

void save_calibration(const std::string& path, const CalibrationRecord& record) {
  const std::string place = place_of(path);
  if (path == "default") {
    std::error_code ignored;  // writing says what is wrong
    std::filesystem::create_directories(folder_of(place), ignored);
  }
  const FolderLock lock(folder_of(place));
  Calibration calibration;
  if (exists(place)) calibration = load_calibration(place);
  calibration.merge(record);
  write_output(place, calibration_json(calibration));
}

void prepare_measuring(Invocation& call) {
  MeasuringOptions& options = call.measuring;
  const bool measures = call.command == "measure";
  if (measures && !options.watch && !options.pid) options.wanted = true;
  if (options.wanted && call.format != "table" && call.format != "json")
    usage_error("--measure has no form \"" + call.format + "\"", "use table or json");
  if (!options.wanted && !measures && (!options.device.empty() || options.tolerance))
    usage_error(options.device.empty() ? "--tolerance without --measure" : "--device without --measure",
                "add --measure");
  if (!options.wanted && !options.save.empty() && call.command != "check-log" && !measures)
    usage_error("--save-calibration without --measure", "add --measure, or use kvplan check-log");
  if (call.command == "check-log" && !options.save.empty() && !call.request.card.name)
    usage_error("--save-calibration: the log does not say which card it is of", "name it with --gpu");
  const bool plans = measures || call.command == "plan" || call.command == "compare" || call.command == "fit" ||
                     call.command == "explain";
  if (!plans) return;
  // Looked for where a card is named that it could be of.
  if (!options.calibration.empty() || call.request.card.name || options.wanted)
    call.request.calibration = choose_calibration(options.calibration);
}

int run_card(const Invocation& call, const ReportOptions& options) {
  if (!call.measuring.save.empty()) check_writable(call.measuring.save);
  if (call.measuring.device == "host") usage_error("measure card: host memory is no card", "name cuda:0 or hip:0");
  CardMeasurement seen;
  {
    const InterruptGuard guard;
    try {
      Progress progress;
      MeasureOptions how;
      how.stop = InterruptGuard::interrupted;
      how.progress = [&](std::string_view step, Bytes done, Bytes all) { progress.show(step, done, all); };
      seen = measure_card([&] { return open_device(call.measuring.device, call.measuring.share); }, how);
    } catch (const Interrupted&) {
      std::fputs("kvplan: interrupted; everything that was allocated is freed\n", stderr);
      InterruptGuard::pass_on();
    }
  }
  const auto record = calibration_of(seen, today());
  if (record && !call.measuring.save.empty()) save_calibration(call.measuring.save, *record);
  write_output(call.output, written(reply_of(seen), call.format, "a measured card", options));
  return static_cast<int>(seen.is_disturbed ? Exit::kDoesNotFit : Exit::kAnswered);
}

int run_measure(const Invocation& call, const Asked& asked, const ReportOptions& options) {
  const ModelSpec& model = asked.model;
  if (!call.measuring.save.empty()) check_writable(call.measuring.save);
  Plan plan;
  {
    const InterruptGuard guard;
    try {
      const std::unique_ptr<Device> device = open_device(call.measuring.device, call.measuring.share);
      const CardFacts card = device->card();
      if (call.measuring.find_maximum && (card.is_integrated || card.is_wsl))
        usage_error(std::string("--measure-max: ") +
                        (card.is_wsl ? "Windows pages this card's memory" : "this card's memory is the machine's") +
                        ", which filling it can halt",
                    "measure a plan without it");
      Request request = asked.request;
      request.card.measured = device->facts().name;
      // Without a card of the request's the measured one is planned for.
      if (device->facts().id != "host" && !request.card.name && !request.card.memory) {
        if (const Gpu* known = find_gpu(device->facts().name))
          request.card.name = known->name;
        else
          request.card.memory = device->facts().usable;
      }
      try {
        plan = make_plan(model, request);
      } catch (Error& error) {
        error.set_source(model.source);
        throw;
      }
      Progress progress;
      MeasureOptions how;
      how.tolerance = call.measuring.tolerance.value_or(how.tolerance);
      how.find_maximum = call.measuring.find_maximum;
      how.stop = InterruptGuard::interrupted;
      how.progress = [&](std::string_view step, Bytes done, Bytes all) { progress.show(step, done, all); };
      plan.measurement = measure_plan(model, plan, *device, how);
      if (plan.measurement->status != MeasureStatus::kFailed)
        plan.measurement->rehearsal = rehearse(model, plan, *device, how);
    } catch (const Interrupted&) {
      std::fputs("kvplan: interrupted; everything that was allocated is freed\n", stderr);
      InterruptGuard::pass_on();
    }
  }
  const Measurement& seen = *plan.measurement;
  // What differs, or moved meanwhile, is no property of the card.
  if (!call.measuring.save.empty() && seen.status == MeasureStatus::kAgrees && seen.others_moved == 0)
    save_calibration(call.measuring.save, calibration_of(seen, today()));
  else if (!call.measuring.save.empty())
    std::fputs("kvplan: nothing was saved: the run was disturbed, or does not agree\n", stderr);
  const std::optional<std::string>& planned_card = plan.request.card.name;
  if (planned_card && find_gpu(seen.device.name) != nullptr && find_gpu(seen.device.name)->name != *planned_card)
    plan.notes.push_back({NoteLevel::kWarning,
                          "another_card",
                          {"planned for {planned}, and measured on {device}",
                           {{"planned", *planned_card}, {"device", seen.device.name}}}});
  complete(model, {}, plan);
  write_report(call.output, written(reply_of(plan), call.format, "a measurement", options));
  const bool stops = seen.rehearsal && seen.rehearsal->status == RehearsalStatus::kStops;
  const bool good = seen.status == MeasureStatus::kAgrees && plan.verdict.status != Verdict::kDoesNotFit && !stops;
  return static_cast<int>(good ? Exit::kAnswered : Exit::kDoesNotFit);
}

}  // namespace kvplan
