// RWKV 4 to 7. Source: transformers modeling_rwkv.py; the checkpoints' modeling_rwkv*.py.
#include <cmath>

#include "models/blocks/blocks.h"

namespace kvplan {

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

static void read_rwkv(Reader& reader) {
  const Rwkv rwkv = read_rwkv_mixer(reader.text);
  reader.model.layers.assign(reader.num_layers(), Layer{{rwkv}});
}

static void write_first_norm(Inventory& out) {
  out.in_layers({{0, 1, 1}});
  out.norms("pre_ln", out.hidden, 1, true);
}

constexpr Component kMix = Component::kStateMixer;

// The channel mix, instead of an MLP.
static void write_channel_mix(Inventory& out, std::uint64_t ffn) {
  const std::uint64_t h = out.hidden;
  out.plain(kMix, "feed_forward.time", times(2, h));
  out.linear(Component::kMlp, "feed_forward.key", ffn, h, Split::kRows);
  out.linear(Component::kMlp, "feed_forward.receptance", h, h);
  out.linear(Component::kMlp, "feed_forward.value", h, ffn, Split::kColumns);
}

// max(32, x rounded to a multiple of 32): the rank of a projection in RWKV 7 if the file does not give it.
static std::uint64_t rank_near(double x) {
  return x < 1e9 ? std::max<std::uint64_t>(32, static_cast<std::uint64_t>(x / 32 + 0.5) * 32) : 32;
}

// RWKV 7: four square projections and four of low rank. The first layer's values are mixed into those of the others, so
// the first layer has no projection for that.
static void write_rwkv7(Inventory& out) {
  const Fields& text = out.text;
  const std::uint64_t h = out.hidden;
  const auto width = static_cast<double>(std::max<std::uint64_t>(1, h));
  const auto low_rank = [&](std::string_view name, std::string_view key, double usual, bool bias) {
    const std::uint64_t rank = text.count_or(key, rank_near(usual));
    out.linear(kMix, "attn." + std::string(name) + ".lora.0", rank, h);
    out.linear(kMix, "attn." + std::string(name) + ".lora.2", h, rank, Split::kRows, 0, bias);
  };
  out.plain(kMix, "attn.time", times(9, h));  // six shifts, and k_k, k_a, r_k
  for (const char* const name : {"attn.r_proj", "attn.k_proj", "attn.v_proj"})
    out.linear(kMix, name, h, h, Split::kRows);
  out.linear(kMix, "attn.o_proj", h, h, Split::kColumns);
  out.norms("attn.g_norm", h, 1, true);
  low_rank("w_lora", "decay_low_rank_dim", 1.8 * std::sqrt(width), true);
  low_rank("a_lora", "a_low_rank_dim", 1.8 * std::sqrt(width), true);
  low_rank("g_lora", "gate_low_rank_dim", 0.6 * std::pow(width, 0.8), false);
  const std::uint64_t ffn = text.count_or("intermediate_size", times(4, h));
  out.plain(kMix, "ffn.x_k", h);
  out.linear(Component::kMlp, "ffn.key", ffn, h, Split::kRows);
  out.linear(Component::kMlp, "ffn.value", h, ffn, Split::kColumns);
  const std::uint64_t layers = out.reader.model.layers.size();
  if (layers < 2) return;
  out.in_layers({{1, layers - 1, 1}});
  low_rank("v_lora", "v_low_rank_dim", 1.3 * std::sqrt(width), true);
  out.in_layers({{0, layers, 1}});
}

// RWKV 5 and 6: a gate in addition to the four projections, and a wider channel mix. In 6, shifts and decay depend on
// the input.
static void write_rwkv5(Inventory& out, const Rwkv& rwkv) {
  const std::uint64_t h = out.hidden;
  const std::uint64_t a = rwkv.hidden_size > 0 ? rwkv.hidden_size : h;
  const std::uint64_t ffn = out.text.count_or("intermediate_size", times(7, h) / 2 / 32 * 32);
  const bool sixth = rwkv.version == 6;
  for (const char* const name : {"key", "value", "receptance", "gate"})
    out.linear(kMix, std::string("attention.") + name, a, h, Split::kRows);
  out.linear(kMix, "attention.output", h, a, Split::kColumns);
  out.plain(kMix, "attention.time", checked_add(times(sixth ? 6 : 4, h), times(2, a), "the time mix"));
  if (sixth) {
    const std::uint64_t mix = h >= 4096 ? 64 : 32;
    const std::uint64_t decay = h >= 4096 ? 128 : 64;
    out.plain(kMix, "attention.time_maa_w", times(times(2, h), times(5, mix)));
    out.plain(kMix, "attention.time_decay_w", times(checked_add(h, a, "the decay"), decay));
  }
  out.norms("attention.ln_x", a, 1, true);
  write_channel_mix(out, ffn);
}

static void write_rwkv4(Inventory& out, const Rwkv& rwkv) {
  const std::uint64_t h = out.hidden;
  const std::uint64_t a = rwkv.hidden_size;
  out.plain(kMix, "attention.time", checked_add(times(2, a), times(3, h), "the time mix"));
  for (const char* const name : {"attention.key", "attention.value", "attention.receptance"})
    out.linear(kMix, name, a, h, Split::kRows);
  out.linear(kMix, "attention.output", h, a, Split::kColumns);
  write_channel_mix(out, out.text.count_or("intermediate_size", times(4, h)));
}

static bool write_rwkv_mixer(Inventory& out, const Mixer& mixer) {
  const auto* rwkv = std::get_if<Rwkv>(&mixer);
  if (rwkv == nullptr) return false;
  if (rwkv->version == 7)
    write_rwkv7(out);
  else if (rwkv->version > 4)
    write_rwkv5(out, *rwkv);
  else
    write_rwkv4(out, *rwkv);
  return true;
}

// clang-format off
std::span<const Family> rwkv_family() {
  static constexpr Family kRows[] = {
    {.is = {"rwkv rwkv5 rwkv6 rwkv7", kExecutedClass, Arch::kRwkv}, .layers = read_rwkv, .rule = "rwkv",
     .tensors = {.norms = 2, .norm_style = NormStyle::kLayerNorm, .has_mlps = false}, .extras = write_first_norm,
     .mixer = write_rwkv_mixer},
    {.is = {"rwkv6qwen2", kUnchecked, Arch::kRwkv}, .layers = read_rwkv, .rule = "rwkv",
     .tensors = {.may_have_more = true}},
    {.is = {"arwkv7"}, .layers = read_rwkv, .rule = "rwkv"},
  };
  return kRows;
}
// clang-format on

}  // namespace kvplan
