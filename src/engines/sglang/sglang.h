// The parts of SGLang that sglang.cpp combines, and what they use of each other.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engines/engine.h"
#include "engines/kernel_table.h"
#include "engines/lora_slots.h"

namespace kvplan {

// layout.cpp: the pools for a model and a request.
std::unique_ptr<CacheLayout> sglang_layout(const EngineInput& input, std::vector<Note>& notes);
// Requests that a rank runs at once, which the table of requests has rows for: as many as fit in a budget's pools, or
// the least number without a budget.
std::uint64_t sglang_requests(const EngineInput& input, std::optional<Bytes> budget, const Load& load);

// card.cpp: mem_fraction_static of the memory that is free before the weights are loaded, without the weights.
// Activations and graphs use the rest of the GPU.
Bytes sglang_cache_budget(const BudgetInput& input);
EngineSettings sglang_settings(const EngineInput& input, const Load& load);
std::vector<LedgerLine> sglang_overhead(const OverheadInput& in);

// refusal.cpp: the first refusal that it would meet. Without a GPU every kernel is assumed to be available.
std::optional<Refusal> sglang_refusal(const EngineInput& input, const Load& load);

// kernel_rows.cpp: weight formats by GPU and release.
std::span<const KernelRow> sglang_kernel_rows();

// backends.cpp: attention backends that a user can name. Why SGLang does not start with the named one, and the tokens
// of its pages; absent if none is named.
std::optional<Refusal> sglang_backend_refusal(const EngineInput& input, std::uint32_t capability);
std::optional<std::uint64_t> sglang_backend_page(const EngineInput& input);
// Whether values are read from the cached keys.
bool sglang_has_latents(const EngineInput& input);

// models.cpp: slots of LoRA adapters. Throws Error(kBadInput) with SGLang's rule; may add notes.
LoraSlots sglang_lora_slots(const LoraQuestion& asked, const Request& request, std::vector<Note>& notes);

// tensor_edits.cpp: a model's tensors as SGLang's classes make them.
void sglang_tensors(EngineTensors& model);
// What they depend on in a request: the release, the GPU's kernels, the ranks.
std::string sglang_makes_by(const Request& request);

// What depends on the release in these, for `kvplan engines sglang --rules`.
std::vector<RuleRow> sglang_tensor_rule_rows();

// The multiples that an MXFP4 expert's inner and outer width are padded to.
Mxfp4Layout sglang_mxfp4_layout(const Request& request);
Bytes sglang_rotary_table(const RotaryTable& table, const SideTensorsInput& input, std::uint64_t element);

}  // namespace kvplan
