
#include <algorithm>

#include "engines/drafts.h"
#include "engines/estimates.h"
#include "engines/lora_slots.h"
#include "engines/sglang/class_table.h"
#include "engines/sglang/rules.h"
#include "engines/sglang/sglang.h"
#include "kvplan/error.h"
#include "kvplan/gpus.h"

namespace kvplan {

constexpr std::uint64_t kSlotsPerRequest = 3;     // one for the running request, and two that the radix tree keeps
constexpr std::uint64_t kDefaultDraftTokens = 3;  // --speculative-num-steps by default
// --max-running-requests by default (arg_groups/deepseek_v4_hook.py; server_args.py,
// _handle_speculative_decoding).
constexpr std::uint64_t kRunningCompressed = 256;
constexpr std::uint64_t kRunningWithDrafts = 48;

bool sglang_on_blackwell(const Request& request) {
  return request.card.capability() / 10 == 10;
}

bool sglang_runs_library_class(const EngineInput& input) {
  return sglang_library_class(input).value_or(false);
}

bool sglang_prefills_whole(const EngineInput& input) {
  return !input.model.is_gguf && sglang_class(input.model).whole_prefills;
}

bool sglang_hybrid_windows(const EngineInput& input) {
  const SglangClass its = sglang_class(input.model);
  if (input.request.extras.one_pool || its.no_window_pool) return false;
  if (its.is_gpt_oss && sglang_on_blackwell(input.request) && !sglang_rules(input.request).gpt_oss_pools_on_blackwell)
    return false;
  return its.window_pool;
}

// The page size of the GPU's default attention backend. TRT-LLM backends have pages of 64 tokens.
std::uint64_t sglang_page(const EngineInput& input, bool sparse) {
  const SglangClass its = sglang_class(input.model);
  if (its.compressed) return 256;
  if (sparse) return 64;
  if (const auto page = sglang_backend_page(input)) return *page;
  const bool is_hopper = input.request.card.capability() / 10 == 9;
  if (its.pages_of_128 && (is_hopper || sglang_on_blackwell(input.request))) return 128;
  if (!sglang_on_blackwell(input.request)) return 1;
  if (!has_states(input) || its.states_in_pages) return 64;
  return its.nemotron_h_pages && sglang_rules(input.request).nemotron_h_pages ? 64 : 1;
}

CacheTypes sglang_types(const ModelShape& model, const Request& request) {
  CacheTypes types = resolve_default_types(model, request);
  if (types.model == Dtype::kFloat32) types.model = Dtype::kBfloat16;  // convolution states
  types.state = request.state_dtype.value_or(model.declared_state_dtype.value_or(Dtype::kFloat32));
  const SglangClass its = sglang_class(model);
  if (!request.cache_type_k) {
    if (its.compressed || (its.sparse_latents && sglang_on_blackwell(request)))
      types.key = Dtype::kFp8E4m3;
    else if (its.sparse_latents && request.card.capability() > 0)
      types.key = types.value = types.model;
    // ModelOptFp8Config reads kv_cache_quant_algo, and kv_cache_scheme only if that is an object.
    // CompressedTensorsConfig reads neither.
    else if ((model.tags_kv_by_word && model.quantization.dialect.starts_with("modelopt")) ||
             model.quantization.dialect == "compressed-tensors")
      types.key = types.value = types.model;
  }
  // FlashMLA's layout includes the scales.
  const bool bare = sglang_on_blackwell(request) && sglang_rules(request).bare_latents_on_blackwell;
  const bool scaled = its.compressed || (its.sparse_latents && !bare);
  if (scaled && types.key == Dtype::kFp8E4m3) types.key = types.value = Dtype::kFp8DsMla;
  refuse_types(types, "sglang",
               {Dtype::kBfloat16, Dtype::kFloat16, Dtype::kFloat32, Dtype::kFp8E4m3, Dtype::kFp8E5m2, Dtype::kNvfp4,
                Dtype::kMxfp8, Dtype::kFp8DsMla});
  return types;
}

bool sglang_has_radix_cache(const EngineInput& input) {
  if (input.request.extras.disable_radix_cache) return false;
  return !sglang_class(input.model).is_kimi_linear || sglang_rules(input.request).kimi_linear_has_tree;
}

// _calculate_mamba_ratio: the state slots of a running request.
std::uint64_t sglang_slots(const EngineInput& input) {
  const ExtrasRequest& extras = input.request.extras;
  if (!sglang_has_radix_cache(input)) return 1;
  const bool is_auto = extras.mamba_strategy.empty() || extras.mamba_strategy == "auto";
  const bool buffers = sglang_rules(input.request).buffers_states && !sglang_class(input.model).no_state_chunks;
  if (extras.mamba_strategy == "extra_buffer" || (is_auto && buffers)) return kSlotsPerRequest + 2;
  if (is_auto || extras.mamba_strategy == "no_buffer") return kSlotsPerRequest;
  if (extras.mamba_strategy == "extra_buffer_lazy") return kSlotsPerRequest + 1;
  refuse("--mamba-scheduler-strategy: SGLang has no strategy \"" + one_line(extras.mamba_strategy, 40) + "\"",
         "use auto, no_buffer, extra_buffer or extra_buffer_lazy");
}

std::uint64_t sglang_running(const EngineInput& input) {
  const Request& request = input.request;
  const std::uint64_t otherwise = sglang_class(input.model).compressed ? kRunningCompressed
                                  : input.draft_method                 ? kRunningWithDrafts
                                                                       : 0;
  const std::uint64_t all = request.max_num_seqs.value_or(otherwise);
  // The data parallel ranks of attention divide the requests.
  return request.parallel.dp_attention && all > 0 ? std::max<std::uint64_t>(all / request.parallel.data, 1) : all;
}

// Tokens that are verified in one step, including the last accepted one.
std::uint64_t sglang_verified(const EngineInput& input) {
  if (!input.draft_method) return 0;
  return input.request.extras.verify_tokens.value_or(step_draft_tokens(input, kDefaultDraftTokens) + 1);
}

std::uint64_t sglang_attention_ranks(const Request& request) {
  if (!request.parallel.dp_attention) return request.parallel.tensor;
  if (request.parallel.tensor % request.parallel.data != 0)
    refuse("--enable-dp-attention: --tensor-parallel-size " + std::to_string(request.parallel.tensor) +
               " is not a multiple of --data-parallel-size " + std::to_string(request.parallel.data),
           "with DP attention the data parallel ranks are among the tensor parallel ones");
  return request.parallel.tensor / request.parallel.data;
}

TensorCuts sglang_cuts(const Request& request) {
  const std::uint64_t attention = sglang_attention_ranks(request);
  return {attention, request.parallel.dp_attention && !sglang_rules(request).cuts_embedding ? 1 : attention};
}

// srt/lora/mem_pool.py and server_args.py.
LoraSlots sglang_lora_slots(const LoraQuestion& asked, const Request& request, std::vector<Note>&) {
  constexpr std::uint64_t kSlots = 8;
  const ExtrasRequest& extras = request.extras;
  LoraSlots out;
  out.source = "SGLang srt/lora/mem_pool.py";
  out.slots = extras.max_loras.value_or(kSlots);
  out.rank = extras.max_lora_rank.value_or(asked.largest_rank);
  if (out.rank == 0)
    refuse("SGLang takes the rank of its LoRA slots from the adapters, and none is named",
           "use --max-lora-rank N, or --lora FILE");
  if (asked.largest_rank > out.rank)
    refuse("the adapter's rank " + std::to_string(asked.largest_rank) + " is more than --max-lora-rank " +
               std::to_string(out.rank),
           "use --max-lora-rank " + std::to_string(asked.largest_rank));
  out.fuses = true;
  out.targets = asked.targets;
  out.head_is_cut = true;
  return out;
}

}  // namespace kvplan
