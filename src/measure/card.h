// A card by itself: no model, at most 4 GiB of it, seconds.
#ifndef KVPLAN_MEASURE_CARD_H_
#define KVPLAN_MEASURE_CARD_H_

#include <functional>
#include <memory>
#include <string_view>

#include "kvplan/calibration.h"
#include "kvplan/card_measurement.h"
#include "measure/measure.h"

namespace kvplan {

// `open` opens the device anew each time: what a context takes is the least of three. Throws Interrupted and what
// `open` throws; a device's refusal is a remark.
CardMeasurement measure_card(const std::function<std::unique_ptr<Device>()>& open, const MeasureOptions& options);

// What later plans use of it; nothing where others moved memory meanwhile.
std::optional<CalibrationRecord> calibration_of(const CardMeasurement& seen, std::string_view date);

}  // namespace kvplan

#endif  // KVPLAN_MEASURE_CARD_H_
