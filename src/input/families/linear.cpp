// Decoders that mix linear attention with full attention.
#include "input/families.h"
#include "kvplan/error.h"

namespace kvplan {

// Qwen3-Next, 3.5 and 3.6, OLMo-hybrid: gated delta nets, and full attention every fourth layer.
void read_gated_delta_net(Reader& reader) {
  const Config& text = reader.text;
  Linear linear;
  linear.rule = Linear::Rule::kGatedDeltaNet;
  linear.num_key_heads = text.count("linear_num_key_heads");
  linear.num_value_heads = text.count("linear_num_value_heads");
  linear.key_head_dim = text.count("linear_key_head_dim");
  linear.value_head_dim = text.count("linear_value_head_dim");
  linear.conv_kernel = text.count_or("linear_conv_kernel_dim", 4);
  PatternRule rule{PatternRule::Default::kFullEvery, 4, false, Label::kRecurrent, ""};
  read_hybrid(reader, rule, linear);
}

// Kimi-Linear and Kimi-K3: KDA, and latent attention in the layers of full_attn_layers (both lists count from 1).
void read_kimi_linear(Reader& reader) {
  const std::uint64_t layers = reader.num_layers();
  const Config& text = reader.text;
  const auto settings = text.child("linear_attn_config");
  if (!settings) return read_mla(reader);
  text.touch("linear_attn_config");
  Linear kda;
  kda.rule = Linear::Rule::kKda;
  kda.num_key_heads = kda.num_value_heads = settings->count("num_heads");
  kda.key_head_dim = kda.value_head_dim = settings->count("head_dim");
  kda.conv_kernel = settings->count_or("short_conv_kernel_size", 4);
  const std::vector<Label> labels =
      layer_labels(text, layers, {PatternRule::Default::kFullEvery, 4, false, Label::kRecurrent, ""});
  Reader full{reader.root, reader.text, reader.model};
  std::optional<Mixer> latent;
  for (const Label label : labels) {
    if (label == Label::kRecurrent) {
      reader.model.layers.push_back({{kda}});
      continue;
    }
    if (!latent) {
      // The rule for latent layers, asked once.
      ModelSpec scratch = reader.model;
      scratch.layers.clear();
      Reader inner{reader.root, reader.text, scratch};
      read_mla(inner);
      latent = scratch.layers.front().mixers.front();
    }
    reader.model.layers.push_back({{*latent}});
  }
}

// MiniMax-01, Ring and Ling linear: lightning attention keeps one d x d matrix a head.
void read_lightning(Reader& reader) {
  const Heads heads = read_heads(reader.text);
  Linear linear;
  linear.rule = Linear::Rule::kLightning;
  linear.num_key_heads = linear.num_value_heads = heads.num_heads;
  linear.key_head_dim = linear.value_head_dim = heads.head_dim;
  // MiniMax's class alternates, the first layer full; released files name every layer.
  PatternRule rule;
  if (reader.text.class_name() == "minimax")
    rule = {PatternRule::Default::kFullFirstOf, 2, false, Label::kRecurrent, ""};
  read_hybrid(reader, rule, linear);
}

// xLSTM: every layer an mLSTM; query and key are narrower than the value.
void read_xlstm(Reader& reader) {
  const Config& text = reader.text;
  const std::uint64_t blocks = check_layers(text.count_or("num_blocks", 0), "num_blocks");
  const std::uint64_t layers = blocks > 0 ? blocks : reader.num_layers();
  const std::uint64_t hidden_size = text.count("hidden_size");
  const std::uint64_t num_heads = text.count_or("num_heads", 8);
  if (num_heads == 0 || hidden_size < num_heads) fail("\"num_heads\" is out of range", "correct the config");
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
