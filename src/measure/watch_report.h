// Compares a watched start with its plan, stage by stage.
#ifndef KVPLAN_MEASURE_WATCH_REPORT_H_
#define KVPLAN_MEASURE_WATCH_REPORT_H_

#include "measure/watch.h"
#include "plan/answer.h"

namespace kvplan {

// Fills the lines and the verdict from `plan`, `seen` and `check`.
void compare_start(WatchReport& report);

}  // namespace kvplan

#endif  // KVPLAN_MEASURE_WATCH_REPORT_H_
