// Allocates the cache of a plan on a device, in the engine's own layout, and compares.
#ifndef KVPLAN_MEASURE_MEASURE_H_
#define KVPLAN_MEASURE_MEASURE_H_

#include <exception>
#include <functional>
#include <string_view>

#include "formulas/model.h"
#include "kvplan/calibration.h"
#include "kvplan/measurement.h"
#include "measure/device.h"
#include "plan/plan.h"

namespace kvplan {

// Thrown where `stop` said so; by then everything is freed.
class Interrupted : public std::exception {
 public:
  const char* what() const noexcept override { return "interrupted"; }
};

struct MeasureOptions {
  double tolerance = 0.01;     // share of the plan that may differ without a reason
  bool find_maximum = false;   // the largest context that really allocates
  std::function<bool()> stop;  // asked often; true: free everything and throw Interrupted
  std::function<void(std::string_view step, Bytes done, Bytes all)> progress;
};

// What may be taken of `free` bytes: `margin` of it, and 256 MiB at least, are left to whoever else is there.
Bytes usable_room(Bytes free, double margin);

// Measures the fullest GPU of `plan`, at a smaller scale where the device has not the room. A device's refusal is part
// of the answer; nothing is left allocated.
Measurement measure_plan(const ModelSpec& model, const Plan& plan, Device& device, const MeasureOptions& options);

// What a measurement teaches of its card, whatever engine was asked for; `date` as "2026-11-21".
CalibrationRecord calibration_of(const Measurement& measurement, std::string_view date);

}  // namespace kvplan

#endif  // KVPLAN_MEASURE_MEASURE_H_
