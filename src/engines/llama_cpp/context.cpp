// How llama.cpp sizes a context.
#include <algorithm>

#include "engines/estimates.h"
#include "engines/llama_cpp/cache.h"
#include "engines/llama_cpp/rules.h"

namespace kvplan {

constexpr std::string_view kContextCells = "the cells of a cache";
constexpr std::uint64_t kDefaultBatch = 2048;

LlamaContext llama_context(const EngineInput& input, const Load& load, BatchRule batch_rule) {
  const Request& request = input.request;
  LlamaContext out;
  out.num_seqs = load.num_seqs;
  out.unified = load.pooled || load.num_seqs == 1;
  out.unpadded = load.max_model_len.count();
  if (llama_flash_attention_off(input) && !llama_rules(request).fixed_padding) out.pad = 32;
  out.n_ctx_seq = round_up(out.unpadded, out.pad, kContextCells);
  out.streams = out.unified ? 1 : load.num_seqs;
  const auto has_cells = [](const Term& term) { return term.growth == Growth::kToken; };
  if (!llama_rules(request).divides_hybrid_cells && has_states(input) && any_term(input, has_cells))
    out.n_ctx_seq = checked_mul(out.n_ctx_seq, out.streams, kContextCells);
  // llama.cpp limits n_batch to the requested context, before it pads the context.
  const std::uint64_t asked = checked_mul(out.unpadded, out.streams, kContextCells);
  out.n_batch = std::min(request.llama_cpp.n_batch.value_or(kDefaultBatch), asked);
  const std::uint64_t n_ubatch = request.llama_cpp.n_ubatch.value_or(kLlamaMicroBatch);
  out.n_ubatch = n_ubatch == 0 ? out.n_batch : std::min(out.n_batch, n_ubatch);
  if (batch_rule != nullptr)
    out.n_batch = out.n_ubatch = std::min(asked, batch_rule(checked_mul(out.unpadded, load.num_seqs, kContextCells)));
  return out;
}

// Source: tools/server/server-context.cpp, which takes them from common_params_speculative.
CacheTypes llama_mtp_types(const EngineInput& input) {
  CacheTypes out = input.types;
  out.key = input.request.extras.draft_cache_type_k.value_or(Dtype::kFloat16);
  out.value = input.request.extras.draft_cache_type_v.value_or(Dtype::kFloat16);
  return out;
}

std::uint64_t llama_output_rows(const EngineInput& input, const LlamaContext& context) {
  const Request& request = input.request;
  if (!llama_rules(request).limits_outputs) return round_up(context.n_ubatch, context.streams, "rows of logits");
  if (request.llama_cpp.all_logits) return context.n_ubatch;
  std::uint64_t rows = context.num_seqs;
  if (request.mtp || input.draft_method)
    rows = checked_mul(rows, 1 + (request.num_speculative_tokens > 0 ? request.num_speculative_tokens : kDefaultDraft),
                       "rows of logits");
  return std::min(rows, context.n_ubatch);
}

bool llama_without_gpu(const Request& request) {
  const CardRequest& card = request.card;
  return card.host_memory && !card.gpu && !card.memory && request.llama_cpp.gpu_layers.value_or(0) == 0;
}

}  // namespace kvplan
