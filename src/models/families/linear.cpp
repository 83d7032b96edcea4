// Decoders that mix linear attention with full attention.
#include "kvplan/error.h"
#include "models/families.h"

namespace kvplan {

Linear read_delta_net(const Fields& config) {
  Linear linear;
  linear.rule = Linear::Rule::kGatedDeltaNet;
  linear.num_key_heads = config.count("linear_num_key_heads");
  linear.num_value_heads = config.count("linear_num_value_heads");
  linear.key_head_dim = config.count("linear_key_head_dim");
  linear.value_head_dim = config.count("linear_value_head_dim");
  linear.conv_kernel = config.count_or("linear_conv_kernel_dim", 4);
  return linear;
}

Linear read_kda(const Fields& settings) {
  Linear kda;
  kda.rule = Linear::Rule::kKda;
  kda.num_key_heads = kda.num_value_heads = settings.count("num_heads");
  kda.key_head_dim = kda.value_head_dim = settings.count("head_dim");
  kda.conv_kernel = settings.count_or("short_conv_kernel_size", 4);
  return kda;
}

Linear read_linear_heads(const Fields& text, std::uint64_t num_heads, std::uint64_t head_dim) {
  if (const auto settings = text.child("linear_attn_config")) {
    text.touch("linear_attn_config");
    return read_kda(*settings);
  }
  Linear kda;
  kda.rule = Linear::Rule::kKda;
  kda.num_key_heads = kda.num_value_heads = text.count_or("linear_num_heads", num_heads);
  kda.key_head_dim = kda.value_head_dim = text.count_or("linear_head_dim", head_dim);
  kda.conv_kernel = text.count_or("linear_conv_kernel_dim", 4);
  return kda;
}

Linear read_matrix_state(const Heads& heads) {
  Linear linear;
  linear.rule = Linear::Rule::kLightning;
  linear.num_key_heads = linear.num_value_heads = heads.num_heads;
  linear.key_head_dim = linear.value_head_dim = heads.head_dim;
  return linear;
}

namespace {

// OLMo-hybrid: absent dimensions follow from the attention's heads. Keys take 3/4 of the hidden size, values twice.
Linear read_olmo_delta_net(const Fields& text) {
  const Fields own = text.bare();
  Linear linear;
  linear.rule = Linear::Rule::kGatedDeltaNet;
  linear.conv_kernel = text.count_or("linear_conv_kernel_dim", 4);
  const std::uint64_t num_heads = text.count("num_attention_heads");
  linear.num_key_heads = own.count_or("linear_num_key_heads", num_heads);
  linear.num_value_heads = own.count_or("linear_num_value_heads", num_heads);
  if (linear.num_key_heads == 0) fail("\"linear_num_key_heads\" is 0", "correct the config");
  const std::uint64_t keys = checked_mul(text.count("hidden_size"), 3, "the keys of a delta net") / 4;
  linear.key_head_dim = own.count_or("linear_key_head_dim", keys / linear.num_key_heads);
  linear.value_head_dim =
      own.count_or("linear_value_head_dim", checked_mul(linear.key_head_dim, 2, "the values of a delta net"));
  return linear;
}

}  // namespace

// Qwen3-Next, 3.5 and 3.6, OLMo-hybrid: gated delta nets, and full attention every fourth layer.
void read_gated_delta_net(Reader& reader) {
  const bool olmo = reader.text.class_name() == "olmo_hybrid";
  const Linear linear = olmo ? read_olmo_delta_net(reader.text) : read_delta_net(reader.text);
  PatternRule rule{PatternRule::Default::kFullEvery, 4, false, Label::kRecurrent, ""};
  read_hybrid(reader, rule, linear);
}

namespace {

// Linear layers, and in between latent ones or, where the config has no latent, plain ones.
void push_linear_and_latent(Reader& reader, const std::vector<Label>& labels, const Linear& linear) {
  ModelSpec scratch;
  scratch.model_type = reader.model.model_type;
  Reader inner{reader.root, reader.text, scratch};
  read_mla(inner);
  const Mixer& full = scratch.layers.front().mixers.front();
  for (const Label label : labels) reader.model.layers.push_back({{label == Label::kRecurrent ? Mixer(linear) : full}});
}

}  // namespace

// Kimi-Linear and Kimi-K3: KDA, and latent attention in the layers of full_attn_layers (both lists count from 1).
// transformers writes layer_types and linear_* keys in their place.
void read_kimi_linear(Reader& reader) {
  const Fields& text = reader.text;
  if (!text.is_object("linear_attn_config") && !text.has("linear_num_heads")) return read_mla(reader);
  const PatternRule rule{PatternRule::Default::kFullEvery, 4, false, Label::kRecurrent, ""};
  push_linear_and_latent(reader, layer_labels(text, reader.num_layers(), rule), read_linear_heads(text, 32, 128));
}

// GigaChat 3.5: gated delta nets, and latent attention in the layers of full_attention_layers (counted from 0), which
// go before layer_types; all layers are latent where linear_attention_type is null. Source: vLLM
// configs/gigachat3_5.py.
void read_gigachat(Reader& reader) {
  const Fields& text = reader.text;
  if (text.is_null("linear_attention_type")) return read_mla(reader);
  std::vector<Label> labels(reader.num_layers(), Label::kRecurrent);
  if (const auto full = text.counts("full_attention_layers")) {
    for (const std::uint64_t i : *full)
      if (i < labels.size()) labels[i] = Label::kFull;
  } else if (text.is_list("layer_types")) {
    labels = layer_labels(text, labels.size(), {});
  }
  push_linear_and_latent(reader, labels, read_delta_net(text));
}

// GLM-5.3-Flash (glm5_next): KDA, whose heads stand in linear_attn_config or beside it, and in every fourth layer
// latents without a rotary part; pooled index keys beside them are small. Source: vLLM configs/glm5_next.py.
void read_glm5_next(Reader& reader) {
  const Fields& text = reader.text;
  PatternRule rule{PatternRule::Default::kFullEvery, 4, false, Label::kRecurrent, ""};
  push_linear_and_latent(reader, layer_labels(text, reader.num_layers(), rule), read_linear_heads(text, 64, 128));
  for (const std::string_view key :
       {"index_n_heads", "index_topk", "index_kpool_compress", "index_kpool_always_select_tail",
        "index_dsa_use_layernorm", "index_share_for_mtp_iteration"})
    text.touch(key);
  if (const std::uint64_t pool = text.count_or("index_kpool", 0); pool > 0)
    reader.warn("index_keys", "index keys of " + std::to_string(text.count_or("index_head_dim", 0)) + " numbers for " +
                                  std::to_string(pool) + " tokens in each layer of full attention are not counted");
}

// MiniMax-01, Ring and Ling linear: lightning attention keeps one d x d matrix a head. Ling 2.5 and 3 attend through
// a latent in between, and Ling 3 has KDA (with its short convolutions) for the linear layers.
void read_lightning(Reader& reader) {
  const Fields& text = reader.text;
  PatternRule rule;
  if (text.class_name() == "minimax") rule = {PatternRule::Default::kFullFirstOf, 2, false, Label::kRecurrent, ""};
  if (text.class_name() == "minimax_text_01" || text.class_name() == "minimax_m1")
    rule = {PatternRule::Default::kFullEvery, 8, false, Label::kRecurrent, ""};
  if (text.count_or("kv_lora_rank", 0) == 0) return read_hybrid(reader, rule, read_matrix_state(read_heads(text)));
  Heads heads;
  heads.num_heads = text.count("num_attention_heads");
  heads.head_dim = text.count_or("head_dim", text.count("hidden_size") / heads.num_heads);
  Linear linear = read_matrix_state(heads);
  if (text.has("linear_num_heads")) {
    // As transformers writes it; its head_dim is the width of the rotary part.
    linear = read_linear_heads(text, heads.num_heads, heads.head_dim);
  } else if (text.has("short_conv_kernel_size") || text.has("kda_lower_bound")) {
    linear.rule = Linear::Rule::kKda;
    linear.conv_kernel = text.count_or("short_conv_kernel_size", 4);
  }
  push_linear_and_latent(reader, layer_labels(text, reader.num_layers(), rule), linear);
}

// MiniCPM-SALA: mixer_types names what each layer is, and lightning layers have heads of their own.
// Source: its modeling_minicpm_sala.py; SGLang configs/minicpm.py (the state is lightning_nkv x head_dim x head_dim).
void read_minicpm_sala(Reader& reader) {
  const Fields& text = reader.text;
  const std::uint64_t layers = reader.num_layers();
  const Heads heads = read_heads(text);
  Heads lightning = read_heads(text, {"lightning_nh", "lightning_nkv", "lightning_head_dim", ""}, heads);
  lightning.num_heads = lightning.num_kv_heads;
  const auto words = text.strings("mixer_types");
  if (!words || words->size() < layers)
    fail("\"mixer_types\" does not name every layer", "give one entry for each layer");
  for (std::uint64_t i = 0; i < layers; ++i) {
    const std::string& word = (*words)[i];
    if (word == "minicpm4")
      reader.model.layers.push_back({{FullAttention{heads}}});
    else if (word.starts_with("lightning"))
      reader.model.layers.push_back({{read_matrix_state(lightning)}});
    else
      fail(Exit::kUnknownArchitecture,
           "\"mixer_types\" names a kind of layer that kvplan does not know: \"" + one_line(word, 60) + "\"",
           "known are minicpm4 and lightning-attn");
  }
}

// Jet-Nemotron: a gated delta net whose values pass a convolution with kernels of their own making; full layers and
// windows between. Source: its jet_block.py; SGLang configs/jet_nemotron.py.
void read_jet_nemotron(Reader& reader) {
  const Fields& text = reader.text;
  const std::uint64_t layers = reader.num_layers();
  const Heads heads = read_heads(text);
  const auto settings = text.child("efficient_attention_config");
  const auto jet = settings ? settings->child("jet") : std::nullopt;
  const auto swa = settings ? settings->child("swa") : std::nullopt;
  text.touch("efficient_attention_config");
  Linear linear;
  linear.num_key_heads = linear.num_value_heads = jet ? jet->count_or("num_heads", 6) : 6;
  linear.key_head_dim = jet ? jet->count_or("head_dim", 256) : 256;
  linear.value_head_dim =
      scaled_width(jet ? jet->find_real("expand_v").value_or(2.0) : 2.0, linear.key_head_dim, "expand_v");
  const ShortConv values{checked_mul(linear.num_value_heads, linear.value_head_dim, "the channels of a convolution"),
                         jet ? jet->count_or("conv_size", 4) : 4};
  if (values.channels == 0 || values.conv_kernel == 0) fail("a jet layer has no heads", "correct the config");
  const Tokens window(swa ? swa->count_or("window_size", 1024) : 1024);
  const std::vector<Label> labels = layer_labels(text, layers, {});
  for (const Label label : labels) {
    if (label == Label::kRecurrent)
      reader.model.layers.push_back({{linear, values}});
    else
      reader.model.layers.push_back({{attention_mixer(reader, label, heads, window)}});
  }
}

// Qwen3.8-Flash-Next (qwen4_exp): Qwen3.5's layers; block index keys beside the full ones are small (indexer_head_dim
// for indexer_compress_ratio tokens), and no engine's log counts them with the rest.
// Source: transformers modular_qwen4_exp.py; SGLang configs/qwen4_exp.py.
namespace {
// A GGUF counts the index keys of every token, and convolves the embeddings of the last n tokens in some layers.
void push_gguf_extras(Reader& reader) {
  const Fields& text = reader.text;
  std::vector<Layer>& layers = reader.model.layers;
  for (Layer& layer : layers)
    if (const auto* full = std::get_if<FullAttention>(&layer.mixers.front()))
      layer.mixers.front() = SparseGqa{full->heads, text.count("index_head_dim"), text.count_or("index_n_heads", 0)};
  const auto mixed = text.counts("ple_layer_ids");
  if (!mixed || mixed->empty()) return;
  constexpr std::string_view kWhat = "the channels of the n-gram convolution";
  const std::uint64_t width = checked_mul(text.count("ple_ngram_size"), text.count("hidden_size"), kWhat);
  const ShortConv ngrams{checked_mul(width, text.count_or("hyper_connection_count", 1), kWhat),
                         text.count("ple_conv_kernel")};
  for (const std::uint64_t i : *mixed)
    if (i < layers.size()) layers[i].mixers.push_back(ngrams);
}
}  // namespace

void read_qwen4_exp(Reader& reader) {
  read_gated_delta_net(reader);
  const Fields& text = reader.text;
  if (text.count_or("index_head_dim", 0) > 0) return push_gguf_extras(reader);
  text.touch("indexer_kv_heads");  // one
  const std::uint64_t ratio = text.count_or("indexer_compress_ratio", 0);
  if (text.count_or("indexer_n_heads", 0) > 0 && ratio > 0)
    reader.warn("index_keys", "index keys of " + std::to_string(text.count_or("indexer_head_dim", 0)) +
                                  " numbers for " + std::to_string(ratio) +
                                  " tokens in each layer of full attention are not counted");
  if (text.list_size("ple_layer_ids").value_or(0) > 0)
    reader.warn(
        "ngram_tables",
        "the n-gram tables of ple_layer_ids are counted on the card, where vLLM keeps them in the host's memory; "
        "the small state of their convolutions is not counted");
}

// xLSTM: every layer an mLSTM; query and key are narrower than the value.
void read_xlstm(Reader& reader) {
  const Fields& text = reader.text;
  const std::uint64_t blocks = check_layers(text.count_or("num_blocks", 0), "num_blocks");
  const std::uint64_t layers = blocks > 0 ? blocks : reader.num_layers();
  const std::uint64_t hidden_size = text.count("hidden_size");
  const std::uint64_t num_heads = text.count_or("num_heads", 8);
  if (num_heads == 0 || hidden_size < num_heads) fail("\"num_heads\" is out of range", "correct the config");
  for (const std::string_view key : {"inference_state_dtype", "return_last_states"}) text.touch(key);
  const double qk = text.find_real("qk_dim_factor").value_or(0.5);
  const double v = text.find_real("v_dim_factor").value_or(1.0);
  Linear linear;
  linear.rule = Linear::Rule::kMlstm;
  linear.num_key_heads = linear.num_value_heads = num_heads;
  linear.key_head_dim = scaled_width(qk, hidden_size, "qk_dim_factor") / num_heads;
  linear.value_head_dim = scaled_width(v, hidden_size, "v_dim_factor") / num_heads;
  for (std::uint64_t i = 0; i < layers; ++i) reader.model.layers.push_back({{linear}});
}

}  // namespace kvplan
