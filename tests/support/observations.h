// Figures that somebody else recorded (testdata/observations) and what kvplan says in their place.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace kvplan {

enum class Closeness { kExact, kWithin1, kWithin5, kWrong };

// A number as it was printed, in bytes if it has a unit, and the interval that its digits leave.
struct Printed {
  double value = 0, low = 0, high = 0;
};

// "1952", "0.82", "14.96 GiB", "462.25 MiB"; of several lines added up each was rounded.
Printed read_printed(const std::string& text, int lines = 1);

// Exact where the interval that the input's rounding leaves of `planned` meets the printed one.
Closeness judge(const Printed& printed, std::pair<double, double> planned);

struct RecordedFigure {
  std::string group;        // the file
  std::string engine;       // without its release; empty if the figure is the checkpoint's
  std::string attention;    // the kinds of the layers that hold something
  std::string observation;  // its name
  std::string source, path, text, reason;
  Printed printed;
  double low = 0, high = 0;  // planned, for the ends of the budget
  double planned() const { return (low + high) / 2; }
  Closeness verdict = Closeness::kWrong;
  double off() const { return planned() / printed.value - 1; }
};

// All figures of testdata/observations/GROUP.json, planned by the program.
std::vector<RecordedFigure> plan_figures(const std::string& group);

// The bytes that are reserved for one request of a config in testdata/observations/models.
double reserved_bytes(const std::string& model, const std::vector<std::string>& arguments);

}  // namespace kvplan
