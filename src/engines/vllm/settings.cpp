#include "engines/vllm/vllm.h"

#include <algorithm>

#include "engines/drafts.h"
#include "engines/estimates.h"
#include "engines/vllm/class_table.h"

namespace kvplan {

// Gemma 4's largest item is a video: 32 frames of at most 70 tokens, each with a begin token, an end token and a
// timestamp (gemma4_mm.py).
constexpr std::uint64_t kGemma4Video = 32 * (70 + 2 + 6);

// Whether EngineArgs treats the GPU as large: at least 70 GiB, except the A100. Until 0.33 GB10 is not large, because
// NVML did not report its memory. If no GPU is named, a large one is assumed.
static bool is_large(const CardRequest& card) {
  constexpr std::uint64_t kLarge = 70 * kGiB;
  constexpr unsigned kGb10 = 121;
  if (!card.memory) return true;
  if (card.capability() == kGb10) return false;
  const bool is_a100 = card.gpu && card.gpu->name.find("a100") != std::string::npos;  // vLLM also checks the name
  return !is_a100 && card.memory->count() >= kLarge;
}

// An encoder of texts. Where only a request is known there are no layers.
static bool reads_at_once(const EngineInput& input) {
  return !input.caches.empty() && is_encoder(input);
}

bool vllm_exchanges_experts(const Request& request) {
  return request.parallel.expert && request.parallel.data > 1;
}

bool vllm_batches_experts(const Request& request) {
  return vllm_exchanges_experts(request) && request.vllm.all2all_backend == "deepep_low_latency";
}

std::uint64_t vllm_batched_tokens(const EngineInput& input, const VllmRules& rules) {
  constexpr std::uint64_t kLargest = 160 * kGiB, kBatchedDp = 256;
  const Request& request = input.request;
  if (request.max_num_batched_tokens) return request.max_num_batched_tokens->count();
  if (rules.batched_dp_default && vllm_batches_experts(request)) return kBatchedDp;
  const bool is_largest = request.card.memory && request.card.memory->count() >= kLargest;
  const std::uint64_t usual = !is_large(request.card) ? 2048 : is_largest && rules.largest_batches ? 16384 : 8192;
  // No chunks for an encoder (ModelConfig.is_chunked_prefill_supported).
  if (reads_at_once(input))
    return std::max(usual, input.request.max_model_len.value_or(input.model.max_model_len).count());
  const bool whole = input.model.vision && input.model.vision->both_ways && rules.whole_items &&
                     !request.extras.language_model_only && vllm_class(input.model).takes_videos_whole;
  return whole ? std::max(usual, kGemma4Video) : usual;
}

std::uint64_t vllm_max_num_seqs(const Request& request, const VllmRules& rules) {
  if (request.max_num_seqs) return *request.max_num_seqs;
  const std::uint64_t usual = is_large(request.card) ? rules.max_num_seqs : rules.small_max_num_seqs;
  return request.max_num_batched_tokens ? std::min(usual, request.max_num_batched_tokens->count()) : usual;
}

bool vllm_caches_prefixes(const EngineInput& input, bool has_states, const VllmRules& rules) {
  const Request& request = input.request;
  if (request.prefix_caching) return *request.prefix_caching;
  // Encoders and encoder-decoders cache none (ModelConfig.is_prefix_caching_supported).
  if (!has_states) return rules.v1_engine && !reads_at_once(input) && !vllm_has_cross_attention(input);
  return (rules.caches_states && !vllm_class(input.model).is_attention_free) ||
         request.vllm.mamba_cache_mode.value_or("none") != "none";
}

std::uint64_t vllm_speculative_tokens(const EngineInput& input) {
  constexpr std::uint64_t kDefaultDraftTokens = 3;  // vLLM requires a number; this is the one in its examples
  if (input.request.num_speculative_tokens > 0) return input.request.num_speculative_tokens;
  if (input.request.mtp) return input.model.num_nextn_layers > 0 ? 1 : 0;
  return step_draft_tokens(input, kDefaultDraftTokens);
}

bool vllm_refuses(const ExtrasRequest& extras, std::string_view kind) {
  return extras.language_model_only ||
         std::any_of(extras.mm_limits.begin(), extras.mm_limits.end(),
                     [&](const auto& limit) { return limit.first == kind && limit.second == 0; });
}

bool vllm_encodes_no_images(const ExtrasRequest& extras, const VllmClass& its) {
  return vllm_refuses(extras, "image") && (its.takes_no_videos || vllm_refuses(extras, "video"));
}

bool vllm_leaves_towers(const Request& request, Arch arch, bool has_audio) {
  return vllm_rules(request).leaves_towers && vllm_encodes_no_images(request.extras, vllm_class(arch)) &&
         (!has_audio || vllm_refuses(request.extras, "audio"));
}

EngineSettings vllm_settings(const EngineInput& input, const Load&) {
  const Request& request = input.request;
  const VllmRules rules = vllm_rules(request);
  const bool has_states = any_term(input, [](const Term& term) { return term.growth == Growth::kSequence; });
  const VllmGraphs captures = vllm_captured_graphs(input, rules);
  EngineSettings out;
  out.max_num_batched_tokens = vllm_batched_tokens(input, rules);
  out.max_num_seqs = vllm_max_num_seqs(request, rules);
  out.memory_fraction = request.memory_utilization.value_or(rules.utilization);
  out.cuda_graph_sizes = captures.sizes;
  out.cuda_graphs = captures.count;
  out.prefix_caching = vllm_caches_prefixes(input, has_states, rules);
  return out;
}

}  // namespace kvplan
