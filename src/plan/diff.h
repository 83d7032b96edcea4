// What changed between two plans.
#pragma once

#include "formats/own_files.h"
#include "plan/answer.h"

namespace kvplan {

PlanDiff diff_plans(PlanDigest before, PlanDigest after, const GrowthLimit& limit = {}, const Limits& limits = {});

}  // namespace kvplan
