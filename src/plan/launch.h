// A plan as its engine's own command line.
#ifndef KVPLAN_PLAN_LAUNCH_H_
#define KVPLAN_PLAN_LAUNCH_H_

#include "plan/plan.h"

namespace kvplan {

// Error where the plan's engine has no command line, and for what it has no option for: the command would be another
// deployment than the plan.
Launch launch_of(const ModelSpec& model, const Plan& plan);

}  // namespace kvplan

#endif  // KVPLAN_PLAN_LAUNCH_H_
