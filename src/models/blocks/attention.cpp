// Projections of attention: grouped heads, latents with and without an indexer, compressed caches.
#include <algorithm>

#include "models/blocks/inventory.h"

namespace kvplan {

namespace {

constexpr Component kAttn = Component::kAttention;

void write_qk_norm(Inventory& inventory, const Heads& heads, std::string_view block, bool has_own_kv) {
  const Traits& traits = inventory.traits;
  // Hunyuan's library class always has them; the files of its remote code say so.
  const bool always = inventory.is("hunyuan_v1_dense hunyuan_v1_moe") && !inventory.text.bare().contains("use_qk_norm");
  if (traits.qk_norm == QkNorm::kNone || !(always || inventory.on(traits.qk_norm_key))) return;
  const bool wide = traits.qk_norm == QkNorm::kWide || traits.qk_norm == QkNorm::kEveryHead;
  const std::uint64_t bias = traits.qk_norm == QkNorm::kHeadBias ? 2 : 1;
  const auto norm = [&](std::string_view module, std::uint64_t count) {
    TensorGroup& group = inventory.out.plain(Component::kNorms, std::string(block) + std::string(module),
                                             times(wide ? count : 1, heads.head_dim));
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

namespace {

// JetMoE: keys and values for all, queries and outputs by experts of a mixture; each token's two experts attend with
// the same keys.
void write_mixture_of_attention(Inventory& inventory, const Heads& heads) {
  Builder& out = inventory.out;
  const std::uint64_t experts = inventory.text.count_or("num_experts", 8);
  const std::uint64_t wide = times(heads.num_kv_heads, heads.head_dim);
  out.linear(kAttn, "self_attention.kv_proj", times(2, wide), inventory.hidden, Split::kRows, heads.num_kv_heads);
  out.linear(Component::kRouter, "self_attention.experts.router", experts, inventory.hidden);
  for (const bool in : {true, false}) {
    TensorGroup& matrix =
        out.linear(kAttn, in ? "self_attention.experts.input_linear" : "self_attention.experts.output",
                   in ? wide : inventory.hidden, in ? inventory.hidden : wide, in ? Split::kRows : Split::kColumns,
                   heads.num_kv_heads);
    matrix.copies = experts;
    matrix.used = std::min(experts, inventory.text.count_or("num_experts_per_tok", 2));
  }
}

// Step-3: queries of all heads come from one of share_q_dim, normed; one head of keys and values.
// Source: vLLM models/step3_text.py.
void write_shared_query(Inventory& inventory, const Heads& heads) {
  Builder& out = inventory.out;
  const std::uint64_t shared = inventory.text.count_or("share_q_dim", heads.head_dim);
  const std::uint64_t queries = times(heads.num_heads, heads.head_dim);
  out.linear(kAttn, "self_attn.q_proj", shared, inventory.hidden);
  out.linear(kAttn, "self_attn.kv_proj", times(2, times(heads.num_kv_heads, heads.head_dim)), inventory.hidden);
  out.norms("self_attn.inter_norm", shared);
  out.linear(kAttn, "self_attn.wq", queries, shared, Split::kRows, heads.num_heads);
  out.linear(kAttn, "self_attn.o_proj", inventory.hidden, queries, Split::kColumns, heads.num_heads);
}

}  // namespace

void write_attention(Inventory& inventory, const Heads& heads, bool has_own_kv, std::string_view block) {
  if (inventory.is("jetmoe")) return write_mixture_of_attention(inventory, heads);
  if (inventory.is("step3_text")) return write_shared_query(inventory, heads);
  const Traits& traits = inventory.traits;
  Builder& out = inventory.out;
  const std::string at(block);
  const bool fused = traits.fuses_qkv;
  const bool bias = inventory.on(traits.qkv_bias);
  const bool doubled = traits.gate == Gate::kDoubledQuery && inventory.on(traits.gate_key);
  const std::uint64_t queries = times(heads.num_heads, heads.head_dim);
  const std::uint64_t keys = times(heads.num_kv_heads, heads.head_dim);
  const std::uint64_t values = times(heads.num_kv_heads, heads.v_head_dim);
  const std::uint64_t outputs = times(heads.num_heads, heads.v_head_dim);
  const auto named = [&](const char* own) { return at + (fused ? "qkv_proj" : own); };
  out.linear(kAttn, named("q_proj"), doubled ? times(queries, 2) : queries, inventory.hidden, Split::kRows,
             heads.num_heads, bias);
  // A layer that reads another's cache has no keys and values to project.
  if (has_own_kv) {
    out.linear(kAttn, named("k_proj"), keys, inventory.hidden, Split::kRows, heads.num_kv_heads, bias);
    // Gemma 4's full layers cache the key twice: one projection.
    const bool is_gemma4 =
        inventory.is("gemma4_text gemma4_unified_text") && inventory.text.flag("attention_k_eq_v", false);
    const bool shares_value = (is_gemma4 || inventory.is("diffusion_gemma_text")) &&
                              heads.head_dim != inventory.text.count_or("head_dim", heads.head_dim);
    if (!shares_value)
      out.linear(kAttn, named("v_proj"), values, inventory.hidden, Split::kRows, heads.num_kv_heads, bias);
  }
  out.linear(kAttn, at + "o_proj", inventory.hidden, outputs, Split::kColumns, heads.num_heads,
             inventory.on(traits.o_bias));
  if (traits.gate == Gate::kWide && inventory.on(traits.gate_key))
    out.linear(kAttn, at + "gate_proj", outputs, inventory.hidden, Split::kRows, heads.num_heads);
  if (traits.gate == Gate::kHead && inventory.on(traits.gate_key))
    out.linear(kAttn, at + "g_proj", heads.num_heads, inventory.hidden, Split::kRows, heads.num_heads);
  if (traits.has_sinks) out.plain(kAttn, at + "sinks", heads.num_heads, Split::kRows, heads.num_heads);
  if (inventory.is("inkling_text inkling2_text"))
    out.linear(kAttn, at + "r_proj", times(heads.num_heads, inventory.text.count_or("d_rel", 16)), inventory.hidden,
               Split::kRows, heads.num_heads);
  if (inventory.is("baichuan_m1"))
    out.plain(kAttn, at + "conv", times(2, times(heads.num_kv_heads, inventory.text.count_or("conv_window", 2))));
  write_qk_norm(inventory, heads, block, has_own_kv);
}

namespace {

// A gate of one number a head, or as wide as the values, behind latent attention.
void write_latent_gate(Inventory& inventory, const Latent& latent) {
  const std::uint64_t n = latent.num_heads;
  // Ling 3 has it beside KDA; Ling 2.5's lightning attention goes without.
  const bool beside_kda = inventory.is("bailing_hybrid") &&
                          (inventory.text.has("linear_num_heads") || inventory.text.has("short_conv_kernel_size"));
  if (beside_kda || inventory.is("dots3_note_text"))
    inventory.out.linear(kAttn, "self_attn.g_proj", n, inventory.hidden, Split::kRows, n);
  if (inventory.is("hy_v4"))
    inventory.out.linear(kAttn, "self_attn.gate_proj", times(n, latent.v_head_dim), inventory.hidden, Split::kRows, n);
}

}  // namespace

void write_latent(Inventory& inventory, const Latent& latent) {
  Builder& out = inventory.out;
  const std::uint64_t h = inventory.hidden;
  const std::uint64_t n = latent.num_heads;
  const std::uint64_t query = times(n, latent.qk_nope_head_dim + latent.qk_rope_head_dim);
  const bool bias = inventory.text.flag("attention_bias", false);
  if (latent.q_lora_rank > 0) {
    out.linear(kAttn, "self_attn.q_a_proj", latent.q_lora_rank, h, Split::kNone, 0, bias);
    out.norms("self_attn.q_a_layernorm", latent.q_lora_rank);
    // A.X-K2 makes queries and the gate of the values from the low rank before and behind its norm.
    if (inventory.is("axk2"))
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
  write_latent_gate(inventory, latent);
}

namespace {

void write_indexer(Inventory& inventory, const SparseMla& sparse) {
  if (sparse.index_head_dim == 0) return;
  Builder& out = inventory.out;
  const std::uint64_t query_rank = sparse.latent.q_lora_rank > 0 ? sparse.latent.q_lora_rank : inventory.hidden;
  out.linear(kAttn, "self_attn.indexer.wq_b", times(sparse.index_n_heads, sparse.index_head_dim), query_rank);
  out.linear(kAttn, "self_attn.indexer.wk", sparse.index_head_dim, inventory.hidden);
  out.norms("self_attn.indexer.k_norm", sparse.index_head_dim, 1, true);
  out.linear(kAttn, "self_attn.indexer.weights_proj", sparse.index_n_heads, inventory.hidden);
}

void write_sparse_heads(Inventory& inventory, const SparseGqa& sparse) {
  write_attention(inventory, sparse.heads, true);
  if (sparse.index_head_dim == 0) return;
  Builder& out = inventory.out;
  out.linear(kAttn, "self_attn.index_q_proj", times(sparse.index_n_heads, sparse.index_head_dim), inventory.hidden);
  out.linear(kAttn, "self_attn.index_k_proj", sparse.index_head_dim, inventory.hidden);
  out.norms("self_attn.index_q_norm", sparse.index_head_dim);
  out.norms("self_attn.index_k_norm", sparse.index_head_dim);
}

// ZAYA: one convolution a channel, then one a head; the values' delay has no weights.
void write_zaya_conv(Inventory& inventory, const ShortConv& conv) {
  const Heads heads = read_heads(inventory.text);
  if (conv.channels != times(heads.num_heads + heads.num_kv_heads, heads.head_dim)) return;
  Builder& out = inventory.out;
  const std::uint64_t first = inventory.text.count_or("cca_time0", 2);
  const std::uint64_t second = times(inventory.text.count_or("cca_time1", 2), heads.head_dim);
  out.conv(Component::kStateMixer, "self_attn.conv_qk_depthwise", conv.channels, first, Split::kRows);
  out.conv(Component::kStateMixer, "self_attn.conv_qk_grouped", conv.channels, second, Split::kRows);
  out.plain(Component::kStateMixer, "self_attn.conv_qk.bias", times(2, conv.channels), Split::kRows);
  out.plain(Component::kAttention, "self_attn.qk_norm.temp", heads.num_kv_heads, Split::kRows);
}

void write_short_conv(Inventory& inventory, const ShortConv& conv) {
  Builder& out = inventory.out;
  // Convolutions that stand behind an attention's own projections.
  if (inventory.is("baichuan_m1")) return;  // one kernel a head: with the attention
  if (inventory.is("zaya")) return write_zaya_conv(inventory, conv);
  if (inventory.is("inkling_text inkling2_text")) {
    out.conv(Component::kStateMixer, "self_attn.sconv", conv.channels, conv.conv_kernel, Split::kRows);
    return;
  }
  const std::uint64_t h = inventory.hidden;
  if (inventory.is("jet_nemotron")) {
    // A small MLP makes each token's kernels.
    const auto settings = inventory.text.child("efficient_attention_config");
    const auto jet = settings ? settings->child("jet") : std::nullopt;
    const std::uint64_t reduction = jet ? jet->count_or("dconv_generator_reduction", 8) : 8;
    const std::uint64_t inner = conv.channels / std::max<std::uint64_t>(1, reduction);
    out.linear(Component::kStateMixer, "self_attn.dynamic_conv1d.w1", inner, h);
    out.linear(Component::kStateMixer, "self_attn.dynamic_conv1d.w2", times(conv.channels, conv.conv_kernel), inner,
               Split::kNone, 0, true);
    return;
  }
  const bool bias = inventory.text.flag("conv_bias", false);
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
  void operator()(const Cross& kind) const {
    write_attention(inventory, kind.heads, true, inventory.is("mllama_text_model") ? "cross_attn." : "encoder_attn.");
  }
  void operator()(const Shared& kind) const {
    // Files of Gemma 3n and 4 keep the projections of these layers; cross-layer sharing has none.
    write_attention(inventory, kind.heads, inventory.is("hymba"));
  }
  void operator()(const None&) const {}
};

}  // namespace

void write_compressed(Inventory& inventory, const Compressed& layer) {
  Builder& out = inventory.out;
  const std::uint64_t h = inventory.hidden;
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
    out.linear(kAttn, at + "compressor.wkv", times(halves, width), h);
    out.linear(kAttn, at + "compressor.wgate", times(halves, width), h);
    out.plain(kAttn, at + "compressor.ape", times(layer.compress_ratio, times(halves, width))).is_float32 = true;
    out.norms(at + "compressor.norm", width);
  };
  compressor("attn.", d);
  if (!overlaps) return;
  compressor("attn.indexer.", layer.index_head_dim);
  out.linear(kAttn, "attn.indexer.wq_b", times(layer.index_n_heads, layer.index_head_dim), layer.q_lora_rank);
  out.linear(kAttn, "attn.indexer.weights_proj", layer.index_n_heads, h);
}

void write_mixer(Inventory& inventory, const Mixer& mixer) {
  std::visit(Writer{inventory}, mixer);
}

}  // namespace kvplan
