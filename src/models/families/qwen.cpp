// Alibaba's Qwen and decoders of the same shape. Source: transformers modeling_qwen*.py.
#include "models/blocks/blocks.h"

namespace kvplan {

// Convolutions over the embeddings of the last n tokens, in all residual streams of some layers.
static void push_ngram_convolutions(Reader& reader, std::uint64_t first, std::uint64_t ngram, std::uint64_t streams,
                                    std::uint64_t kernel) {
  const auto mixed = reader.text.counts("ple_layer_ids");
  if (!mixed || mixed->empty()) return;
  constexpr std::string_view kWhat = "the channels of the n-gram convolution";
  const std::uint64_t width = checked_mul(ngram, reader.text.count("hidden_size"), kWhat);
  const ShortConv ngrams{checked_mul(width, streams, kWhat), kernel};
  for (const std::uint64_t i : *mixed)
    if (i >= first && i - first < reader.model.layers.size()) reader.model.layers[i - first].mixers.push_back(ngrams);
}

// A GGUF has index keys for every token.
static void push_gguf_extras(Reader& reader) {
  const Fields& text = reader.text;
  for (Layer& layer : reader.model.layers)
    if (const auto* full = std::get_if<FullAttention>(&layer.mixers.front()))
      layer.mixers.front() = SparseGqa{full->heads, text.count("index_head_dim"), text.count_or("index_n_heads", 0)};
  if (text.list_size("ple_layer_ids").value_or(0) > 0)
    push_ngram_convolutions(reader, 0, text.count("ple_ngram_size"), text.count_or("hyper_connection_count", 1),
                            text.count("ple_conv_kernel"));
}

// Qwen3.8-Flash-Next (qwen4_exp): Qwen3.5's layers. The full ones have pooled index keys. Source: transformers
// modular_qwen4_exp.py; vLLM models/qwen4_exp.
static void read_qwen4_exp(Reader& reader) {
  read_gated_delta_net(reader);
  const Fields& text = reader.text;
  if (text.count_or("index_head_dim", 0) > 0) return push_gguf_extras(reader);
  text.touch("indexer_kv_heads");  // always one
  const std::uint64_t pool = text.count_or("indexer_compress_ratio", 0);
  if (const std::uint64_t heads = text.count_or("indexer_n_heads", 0); heads > 0 && pool > 0)
    for (Layer& layer : reader.model.layers)
      if (const auto* full = std::get_if<FullAttention>(&layer.mixers.front()))
        layer.mixers.front() = SparseGqa{full->heads, text.count_or("indexer_head_dim", 128), heads, pool};
  push_ngram_convolutions(reader, 1, text.count_or("ngram_size", 3), text.count_or("hc_count", 4),
                          text.count_or("ple_conv_kernel_size", 4));
  if (text.list_size("ple_layer_ids").value_or(0) > 0)
    reader.inform("ngram_tables",
                  "vLLM keeps the n-gram tables in host memory; plans of other engines count them on the GPUs");
}

// The convolutions are among the n-gram tables' tensors.
static bool skip_convolution(Inventory&, const Mixer& mixer) {
  return std::holds_alternative<ShortConv>(mixer);
}

// Qwen3.8-Flash-Next: residual streams mixed through a low rank around each block, index projections with full
// attention, and n-gram tables in a few layers. The tables' numbers of rows are primes, and kvplan counts their lower
// bound. Source: transformers modular_qwen4_exp.py.
static void write_qwen4_exp(Inventory& out) {
  const Fields& text = out.text;
  const ModelSpec& model = out.reader.model;
  const std::uint64_t h = out.hidden;
  const std::uint64_t streams = text.count_or("hc_count", 4);
  const std::uint64_t wide = times(streams, h);
  const std::uint64_t rank = text.count_or("hc_lowrank", 320);
  const auto mixer = [&](const char* name, std::uint64_t copies, bool injects) {
    TensorGroup& group = out.plain(Component::kOther, name,
                                   times(wide, checked_add(times(2, rank), injects ? 1 + streams : 1, "a rank")));
    group.copies = group.used = copies;
  };
  out.in_layers(all_layers(out));
  mixer("hyper_connections", 2, true);
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
                times(heads, text.count_or("ngram_vocab_size_base", 20'000'000)), e / heads, Split::kVocab)
          .used = 0;
    out.linear(Component::kOther, "ple.key_proj", wide, e);
    out.linear(Component::kOther, "ple.value_proj", h, e);
    out.norms("ple.norm", wide, 3);
    out.conv(Component::kOther, "ple.conv1d", wide, text.count_or("ple_conv_kernel_size", 4));
  }
  out.outside(Place::kLast);
  mixer("model.hyper_connection_mixer", 1, false);
}

constexpr std::string_view kQwen3NextModules =
    "shared_experts=shared_expert "
    "linear_attn.in_proj_qkv=linear_attn.in_proj_qkvz linear_attn.in_proj_z=linear_attn.in_proj_qkvz | "
    "shared_experts=shared_expert linear_attn.in_proj_ba=linear_attn.in_proj_b | shared_experts=shared_expert "
    "linear_attn.in_proj_ba=linear_attn.in_proj_a";

// clang-format off
std::span<const Family> qwen_family() {
  static constexpr Family kRows[] = {
    {.is = {"qwen", kUnchecked, Arch::kQwen}, .tensors = {.qkv_bias = "+", .o_bias = "", .mlp_bias = "",
     .fuses_qkv = true, .halves_mlp_width = true}, .modules = "layers.*=h.* self_attn.qkv_proj=attn.c_attn "
     "self_attn.o_proj=attn.c_proj mlp.gate_proj=mlp.w2 mlp.up_proj=mlp.w1 mlp.down_proj=mlp.c_proj embed_tokens=wte"},
    {.is = {"qwen2_audio_text", kUnchecked, Arch::kQwen}, .tensors = {.qkv_bias = "+", .o_bias = ""}},
    {.is = {"qwen3_omni_moe_talker_text", kUnchecked, Arch::kQwen}, .tensors = {.may_have_more = true}},
    {.is = {"qwen2 qwen2_vl qwen2_vl_text qwen2_5_vl qwen2_5_vl_text", kExecutedClass, Arch::kQwen},
     .layers = read_qwen, .tensors = {.qkv_bias = "+", .o_bias = ""}},
    {.is = {"qwen2_5_omni_text", kExecutedClass, Arch::kQwen}, .layers = read_qwen, .tensors = {.qkv_bias = "+",
     .o_bias = "", .stores_head = true}},
    {.is = {"qwen2_moe", kExecutedClass, Arch::kQwen}, .layers = read_qwen, .tensors = {.qkv_bias = "qkv_bias",
     .o_bias = "", .shared_gate = "+"}, .modules = "shared_experts=shared_expert"},
    {.is = {"qwen3 qwen3_moe qwen3_vl_text qwen3_vl_moe_text qwen3_omni_moe_text qwen3_asr_text", kExecutedClass,
     Arch::kQwen}, .layers = read_qwen, .tensors = {.qk_norm = QkNorm::kHead}},
    {.is = {"internvl_chat_text dream", kExecutedClass}, .layers = read_qwen, .tensors = {.qkv_bias = "+",
     .o_bias = ""}},
    {.is = {"sdar sdar_moe", kExecutedClass}, .layers = read_qwen, .tensors = {.qk_norm = QkNorm::kHead}},
    {.is = {"llava_qwen"}, .layers = read_qwen},
    {.is = {"qwen3_omni_moe_talker_code_predictor", kUnchecked, Arch::kQwen}, .layers = read_qwen},
    {.is = {"qwen2_5_omni_talker", kUnchecked, Arch::kQwen}, .layers = read_qwen, .tensors = {.may_have_more = true}},
    {.is = {"qwen3_next", kExecutedClass, Arch::kQwen3Next}, .layers = read_gated_delta_net,
     .tensors = {.qk_norm = QkNorm::kHead, .gate = Gate::kDoubledQuery, .shared_gate = "+"},
     .modules = kQwen3NextModules},
    {.is = {"qwen3_5_text qwen3_5_moe_text", kExecutedClass, Arch::kQwen3p5}, .layers = read_gated_delta_net,
     .tensors = {.qk_norm = QkNorm::kHead, .gate = Gate::kDoubledQuery, .shared_gate = "+"},
     .modules = kQwen3NextModules},
    {.is = {"qwen4_exp_text", kUnchecked, Arch::kQwen4Exp}, .layers = read_qwen4_exp, .rule = "qwen4_exp",
     .tensors = {.may_have_more = true, .qk_norm = QkNorm::kHead, .gate = Gate::kDoubledQuery, .norms = 0,
     .has_final_norm = false, .shared_gate = "+"}, .extras = write_qwen4_exp, .mixer = skip_convolution,
     .modules = kQwen3NextModules},
    {.is = {"qwen4_exp qwen3_8_flash_next_text qwen3_8_flash_next", kUnchecked, Arch::kQwen4Exp},
     .layers = read_qwen4_exp, .rule = "qwen4_exp"},
  };
  return kRows;
}
// clang-format on

}  // namespace kvplan
