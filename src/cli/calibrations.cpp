// The calibration files that measurements and check-log write, and later plans read.
#include <array>
#include <chrono>
#include <cstdio>
#include <filesystem>

#include "base/os.h"
#include "cli/commands.h"
#include "formats/file.h"
#include "formats/own_files.h"
#include "kvplan/error.h"

namespace kvplan {

namespace {

std::string place_of(const std::string& path) {
  if (path != "default") return path;
  std::string out = default_calibration_path();
  if (out.empty()) usage_error("--save-calibration default: neither XDG_CONFIG_HOME nor HOME is set", "name a file");
  return out;
}

}  // namespace

void check_writable(const std::string& path) {
  const std::string place = place_of(path);
  const bool is_there = exists(place);
  if (is_there) load_calibration(place);
  if (path != "default" && !os::may_write(folder_of(place)) && !(is_there && os::may_write(place)))
    usage_error("--save-calibration: " + one_line(folder_of(place), 200) + " cannot be written to",
                "name another file");
}

std::string today() {
  using std::chrono::days;
  const std::chrono::year_month_day date(std::chrono::floor<days>(std::chrono::system_clock::now()));
  std::array<char, 16> text{};
  std::snprintf(text.data(), text.size(), "%04d-%02u-%02u", static_cast<int>(date.year()),
                static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()));
  return text.data();
}

void save_calibration(const std::string& path, const CalibrationRecord& record) {
  const std::string place = place_of(path);
  if (path == "default") {
    std::error_code ignored;  // writing the file will report what is wrong
    std::filesystem::create_directories(folder_of(place), ignored);
  }
  const os::File lock(os::lock_folder(folder_of(place)));  // for other processes that save there
  Calibration calibration;
  if (exists(place)) calibration = load_calibration(place);
  calibration.merge(record);
  const std::string text = calibration_json(calibration);
  with_source(place, [&] { return parse_calibration(text); });  // checks that the file can be read again
  write_output(place, text);
}

void prepare_measuring(Invocation& call) {
  MeasuringOptions& options = call.measuring;
  const bool measures = call.command == "measure";
  if (measures && !options.watch && !options.pid) options.wanted = true;
  if (options.wanted && call.format != "table" && call.format != "json")
    usage_error("--measure has no format \"" + call.format + "\"", "use table or json");
  if (!options.wanted && !measures && (!options.device.empty() || options.tolerance))
    usage_error(options.device.empty() ? "--tolerance without --measure" : "--device without --measure",
                "add --measure");
  if (!options.wanted && !options.save.empty() && call.command != "check-log" && !measures && call.command != "verify")
    usage_error("--save-calibration without --measure", "add --measure, or use kvplan check-log");
  if (call.command == "check-log" && !options.save.empty() && !call.request.card.gpu)
    usage_error("--save-calibration: the log does not name the GPU", "name it with --gpu");
  const bool plans = measures || call.command == "plan" || call.command == "compare" || call.command == "fit" ||
                     call.command == "explain";
  if (!plans) return;
  // Looks for a calibration only if a GPU is named.
  if (!options.calibration.empty() || call.request.card.gpu || options.wanted)
    call.request.calibration = choose_calibration(options.calibration);
}

}  // namespace kvplan
