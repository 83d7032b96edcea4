// What a plan that is shown has beyond one that a search asks for.
#ifndef KVPLAN_PLAN_COMPLETE_H_
#define KVPLAN_PLAN_COMPLETE_H_

#include "plan/plan.h"

namespace kvplan {

// Parts of an answer that not every form shows, and that take more than a plan.
struct Wanted {
  bool curves = false;   // KV against context for each type, and the frontier
  bool engines = false;  // where no engine was named, with a card: what each engine says
  bool launch = false;   // the engine's command line; Error where the engine has none for the request
};

// Puts the remedies into the verdict of a plan that does not fit.
void suggest(const ModelSpec& model, Plan& plan);

void complete(const ModelSpec& model, const Wanted& wanted, Plan& plan);

}  // namespace kvplan

#endif  // KVPLAN_PLAN_COMPLETE_H_
