// What changed between two plans.
#ifndef KVPLAN_PLAN_DIFF_H_
#define KVPLAN_PLAN_DIFF_H_

#include "formats/plan_file.h"
#include "plan/answer.h"

namespace kvplan {

PlanDiff diff_plans(PlanDigest before, PlanDigest after, const GrowthLimit& limit = {}, const Limits& limits = {});

}  // namespace kvplan

#endif  // KVPLAN_PLAN_DIFF_H_
