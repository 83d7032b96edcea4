#include "formulas/linear.h"

#include "formulas/projections.h"

namespace kvplan {

std::string_view Linear::variant() const {
  switch (rule) {
    case Rule::kGatedDeltaNet: return "gated_delta_net";
    case Rule::kKda: return "kda";
    case Rule::kLightning: return "lightning";
    case Rule::kMlstm: break;
  }
  return "mlstm";
}

CacheTerms Linear::terms(Form) const {
  CacheTerms out;
  if (conv_kernel > 0) {
    Term queries_keys{.name = "conv state of q and k", .role = Role::kState, .growth = Growth::kSequence};
    queries_keys.storage = Storage::kModel;
    queries_keys.shape = {.units = num_key_heads, .vectors = 2, .width = key_head_dim, .columns = conv_kernel};
    Term values = queries_keys;
    values.name = "conv state of v";
    values.shape = {.units = num_value_heads, .vectors = 1, .width = value_head_dim, .columns = conv_kernel};
    out = {queries_keys, values};
  }
  const bool float32 = rule == Rule::kKda || rule == Rule::kMlstm;
  Term state{.name = "linear state", .role = Role::kState, .growth = Growth::kSequence};
  state.storage = float32 ? Storage::kFloat32 : Storage::kState;
  state.shape = {.units = num_value_heads, .vectors = value_head_dim, .width = key_head_dim};
  out.push_back(state);
  if (rule == Rule::kMlstm) {
    state.name = "normalizer state";
    state.shape = {.units = num_value_heads, .vectors = 1, .width = checked_add(key_head_dim, 1, "a state's width")};
    out.push_back(state);
  }
  return out;
}

std::vector<Symbol> Linear::symbols() const {
  std::vector<Symbol> out{{"n_k", num_key_heads, "linear_num_key_heads"},
                          {"d_k", key_head_dim, "linear_key_head_dim"},
                          {"n_v", num_value_heads, "linear_num_value_heads"},
                          {"d_v", value_head_dim, "linear_value_head_dim"}};
  if (conv_kernel > 0) out.push_back({"k", conv_kernel, "linear_conv_kernel_dim"});
  return out;
}

constexpr Component kMix = Component::kStateMixer;

static void project_delta_net(Projections& out, const Linear& linear) {
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

static void project_kda(Projections& out, const Linear& linear) {
  const std::uint64_t h = out.hidden;
  const std::uint64_t heads = linear.num_key_heads;
  const std::uint64_t d = linear.key_head_dim;
  const std::uint64_t wide = times(heads, d);
  const std::string at = "self_attn.";
  const LinearProjections form = out.linear_projections(linear);
  for (const char* const name : {"q_proj", "k_proj", "v_proj"})
    out.linear(kMix, at + name, wide, h, Split::kRows, heads);
  TensorGroup& conv = out.conv(kMix, at + "conv1d", times(3, wide), linear.conv_kernel, Split::kRows);
  if (form.repeats_conv) {
    // vLLM stores it in float32, with a second float32 copy in decoding order. It also copies the norm
    // (models/kimi_k3).
    conv.kept = Kept::kFloat32;
    TensorGroup& again = out.plain(kMix, at + "decode_conv1d", times(times(3, wide), linear.conv_kernel), Split::kRows);
    again.is_derived = again.is_float32 = true;
    TensorGroup& norm = out.plain(kMix, at + "decode_norm", d);
    norm.is_derived = norm.is_float32 = true;
  }
  if (form.has_full_rank_decay) {
    out.linear(kMix, at + "f_proj", wide, h, Split::kRows, heads);
  } else {
    out.linear(kMix, at + "f_a_proj", d, h);
    out.linear(kMix, at + "f_b_proj", wide, d, Split::kRows, heads);
  }
  if (form.has_full_rank_gate) {
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

static void project_lightning(Projections& out, const Linear& linear) {
  const std::uint64_t h = out.hidden;
  const std::uint64_t wide = times(linear.num_key_heads, linear.key_head_dim);
  out.linear(kMix, "self_attn.qkv_proj", times(3, wide), h, Split::kRows, linear.num_key_heads);
  out.linear(kMix, "self_attn.output_gate", wide, h, Split::kRows, linear.num_key_heads);
  out.linear(kMix, "self_attn.out_proj", h, wide, Split::kColumns, linear.num_key_heads);
  out.norms("self_attn.norm", wide);
  // Ring's linear attention layers also normalize queries and keys.
  if (out.linear_projections(linear).has_qk_norm) out.norms("self_attn.qk_norm", linear.key_head_dim, 2);
}

static void project_mlstm(Projections& out, const Linear& linear) {
  const std::uint64_t h = out.hidden;
  const std::uint64_t n = linear.num_key_heads;
  const std::uint64_t keys = times(n, linear.key_head_dim);
  const std::uint64_t values = times(n, linear.value_head_dim);
  const bool bias = out.linear_projections(linear).bias;
  out.linear(kMix, "mlstm_layer.q", keys, h, Split::kRows, n, bias);
  out.linear(kMix, "mlstm_layer.k", keys, h, Split::kRows, n, bias);
  out.linear(kMix, "mlstm_layer.v", values, h, Split::kRows, n, bias);
  out.linear(kMix, "mlstm_layer.ogate_preact", values, h, Split::kRows, n, bias);
  out.linear(kMix, "mlstm_layer.igate_preact", n, h, Split::kNone, 0, true);
  out.linear(kMix, "mlstm_layer.fgate_preact", n, h, Split::kNone, 0, true);
  out.norms("mlstm_layer.multihead_norm", values);
  out.linear(kMix, "mlstm_layer.out_proj", h, values, Split::kColumns, n, bias);
}

void Linear::project(Projections& out) const {
  switch (rule) {
    case Rule::kGatedDeltaNet: return project_delta_net(out, *this);
    case Rule::kKda: return project_kda(out, *this);
    case Rule::kLightning: return project_lightning(out, *this);
    case Rule::kMlstm: return project_mlstm(out, *this);
  }
}

}  // namespace kvplan
