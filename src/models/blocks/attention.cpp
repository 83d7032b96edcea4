// Projections of attention: grouped heads, latents with and without an indexer, compressed caches.
#include <algorithm>

#include "models/blocks/inventory.h"

namespace kvplan {

namespace {

constexpr Component kAttn = Component::kAttention;

void write_qk_norm(Inventory& out, const Heads& heads, std::string_view block, bool has_own_kv) {
  const Traits& traits = out.traits;
  if (traits.qk_norm == QkNorm::kNone || !out.on(traits.qk_norm_key)) return;
  const bool wide = traits.qk_norm == QkNorm::kWide || traits.qk_norm == QkNorm::kEveryHead;
  const std::uint64_t bias = traits.qk_norm == QkNorm::kHeadBias ? 2 : 1;
  const auto norm = [&](std::string_view module, std::uint64_t count) {
    TensorGroup& group =
        out.plain(Component::kNorms, std::string(block) + std::string(module), times(wide ? count : 1, heads.head_dim));
    group.copies = group.used = bias;
    if (wide) {
      group.split = Split::kRows;
      group.units = count;
    }
  };
  norm("q_norm", heads.num_heads);
  if (has_own_kv) norm("k_norm", heads.num_kv_heads);
}

}  // namespace

void write_attention(Inventory& out, const Heads& heads, bool has_own_kv, std::string_view block) {
  const Traits& traits = out.traits;
  const std::string at(block);
  const bool fused = traits.fuses_qkv;
  const bool bias = out.on(traits.qkv_bias);
  const bool doubled = traits.gate == Gate::kDoubledQuery && out.on(traits.gate_key);
  const std::uint64_t queries = times(heads.num_heads, heads.head_dim);
  const std::uint64_t keys = times(heads.num_kv_heads, heads.head_dim);
  const std::uint64_t values = times(heads.num_kv_heads, heads.v_head_dim);
  const std::uint64_t outputs = times(heads.num_heads, heads.v_head_dim);
  const auto named = [&](const char* own) { return at + (fused ? "qkv_proj" : own); };
  out.linear(kAttn, named("q_proj"), doubled ? times(queries, 2) : queries, out.hidden, Split::kRows, heads.num_heads,
             bias);
  // A layer that reads another's cache has no keys and values to project.
  if (has_own_kv) {
    out.linear(kAttn, named("k_proj"), keys, out.hidden, Split::kRows, heads.num_kv_heads, bias);
    // Gemma 4's full layers cache the key twice: one projection, which vLLM's fused one has room for twice.
    const bool shares_value =
        out.on(traits.shares_values) && heads.head_dim != out.text.count_or("head_dim", heads.head_dim);
    out.linear(kAttn, named("v_proj"), values, out.hidden, Split::kRows, heads.num_kv_heads, bias && !shares_value)
        .is_derived = shares_value;
  }
  out.linear(kAttn, at + "o_proj", out.hidden, outputs, Split::kColumns, heads.num_heads, out.on(traits.o_bias));
  if (traits.gate == Gate::kWide && out.on(traits.gate_key))
    out.linear(kAttn, at + "gate_proj", outputs, out.hidden, Split::kRows, heads.num_heads);
  if (traits.gate == Gate::kHead && out.on(traits.gate_key))
    out.linear(kAttn, at + "g_proj", heads.num_heads, out.hidden, Split::kRows, heads.num_heads);
  if (traits.has_sinks) out.plain(kAttn, at + "sinks", heads.num_heads, Split::kRows, heads.num_heads);
  write_qk_norm(out, heads, block, has_own_kv);
}

void write_latent(Inventory& out, const Latent& latent) {
  const std::uint64_t h = out.hidden;
  const std::uint64_t n = latent.num_heads;
  const std::uint64_t query = times(n, latent.qk_nope_head_dim + latent.qk_rope_head_dim);
  const bool bias = out.text.flag("attention_bias", false);
  if (latent.q_lora_rank > 0) {
    out.linear(kAttn, "self_attn.q_a_proj", latent.q_lora_rank, h, Split::kNone, 0, bias);
    out.norms("self_attn.q_a_layernorm", latent.q_lora_rank);
    if (out.traits.gate == Gate::kLowRank)
      out.linear(kAttn, "self_attn.q_gate_proj", checked_add(query, times(n, latent.v_head_dim), "a projection"),
                 times(2, latent.q_lora_rank), Split::kRows, n);
    else
      out.linear(kAttn, "self_attn.q_b_proj", query, latent.q_lora_rank, Split::kRows, n);
  } else {
    out.linear(kAttn, "self_attn.q_proj", query, h, Split::kRows, n);
  }
  out.linear(kAttn, "self_attn.kv_a_proj_with_mqa", latent.kv_lora_rank + latent.qk_rope_head_dim, h, Split::kNone, 0,
             bias);
  out.norms("self_attn.kv_a_layernorm", latent.kv_lora_rank);
  out.linear(kAttn, "self_attn.kv_b_proj", times(n, latent.qk_nope_head_dim + latent.v_head_dim), latent.kv_lora_rank,
             Split::kRows, n);
  out.linear(kAttn, "self_attn.o_proj", h, times(n, latent.v_head_dim), Split::kColumns, n, bias);
  const Traits& traits = out.traits;
  if (traits.gate == Gate::kHead) out.linear(kAttn, "self_attn.g_proj", n, h, Split::kRows, n);
  if (out.text.flag("mla_use_output_gate", false))
    out.linear(kAttn, "self_attn.g_proj", times(n, latent.v_head_dim), h, Split::kRows, n);
  if (is_one_of(out.family.is.id, {Arch::kKimiLinear, Arch::kKimiK3})) {
    TensorGroup& one = out.plain(kAttn, "self_attn.one_scale", 1);
    one.is_derived = one.is_float32 = true;
  }
  if (traits.gate == Gate::kWide)
    out.linear(kAttn, "self_attn.gate_proj", times(n, latent.v_head_dim), h, Split::kRows, n);
}

namespace {

void write_indexer(Inventory& out, const SparseMla& sparse) {
  if (sparse.index_head_dim == 0) return;
  const std::uint64_t query_rank = sparse.latent.q_lora_rank > 0 ? sparse.latent.q_lora_rank : out.hidden;
  out.linear(kAttn, "self_attn.indexer.wq_b", times(sparse.index_n_heads, sparse.index_head_dim), query_rank);
  // vLLM fuses the keys and the weights of heads, in 16 bit (models/deepseek_v2.py wk_weights_proj).
  out.linear(kAttn, "self_attn.indexer.wk", sparse.index_head_dim, out.hidden).kept = Kept::kPlain;
  out.plain(Component::kNorms, "self_attn.indexer.k_norm", times(2, sparse.index_head_dim)).kept = Kept::kFloat32;
  out.linear(kAttn, "self_attn.indexer.weights_proj", sparse.index_n_heads, out.hidden).kept = Kept::kPlain;
}

void write_sparse_heads(Inventory& out, const SparseGqa& sparse) {
  write_attention(out, sparse.heads, true);
  if (sparse.index_head_dim == 0) return;
  out.linear(kAttn, "self_attn.index_q_proj", times(sparse.index_n_heads, sparse.index_head_dim), out.hidden);
  out.linear(kAttn, "self_attn.index_k_proj", sparse.index_head_dim, out.hidden);
  out.norms("self_attn.index_q_norm", sparse.index_head_dim);
  out.norms("self_attn.index_k_norm", sparse.index_head_dim);
}

void write_short_conv(Inventory& out, const ShortConv& conv) {
  const std::uint64_t h = out.hidden;
  const bool bias = out.text.flag("conv_bias", false);
  out.linear(Component::kStateMixer, "conv.in_proj", times(3, h), h, Split::kRows, 0, bias);
  out.conv(Component::kStateMixer, "conv.conv", h, conv.conv_kernel, Split::kRows);
  if (bias) out.plain(Component::kStateMixer, "conv.conv.bias", h, Split::kRows);
  out.linear(Component::kStateMixer, "conv.out_proj", h, h, Split::kColumns, 0, bias);
}

struct Writer {
  Inventory& inventory;

  void operator()(const FullAttention& kind) const { write_attention(inventory, kind.heads, true); }
  void operator()(const SlidingWindow& kind) const { write_attention(inventory, kind.heads, true); }
  void operator()(const Chunked& kind) const { write_attention(inventory, kind.heads, true); }
  void operator()(const AttentionSink& kind) const { write_attention(inventory, kind.heads, true); }
  void operator()(const Mla& kind) const { write_latent(inventory, kind.latent); }
  void operator()(const SparseMla& kind) const {
    write_latent(inventory, kind.latent);
    write_indexer(inventory, kind);
  }
  void operator()(const SparseGqa& kind) const { write_sparse_heads(inventory, kind); }
  void operator()(const Compressed& kind) const { write_compressed(inventory, kind); }
  void operator()(const Ssm& kind) const { write_ssm(inventory, kind); }
  void operator()(const Linear& kind) const { write_linear_mixer(inventory, kind); }
  void operator()(const ShortConv& kind) const { write_short_conv(inventory, kind); }
  void operator()(const Rwkv& kind) const { write_rwkv(inventory, kind); }
  void operator()(const RgLru& kind) const { write_rg_lru(inventory, kind); }
  void operator()(const Cross& kind) const { write_attention(inventory, kind.heads, true, "encoder_attn."); }
  void operator()(const Shared& kind) const {
    // Files of Gemma 3n and 4 keep the projections of these layers; cross-layer sharing has none.
    write_attention(inventory, kind.heads, false);
  }
  void operator()(const None&) const {}
};

}  // namespace

void write_compressed(Inventory& out, const Compressed& layer) {
  const std::uint64_t h = out.hidden;
  const std::uint64_t d = layer.head_dim;
  const std::uint64_t n = layer.num_heads;
  const std::uint64_t wide = times(n, d);
  const std::uint64_t groups = layer.o_groups > 0 ? layer.o_groups : 1;
  out.linear(kAttn, "attn.wq_a", layer.q_lora_rank, h);
  out.norms("attn.q_norm", layer.q_lora_rank);
  out.linear(kAttn, "attn.wq_b", wide, layer.q_lora_rank, Split::kRows, n);
  out.linear(kAttn, "attn.wkv", d, h);
  out.norms("attn.kv_norm", d);
  out.linear(kAttn, "attn.wo_a", times(groups, layer.o_lora_rank), wide / groups, Split::kRows, groups);
  out.linear(kAttn, "attn.wo_b", h, times(groups, layer.o_lora_rank), Split::kColumns, groups);
  out.plain(kAttn, "attn.attn_sink", n, Split::kRows, n).is_float32 = true;
  if (layer.compress_ratio <= 1) return;
  // Overlapping windows (small ratios) compress with two halves; their layers have an indexer too.
  const bool overlaps = layer.index_head_dim > 0;
  const std::uint64_t halves = overlaps ? 2 : 1;
  const auto compressor = [&](const std::string& at, std::uint64_t width) {
    out.linear(kAttn, at + "compressor.wkv", times(halves, width), h).kept = Kept::kPlain;
    out.linear(kAttn, at + "compressor.wgate", times(halves, width), h).kept = Kept::kPlain;
    out.plain(kAttn, at + "compressor.ape", times(layer.compress_ratio, times(halves, width))).is_float32 = true;
    out.norms(at + "compressor.norm", width);
  };
  compressor("attn.", d);
  if (!overlaps) return;
  compressor("attn.indexer.", layer.index_head_dim);
  out.linear(kAttn, "attn.indexer.wq_b", times(layer.index_n_heads, layer.index_head_dim), layer.q_lora_rank);
  out.linear(kAttn, "attn.indexer.weights_proj", layer.index_n_heads, h).kept = Kept::kPlain;
}

const Heads* heads_of(const Mixer& mixer) {
  return std::visit(
      [](const auto& kind) -> const Heads* {
        if constexpr (requires { kind.heads; })
          return &kind.heads;
        else
          return nullptr;
      },
      mixer);
}

void write_mixer(Inventory& out, const Mixer& mixer) {
  const auto own = out.family.mixer;
  if (own == nullptr || !own(out, mixer)) std::visit(Writer{out}, mixer);
}

}  // namespace kvplan
