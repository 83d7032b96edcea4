// Baichuan. Source: the checkpoints' modeling_baichuan.py and modeling_baichuan_m1.py.
#include "models/blocks/blocks.h"

namespace kvplan {

// Baichuan-M1: keys and values pass through a convolution of two tokens. The layers in sliding_window_layers have a
// window and their own number of heads.
static void read_baichuan_m1(Reader& reader) {
  const Fields& text = reader.text;
  const std::uint64_t layers = reader.num_layers();
  const Heads full = read_heads(text);
  Heads sliding = read_heads(text, {"num_swa_attention_heads", "num_swa_key_value_heads", "", ""}, full);
  sliding.head_dim = sliding.v_head_dim = text.count("hidden_size") / sliding.num_heads;
  check_heads(sliding);
  const std::uint64_t kernel = text.count_or("conv_window", 2);
  if (kernel == 0) fail("\"conv_window\" is 0", "correct the config");
  const Tokens window = read_window(text);
  const std::vector<bool> slides = listed_layers(text, "sliding_window_layers", layers);
  for (std::uint64_t i = 0; i < layers; ++i) {
    const Heads& heads = slides[i] ? sliding : full;
    const ShortConv conv{
        checked_mul(channels_of(heads.num_kv_heads, heads.head_dim), 2, "the channels of a convolution"), kernel};
    reader.add({{attention_mixer(reader, slides[i] ? Label::kSliding : Label::kFull, heads, window), conv}});
  }
}

// The convolution has one kernel per head and no other tensors.
static bool write_baichuan_m1(Inventory& out, const Mixer& mixer) {
  if (const Heads* heads = heads_of(mixer))
    out.plain(Component::kAttention, "self_attn.conv",
              times(2, times(heads->num_kv_heads, out.text.count_or("conv_window", 2))));
  return std::holds_alternative<ShortConv>(mixer);
}

// clang-format off
std::span<const Family> baichuan_family() {
  static constexpr Family kRows[] = {
    {.is = {"baichuan"}, .tensors = {.qkv_bias = "", .o_bias = "", .fuses_qkv = true},
     .modules = "self_attn.qkv_proj=self_attn.W_pack"},
    {.is = {"baichuan_m1", kPublishedTotal}, .layers = read_baichuan_m1, .rule = "conv_attention",
     .tensors = {.qkv_bias = "", .o_bias = "", .fuses_qkv = true}, .mixer = write_baichuan_m1},
  };
  return kRows;
}
// clang-format on

}  // namespace kvplan
