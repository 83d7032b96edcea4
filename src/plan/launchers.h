// How each engine is started: its own spelling of every option that moves bytes.
#ifndef KVPLAN_PLAN_LAUNCHERS_H_
#define KVPLAN_PLAN_LAUNCHERS_H_

#include "plan/plan.h"

namespace kvplan {

// Error where the plan's engine has no command line, and for what it has no option for: the command would be another
// deployment than the plan.
Launch launch_of(const ModelSpec& model, const Plan& plan);

}  // namespace kvplan

#endif  // KVPLAN_PLAN_LAUNCHERS_H_
