#include "engines/transformers/stored.h"

#include <algorithm>

#include "engines/transformers/rules.h"

namespace kvplan {

constexpr std::uint64_t kMimoWindow = 128;  // as in files; the class's own default is one larger
constexpr std::string_view kOffset = "seqlen_offset";

static bool is_scaled(const Term& term) {
  return term.storage == Storage::kFp8Scaled;
}

// Tokens that precede each prompt: prompt_length of configuration_cpmant.py, which its only checkpoint also has.
constexpr std::uint64_t kCpmantPrompt = 32;

static CacheTerms with_prompt(const CacheTerms& terms) {
  CacheTerms out = terms;
  for (Term term : terms) {
    term.growth = Growth::kSequence;
    term.shape.vectors *= kCpmantPrompt;
    out.push_back(term);
  }
  return out;
}

// modeling_deepseek_v4.py. A layer that only has a window stores keys and values as two tensors, other layers as one.
// The compressor keeps the tokens of an unfinished window and, if windows overlap, the first half of the last whole
// one.
static CacheTerms compressed_terms(const CacheTerms& terms, bool float32_gates) {
  std::uint64_t ratio = 1;
  for (const Term& term : terms) ratio = std::max(ratio, term.stride);
  CacheTerms out;
  for (Term term : terms) {
    if (ratio == 1) term.shape.vectors *= 2;
    if (term.role != Role::kState) {
      out.push_back(term);
      continue;
    }
    const bool overlaps = term.limit.tokens > Tokens(ratio);
    term.storage = Storage::kModel;
    term.name = kRest;
    term.limit.tokens = Tokens(ratio);
    out.push_back(term);
    if (!overlaps) continue;
    term.name = "compressor overlap";
    term.stride = ratio;
    term.shape.vectors = float32_gates ? ratio : 2 * ratio;
    out.push_back(term);
    if (!float32_gates) continue;
    term.name = "compressor gates";
    term.storage = Storage::kFloat32;
    out.push_back(term);
  }
  return out;
}

// Index keys are pooled when they are read. So each token stores its vectors in the unfinished group, and its gate has
// one more number that says whether the token counts (modeling_glm5_next.py, modeling_qwen4_exp.py).
static void unpool_index_keys(CacheTerms& terms) {
  const auto open = std::find_if(terms.begin(), terms.end(), [](const Term& term) {
    return term.role == Role::kState && term.growth == Growth::kToken;
  });
  if (open == terms.end()) return;
  const std::uint64_t vectors = open->shape.vectors;
  const std::uint64_t width = checked_mul(vectors, open->shape.width, "a packed index key");
  terms.erase(open);
  for (Term& term : terms) {
    if (term.role != Role::kIndex) continue;
    term.stride = 1;
    term.storage = Storage::kModel;
    term.shape.width = width + (vectors > 1 ? 1 : 0);
  }
}

static CacheTerms stored_terms(const EngineInput& input, const CacheTerms& terms) {
  const TransformersClass its = transformers_class(input.model);
  if (its.no_cache) return {};
  if (its.learned_prompt) return with_prompt(terms);
  if (its.compressed) return compressed_terms(terms, transformers_rules(input.request).float32_gates);
  const bool widens = its.widens_windows && transformers_rules(input.request).widens_mimo_windows;
  CacheTerms out = terms;
  unpool_index_keys(out);
  for (Term& term : out) {
    if (is_scaled(term)) term.storage = its.float32_index_keys ? Storage::kFloat32 : Storage::kModel;
    if (its.whole_windows) term.limit = {};
    if (its.repeats_heads && term.shape.units > 1) term.shape.units = input.model.num_heads;
    if (its.float32_convolutions && term.shape.columns > 0) term.storage = Storage::kFloat32;
    if (its.copied_states) term.storage = Storage::kModel;
    if (widens && term.limit.tokens == Tokens(kMimoWindow)) term.limit.tokens = Tokens(kMimoWindow + 1);
  }
  return out;
}

bool expands_latents(const EngineInput& input) {
  const TransformersRules rules = transformers_rules(input.request);
  return any_term(input, is_scaled) ? rules.expands_sparse_latents : rules.expands_latents;
}

std::vector<LayerCache> stored_caches(const EngineInput& input, std::vector<LayerCache> caches) {
  const bool expands = expands_latents(input);
  SharedTerms compact, form, stored;
  for (LayerCache& cache : caches) {
    const SharedTerms source = expands ? cache.expanded : cache.compact;
    if (!cache.compact.is(compact) || !source.is(form)) {
      compact = cache.compact;
      form = source;
      stored = stored_terms(input, source);
    }
    cache.expanded = stored;
  }
  if (transformers_class(input.model).copied_states && !caches.empty()) {
    Term offset{.name = kOffset, .role = Role::kState, .growth = Growth::kSequence, .storage = Storage::kFloat32};
    offset.shape.width = 2;  // one int64
    caches.front().expanded.own().push_back(offset);
  }
  return caches;
}

std::string_view stored_reason(const EngineInput& input, const LayerCache& cache, const Term& term) {
  const TransformersClass its = transformers_class(input.model);
  if (its.learned_prompt) return term.growth == Growth::kSequence ? "a learned prompt before every text" : "";
  if (its.repeats_heads && term.shape.units > 1) return "K and V of every query head";
  if (its.whole_windows) return "sliding windows cache every token";
  if (its.copied_states) return term.name == kOffset ? "the length" : "states in the model's type";
  if (its.compressed) {
    if (term.role == Role::kState) return "the compressor keeps what fills no window yet, in the model's type";
    return term.shape.vectors > 1 ? "keys and values apart" : "";
  }
  if (its.widens_windows)
    return term.limit.tokens == Tokens(kMimoWindow + 1) ? "a window of sliding_window_size and one token" : "";
  if (term.shape.columns > 0) {
    if (its.float32_convolutions) return "convolution states keep every kernel column, in float32";
    return its.past_columns ? "" : "convolution states keep every kernel column";
  }
  if (term.role == Role::kIndex && any_term(cache.compact, is_scaled))
    return term.storage == Storage::kFloat32 ? "index keys in float32" : "index keys in the model's type";
  const bool needed = any_term(cache.compact, [&](const Term& one) { return one == term; });
  return !needed && expands_latents(input) ? "K and V expanded" : "";
}

}  // namespace kvplan
