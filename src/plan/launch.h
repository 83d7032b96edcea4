// A plan as the command line of its engine.
#pragma once

#include "plan/plan.h"

namespace kvplan {

// Throws Error if the engine has no command line, or no option for something in the plan: the command would then
// start another deployment.
Launch launch_of(const ModelSpec& model, const Plan& plan);

// Gives one plan of a `fit` its command line: the request's own if it fits, else the layout that fits the named
// length, else the longest context. Throws Error if none fits.
void add_launch(const ModelSpec& model, Answers& answers);

}  // namespace kvplan
