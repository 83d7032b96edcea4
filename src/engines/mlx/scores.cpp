// If Metal has no fused attention, a step of a prompt also needs memory for the scores of one layer.
//
// Source: mlx 0.26 to 0.32.2, mlx/backend/metal/scaled_dot_product_attention.cpp (use_fallback) and mlx/fast.cpp;
// mlx-lm, models/base.py and the modules with latent attention. Run on a CPU, which never fuses: the fallback masks and
// normalizes its scores in place, so one copy is alive.
// - More than 8 queries are fused where keys and values are equally wide: 64, 80 or 128, and 72 or 96 since mlx 0.32.1.
//   Since 0.32.2 an M5 also fuses 256, for 1,024 queries and more.
// - A quantized cache is never fused. Two copies of its scores were measured (unslothai/unsloth-zoo#1151).
// - Latent attention stores the scores of the rope part with and without the mask, and expands one layer's keys and
//   values (1.25 MB a token of DeepSeek-V3 in ml-explore/mlx-lm#839; 2 * 2048 * 128 heads * 2 B are 1.05).
// - Mamba-2's scan has matrices of 256 x 256 per head. A prompt of 2,048 tokens held 15 for each 256 tokens in
//   ml-explore/mlx-lm#525, and before it 20 of 2,048 x 2,048. A CPU, which waits for each, has 3.
#include <algorithm>

#include "engines/estimates.h"
#include "engines/mlx/modules.h"
#include "engines/release.h"
#include "kvplan/gpus.h"

namespace kvplan {

namespace {

struct MlxRules {
  bool fuses_96 = false;
  bool fuses_256 = false;
};

constexpr Rule<MlxRules> kMlxRules[] = {
    {.sets = &MlxRules::fuses_96,
     .since = {0, 32},
     .what = "a prompt's attention is fused for heads of 72 and 96 too",
     .evidence = "mlx#4330, #3943 (0.32.1); mlx-lm 0.32.2 requires mlx 0.32.2"},
    {.sets = &MlxRules::fuses_256,
     .since = {0, 32},
     .what = "an M5 fuses heads of 256 in steps of 1,024 tokens and more",
     .evidence = "mlx#3842 (0.32.2)"},
};

constexpr std::uint64_t kFusedStep = 1024;

// The widths of one layer's attention. Latent attention is computed with expanded keys, apart from their rope part.
struct Heads {
  std::uint64_t key = 0, value = 0, units = 0;
  Limit limit;
  bool latent = false, quantized = false;
};

Heads heads_of(const LayerCache& cache, const EngineInput& input, const MlxModule& module) {
  Heads out;
  std::uint64_t rope = 0;
  for (const Term& term : cache.compact) {
    if (term.role == Role::kState || term.role == Role::kIndex || term.growth != Growth::kToken) continue;
    if (term.part == Part::kLatent) out.latent = true;
    if (term.part == Part::kRope) rope = term.shape.width;
    out.limit = term.limit;
    const Dtype type = term.role == Role::kValue ? input.types.value : input.types.key;
    if (term.storage == Storage::kKv && mlx_bits(type) > 0 && term.limit.kind != LimitKind::kChunk)
      out.quantized = !module.is(kListedCaches);
  }
  for (const Term& term : out.latent ? cache.expanded : cache.compact) {
    if (term.growth != Growth::kToken) continue;
    if (term.role == Role::kKey) out.key = term.shape.width, out.units = term.shape.units;
    if (term.role == Role::kValue) out.value = term.shape.width;
  }
  if (out.value == 0) out.value = out.key;  // one tensor for both
  out.key -= std::min(out.key, out.latent ? rope : 0);
  return out;
}

bool is_fused(const Heads& heads, const MlxRules& rules) {
  if (heads.quantized || heads.key != heads.value) return false;
  const bool newer = heads.key == 72 || heads.key == 96;
  return heads.key == 64 || heads.key == 80 || heads.key == 128 || (newer && rules.fuses_96);
}

}  // namespace

std::vector<RuleRow> mlx_rule_rows() {
  return rule_rows(kMlxRules);
}

std::vector<LedgerLine> mlx_scores(const EngineInput& input, const std::vector<LayerCache>& caches,
                                   const MlxModule& module, const MlxStep& step) {
  const MlxRules rules = resolve_rules(kMlxRules, release_of(input.request), input.request.turned_rule);
  const Gpu* const card = input.request.card.gpu;
  const bool has_m5 = card != nullptr && card->name.starts_with("m5");
  std::uint64_t most = 0, rows = 0, context = 0, copies = 0;
  Bytes expanded;
  for (const LayerCache& cache : caches) {
    const Heads heads = heads_of(cache, input, module);
    if (heads.key == 0) continue;
    const bool plain = module.is(kPlainScores) || input.request.attention == AttentionKernel::kNaive;
    std::uint64_t held = heads.latent ? 2 : 0;
    if (heads.quantized) held += 2;
    if (!heads.quantized && !heads.latent && (plain || !is_fused(heads, rules))) ++held;
    std::uint64_t queries = step.tokens;
    if (has_m5 && rules.fuses_256 && heads.key == 256 && heads.value == 256 && !plain && !heads.quantized)
      queries = std::min(queries, kFusedStep - 1);  // the tokens that remain of a prompt
    std::uint64_t keys = step.context;
    if (heads.limit.kind != LimitKind::kNone && step.rotates)
      keys = std::min(keys, checked_add(heads.limit.total().count(), queries, "the scores"));
    const std::uint64_t all = checked_mul(checked_mul(queries, keys, "the scores"), held, "the scores");
    if (all > most) most = all, rows = queries, context = keys, copies = held;
    if (heads.latent)
      expanded = std::max(expanded, Bytes(keys) * step.prompts * heads.units * (heads.key + heads.value) * 2);
  }
  std::vector<LedgerLine> out;
  if (most == 0) return out;
  const std::uint64_t size = input.types.model == Dtype::kFloat32 ? 4 : 2;
  const std::uint64_t heads = input.model.num_heads;
  const std::uint64_t queries = checked_mul(rows, step.prompts, "the scores");
  out.push_back(of_kind(
      LineId::kScores,
      estimate_line(Section::kActivation, "attention scores of a prefill step",
                    Bytes(checked_mul(queries, context, "the scores")) * heads * copies * size,
                    copies > 1 ? Spread{0.5, 1.1} : Spread{0.9, 1.1},
                    {"{tokens} tokens of a step * {context} of context * {num_heads} heads * {bytes} B",
                     {{"tokens", queries}, {"context", context}, {"num_heads", heads}, {"bytes", copies * size}}},
                    "mlx scaled_dot_product_attention.cpp: no fused kernel for this attention")));
  if (expanded > Bytes(0))
    out.push_back(estimate_line(Section::kActivation, "keys and values of one layer, expanded", expanded, {0.5, 2},
                                {"{context} tokens of every head", {{"context", context}}},
                                "mlx-lm: embed_q and unembed_out of the latent"));
  return out;
}

}  // namespace kvplan
