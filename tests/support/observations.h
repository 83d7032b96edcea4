// Figures that other people recorded (testdata/observations), with kvplan's figures.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace kvplan {

enum class Closeness { kExact, kWithin1, kWithin5, kWrong };

// A printed number, in bytes if it has a unit, and the interval that its digits allow.
struct Printed {
  double value = 0, low = 0, high = 0;
};

// "1952", "0.82", "14.96 GiB", "462.25 MiB". In a sum of several lines each one was rounded.
Printed read_printed(const std::string& text, int lines = 1);

// Exact if the interval of `planned`, from rounded input, overlaps the printed interval.
Closeness judge(const Printed& printed, std::pair<double, double> planned);

struct RecordedFigure {
  std::string group;        // the file
  std::string engine;       // without its release; empty if the figure is the checkpoint's
  std::string attention;    // the kinds of the layers that have a cache
  std::string observation;  // its name
  std::string source, path, text, reason;
  Printed printed;
  double low = 0, high = 0;  // the planned figures for both ends of the budget
  double planned() const { return (low + high) / 2; }
  Closeness verdict = Closeness::kWrong;
  double off() const { return planned() / printed.value - 1; }
};

// All figures of testdata/observations/GROUP.json, with the program's plans.
std::vector<RecordedFigure> plan_figures(const std::string& group);

// The bytes that are reserved for one request to a config in testdata/observations/models.
double reserved_bytes(const std::string& model, const std::vector<std::string>& arguments);

}  // namespace kvplan
