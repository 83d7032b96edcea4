#include "formats/own_files.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "formats/file.h"
#include "formats/json_bounds.h"
#include "kvplan/error.h"
#include "kvplan/quantity.h"

namespace kvplan {

using Json = nlohmann::json;

constexpr std::size_t kMaxCalibrationBytes = 4 * kMiB;
constexpr std::size_t kMaxRecords = 2000;  // each is compared with the GPU of a plan
constexpr std::size_t kMaxFigures = 64;
constexpr std::size_t kMaxText = 300;
constexpr double kMostValue = 1e17;  // bytes, or bytes per second
constexpr std::uint64_t kMostRuns = 1000000000;

[[noreturn]] static void refuse_calibration(const std::string& why) {
  fail("not a kvplan calibration: " + why, "give a file that --save-calibration wrote, or --calibration none");
}

static std::string text(const Json& object, const char* key, const std::string& where, bool needed) {
  const Json* value = member(object, key);
  if (value == nullptr) {
    if (needed) refuse_calibration(where + " has no " + key);
    return "";
  }
  if (!value->is_string()) refuse_calibration(std::string(key) + " of " + where + " is not text");
  std::string out = value->get<std::string>();
  if (out.size() > kMaxText) refuse_calibration(std::string(key) + " of " + where + " is longer than 300 bytes");
  out = one_line(out, kMaxText);
  if (needed && out.empty()) refuse_calibration(std::string(key) + " of " + where + " is empty");
  return out;
}

static std::uint64_t count(const Json& object, const char* key, const std::string& where, std::uint64_t most) {
  const Json* value = member(object, key);
  if (value == nullptr || !value->is_number_unsigned() || value->get<std::uint64_t>() > most)
    refuse_calibration(std::string(key) + " of " + where + " is not a whole number up to " + std::to_string(most));
  return value->get<std::uint64_t>();
}

static double number(const Json& object, const char* key, const std::string& where) {
  const Json* value = member(object, key);
  const double out = value != nullptr && value->is_number() ? value->get<double>() : -1;
  if (!(out >= 0 && out <= kMostValue))
    refuse_calibration(std::string(key) + " of " + where + " is not a number from 0 to 1e17");
  return out;
}

static NamedFigure figure_of(const Json& json, const std::string& where) {
  if (!json.is_object()) refuse_calibration("a figure of " + where + " is not an object");
  NamedFigure out;
  out.name = text(json, "name", "a figure of " + where, true);
  const std::string which = out.name + " of " + where;
  out.figure.n = count(json, "n", which, kMostRuns);
  if (out.figure.n == 0) refuse_calibration(which + " was measured 0 times");
  out.figure.low = number(json, "low", which);
  out.figure.high = number(json, "high", which);
  out.figure.mean = number(json, "mean", which);
  if (!(out.figure.low <= out.figure.mean && out.figure.mean <= out.figure.high))
    refuse_calibration("the mean of " + which + " is outside its range");
  return out;
}

static bool is_date(const std::string& date) {
  if (date.size() != 10 || date[4] != '-' || date[7] != '-') return false;
  return std::all_of(date.begin(), date.end(), [](char c) { return c == '-' || (c >= '0' && c <= '9'); });
}

static CalibrationRecord record_of(const Json& json, std::size_t index) {
  const std::string which = "record " + std::to_string(index + 1);
  if (!json.is_object()) refuse_calibration(which + " is not an object");
  CalibrationRecord out;
  out.device = text(json, "device", which, true);
  if (member(json, "device_memory_bytes") != nullptr)
    out.memory = Bytes(count(json, "device_memory_bytes", which, static_cast<std::uint64_t>(kMostValue)));
  out.driver = text(json, "driver", which, false);
  out.engine = text(json, "engine", which, false);  // absent for a GPU's own figures, which apply to every engine
  out.engine_version = text(json, "engine_version", which, false);
  out.model = text(json, "model", which, false);
  out.source = text(json, "source", which, true);
  if (out.source != "measure" && out.source != "log" && out.source != "verify")
    refuse_calibration("the source of " + which + " is not measure, log or verify");
  out.date = text(json, "date", which, true);
  if (!is_date(out.date)) refuse_calibration("the date of " + which + " is not of the form 2026-01-31");
  const Json* figures = member(json, "figures");
  if (figures == nullptr || !figures->is_array() || figures->empty() || figures->size() > kMaxFigures)
    refuse_calibration("the figures of " + which + " are not a list of 1 to 64");
  for (const Json& each : *figures) {
    NamedFigure figure = figure_of(each, which);
    if (out.find(figure.name) != nullptr) refuse_calibration(which + " has " + figure.name + " twice");
    out.figures.push_back(std::move(figure));
  }
  return out;
}

Calibration parse_calibration(std::string_view text_of_file) {
  if (text_of_file.size() > kMaxCalibrationBytes) refuse_calibration("it is larger than 4 MiB");
  const Json json = parse_own_json<Json>(text_of_file, {8}, refuse_calibration);
  if (!json.is_object()) refuse_calibration("it is not an object");
  const Json* version = member(json, "schema_version");
  if (version == nullptr || !version->is_number_unsigned()) refuse_calibration("it has no schema_version");
  if (version->get<std::uint64_t>() != 1)
    refuse_calibration("its schema_version is not 1, the only one that this kvplan reads");
  const Json* records = member(json, "calibration");
  if (records == nullptr || !records->is_array()) refuse_calibration("it has no list \"calibration\"");
  if (records->size() > kMaxRecords) refuse_calibration("it has more than " + std::to_string(kMaxRecords) + " records");
  Calibration out;
  for (std::size_t i = 0; i < records->size(); ++i) out.records.push_back(record_of((*records)[i], i));
  return out;
}

Calibration load_calibration(const std::string& path) {
  return with_source(path, [&] {
    Calibration out = parse_calibration(read_file(path, kMaxCalibrationBytes));
    out.path = path;
    return out;
  });
}

std::string default_calibration_path() {
  constexpr const char* kName = "/kvplan/calibration.json";
  const char* config = std::getenv("XDG_CONFIG_HOME");
  if (config != nullptr && config[0] == '/') return std::string(config) + kName;
  const char* home = std::getenv("HOME");
  if (home != nullptr && home[0] == '/') return std::string(home) + "/.config" + kName;
  return "";
}

std::shared_ptr<const Calibration> choose_calibration(const std::string& named) {
  if (named == "none") return nullptr;
  std::error_code ignored;
  const std::string path = named.empty() ? default_calibration_path() : named;
  if (named.empty() && (path.empty() || !std::filesystem::is_regular_file(path, ignored))) return nullptr;
  auto out = std::make_shared<Calibration>(load_calibration(path));
  out->named = !named.empty();
  return out;
}

}  // namespace kvplan
