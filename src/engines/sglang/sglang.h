// The parts of SGLang that sglang.cpp combines, and what they use from each other.
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
// Requests that a rank runs at the same time, which is also the number of rows in the table of requests. It is as many
// as fit in a budget's pools, or the smallest possible number without a budget.
std::uint64_t sglang_requests(const EngineInput& input, std::optional<Bytes> budget, const Load& load);

// card.cpp: the budget of the pools. It is mem_fraction_static of the memory that is free before the weights are
// loaded, minus the weights. Activations and graphs use the rest of the GPU.
Bytes sglang_cache_budget(const BudgetInput& input);
EngineSettings sglang_settings(const EngineInput& input, const Load& load);
std::vector<LedgerLine> sglang_overhead(const OverheadInput& in);

// refusal.cpp: the first refusal that SGLang would print. Without a GPU every kernel is assumed to exist.
std::optional<Refusal> sglang_refusal(const EngineInput& input, const Load& load);

// kernel_rows.cpp: weight formats by GPU and release.
std::span<const KernelRow> sglang_kernel_rows();

// backends.cpp: attention backends that a user can name. Returns why SGLang does not start with the named one, and the
// tokens of its pages. Nothing if none is named.
std::optional<Refusal> sglang_backend_refusal(const EngineInput& input, std::uint32_t capability);
std::optional<std::uint64_t> sglang_backend_page(const EngineInput& input);
// Whether the cached keys also contain the values (MLA).
bool sglang_has_latents(const EngineInput& input);

// models.cpp: slots of LoRA adapters. Throws Error(kBadInput) with SGLang's rule; may add notes.
LoraSlots sglang_lora_slots(const LoraQuestion& asked, const Request& request, std::vector<Note>& notes);

// tensor_edits.cpp: a model's tensors as SGLang's classes create them.
void sglang_tensors(EngineTensors& model);
// The part of a request that the tensors depend on: the release, the GPU's kernels, the ranks.
std::string sglang_makes_by(const Request& request);

// The rows that depend on the release, for `kvplan engines sglang --rules`.
std::vector<RuleRow> sglang_tensor_rule_rows();

// An MXFP4 expert's inner and outer width are padded to multiples of these.
Mxfp4Layout sglang_mxfp4_layout(const Request& request);
Bytes sglang_rotary_table(const RotaryTable& table, const SideTensorsInput& input, std::uint64_t element);

// The default fraction of a GPU that SGLang uses for weights and pools, by release, and the memory that it subtracts.
// Source: server_args.py, arg_groups/memory_hook.py, kv_cache_configurator.py.

// The prefill chunk and the largest captured batch, as given or by the GPU.
struct SglangSettings {
  std::uint64_t chunk = 0, batch = 0;
};
SglangSettings sglang_card_settings(const EngineInput& input);
// Number of captured batch sizes up to the largest.
std::uint64_t sglang_captured(const EngineInput& input, std::uint64_t largest);
// The number of captured sizes of the prefill; 0 if it is not captured.
std::uint64_t sglang_prefill_captured(const EngineInput& input);

// mem_fraction_static as given, or as SGLang picks it.
double sglang_share(const EngineInput& input);
// Whether SGLang serves images or audio. A few classes only do so with an option.
bool sglang_multimodal(const EngineInput& input);
// What SGLang subtracts from the budget for allocations after the pools are sized (mm_runtime_reservation_gb).
Bytes sglang_kept_back(const EngineInput& input);

// What SGLang decides from the model and the options: pools, pages, types, state slots. Source:
// configs/model_config.py, server_args.py, mem_cache/kv_cache_configurator.py (read).

// Whether the GPU has compute capability 10.x.
bool sglang_on_blackwell(const Request& request);
// Whether the model runs with transformers' own class (models/transformers.py): keys and values in every layer, no
// towers, no tensor parallelism.
bool sglang_runs_library_class(const EngineInput& input);
// Whether prompts are never split into chunks.
bool sglang_prefills_whole(const EngineInput& input);
// Whether sliding-window layers have their own pool.
bool sglang_hybrid_windows(const EngineInput& input);
std::uint64_t sglang_page(const EngineInput& input, bool sparse);
CacheTypes sglang_types(const ModelShape& model, const Request& request);
// The number of ranks that split the attention. Throws Error if the layout is impossible.
std::uint64_t sglang_attention_ranks(const Request& request);
TensorCuts sglang_cuts(const Request& request);
// State slots of a running request (_calculate_mamba_ratio); throws Error for an unknown strategy.
std::uint64_t sglang_slots(const EngineInput& input);
// Whether the prefixes of finished requests stay cached.
bool sglang_has_radix_cache(const EngineInput& input);
// Requests that a rank runs at once (max_running_requests); 0 if SGLang runs as many as fit.
std::uint64_t sglang_running(const EngineInput& input);
// Tokens that are verified in one step, including the last accepted one; 0 without speculative decoding.
std::uint64_t sglang_verified(const EngineInput& input);

}  // namespace kvplan
