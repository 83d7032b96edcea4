// Models with several stacks: BLT reads bytes in patches, Evolla reads proteins. Source: transformers modeling_blt.py,
// modeling_evolla.py.
#include <algorithm>

#include "models/blocks/blocks.h"
#include "models/class_defaults.h"
#include "models/towers/tower.h"

namespace kvplan {

// A stack of Llama blocks outside of the plan's layers.
static void write_llama_stack(const Tower& t, const std::string& name, const Fields& config) {
  const Heads heads = read_heads(config);
  t.blocks(name + ".layers.", {.width = config.count("hidden_size"),
                               .inner = config.count("intermediate_size"),
                               .layers = config.count("num_hidden_layers"),
                               .qkv_bias = 0,
                               .out_bias = false,
                               .mlp_bias = false,
                               .gated = true,
                               .layer_norm = false,
                               .attention = times(heads.num_heads, heads.head_dim),
                               .keys = times(heads.num_kv_heads, heads.head_dim)});
}

// Cross attention between bytes and patches, in every layer or in one.
static void write_blt_crossing(const Tower& t, const std::string& name, const Fields& config, std::uint64_t from) {
  const std::uint64_t h = config.count("hidden_size");
  const std::uint64_t layers = config.flag("cross_attn_all_layers", false) ? config.count("num_hidden_layers") : 1;
  t.linear(name + ".cross_attn_layers.qkvo", times(4, h), h, false, layers);
  t.plain(name + ".cross_attn_layers.norms", times(2, h), layers);
  t.linear(name + ".patch_embedding_projection", times(config.count_or("cross_attn_k", 2), h), from, false);
}

static void read_blt(Reader& reader) {
  read_decoder(reader, {});
  reader.inform("uncounted_part", "only the cache of BLT's local decoder is counted, not that of its patches");
}

static bool write_blt(Inventory& out) {
  const Fields& root = out.reader.root;
  const auto part = [&](std::string_view key, std::string_view type) {
    root.touch(key);
    return with_class(root.child(key).value_or(Fields::empty()), type);
  };
  const Fields encoder = part("encoder_config", "blt_local_encoder");
  const Fields global = part("global_config", "blt_global_transformer");
  const Fields patcher = part("patcher_config", "blt_patcher");
  out.outside(Place::kFirst);
  const Tower before{out, Component::kEncoder};
  const std::uint64_t bytes = encoder.count_or("vocab_size", 260);
  before.plain("model.local_encoder.embed_tokens", times(bytes, encoder.count("hidden_size")));
  write_llama_stack(before, "model.local_encoder", encoder);
  write_blt_crossing(before, "model.local_encoder", encoder, encoder.count("hidden_size"));
  const std::uint64_t tables = times(root.count_or("encoder_hash_byte_group_nb_functions", 1),
                                     root.list_size("encoder_hash_byte_group_size").value_or(6));
  out.table(Component::kEncoder, "model.encoder_hash_tok_embedding",
            times(tables, root.count_or("encoder_hash_byte_group_vocab", 500002)), encoder.count("hidden_size"));
  write_llama_stack(before, "model.patcher", patcher);
  const std::uint64_t width = patcher.count("hidden_size");
  before.plain("model.patcher.ends",
               checked_add(times(times(2, patcher.count_or("vocab_size", 260)), width), width, "the ends of a stack"));
  write_llama_stack({out, Component::kMlp}, "model.global_transformer", global);
  out.outside(Place::kLast);
  const Tower behind{out, Component::kAttention};
  write_llama_stack(behind, "model.local_decoder", out.text);
  write_blt_crossing(behind, "model.local_decoder", out.text, global.count("hidden_size"));
  out.norms("model.local_decoder.norm", out.hidden);
  out.table(Component::kLmHead, "lm_head", out.vocab, out.hidden, Split::kVocab).role = TensorRole::kHead;
  return true;
}

// Evolla: a protein encoder with a resampler, and in the last layer of every group blocks that attend to its output.
static void write_evolla(Inventory& out) {
  const Fields& text = out.text;
  const std::uint64_t h = out.hidden;
  out.reader.root.touch("protein_encoder_config");
  const Fields protein = out.reader.root.child("protein_encoder_config").value_or(Fields::empty());
  const std::uint64_t p = protein.count_or("hidden_size", 1280);
  const std::uint64_t depth = text.count_or("resampler_depth", 6);
  const std::uint64_t wide = times(text.count_or("resampler_heads", 8), text.count_or("resampler_dim_head", 64));
  const std::uint64_t mlp = times(text.count_or("resampler_ff_mult", 4), p);
  out.outside(Place::kFirst);
  const Tower t{out, Component::kEncoder};
  t.plain("protein_encoder.word_embeddings", times(protein.count_or("vocab_size", 446), p));
  t.blocks("protein_encoder.layers.",
           {p, protein.count_or("intermediate_size", 5120), protein.count_or("num_hidden_layers", 33)});
  t.plain("protein_encoder.emb_layer_norm_after", times(2, p));
  const std::string at = "sequence_compressor_resampler.";
  t.plain(at + "latents", times(text.count_or("resampler_num_latents", 64), p));
  t.linear(at + "to_qkv", times(3, wide), p, false, depth);
  t.linear(at + "to_out", p, wide, false, depth);
  t.linear(at + "fc1", mlp, p, false, depth);
  t.linear(at + "fc2", p, mlp, false, depth);
  t.plain(at + "norms", times(6, p), depth);
  t.linear(at + "protein_projector", h, p, true);
  t.plain(at + "norm", times(2, h));
  const std::uint64_t layers = out.reader.model.layers.size();
  const std::uint64_t asked = std::max<std::uint64_t>(1, text.count_or("aligner_num_add_layers", 8));
  const std::uint64_t adapters = layers / std::max<std::uint64_t>(1, layers / asked);
  const std::uint64_t inner = times(text.count_or("aligner_ffn_mult", 4), h);
  if (adapters == 0) return;
  out.outside(Place::kEach);
  const Tower looks{out, Component::kAttention};
  const std::string adapter = "model.layers.*.adapter.";
  looks.linear(adapter + "qkv_proj", times(3, h), h, true, adapters);
  looks.linear(adapter + "out_proj", h, h, text.flag("aligner_enable_bias", true), adapters);
  looks.linear(adapter + "ff.fc1", inner, h, false, adapters);
  looks.linear(adapter + "ff.fc2", h, inner, false, adapters);
  looks.plain(adapter + "norms", checked_add(times(3, h), 2, "the norms"), adapters);
}

// clang-format off
std::span<const Family> patched_family() {
  static constexpr Family kRows[] = {
    {.is = {"blt_local_decoder blt", kExecutedClass}, .layers = read_blt, .rule = "plain", .all = write_blt},
    {.is = {"evolla", kExecutedClass}, .extras = write_evolla},
  };
  return kRows;
}
// clang-format on

}  // namespace kvplan
