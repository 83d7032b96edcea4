// Attention with short convolutions beside it: each layer keeps keys and values, and the last inputs of convolutions
// over queries, keys, values or the residual stream.
#include <algorithm>

#include "kvplan/error.h"
#include "models/families.h"

namespace kvplan {

namespace {

std::uint64_t width_of(std::uint64_t heads, std::uint64_t head_dim) {
  return checked_mul(heads, head_dim, "the channels of a convolution");
}

// ZAYA (compressed convolutional attention, arXiv 2510.04476): two convolutions in a row over queries and keys, and
// the half of the values that is delayed by one token.
Layer zaya_layer(const Reader& reader, Label label, const Heads& heads, Tokens window) {
  const std::uint64_t first = reader.text.count_or("cca_time0", 2);
  const std::uint64_t second = reader.text.count_or("cca_time1", 2);
  if (first == 0 || second == 0) fail("\"cca_time0\" and \"cca_time1\" must be positive", "correct the config");
  const std::uint64_t channels =
      checked_add(width_of(heads.num_heads, heads.head_dim), width_of(heads.num_kv_heads, heads.head_dim),
                  "the channels of a convolution");
  const std::uint64_t kernel = checked_add(first, second, "a kernel") - 1;  // keeps (first - 1) + (second - 1) tokens
  const ShortConv mixed{channels, kernel};
  const ShortConv delayed{width_of(heads.num_kv_heads, heads.v_head_dim) / 2, 2};
  return {{attention_mixer(reader, label, heads, window), mixed, delayed}};
}

// Inkling: four convolutions a layer, over keys, values, and the outputs of attention and MLP.
Layer inkling_layer(const Reader& reader, Label label, const Heads& heads, Tokens window) {
  const std::uint64_t kernel = reader.text.count_or("conv_kernel_size", 4);
  if (kernel == 0) fail("\"conv_kernel_size\" is 0", "correct the config");
  const std::uint64_t keys = width_of(heads.num_kv_heads, heads.head_dim);
  const std::uint64_t residual = reader.text.count("hidden_size");
  const std::uint64_t channels =
      checked_mul(checked_add(keys, residual, "the channels of a convolution"), 2, "the channels of a convolution");
  return {{attention_mixer(reader, label, heads, window), ShortConv{channels, kernel}}};
}

void read_inkling(Reader& reader) {
  const Fields& text = reader.text;
  const std::uint64_t layers = reader.num_layers();
  const Heads full = read_heads(text);
  const Heads sliding =
      read_heads(text, {"swa_num_attention_heads", "swa_num_key_value_heads", "swa_head_dim", ""}, full);
  std::vector<Label> labels(layers, Label::kHybrid);
  if (text.is_list("layer_types")) {
    labels = layer_labels(text, layers, {});
  } else if (const auto local = text.counts("local_layer_ids")) {
    for (const std::uint64_t i : *local)
      if (i < layers) labels[i] = Label::kHybridSliding;
  } else {
    for (std::uint64_t i = 0; i < layers; ++i)
      if ((i + 1) % 6 != 0) labels[i] = Label::kHybridSliding;
  }
  text.touch("number_of_conv_states");
  const Tokens window = read_window(text);
  for (const Label label : labels) {
    const bool slides = label == Label::kHybridSliding || label == Label::kSliding;
    reader.model.layers.push_back(inkling_layer(reader, label, slides ? sliding : full, window));
  }
}

// Baichuan-M1: keys and values pass a convolution of two tokens; the layers of sliding_window_layers have a window
// and heads of their own number.
void read_baichuan_m1(Reader& reader) {
  const Fields& text = reader.text;
  const std::uint64_t layers = reader.num_layers();
  const Heads full = read_heads(text);
  Heads sliding = read_heads(text, {"num_swa_attention_heads", "num_swa_key_value_heads", "", ""}, full);
  sliding.head_dim = sliding.v_head_dim = text.count("hidden_size") / sliding.num_heads;
  check_heads(sliding);
  const std::uint64_t kernel = text.count_or("conv_window", 2);
  if (kernel == 0) fail("\"conv_window\" is 0", "correct the config");
  const Tokens window = read_window(text);
  std::vector<bool> slides(layers, false);
  for (const std::uint64_t i : text.counts("sliding_window_layers").value_or(std::vector<std::uint64_t>{}))
    if (i < layers) slides[i] = true;
  for (std::uint64_t i = 0; i < layers; ++i) {
    const Heads& heads = slides[i] ? sliding : full;
    const ShortConv conv{checked_mul(width_of(heads.num_kv_heads, heads.head_dim), 2, "the channels of a convolution"),
                         kernel};
    reader.model.layers.push_back(
        {{attention_mixer(reader, slides[i] ? Label::kSliding : Label::kFull, heads, window), conv}});
  }
}

}  // namespace

void read_conv_attention(Reader& reader) {
  if (reader.text.class_name() == "inkling_text" || reader.text.class_name() == "inkling2_text")
    return read_inkling(reader);
  if (reader.text.class_name() == "baichuan_m1") return read_baichuan_m1(reader);
  const Heads heads = read_heads(reader.text);
  const std::vector<Label> labels = layer_labels(
      reader.text, reader.num_layers(), {PatternRule::Default::kWindowEverywhere, 0, false, Label::kHybrid, ""});
  const Tokens window = read_window(reader.text);
  for (const Label label : labels) reader.model.layers.push_back(zaya_layer(reader, label, heads, window));
}

}  // namespace kvplan
