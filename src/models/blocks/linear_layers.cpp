// Linear attention, and layers of full or latent attention between.
#include <algorithm>

#include "kvplan/error.h"
#include "models/blocks/layers.h"
#include "models/registry.h"

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

// Linear layers, and in between latent ones or, where the config has no latent, plain ones.
void push_linear_and_latent(Reader& reader, const std::vector<Label>& labels, const Linear& linear) {
  ModelSpec scratch;
  scratch.model_type = reader.model.model_type;
  Reader inner{reader.root, reader.text, scratch};
  read_mla(inner);
  const Mixer& full = scratch.layers.front().mixers.front();
  for (const Label label : labels) reader.model.layers.push_back({{label == Label::kRecurrent ? Mixer(linear) : full}});
}

// Qwen3-Next, 3.5 and 3.6: gated delta nets, and full attention every fourth layer.
void read_gated_delta_net(Reader& reader) {
  read_hybrid(reader, {PatternRule::Default::kFullEvery, 4, false, Label::kRecurrent, ""}, read_delta_net(reader.text));
}

// Kimi-Linear and Kimi-K3: KDA, and latent attention in the layers of full_attn_layers (both lists count from 1).
// transformers writes layer_types and linear_* keys in their place.
void read_kimi_linear(Reader& reader) {
  const Fields& text = reader.text;
  if (!text.is_object("linear_attn_config") && !text.has("linear_num_heads")) return read_mla(reader);
  const PatternRule rule{PatternRule::Default::kFullEvery, 4, false, Label::kRecurrent, ""};
  // The order in which keys are read is the report's, and compilers order arguments as they like.
  const Linear linear = read_linear_heads(text, 32, 128);
  push_linear_and_latent(reader, layer_labels(text, reader.num_layers(), rule), linear);
}

// MiniMax-01, Ring and Ling linear: lightning attention keeps one d x d matrix a head. Ling 2.5 and 3 attend through
// a latent in between, and Ling 3 has KDA (with its short convolutions) for the linear layers.
void read_lightning(Reader& reader) {
  const Fields& text = reader.text;
  const PatternRule rule = pattern_of(reader, {});
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

}  // namespace kvplan
