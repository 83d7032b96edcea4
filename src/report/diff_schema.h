// The part of the JSON Schema that says what a diff is.
#ifndef KVPLAN_REPORT_DIFF_SCHEMA_H_
#define KVPLAN_REPORT_DIFF_SCHEMA_H_

#include <string_view>

namespace kvplan {

std::string_view diff_schema();

}  // namespace kvplan

#endif  // KVPLAN_REPORT_DIFF_SCHEMA_H_
