// State spaces and the other recurrences of fixed size.
#include <algorithm>

#include "kvplan/error.h"
#include "models/blocks/layers.h"
#include "models/registry.h"

namespace kvplan {

// Mamba 2 alone: num_heads and head_dim are the mixer's.
Ssm read_mamba2_alone(const Fields& text) {
  Ssm ssm;
  ssm.d_state = text.count_or("state_size", 128);
  ssm.conv_kernel = text.count_or("conv_kernel", 4);
  ssm.n_groups = text.count_or("n_groups", 1);
  ssm.head_dim = text.count_or("head_dim", 64);
  const auto hidden_size = static_cast<double>(text.count("hidden_size"));
  const double inner = text.find_real("expand").value_or(2.0) * hidden_size;
  if (!(inner >= 1 && inner < 1e12) || ssm.head_dim == 0) fail("\"expand\" is out of range", "correct the config");
  const std::uint64_t derived_heads = static_cast<std::uint64_t>(inner) / ssm.head_dim;
  ssm.num_heads = text.contains("num_heads") ? text.count("num_heads") : derived_heads;
  ssm.d_inner = checked_mul(ssm.num_heads, ssm.head_dim, "the inner width of a Mamba layer");
  return ssm;
}

Ssm read_ssm(const Fields& config) {
  for (const std::string_view key : {"mamba_num_heads", "mamba_n_heads", "n_mamba_heads"})
    if (config.has(key)) return read_mamba2(config);
  if (config.has("num_heads")) return read_mamba2_alone(config);
  return read_mamba1(config);
}

// Bamba, Granite 4, Nemotron-H: Mamba 2 and attention in turn, by a list or a word of letters.
void read_mamba2_hybrid(Reader& reader) {
  const Fields& text = reader.text;
  // A Granite model of attention layers alone carries Mamba keys all the same; that is fine: no layer uses them.
  read_hybrid(reader, pattern_of(reader, {}), read_mamba2(text));
}

std::uint64_t channels_of(std::uint64_t heads, std::uint64_t head_dim) {
  return checked_mul(heads, head_dim, "the channels of a convolution");
}

ShortConv read_short_conv(const Fields& config) {
  const ShortConv conv{config.count("hidden_size"), config.count_or("conv_L_cache", 3)};
  if (conv.conv_kernel == 0) fail("\"conv_L_cache\" is 0", "correct the config");
  return conv;
}

RgLru read_rg_lru(const Fields& config) {
  RgLru lru;
  lru.width = config.count_or("lru_width", 0);
  if (lru.width == 0) lru.width = config.count("hidden_size");
  lru.conv_kernel = config.count_or("conv1d_width", 4);
  lru.num_heads = config.count("num_attention_heads");
  return lru;
}

Rwkv read_rwkv_mixer(const Fields& config) {
  const std::string_view type = config.class_name();
  Rwkv rwkv;
  rwkv.version = type == "rwkv" ? 4 : type == "rwkv5" ? 5 : type.find('6') != std::string_view::npos ? 6 : 7;
  rwkv.hidden_size = config.count("hidden_size");
  if (const auto width = config.find_count("attention_hidden_size"); width && *width > 0 && rwkv.version < 7)
    rwkv.hidden_size = *width;
  rwkv.token_shifts = config.count_or("token_shift_count", type == "rwkv6qwen2" || type == "arwkv7" ? 1 : 2);
  if (rwkv.version > 4) {
    rwkv.head_dim = config.count_or("head_dim", 64);
    if (rwkv.head_dim == 0 || rwkv.hidden_size % rwkv.head_dim != 0)
      fail("\"head_dim\" is " + std::to_string(rwkv.head_dim) + ", which does not divide a \"hidden_size\" of " +
               std::to_string(rwkv.hidden_size),
           "correct the config");
  }
  return rwkv;
}

}  // namespace kvplan
