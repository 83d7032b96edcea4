// What families have beside mixers and MLPs: per-layer embeddings, shared blocks, hyper-connections, odd norms.
#include <algorithm>

#include "kvplan/error.h"
#include "models/inventory/inventory.h"

namespace kvplan {

namespace {

constexpr std::string_view kGlm5Next = "glm5_next_text glm5_next glm5next_text glm5next";

std::uint64_t times(std::uint64_t a, std::uint64_t b) {
  return checked_mul(a, b, "the size of a tensor");
}

std::vector<LayerRun> all_layers(const Inventory& inventory) {
  return {{0, inventory.reader.model.layers.size(), 1}};
}

// Gemma 3n and 4: a second, per-layer embedding, gated into every layer.
void write_per_layer_embedding(Inventory& inventory) {
  const Fields& text = inventory.text;
  const std::uint64_t p = text.count_or("hidden_size_per_layer_input", 0);
  if (p == 0) return;
  Builder& out = inventory.out;
  const std::uint64_t h = inventory.hidden;
  const std::uint64_t layers = inventory.reader.model.layers.size();
  out.outside(Place::kFirst);
  out.table(Component::kEmbedding, "model.embed_tokens_per_layer",
            text.count_or("vocab_size_per_layer_input", inventory.vocab), times(layers, p), Split::kVocab);
  out.linear(Component::kOther, "model.per_layer_model_projection", times(layers, p), h);
  out.norms("model.per_layer_projection_norm", p);
  out.in_layers(all_layers(inventory));
  out.linear(Component::kOther, "per_layer_input_gate", p, h);
  out.linear(Component::kOther, "per_layer_projection", h, p);
  out.norms("post_per_layer_input_norm", h);
}

void write_altup(Inventory& inventory) {
  const Fields& text = inventory.text;
  Builder& out = inventory.out;
  const std::uint64_t h = inventory.hidden;
  const std::uint64_t n = text.count_or("altup_num_inputs", 4);
  const std::uint64_t rank = text.count_or("laurel_rank", 64);
  out.in_layers(all_layers(inventory));
  out.plain(Component::kOther, "altup.coefs", times(n, times(n, n)) + times(n, n));
  out.plain(Component::kOther, "altup.correct_output_scale", h);
  out.linear(Component::kOther, "altup.modality_router", n, h).role = TensorRole::kConv;
  out.norms("altup.router_norm", h);
  out.linear(Component::kOther, "laurel.linear_left", rank, h).role = TensorRole::kConv;
  out.linear(Component::kOther, "laurel.linear_right", h, rank).role = TensorRole::kConv;
  out.norms("laurel.post_laurel_norm", h);
  out.outside(Place::kFirst);
  if (n > 1) {
    TensorGroup& in = out.linear(Component::kOther, "model.altup_projections", h, h);
    in.copies = in.used = 2 * (n - 1);
    in.role = TensorRole::kConv;
  }
}

// DeepSeek-V4, GLM-5.3-Flash and Hy-V4: several residual streams, mixed before and after each block. DeepSeek and GLM
// mix every stream with every other; Hy-V4 weighs them.
void write_hyper_connections(Inventory& inventory) {
  const std::uint64_t m = inventory.text.count_or("hc_mult", 4);
  if (m == 0 || m > 64) return;
  Builder& out = inventory.out;
  const std::uint64_t wide = times(m, inventory.hidden);
  const bool weighs = inventory.is("hy_v4");
  const std::uint64_t outputs = weighs ? 2 * m : (2 + m) * m;
  out.in_layers(all_layers(inventory));
  TensorGroup& mix = out.plain(Component::kOther, "hc", times(outputs, wide) + outputs + (weighs ? 2 : 3));
  mix.copies = mix.used = 2;
  mix.is_float32 = true;
  if (inventory.is(kGlm5Next)) return;
  out.outside(Place::kLast);
  out.plain(Component::kOther, "model.hc_head", times(m, wide) + m + 1).is_float32 = true;
}

// Qwen3.8-Flash-Next: residual streams that are mixed through a low rank around each block, index projections beside
// full attention, and n-gram tables in a few layers. The tables' rows are primes; their smallest bound is counted.
// Source: transformers modular_qwen4_exp.py.
void write_qwen4_exp(Inventory& inventory) {
  const Fields& text = inventory.text;
  Builder& out = inventory.out;
  const ModelSpec& model = inventory.reader.model;
  const std::uint64_t h = inventory.hidden;
  const std::uint64_t streams = text.count_or("hc_count", 4);
  const std::uint64_t wide = times(streams, h);
  const std::uint64_t rank = text.count_or("hc_lowrank", 320);
  const auto mixer = [&](const char* name, std::uint64_t copies, bool injects) {
    TensorGroup& group = out.plain(Component::kOther, name,
                                   times(wide, checked_add(times(2, rank), injects ? 1 + streams : 1, "a rank")));
    group.copies = group.used = copies;
  };
  out.in_layers(all_layers(inventory));
  mixer("hyper_connections", 2, true);
  if (const std::uint64_t heads = text.count_or("indexer_n_heads", 0); heads > 0) {
    const std::uint64_t d = text.count_or("indexer_head_dim", 128);
    std::vector<std::uint64_t> full;
    for (std::uint64_t i = 0; i < model.layers.size(); ++i)
      if (!std::holds_alternative<Linear>(model.layers[i].mixers.front())) full.push_back(i);
    out.in_layers(runs_of(full));
    out.linear(Component::kAttention, "self_attn.indexer.index_qk_proj", times(heads + 1, d), h);
    out.norms("self_attn.indexer.layernorm", d, 2);
  }
  if (const auto ids = text.counts("ple_layer_ids"); ids && !ids->empty()) {
    std::vector<std::uint64_t> layers;  // counted from 1
    for (const std::uint64_t id : *ids)
      if (id >= 1 && id <= model.layers.size()) layers.push_back(id - 1);
    std::sort(layers.begin(), layers.end());
    layers.erase(std::unique(layers.begin(), layers.end()), layers.end());
    const std::uint64_t e = text.count_or("ple_embed_dim", h);
    const std::uint64_t n = text.count_or("ngram_size", 3);
    const std::uint64_t heads = times(n > 1 ? n - 1 : 1, text.count_or("heads_per_ngram", 8));
    out.in_layers(runs_of(layers));
    if (heads > 0)
      out.table(Component::kEmbedding, "ple.ngram_embedding",
                times(heads, text.count_or("ngram_vocab_size_base", 20'000'000)), e / heads, Split::kVocab);
    out.linear(Component::kOther, "ple.key_proj", wide, e);
    out.linear(Component::kOther, "ple.value_proj", h, e);
    out.norms("ple.norm", wide, 3);
    out.conv(Component::kOther, "ple.conv1d", wide, text.count_or("ple_conv_kernel_size", 4));
  }
  out.outside(Place::kLast);
  mixer("model.hyper_connection_mixer", 1, false);
}

// Zamba: one block (or a few) of attention and MLP over the doubled width, run in every hybrid layer.
void write_shared_blocks(Inventory& inventory) {
  const Fields& text = inventory.text;
  Builder& out = inventory.out;
  const ModelSpec& model = inventory.reader.model;
  const bool second = inventory.is("zamba2");
  const std::uint64_t h = inventory.hidden;
  std::vector<std::uint64_t> hybrid;
  Heads heads;
  for (std::uint64_t i = 0; i < model.layers.size(); ++i)
    for (const Mixer& mixer : model.layers[i].mixers)
      if (const auto* full = std::get_if<FullAttention>(&mixer)) {
        hybrid.push_back(i);
        heads = full->heads;
      }
  if (hybrid.empty()) return;
  const std::uint64_t blocks = second ? std::max<std::uint64_t>(1, text.count_or("num_mem_blocks", 1)) : 1;
  const std::uint64_t width = text.count_or("intermediate_size", times(4, h));
  const std::uint64_t wide = times(2, h);
  out.in_layers(runs_of(hybrid));
  out.linear(Component::kAttention, "linear", h, h);
  if (second) {
    // Each hybrid layer has low-rank adapters of its own on the shared block.
    const std::uint64_t rank = text.count_or("adapter_rank", 128);
    out.linear(Component::kMlp, "shared_transformer.gate_up_proj_adapter.0", rank, h);
    out.linear(Component::kMlp, "shared_transformer.gate_up_proj_adapter.1", times(2, width), rank);
    if (text.flag("use_shared_attention_adapter", false)) {
      TensorGroup& down = out.linear(Component::kAttention, "shared_transformer.attention_adapter.0", rank, wide);
      down.copies = down.used = 3;
      out.linear(Component::kAttention, "shared_transformer.attention_adapter.1",
                 times(heads.num_heads + 2 * heads.num_kv_heads, heads.head_dim), rank);
    }
  }
  std::vector<std::uint64_t> first(
      hybrid.begin(), hybrid.begin() + static_cast<std::ptrdiff_t>(std::min<std::size_t>(blocks, hybrid.size())));
  out.in_layers(runs_of(first));
  const std::uint64_t queries = times(heads.num_heads, heads.head_dim);
  const std::uint64_t keys = times(heads.num_kv_heads, heads.head_dim);
  out.linear(Component::kAttention, "shared_transformer.self_attn.q_proj", queries, wide, Split::kRows,
             heads.num_heads);
  out.linear(Component::kAttention, "shared_transformer.self_attn.k_proj", keys, wide, Split::kRows,
             heads.num_kv_heads);
  out.linear(Component::kAttention, "shared_transformer.self_attn.v_proj", keys, wide, Split::kRows,
             heads.num_kv_heads);
  out.linear(Component::kAttention, "shared_transformer.self_attn.o_proj", h, queries, Split::kColumns,
             heads.num_heads);
  write_dense_mlp(inventory, Component::kMlp, "shared_transformer.feed_forward.", width, h, true,
                  text.flag("add_bias_linear", false));
  out.norms("shared_transformer.input_layernorm", wide);
  out.norms("shared_transformer.pre_ff_layernorm", h);
}

// The layers whose first mixer is of this kind.
template <class Kind>
std::vector<LayerRun> layers_of(const Inventory& inventory) {
  const ModelSpec& model = inventory.reader.model;
  std::vector<std::uint64_t> out;
  for (std::uint64_t i = 0; i < model.layers.size(); ++i)
    if (std::holds_alternative<Kind>(model.layers[i].mixers.front())) out.push_back(i);
  return runs_of(out);
}

// GLM-5.3-Flash: index keys that are pooled over index_kpool tokens. Source: transformers modeling_glm5_next.py.
void write_pooled_indexer(Inventory& inventory) {
  const Fields& text = inventory.text;
  const std::uint64_t pool = text.count_or("index_kpool", 0);
  const std::uint64_t d = text.count_or("index_head_dim", 0);
  const std::uint64_t heads = text.count_or("index_n_heads", 0);
  if (pool == 0 || d == 0) return;
  Builder& out = inventory.out;
  const std::uint64_t h = inventory.hidden;
  out.in_layers(layers_of<Mla>(inventory));
  out.plain(Component::kAttention, "self_attn.indexer.index_kpool_compress_ape", times(pool, d));
  out.linear(Component::kAttention, "self_attn.indexer.index_kpool_compress_gate", d, h);
  out.linear(Component::kAttention, "self_attn.indexer.wq_b", times(heads, d), text.count_or("q_lora_rank", h));
  out.linear(Component::kAttention, "self_attn.indexer.wk", d, h);
  out.norms("self_attn.indexer.k_norm", d, 1, true);
  out.linear(Component::kAttention, "self_attn.indexer.weights_proj", heads, h);
}

// Inkling 2: each block's input is chosen among the residual streams by a query; layers of full attention choose for
// queries, keys and values apart, norm them apart, and their convolutions follow the token.
// Source: transformers modeling_inkling2.py.
void write_inkling2(Inventory& inventory) {
  const Fields& text = inventory.text;
  const ModelSpec& model = inventory.reader.model;
  Builder& out = inventory.out;
  const std::uint64_t h = inventory.hidden;
  const std::uint64_t heads = text.count_or("num_attention_heads", 0);
  const std::uint64_t d = text.count_or("head_dim", 0);
  out.in_layers(all_layers(inventory));
  out.linear(Component::kAttention, "self_attn.sink_proj", heads, h, Split::kRows, heads);
  out.plain(Component::kAttention, "self_attn.l2_clips",
            times(heads, checked_add(d, text.count_or("d_rel", 16), "a clip")), Split::kRows, heads);
  out.plain(Component::kOther, "mlp_input.query", h);
  const std::vector<LayerRun> full = layers_of<FullAttention>(inventory);
  out.in_layers(full);
  const std::uint64_t kernels = times(text.count_or("num_key_value_heads", 0), text.count_or("conv_kernel_size", 4));
  TensorGroup& dynamic = out.linear(Component::kStateMixer, "self_attn.sconv.weight_proj", kernels, h);
  dynamic.copies = dynamic.used = 2;
  out.norms("qkv_input_layernorm", h, 2);  // beside the one that all layers have
  out.plain(Component::kOther, "attention_input.query", times(2, h));
  // The first layer has the embedding alone to choose from.
  if (model.layers.size() > 1) {
    out.in_layers({{1, model.layers.size() - 1, 1}});
    out.plain(Component::kOther, "attention_input.query", h);
  }
  out.outside(Place::kLast);
  out.plain(Component::kOther, "model.final_input.query", h);
}

// Vectors that few classes have beside their projections.
void write_scales(Inventory& inventory) {
  const Fields& text = inventory.text;
  Builder& out = inventory.out;
  const std::uint64_t h = inventory.hidden;
  const std::uint64_t heads = text.count_or("num_attention_heads", 0);
  out.in_layers(all_layers(inventory));
  if (inventory.is("dots3_note_text"))
    out.norms("self_attn.k_rope_only_layernorm", text.count_or("qk_rope_head_dim", 64));
  if (inventory.is("mistral_large4_text")) {
    out.plain(Component::kAttention, "self_attn.softmax_scaling", times(2, heads));
    out.plain(Component::kAttention, "self_attn.indexer.softmax_scaling", times(2, text.count_or("index_n_heads", 32)));
    out.norms("self_attn.indexer.q_input_norm", h, 1, true);
  }
  if (inventory.is("zaya")) {
    // Weights and biases on the residual stream and on what a block adds to it; routers remember the layer before.
    out.plain(Component::kOther, "residual_scales", times(8, h));
    const std::uint64_t layers = inventory.reader.model.layers.size();
    out.in_layers({{1, layers - 1, 1}});
    if (layers > 1)
      out.plain(Component::kRouter, "mlp.gate.router_states_scale", text.count_or("router_hidden_size", 256));
    out.outside(Place::kFirst);
    out.plain(Component::kOther, "model.input_hidden_states", times(2, h));
    out.in_layers(all_layers(inventory));
  }
  if (inventory.is("beam")) out.plain(Component::kAttention, "self_attn.gate_bias", heads, Split::kRows, heads);
  if (inventory.is("hy_v4")) out.plain(Component::kAttention, "self_attn.sinks", heads, Split::kRows, heads);
  if (inventory.is("muse_spark_text")) {
    // Three norms and two residual gates a layer, of which four are counted with the norms.
    out.plain(Component::kOther, "residual_gate", h);
    if (const std::uint64_t latent = text.count_or("moe_hidden_size", 0); latent > 0)
      out.norms("mlp.expert_norms", latent, 2);
  }
}

void write_odds(Inventory& inventory) {
  Builder& out = inventory.out;
  const Fields& text = inventory.text;
  const std::uint64_t h = inventory.hidden;
  const std::uint64_t layers = inventory.reader.model.layers.size();
  out.in_layers(all_layers(inventory));
  if (inventory.is("apertus")) out.plain(Component::kMlp, "mlp.act_fn", 2);
  if (inventory.is("iquestloopcoder")) {
    // The gate between the loops: one row a head.
    const std::uint64_t heads = text.count_or("num_attention_heads", 1);
    const std::uint64_t d = text.count_or("head_dim", h / std::max<std::uint64_t>(1, heads));
    out.in_layers({{0, text.count_or("num_hidden_layers", layers), 1}});
    out.plain(Component::kAttention, "gate_projections", times(heads, d + 1), Split::kRows, heads);
    out.in_layers(all_layers(inventory));
  }
  if (inventory.is("arctic") && text.flag("use_residual", false)) out.norms("residual_layernorm", h);
  if (inventory.is("inkling_text inkling2_text")) {
    if (inventory.is("inkling_text")) out.plain(Component::kMlp, "mlp.global_scale", 1);
    // One profile for each distance that a layer sees.
    std::uint64_t distances = 0;
    for (const Layer& layer : inventory.reader.model.layers) {
      const auto* window = std::get_if<SlidingWindow>(&layer.mixers.front());
      distances = checked_add(distances, window != nullptr ? window->window.count() : text.count_or("rel_extent", 1024),
                              "the distances");
    }
    out.outside(Place::kFirst);
    out.plain(Component::kAttention, "model.rel_logits_proj", times(distances, text.count_or("d_rel", 16)));
    out.norms("model.embed_norm", h);
    out.in_layers(all_layers(inventory));
  }
  if (inventory.is("jetmoe")) out.plain(Component::kOther, "expert_biases", times(2, h));
  if (inventory.is("bitnet")) {
    out.norms("self_attn.attn_sub_norm", h);
    out.norms("mlp.ffn_sub_norm", text.count_or("intermediate_size", 0));
  }
  if (inventory.is("diffllama"))
    out.plain(
        Component::kAttention, "self_attn.lambda",
        times(4, text.count_or("head_dim", h / std::max<std::uint64_t>(1, text.count_or("num_attention_heads", 32)))));
  if (inventory.is("doge")) {
    const std::uint64_t keys = text.count_or("num_key_value_heads", 8);
    const std::uint64_t heads = std::max<std::uint64_t>(1, text.count_or("num_attention_heads", 8));
    out.linear(Component::kAttention, "self_attn.dt_proj", keys, times(keys, text.count_or("head_dim", h / heads)));
    out.plain(Component::kAttention, "self_attn.A", keys);
    out.plain(Component::kOther, "residual", times(2, h));
  }
  if (inventory.is("higgs_audio_v2")) {
    // Tokens of sound pass an MLP of their own, and have a table and a head for all codebooks.
    write_dense_mlp(inventory, Component::kMlp, "audio_mlp.", text.count_or("intermediate_size", 8192), h, true, false);
    out.norms("audio_layernorms", h, 2);
    const std::uint64_t codes = times(text.count_or("num_codebooks", 8), text.count_or("codebook_size", 1024));
    out.outside(Place::kFirst);
    out.table(Component::kEmbedding, "model.embed_audio_tokens", codes, h, Split::kVocab);
    out.outside(Place::kLast);
    out.table(Component::kLmHead, "audio_lm_head", codes, h, Split::kVocab).role = TensorRole::kHead;
    out.in_layers(all_layers(inventory));
  }
  if (inventory.is("voxtral_realtime_text")) {
    // The delay of the transcript turns a norm, by way of a rank of 32.
    out.linear(Component::kOther, "ada_rms_norm.linear1", 32, h);
    out.linear(Component::kOther, "ada_rms_norm.linear2", h, 32);
  }
  if (inventory.is("gpt_neox_japanese")) {
    out.outside(Place::kLast);
    out.plain(Component::kAttention, "model.layers.last.attention.dense_bias", h);
  }
  const bool gemma4 = inventory.is("gemma4_text gemma4_unified_text") && text.flag("enable_moe_block", false);
  if (gemma4 || inventory.is("diffusion_gemma_text")) {
    const std::uint64_t experts = text.count_or("num_experts", 0);
    out.plain(Component::kRouter, "router.scale", h);
    out.plain(Component::kRouter, "router.per_expert_scale", experts);
    out.norms("moe_norms", h, 3);
  }
  if (inventory.is("diffusion_gemma_text")) {
    out.outside(Place::kLast);
    write_dense_mlp(inventory, Component::kMlp, "model.self_conditioning.", text.count_or("intermediate_size", 0), h,
                    true, false);
    out.norms("model.self_conditioning.pre_norm", h);
    out.in_layers(all_layers(inventory));
  }
  if (inventory.is("axk1 axk2")) {
    const std::uint64_t dense = std::min(layers, text.count_or("first_k_dense_replace", inventory.traits.dense_first));
    // A.X-K2's norms are gated through a low rank, but for the one before a dense MLP.
    const std::uint64_t gate = inventory.is("axk2") ? times(2, times(text.count_or("gated_norm_rank", 16), h)) : 0;
    if (gate > 0) out.plain(Component::kNorms, "input_layernorm.mlp", gate);
    out.in_layers({{dense, layers - dense, 1}});
    if (gate > 0) out.plain(Component::kNorms, "post_attention_layernorm.mlp", gate);
    if (gate == 0) out.norms("post_mlp_layernorm", h);
  }
  if (inventory.is("mimo_v2_flash mimo_v2") && text.flag("add_swa_attention_sink_bias", true)) {
    std::vector<std::uint64_t> sliding;
    for (std::uint64_t i = 0; i < layers; ++i)
      if (std::holds_alternative<SlidingWindow>(inventory.reader.model.layers[i].mixers.front())) sliding.push_back(i);
    if (!sliding.empty()) {
      const auto& mixer = std::get<SlidingWindow>(inventory.reader.model.layers[sliding.front()].mixers.front());
      out.in_layers(runs_of(sliding));
      out.plain(Component::kAttention, "self_attn.attention_sink_bias", mixer.heads.num_heads, Split::kRows,
                mixer.heads.num_heads);
    }
  }
  if (inventory.is("rwkv rwkv5 rwkv6 rwkv7")) {
    out.in_layers({{0, 1, 1}});
    out.norms("pre_ln", h, 1, true);
  }
  if (inventory.is("modernbert-decoder")) {
    out.outside(Place::kLast);
    out.linear(Component::kLmHead, "lm_head.dense", h, h);
    out.norms("lm_head.norm", h);
  }
  if (inventory.is("moshi")) {
    out.outside(Place::kFirst);
    out.plain(Component::kEmbedding, "model.embed_tokens.initial", h);
  }
  if (inventory.is("mllama_text_model")) {
    out.outside(Place::kFirst);
    out.plain(Component::kEmbedding, "model.embed_tokens.image", times(8, h));
    std::vector<std::uint64_t> cross;
    for (std::uint64_t i = 0; i < layers; ++i)
      if (std::holds_alternative<Cross>(inventory.reader.model.layers[i].mixers.front())) cross.push_back(i);
    if (!cross.empty()) {
      const auto* kind = std::get_if<Cross>(&inventory.reader.model.layers[cross.front()].mixers.front());
      out.in_layers(runs_of(cross));
      out.plain(Component::kAttention, "cross_attn.gates", 2);
      out.norms("cross_attn.qk_norm", kind->heads.head_dim, 2);
    }
  }
  if (inventory.is("fuyu")) {
    out.outside(Place::kFirst);
    const std::uint64_t patch = text.count_or("patch_size", 30);
    out.linear(Component::kProjector, "vision_embed_tokens", h,
               times(text.count_or("num_channels", 3), times(patch, patch)), Split::kNone, 0, true);
  }
}

}  // namespace

// LongCat's n-gram embeddings: E = splits * (neighbours - 1) tables of ratio * vocab + 2 i + 1 rows, i = 0 .. E - 1,
// each hidden / E wide, with a projection of each to the hidden size. Source: vLLM's NgramEmbedding.
void write_ngrams(Inventory& inventory) {
  const auto number = [&](std::string_view key, std::string_view other) {
    const auto value = inventory.text.find_count(key);
    return value ? *value : inventory.text.count_or(other, 0);
  };
  const std::uint64_t ratio = number("ngram_vocab_size_ratio", "oe_vocab_size_ratio");
  const std::uint64_t neighbours = number("emb_neighbor_num", "oe_neighbor_num");
  const std::uint64_t splits = number("emb_split_num", "oe_split_num");
  if (ratio == 0 || neighbours < 2 || splits == 0) return;
  const std::uint64_t tables = times(splits, neighbours - 1);
  if (tables > inventory.hidden) fail("more n-gram tables than the model is wide", "correct the config");
  Builder& out = inventory.out;
  out.outside(Place::kFirst);
  const std::uint64_t rows = checked_add(times(tables, checked_add(times(ratio, inventory.vocab), 1, "the n-grams")),
                                         times(tables, tables - 1), "the n-grams");
  out.table(Component::kEmbedding, "model.ngram_embeddings.embedders", rows, inventory.hidden / tables, Split::kVocab);
  out.linear(Component::kEmbedding, "model.ngram_embeddings.post_projs", inventory.hidden, inventory.hidden);
}

void write_extras(Inventory& inventory) {
  if (inventory.is("longcat_flash_ngram longcat_flash longcat_next nanbeige")) write_ngrams(inventory);
  if (inventory.is("ouro")) {
    inventory.out.outside(Place::kLast);
    inventory.out.linear(Component::kOther, "model.early_exit_gate", 1, inventory.hidden, Split::kNone, 0, true);
  }
  if (inventory.is("gemma3n_text gemma4_text gemma4_unified_text")) write_per_layer_embedding(inventory);
  if (inventory.is("gemma3n_text")) write_altup(inventory);
  if (inventory.is("deepseek_v4 deepseek_ref hy_v4") || inventory.is(kGlm5Next)) write_hyper_connections(inventory);
  if (inventory.is(kGlm5Next)) write_pooled_indexer(inventory);
  if (inventory.is("inkling2_text")) write_inkling2(inventory);
  write_scales(inventory);
  if (inventory.is("qwen4_exp_text")) write_qwen4_exp(inventory);
  if (inventory.is("zamba zamba2")) write_shared_blocks(inventory);
  write_odds(inventory);
}

// Layers that predict further tokens: a decoder layer each, with a projection of two hidden states. Counted apart.
void write_mtp(Inventory& inventory, const std::vector<Ffn>& ffns) {
  const ModelSpec& model = inventory.reader.model;
  const std::uint64_t count = model.num_nextn_layers;
  if (count == 0 || count > 64 || ffns.empty()) return;
  Builder& out = inventory.out;
  const std::uint64_t h = inventory.hidden;
  // The attention of the model's last attending layer, and the last layer's MLP.
  const Layer* attending = nullptr;
  for (const Layer& layer : model.layers)
    if (!cache_terms(layer.mixers.front()).empty()) attending = &layer;
  if (attending == nullptr) return;
  const Ffn* last = &ffns.back();
  for (const Ffn& ffn : ffns)
    if (ffn.experts > 0 || ffn.dense > 0) last = &ffn;
  const Mixer mixer = attending->mixers.front();
  const Ffn ffn = *last;
  out.book_as(Component::kMtp);
  // Module names continue the decoder's count, as the checkpoints' do.
  const std::size_t before = inventory.reader.model.tensors.size();
  out.in_layers({{model.layers.size(), count, 1}});
  write_mixer(inventory, mixer);
  write_ffn(inventory, ffn);
  out.norms("input_layernorm", h, std::max<std::uint64_t>(1, inventory.traits.norms));
  out.linear(Component::kMtp, "eh_proj", h, times(2, h));
  out.norms("mtp_norms", h, 3);
  // DeepSeek's and GLM-4's files repeat embedding and head; the others share them.
  if (inventory.is("deepseek_v3 deepseek_v32 kimi_k2 glm4_moe glm4_moe_lite")) {
    TensorGroup& copies = out.table(Component::kMtp, "mtp_embed_and_head", inventory.vocab, h, Split::kVocab);
    copies.copies = copies.used = 2;
  }
  for (std::size_t i = before; i < inventory.reader.model.tensors.size(); ++i) {
    TensorGroup& group = inventory.reader.model.tensors[i];
    group.component = Component::kMtp;
    group.copies *= count;
    group.used *= count;
    group.place = Place::kLast;
    group.layers.clear();
  }
  out.book_plainly();
}

}  // namespace kvplan
