// A measurement, and what a calibration changed, in the forms that show them.
#ifndef KVPLAN_REPORT_MEASUREMENT_H_
#define KVPLAN_REPORT_MEASUREMENT_H_

#include <string>
#include <string_view>

#include "plan/answer.h"
#include "report/json_text.h"
#include "report/report.h"

namespace kvplan {

// Objects of the plan; null where it has none.
JsonText measurement_object(const Plan& plan);
JsonText calibration_object(const Plan& plan);

// Their definitions in the schema, each followed by a comma.
std::string_view measurement_schema();

}  // namespace kvplan

#endif  // KVPLAN_REPORT_MEASUREMENT_H_
