// The calibration files that measurements and check-log write, and later plans read.
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <ctime>
#include <filesystem>

#include "cli/measuring.h"
#include "cli/output.h"
#include "formats/calibration_file.h"
#include "formats/file.h"
#include "kvplan/error.h"

namespace kvplan {

namespace {

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

}  // namespace

void usage_error(const std::string& what, const std::string& remedy) {
  Error error(Exit::kBadInput, what, remedy);
  error.set_source("command line");
  throw error;
}

void check_writable(const std::string& path) {
  const std::string place = place_of(path);
  if (exists(place)) load_calibration(place);
  if (path != "default" && access(folder_of(place).c_str(), W_OK) != 0)
    usage_error("--save-calibration: " + one_line(folder_of(place), 200) + " cannot be written to",
                "name another file");
}

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
  const std::string text = calibration_json(calibration);
  with_source(place, [&] { return parse_calibration(text); });  // what could not be read again is not written
  write_output(place, text);
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

}  // namespace kvplan
