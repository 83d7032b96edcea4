// What fits a GPU, and which GPUs a model fits.
#pragma once

#include "plan/plan.h"

namespace kvplan {

// With a GPU: the longest context at the requested sequences, the most sequences at the requested context, the
// longest context for other numbers of sequences, the best types, the fewest GPUs and the layouts that work. Without
// one: the smallest GPUs of the catalogue that hold the request. make_plan agrees with every answer: it fits, and with
// one more token it does not.
Answers fit_model(const ModelSpec& model, const Request& request);

}  // namespace kvplan
