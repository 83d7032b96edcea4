// A plan as its engine's own command line.
#ifndef KVPLAN_PLAN_LAUNCH_H_
#define KVPLAN_PLAN_LAUNCH_H_

#include "plan/plan.h"

namespace kvplan {

// Error where the plan's engine has no command line, and for what it has no option for: the command would be another
// deployment than the plan.
Launch launch_of(const ModelSpec& model, const Plan& plan);

// Gives one plan of a fit its command line: the request's own where it fits, else the layout that holds a length that
// was named, else the longest context. Error where none fits.
void add_launch(const ModelSpec& model, Answers& answers);

}  // namespace kvplan

#endif  // KVPLAN_PLAN_LAUNCH_H_
