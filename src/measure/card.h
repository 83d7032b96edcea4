// Measures a card on its own, without a model: at most 4 GiB of it, in seconds.
#ifndef KVPLAN_MEASURE_CARD_H_
#define KVPLAN_MEASURE_CARD_H_

#include <functional>
#include <memory>
#include <string_view>

#include "kvplan/calibration.h"
#include "kvplan/card_measurement.h"
#include "measure/measure.h"

namespace kvplan {

// `open` opens the device anew each time: a context's size is the smallest of three. Throws Interrupted and whatever
// `open` throws; a refusal by the device is a remark.
CardMeasurement measure_card(const std::function<std::unique_ptr<Device>()>& open, const MeasureOptions& options);

// The part that later plans use; nothing where other processes moved memory meanwhile.
std::optional<CalibrationRecord> calibration_of(const CardMeasurement& seen, std::string_view date);

}  // namespace kvplan

#endif  // KVPLAN_MEASURE_CARD_H_
