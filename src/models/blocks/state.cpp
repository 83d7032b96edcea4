// Tensors of the recurrent mixers: Mamba, delta nets, KDA, lightning attention, RG-LRU, RWKV.
#include <algorithm>
#include <cmath>

#include "models/blocks/inventory.h"

namespace kvplan {

namespace {

constexpr Component kMix = Component::kStateMixer;

void write_mamba1(Inventory& out, const Ssm& ssm, const std::string& at) {
  const Fields& text = out.text;
  const std::uint64_t inner = ssm.d_inner;
  const bool bias = text.flag("use_bias", false) || text.flag("mamba_proj_bias", false);
  const std::uint64_t wide = checked_add(ssm.dt_rank, times(2, ssm.d_state), "the width of a projection");
  out.linear(kMix, at + "in_proj", times(2, inner), out.hidden, Split::kRows, 0, bias);
  out.conv(kMix, at + "conv1d", inner, ssm.conv_kernel, Split::kRows);
  if (text.flag("use_conv_bias", text.flag("mamba_conv_bias", true)))
    out.plain(kMix, at + "conv1d.bias", inner, Split::kRows);
  out.linear(kMix, at + "x_proj", wide, inner, Split::kColumns);
  out.linear(kMix, at + "dt_proj", inner, ssm.dt_rank, Split::kRows, 0, true);
  out.plain(kMix, at + "A_log", times(inner, ssm.d_state), Split::kRows).kept = Kept::kFloat32;
  out.plain(kMix, at + "D", inner, Split::kRows);
  out.linear(kMix, at + "out_proj", out.hidden, inner, Split::kColumns, 0, bias);
}

}  // namespace

void write_ssm(Inventory& out, const Ssm& ssm) {
  const Fields& text = out.text;
  const Traits& traits = out.traits;
  const std::string at = std::string(traits.ssm) + ".";
  if (ssm.version == Ssm::Version::kMamba1) return write_mamba1(out, ssm, at);
  const std::uint64_t inner = ssm.d_inner;
  const std::uint64_t grouped = times(2, times(ssm.n_groups, ssm.d_state));
  const bool bias =
      text.flag("use_bias", false) || text.flag("mamba_proj_bias", false) || text.flag("add_bias_linear", false);
  // One group of B and C is whole on every rank; several are shared out.
  const bool repeats = ssm.n_groups == 1;
  const std::uint64_t cut = repeats ? 0 : grouped;
  out.linear(kMix, at + "in_proj",
             checked_add(times(2, inner), checked_add(cut, ssm.num_heads, "a projection"), "a projection"), out.hidden,
             Split::kRows, 0, bias);
  out.conv(kMix, at + "conv1d", checked_add(inner, cut, "a convolution"), ssm.conv_kernel, Split::kRows);
  const bool conv_bias = text.flag("use_conv_bias", text.flag("mamba_conv_bias", true));
  if (conv_bias) out.plain(kMix, at + "conv1d.bias", checked_add(inner, cut, "a convolution"), Split::kRows);
  if (repeats) {
    out.linear(kMix, at + "in_proj", grouped, out.hidden, Split::kNone, 0, bias);
    out.conv(kMix, at + "conv1d", grouped, ssm.conv_kernel);
    if (conv_bias) out.plain(kMix, at + "conv1d.bias", grouped);
  }
  if (out.family.is.id == Arch::kFalconH1) {
    // muP's factors of the projection, a buffer in vLLM.
    out.plain(kMix, at + "mup_vector", checked_add(times(2, inner), ssm.num_heads, "a projection"), Split::kRows)
        .is_derived = true;
    out.plain(kMix, at + "mup_vector", grouped).is_derived = true;
  }
  out.plain(kMix, at + "A_log", ssm.num_heads, Split::kRows).kept = Kept::kFloat32;
  out.plain(kMix, at + "decay", times(2, ssm.num_heads), Split::kRows);  // dt_bias, D
  if (out.on(traits.ssm_norm)) out.plain(Component::kNorms, at + "norm", inner, Split::kRows);
  const bool out_bias = traits.ssm_out_bias.empty() ? bias : out.on(traits.ssm_out_bias);
  out.linear(kMix, at + "out_proj", out.hidden, inner, Split::kColumns, 0, out_bias);
}

namespace {

void write_delta_net(Inventory& out, const Linear& linear) {
  const std::uint64_t h = out.hidden;
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
  out.plain(kMix, at + "A_log", heads, Split::kRows).kept = Kept::kFloat32;
  out.norms(at + "norm", linear.value_head_dim);
  out.linear(kMix, at + "out_proj", h, values, Split::kColumns, heads);
}

void write_kda(Inventory& out, const Linear& linear) {
  const std::uint64_t h = out.hidden;
  const std::uint64_t heads = linear.num_key_heads;
  const std::uint64_t d = linear.key_head_dim;
  const std::uint64_t wide = times(heads, d);
  const std::string at = "self_attn.";
  const auto settings = out.text.child("linear_attn_config");
  const bool full_gates = out.traits.has_full_rank_gates;
  const bool full_gate = full_gates || (settings && settings->flag("use_full_rank_gate", false)) ||
                         out.text.flag("use_full_rank_gate", false);
  for (const char* const name : {"q_proj", "k_proj", "v_proj"})
    out.linear(kMix, at + name, wide, h, Split::kRows, heads);
  const bool is_kimi = is_one_of(out.family.is.id, {Arch::kKimiLinear, Arch::kKimiK3});
  TensorGroup& conv = out.conv(kMix, at + "conv1d", times(3, wide), linear.conv_kernel, Split::kRows);
  if (is_kimi) {
    // In float32, and once more in the order of decoding, as the norm (vLLM models/kimi_k3).
    conv.kept = Kept::kFloat32;
    TensorGroup& again = out.plain(kMix, at + "decode_conv1d", times(times(3, wide), linear.conv_kernel), Split::kRows);
    again.is_derived = again.is_float32 = true;
    TensorGroup& norm = out.plain(kMix, at + "decode_norm", d);
    norm.is_derived = norm.is_float32 = true;
  }
  if (full_gates) {
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

void write_lightning(Inventory& out, const Linear& linear) {
  const std::uint64_t h = out.hidden;
  const std::uint64_t wide = times(linear.num_key_heads, linear.key_head_dim);
  out.linear(kMix, "self_attn.qkv_proj", times(3, wide), h, Split::kRows, linear.num_key_heads);
  out.linear(kMix, "self_attn.output_gate", wide, h, Split::kRows, linear.num_key_heads);
  out.linear(kMix, "self_attn.out_proj", h, wide, Split::kColumns, linear.num_key_heads);
  out.norms("self_attn.norm", wide);
  // Ring's queries and keys are normed in these layers too.
  if (out.traits.qk_norm == QkNorm::kHead && out.on(out.traits.qk_norm_key))
    out.norms("self_attn.qk_norm", linear.key_head_dim, 2);
}

void write_mlstm(Inventory& out, const Linear& linear) {
  const std::uint64_t h = out.hidden;
  const std::uint64_t n = linear.num_key_heads;
  const std::uint64_t keys = times(n, linear.key_head_dim);
  const std::uint64_t values = times(n, linear.value_head_dim);
  const bool bias = out.text.flag("use_bias", false);
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

void write_linear_mixer(Inventory& out, const Linear& linear) {
  switch (linear.rule) {
    case Linear::Rule::kGatedDeltaNet: return write_delta_net(out, linear);
    case Linear::Rule::kKda: return write_kda(out, linear);
    case Linear::Rule::kLightning: return write_lightning(out, linear);
    case Linear::Rule::kMlstm: return write_mlstm(out, linear);
  }
}

void write_rg_lru(Inventory& out, const RgLru& lru) {
  const std::uint64_t w = lru.width;
  const std::uint64_t n = lru.num_heads > 0 ? lru.num_heads : 1;
  const std::uint64_t block = w / n;
  const std::string at = "temporal_block.";
  out.linear(kMix, at + "linear_x", w, out.hidden, Split::kRows, 0, true);
  out.linear(kMix, at + "linear_y", w, out.hidden, Split::kRows, 0, true);
  out.linear(kMix, at + "linear_out", out.hidden, w, Split::kColumns, 0, true);
  out.conv(kMix, at + "conv_1d", w, lru.conv_kernel, Split::kRows);
  out.plain(kMix, at + "conv_1d.bias", w, Split::kRows);
  out.plain(kMix, at + "rg_lru.recurrent_param", w, Split::kRows);
  TensorGroup& gates =
      out.plain(kMix, at + "rg_lru.gates", checked_add(times(n, times(block, block)), w, "the gates"), Split::kRows);
  gates.copies = gates.used = 2;
}

void write_rwkv(Inventory& out, const Rwkv& rwkv) {
  const Elements square = Elements(times(out.hidden, out.hidden)) * out.num_layers();
  out.reader.model.unknown_tensors.push_back(
      {kMix, "the mixers of RWKV " + std::to_string(rwkv.version), square * 4, square * 5, square * 7});
}

}  // namespace kvplan
