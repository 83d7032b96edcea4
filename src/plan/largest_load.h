// The largest loads that fit a plan's budget: the longest context and the most sequences.
#pragma once

#include "plan/ledger.h"

namespace kvplan {

// Nothing if there is no GPU and no budget.
void fill_capacity(const Pieces& pieces, Plan& plan);

}  // namespace kvplan
