#include "formulas/ssm.h"

namespace kvplan {

namespace {

constexpr KindInfo kInfo{"ssm",
                         "selective state space (Mamba 1 and 2)",
                         "(k - 1)*(I + 2*G*N) + I*N",
                         "mamba_d_state, mamba_d_conv, mamba_expand, mamba_n_heads, n_groups",
                         "nothing: fixed for a sequence",
                         "arXiv 2312.00752, 2405.21060"};

}  // namespace

std::span<const KindInfo> Ssm::infos() {
  return {&kInfo, 1};
}

CacheTerms Ssm::terms(Form) const {
  Term conv{.name = "conv state", .role = Role::kState, .growth = Growth::kSequence};
  conv.storage = Storage::kModel;
  Term state{.name = "ssm state", .role = Role::kState, .growth = Growth::kSequence};
  state.storage = Storage::kState;
  if (version == Version::kMamba1) {
    conv.shape = {.units = d_inner, .vectors = 1, .width = 1, .columns = conv_kernel};
    state.shape = {.units = d_inner, .vectors = 1, .width = d_state};
    return {conv, state};
  }
  conv.shape = {.units = num_heads, .vectors = 1, .width = head_dim, .columns = conv_kernel};
  state.shape = {.units = num_heads, .vectors = head_dim, .width = d_state};
  if (!conv_over_groups) return {conv, state};
  Term groups = conv;
  groups.name = "conv state of B and C";
  groups.shape = {.units = n_groups, .vectors = 2, .width = d_state, .columns = conv_kernel};
  return {conv, groups, state};
}

std::vector<Symbol> Ssm::symbols() const {
  std::vector<Symbol> out{{"I", d_inner, "mamba_expand * hidden_size"},
                          {"N", d_state, "mamba_d_state"},
                          {"k", conv_kernel, "mamba_d_conv"}};
  if (version == Version::kMamba2) {
    out.push_back({"n", num_heads, "mamba_n_heads"});
    out.push_back({"p", head_dim, "mamba_d_head"});
    out.push_back({"G", n_groups, "mamba_n_groups"});
  }
  return out;
}

}  // namespace kvplan
