// What fits a card, and which cards a model fits.
#pragma once

#include "plan/plan.h"

namespace kvplan {

// With a card: the longest context at the requested sequences, the most sequences at the requested context, the
// longest context for other numbers of sequences, the best types, the fewest GPUs and the layouts that work. Without
// one: the smallest cards of the catalogue that hold the request. What an answer says fits, make_plan says fits, and
// one token more does not.
Answers fit_model(const ModelSpec& model, const Request& request);

}  // namespace kvplan
