// Tensors of the recurrent mixers: Mamba, delta nets, KDA, lightning attention, RG-LRU, RWKV.
#include <algorithm>
#include <cmath>

#include "models/blocks/inventory.h"

namespace kvplan {

namespace {

constexpr Component kMix = Component::kStateMixer;

// Where a family keeps its mixer.
std::string mixer_block(const Inventory& inventory) {
  if (inventory.is("nemotron_h nemotron_h_puzzle mamba mamba2 falcon_mamba")) return "mixer.";
  return "mamba.";
}

void write_mamba1(Inventory& inventory, const Ssm& ssm, const std::string& at) {
  Builder& out = inventory.out;
  const Fields& text = inventory.text;
  const std::uint64_t inner = ssm.d_inner;
  const bool bias = text.flag("use_bias", false) || text.flag("mamba_proj_bias", false);
  const std::uint64_t wide = checked_add(ssm.dt_rank, times(2, ssm.d_state), "the width of a projection");
  out.linear(kMix, at + "in_proj", times(2, inner), inventory.hidden, Split::kRows, 0, bias);
  out.conv(kMix, at + "conv1d", inner, ssm.conv_kernel, Split::kRows);
  if (text.flag("use_conv_bias", text.flag("mamba_conv_bias", true)))
    out.plain(kMix, at + "conv1d.bias", inner, Split::kRows);
  out.linear(kMix, at + "x_proj", wide, inner, Split::kColumns);
  out.linear(kMix, at + "dt_proj", inner, ssm.dt_rank, Split::kRows, 0, true);
  out.plain(kMix, at + "A_log", times(inner, ssm.d_state), Split::kRows);
  out.plain(kMix, at + "D", inner, Split::kRows);
  out.linear(kMix, at + "out_proj", inventory.hidden, inner, Split::kColumns, 0, bias);
  if (inventory.is("jamba")) out.norms(at + "norms", wide);
}

}  // namespace

void write_ssm(Inventory& inventory, const Ssm& ssm) {
  Builder& out = inventory.out;
  const Fields& text = inventory.text;
  const std::string at = mixer_block(inventory);
  if (ssm.version == Ssm::Version::kMamba1) return write_mamba1(inventory, ssm, at);
  const std::uint64_t inner = ssm.d_inner;
  if (inventory.is("plamo2")) {
    // The step, B and C come from the convolved input, by way of a rank of their own.
    const std::uint64_t rank = std::max<std::uint64_t>(64, inventory.hidden / 16);
    out.linear(kMix, at + "in_proj", times(2, inner), inventory.hidden, Split::kRows);
    out.conv(kMix, at + "conv1d", inner, ssm.conv_kernel, Split::kRows);
    out.linear(kMix, at + "bcdt_proj", checked_add(rank, times(2, ssm.d_state), "a projection"), inner,
               Split::kColumns);
    out.linear(kMix, at + "dt_proj", ssm.num_heads, rank, Split::kRows);
    out.plain(kMix, at + "decay", times(3, ssm.num_heads), Split::kRows);
    out.norms(at + "norms", checked_add(rank, times(2, ssm.d_state), "a projection"));
    out.linear(kMix, at + "out_proj", inventory.hidden, inner, Split::kColumns);
    return;
  }
  const std::uint64_t grouped = times(2, times(ssm.n_groups, ssm.d_state));
  const bool bias =
      text.flag("use_bias", false) || text.flag("mamba_proj_bias", false) || text.flag("add_bias_linear", false);
  out.linear(kMix, at + "in_proj",
             checked_add(times(2, inner), checked_add(grouped, ssm.num_heads, "a projection"), "a projection"),
             inventory.hidden, Split::kRows, 0, bias);
  out.conv(kMix, at + "conv1d", checked_add(inner, grouped, "a convolution"), ssm.conv_kernel, Split::kRows);
  if (text.flag("use_conv_bias", text.flag("mamba_conv_bias", true)))
    out.plain(kMix, at + "conv1d.bias", checked_add(inner, grouped, "a convolution"), Split::kRows);
  out.plain(kMix, at + "decay", times(3, ssm.num_heads), Split::kRows);  // dt_bias, A_log, D
  if (!inventory.is("falcon_h1") || text.flag("mamba_rms_norm", false))
    out.plain(Component::kNorms, at + "norm", inner, Split::kRows);
  // Falcon-H1's key for the last projection is its own.
  const bool out_bias = inventory.is("falcon_h1") ? text.flag("projectors_bias", false) : bias;
  out.linear(kMix, at + "out_proj", inventory.hidden, inner, Split::kColumns, 0, out_bias);
}

namespace {

void write_delta_net(Inventory& inventory, const Linear& linear) {
  Builder& out = inventory.out;
  const std::uint64_t h = inventory.hidden;
  const std::uint64_t keys = times(linear.num_key_heads, linear.key_head_dim);
  const std::uint64_t values = times(linear.num_value_heads, linear.value_head_dim);
  const std::uint64_t heads = linear.num_value_heads;
  const std::string at = "linear_attn.";
  out.linear(kMix, at + "in_proj_qkv", checked_add(times(2, keys), values, "a projection"), h, Split::kRows,
             linear.num_key_heads);
  out.linear(kMix, at + "in_proj_z", values, h, Split::kRows, heads);
  out.linear(kMix, at + "in_proj_ba", times(2, heads), h, Split::kRows, heads);
  out.conv(kMix, at + "conv1d", checked_add(times(2, keys), values, "a projection"), linear.conv_kernel, Split::kRows);
  out.plain(kMix, at + "dt_bias", heads, Split::kRows);
  out.plain(kMix, at + "A_log", heads, Split::kRows);
  out.norms(at + "norm", linear.value_head_dim);
  out.linear(kMix, at + "out_proj", h, values, Split::kColumns, heads);
}

// Jet-Nemotron: the convolution over the values is its own mixer beside this one.
void write_jet(Inventory& inventory, const Linear& linear) {
  Builder& out = inventory.out;
  const std::uint64_t h = inventory.hidden;
  const std::uint64_t heads = linear.num_value_heads;
  const std::uint64_t keys = times(heads, linear.key_head_dim);
  const std::uint64_t values = times(heads, linear.value_head_dim);
  for (const char* const name : {"self_attn.q_proj", "self_attn.k_proj"})
    out.linear(kMix, name, keys, h, Split::kRows, heads);
  for (const char* const name : {"self_attn.v_proj", "self_attn.g_proj"})
    out.linear(kMix, name, values, h, Split::kRows, heads);
  for (const char* const name : {"self_attn.a_proj", "self_attn.b_proj"})
    out.linear(kMix, name, heads, h, Split::kRows, heads);
  out.plain(kMix, "self_attn.decay", times(2, heads), Split::kRows);  // A_log, dt_bias
  out.norms("self_attn.o_norm", linear.value_head_dim);
  out.linear(kMix, "self_attn.o_proj", h, values, Split::kColumns, heads);
}

void write_kda(Inventory& inventory, const Linear& linear) {
  Builder& out = inventory.out;
  const std::uint64_t h = inventory.hidden;
  const std::uint64_t heads = linear.num_key_heads;
  const std::uint64_t d = linear.key_head_dim;
  const std::uint64_t wide = times(heads, d);
  const std::string at = "self_attn.";
  const auto settings = inventory.text.child("linear_attn_config");
  // Ling 3's gates are whole matrices.
  const bool ling = inventory.is("bailing_hybrid");
  const bool full_gate = ling || (settings && settings->flag("use_full_rank_gate", false)) ||
                         inventory.text.flag("use_full_rank_gate", false);
  for (const char* const name : {"q_proj", "k_proj", "v_proj"})
    out.linear(kMix, at + name, wide, h, Split::kRows, heads);
  out.conv(kMix, at + "conv1d", times(3, wide), linear.conv_kernel, Split::kRows);
  if (ling) {
    out.linear(kMix, at + "f_proj", wide, h, Split::kRows, heads);
  } else {
    out.linear(kMix, at + "f_a_proj", d, h);
    out.linear(kMix, at + "f_b_proj", wide, d, Split::kRows, heads);
  }
  if (full_gate) {
    out.linear(kMix, at + "g_proj", wide, h, Split::kRows, heads);
  } else {
    out.linear(kMix, at + "g_a_proj", d, h);
    out.linear(kMix, at + "g_b_proj", wide, d, Split::kRows, heads);
  }
  out.linear(kMix, at + "b_proj", heads, h, Split::kRows, heads);
  out.plain(kMix, at + "A_log", heads, Split::kRows).is_float32 = true;
  out.plain(kMix, at + "dt_bias", wide, Split::kRows).is_float32 = true;
  out.norms(at + "o_norm", d);
  out.linear(kMix, at + "o_proj", h, wide, Split::kColumns, heads);
}

void write_lightning(Inventory& inventory, const Linear& linear) {
  Builder& out = inventory.out;
  const std::uint64_t h = inventory.hidden;
  const std::uint64_t wide = times(linear.num_key_heads, linear.key_head_dim);
  out.linear(kMix, "self_attn.qkv_proj", times(3, wide), h, Split::kRows, linear.num_key_heads);
  // MiniCPM-SALA has a switch for each of these.
  const bool sala = inventory.is("minicpm_sala");
  if (!sala || inventory.on("use_output_gate"))
    out.linear(kMix, "self_attn.output_gate", wide, h, Split::kRows, linear.num_key_heads);
  out.linear(kMix, "self_attn.out_proj", h, wide, Split::kColumns, linear.num_key_heads);
  if (!sala || inventory.on("use_output_norm")) out.norms("self_attn.norm", wide);
  // Ring's queries and keys are normed in these layers too.
  const bool normed = inventory.traits.qk_norm == QkNorm::kHead && inventory.on(inventory.traits.qk_norm_key);
  if (sala ? inventory.on("qk_norm") : normed) out.norms("self_attn.qk_norm", linear.key_head_dim, 2);
}

void write_mlstm(Inventory& inventory, const Linear& linear) {
  Builder& out = inventory.out;
  const std::uint64_t h = inventory.hidden;
  const std::uint64_t n = linear.num_key_heads;
  const std::uint64_t keys = times(n, linear.key_head_dim);
  const std::uint64_t values = times(n, linear.value_head_dim);
  const bool bias = inventory.text.flag("use_bias", false);
  out.linear(kMix, "mlstm_layer.q", keys, h, Split::kRows, n, bias);
  out.linear(kMix, "mlstm_layer.k", keys, h, Split::kRows, n, bias);
  out.linear(kMix, "mlstm_layer.v", values, h, Split::kRows, n, bias);
  out.linear(kMix, "mlstm_layer.ogate_preact", values, h, Split::kRows, n, bias);
  out.linear(kMix, "mlstm_layer.igate_preact", n, h, Split::kNone, 0, true);
  out.linear(kMix, "mlstm_layer.fgate_preact", n, h, Split::kNone, 0, true);
  out.norms("mlstm_layer.multihead_norm", values);
  out.linear(kMix, "mlstm_layer.out_proj", h, values, Split::kColumns, n, bias);
}

}  // namespace

void write_linear_mixer(Inventory& inventory, const Linear& linear) {
  switch (linear.rule) {
    case Linear::Rule::kGatedDeltaNet:
      return inventory.is("jet_nemotron") ? write_jet(inventory, linear) : write_delta_net(inventory, linear);
    case Linear::Rule::kKda: return write_kda(inventory, linear);
    case Linear::Rule::kLightning: return write_lightning(inventory, linear);
    case Linear::Rule::kMlstm: return write_mlstm(inventory, linear);
  }
}

void write_rg_lru(Inventory& inventory, const RgLru& lru) {
  Builder& out = inventory.out;
  const std::uint64_t w = lru.width;
  const std::uint64_t n = lru.num_heads > 0 ? lru.num_heads : 1;
  const std::uint64_t block = w / n;
  const std::string at = "temporal_block.";
  out.linear(kMix, at + "linear_x", w, inventory.hidden, Split::kRows, 0, true);
  out.linear(kMix, at + "linear_y", w, inventory.hidden, Split::kRows, 0, true);
  out.linear(kMix, at + "linear_out", inventory.hidden, w, Split::kColumns, 0, true);
  out.conv(kMix, at + "conv_1d", w, lru.conv_kernel, Split::kRows);
  out.plain(kMix, at + "conv_1d.bias", w, Split::kRows);
  out.plain(kMix, at + "rg_lru.recurrent_param", w, Split::kRows);
  TensorGroup& gates =
      out.plain(kMix, at + "rg_lru.gates", checked_add(times(n, times(block, block)), w, "the gates"), Split::kRows);
  gates.copies = gates.used = 2;
}

namespace {

// max(32, x rounded to a multiple of 32): how RWKV 7 sizes a low-rank projection that the file does not name.
std::uint64_t rank_near(double x) {
  return x < 1e9 ? std::max<std::uint64_t>(32, static_cast<std::uint64_t>(x / 32 + 0.5) * 32) : 32;
}

// RWKV 7: four square projections and four of low rank; the first layer's values are mixed into the others', so the
// first has no projection for that.
void write_rwkv7(Inventory& inventory) {
  Builder& out = inventory.out;
  const Fields& text = inventory.text;
  const std::uint64_t h = inventory.hidden;
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
  const std::uint64_t layers = inventory.reader.model.layers.size();
  if (layers < 2) return;
  out.in_layers({{1, layers - 1, 1}});
  low_rank("v_lora", "v_low_rank_dim", 1.3 * std::sqrt(width), true);
  out.in_layers({{0, layers, 1}});
}

// RWKV 5 and 6: a gate beside the four projections, a wider channel mix; 6 makes shifts and decay depend on the input.
void write_rwkv5(Inventory& inventory, const Rwkv& rwkv) {
  Builder& out = inventory.out;
  const std::uint64_t h = inventory.hidden;
  const std::uint64_t a = rwkv.hidden_size > 0 ? rwkv.hidden_size : h;
  const std::uint64_t ffn = inventory.text.count_or("intermediate_size", times(7, h) / 2 / 32 * 32);
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
  out.plain(kMix, "feed_forward.time", times(2, h));
  out.linear(Component::kMlp, "feed_forward.key", ffn, h, Split::kRows);
  out.linear(Component::kMlp, "feed_forward.receptance", h, h);
  out.linear(Component::kMlp, "feed_forward.value", h, ffn, Split::kColumns);
}

}  // namespace

void write_rwkv(Inventory& inventory, const Rwkv& rwkv) {
  Builder& out = inventory.out;
  const std::uint64_t h = inventory.hidden;
  const std::uint64_t a = rwkv.hidden_size;
  if (inventory.is("rwkv7")) return write_rwkv7(inventory);
  if (inventory.is("rwkv5 rwkv6")) return write_rwkv5(inventory, rwkv);
  if (rwkv.version > 4) {
    const Elements square = Elements(times(h, h)) * out.num_layers();
    inventory.reader.model.unknown_tensors.push_back(
        {kMix, "the mixers of RWKV " + std::to_string(rwkv.version), square * 4, square * 5, square * 7});
    return;
  }
  const std::uint64_t ffn = inventory.text.count_or("intermediate_size", times(4, h));
  const std::string at = "attention.";
  out.plain(kMix, at + "time", checked_add(times(2, a), times(3, h), "the time mix"));
  for (const char* const name : {"key", "value", "receptance"}) out.linear(kMix, at + name, a, h, Split::kRows);
  out.linear(kMix, at + "output", h, a, Split::kColumns);
  out.plain(kMix, "feed_forward.time", times(2, h));
  out.linear(Component::kMlp, "feed_forward.key", ffn, h, Split::kRows);
  out.linear(Component::kMlp, "feed_forward.receptance", h, h);
  out.linear(Component::kMlp, "feed_forward.value", h, ffn, Split::kColumns);
}

}  // namespace kvplan
