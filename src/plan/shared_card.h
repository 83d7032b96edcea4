// Several models on one GPU, each in its own engine.
#pragma once

#include <optional>
#include <vector>

#include "plan/plan.h"

namespace kvplan {

struct CardUser {
  const ModelSpec* model = nullptr;
  Request request;
};

// The first model gets what the others leave. An engine that takes a fraction of the GPU gets the smallest one that
// fits its request, in whole percent; for other engines it is what they need. Engines with sleep mode take turns: each
// gets what the others free while they sleep. Throws Error if no GPU is named.
SharedCard share_card(const std::vector<CardUser>& users);

// The request with the smallest fraction of the GPU that fits it, in whole percent.
std::optional<Request> with_least_share(PlanCache& cache, Request request, Bytes card);

// The request of a further model: on the same GPU, with its own types, layout and extras, and at most its own longest
// context.
Request further_request(const ModelSpec& model, const Request& first);

}  // namespace kvplan
