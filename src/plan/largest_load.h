// The largest loads that fit a plan's budget: the longest context and the most sequences.
#ifndef KVPLAN_PLAN_LARGEST_LOAD_H_
#define KVPLAN_PLAN_LARGEST_LOAD_H_

#include "plan/ledger.h"

namespace kvplan {

// Nothing where there is no card and no budget.
void fill_capacity(const Pieces& pieces, Plan& plan);

}  // namespace kvplan

#endif  // KVPLAN_PLAN_LARGEST_LOAD_H_
