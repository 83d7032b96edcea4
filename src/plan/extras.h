// What a deployment adds to a model, as lines of the ledger: a draft's weights, LoRA slots and adapters, an image
// projector. What holds tokens (a draft's cache, the encoder cache) is the engine's own.
#ifndef KVPLAN_PLAN_EXTRAS_H_
#define KVPLAN_PLAN_EXTRAS_H_

#include <optional>
#include <vector>

#include "engines/engine.h"
#include "formulas/model.h"
#include "kvplan/plan.h"
#include "kvplan/request.h"

namespace kvplan {

// The way to guess tokens that the request and the draft's own config mean; nothing where nothing guesses.
std::optional<DraftMethod> draft_method_of(const Request& request);

// Error(kBadInput) where the engine lacks an extra that was asked for: it names the engines that have it.
void check_extras(const ModelSpec& model, const Request& request);

// The request as the draft's share of the engine sees it.
Request draft_request(const Request& request);

struct ExtraLines {
  std::vector<std::vector<LedgerLine>> stages;  // of one rank of each stage; weights and workspaces
  std::vector<LedgerLine> host;
};
ExtraLines extra_lines(const ModelSpec& model, const EngineInput& input, std::vector<Note>& notes);

}  // namespace kvplan

#endif  // KVPLAN_PLAN_EXTRAS_H_
