// The memory that the static share leaves for SGLang's pools, and what is outside of it.
// Source: kv_cache_configurator.py, memory_pool.py; logs for the graphs.
#ifndef KVPLAN_ENGINES_SGLANG_CARD_H_
#define KVPLAN_ENGINES_SGLANG_CARD_H_

#include <vector>

#include "engines/engine.h"

namespace kvplan {

// mem_fraction_static of the memory that is free before the weights are loaded, without the weights. Activations and
// graphs use the rest of the card.
Bytes sglang_cache_budget(const BudgetInput& input);
EngineSettings sglang_settings(const EngineInput& input, const Load& load);

std::vector<LedgerLine> sglang_overhead(const OverheadInput& in);

}  // namespace kvplan

#endif  // KVPLAN_ENGINES_SGLANG_CARD_H_
