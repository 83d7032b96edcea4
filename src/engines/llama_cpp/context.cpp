// How a context is sized, and how that depends on the release.
#include <algorithm>

#include "engines/llama_cpp/cache.h"
#include "kvplan/numbers.h"

namespace kvplan {

namespace {

constexpr std::string_view kContextCells = "the cells of a cache";
constexpr std::uint64_t kDefaultBatch = 2048;
constexpr std::uint64_t kFirstFixedPad = 6980;  // the first build that pads to 256 with and without flash attention

}  // namespace

std::optional<std::uint64_t> llama_build(const Request& request) {
  const std::string& text = request.engine_version;
  if (text.size() < 2 || text.front() != 'b') return std::nullopt;
  return whole_number(std::string_view(text).substr(1)).value_or(0);
}

LlamaContext llama_context(const EngineInput& input, const Load& load, BatchRule batch_rule) {
  const Request& request = input.request;
  LlamaContext out;
  out.num_seqs = load.num_seqs;
  out.unified = load.pooled || load.num_seqs == 1;
  out.unpadded = load.max_model_len.count();
  const auto build = llama_build(request);
  if (build && *build < kFirstFixedPad && request.llama_cpp.flash_attention == FlashAttention::kOff) out.pad = 32;
  out.n_ctx_seq = round_up(out.unpadded, out.pad, kContextCells);
  out.streams = out.unified ? 1 : load.num_seqs;
  // n_batch is limited by what was asked for, before padding.
  const std::uint64_t asked = checked_mul(out.unpadded, out.streams, kContextCells);
  out.n_batch = std::min(request.llama_cpp.n_batch.value_or(kDefaultBatch), asked);
  const std::uint64_t n_ubatch = request.llama_cpp.n_ubatch.value_or(kLlamaMicroBatch);
  out.n_ubatch = n_ubatch == 0 ? out.n_batch : std::min(out.n_batch, n_ubatch);
  if (batch_rule != nullptr)
    out.n_batch = out.n_ubatch = std::min(asked, batch_rule(checked_mul(out.unpadded, load.num_seqs, kContextCells)));
  return out;
}

std::uint64_t llama_output_rows(const EngineInput& input, const LlamaContext& context) {
  const Request& request = input.request;
  // Older servers do not limit the rows to those of their slots.
  if (!llama_is_0_5(request)) return context.n_ubatch;
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

bool llama_is_0_5(const Request& request) {
  constexpr std::uint64_t kRelease05 = 11000;
  return llama_build(request).value_or(kRelease05) >= kRelease05;
}

bool llama_is_0_6(const Request& request) {
  constexpr std::uint64_t kRelease06 = 11434;
  if (const auto build = llama_build(request)) return *build >= kRelease06;
  return engine_version(llama_cpp_engine(), request) >= 6;
}

}  // namespace kvplan
