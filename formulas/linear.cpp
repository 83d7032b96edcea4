#include "formulas/linear.h"

namespace kvplan {

namespace {
constexpr KindInfo kInfo{"linear",
                         "linear attention (gated delta net, KDA, lightning, mLSTM)",
                         "(k - 1)*(2*n_k*d_k + n_v*d_v) + n_v*d_v*d_k",
                         "linear_num_key_heads, linear_key_head_dim, linear_num_value_heads, linear_attn_config",
                         "nothing: fixed for a sequence",
                         "arXiv 2412.06464, 2510.26692, 2401.04658"};
}  // namespace

std::span<const KindInfo> Linear::infos() {
  return {&kInfo, 1};
}

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

}  // namespace kvplan
