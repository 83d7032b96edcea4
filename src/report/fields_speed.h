// The fields of a measured speed in GB/s: of a card, and in a plan's measurement.
#ifndef KVPLAN_REPORT_FIELDS_SPEED_H_
#define KVPLAN_REPORT_FIELDS_SPEED_H_

#include <optional>

#include "kvplan/calibration.h"
#include "report/fields_tables.h"

namespace kvplan {

struct MeasuredSpeed {
  Figure figure;  // bytes a second
};

// Null where it was not measured.
inline std::optional<MeasuredSpeed> speed_of(const Figure& figure) {
  return figure.n > 0 ? std::optional(MeasuredSpeed{figure}) : std::nullopt;
}

template <>
const Table<MeasuredSpeed>& table();

}  // namespace kvplan

#endif  // KVPLAN_REPORT_FIELDS_SPEED_H_
