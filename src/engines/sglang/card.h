// What SGLang does by the card: prefill chunk, captured batches, the static share, and what lies beside the pools.
// Source: server_args.py (read), logs for the graphs.
#ifndef KVPLAN_ENGINES_SGLANG_CARD_H_
#define KVPLAN_ENGINES_SGLANG_CARD_H_

#include <vector>

#include "engines/engine.h"

namespace kvplan {

// mem_fraction_static of what is free before the weights are loaded, less the weights. Activations and graphs live in
// the rest of the card.
Bytes sglang_cache_budget(const BudgetInput& input);
// mem_fraction_static as it is named, or as SGLang picks it for the card.
double sglang_share(const Request& request);
EngineSettings sglang_settings(const EngineInput& input, const Load& load);

// Tokens of a prefill chunk.
std::uint64_t sglang_chunk(const Request& request);
std::vector<LedgerLine> sglang_overhead(const OverheadInput& in);

}  // namespace kvplan

#endif  // KVPLAN_ENGINES_SGLANG_CARD_H_
