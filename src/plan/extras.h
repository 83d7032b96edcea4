// What a deployment adds to a model, as lines of the ledger: a draft's weights, LoRA slots and adapters, an image
// projector. Caches (a draft's, the encoder's) are laid out by the engine.
#pragma once

#include <optional>
#include <vector>

#include "engines/engine.h"
#include "formulas/model.h"
#include "kvplan/plan.h"
#include "kvplan/request.h"

namespace kvplan {

// The speculative method that the request or the draft's own config names; nothing if there is none.
std::optional<DraftMethod> draft_method_of(const Request& request);

// Throws Error(kBadInput) if the engine lacks an extra that was requested; it names the engines that have it.
void check_extras(const ModelSpec& model, const Request& request);

// The request for the draft model's own cache and weights.
Request draft_request(const Request& request);

struct ExtraLines {
  std::vector<std::vector<LedgerLine>> stages;  // weights and workspaces of one rank of each stage
  std::vector<LedgerLine> host;
};
ExtraLines extra_lines(const ModelSpec& model, const EngineInput& input, std::vector<Note>& notes);

}  // namespace kvplan
