#include "formulas/ssm.h"

#include "formulas/projections.h"

namespace kvplan {

CacheTerms Ssm::terms(Form) const {
  Term conv{.name = "conv state", .role = Role::kState, .growth = Growth::kSequence};
  conv.storage = Storage::kModel;
  Term state{.name = "ssm state", .role = Role::kState, .part = Part::kScan, .growth = Growth::kSequence};
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

constexpr Component kMixer = Component::kStateMixer;

static void project_mamba1(Projections& out, const Ssm& ssm, const SsmProjections& form) {
  const std::string at = std::string(form.module) + ".";
  const std::uint64_t inner = ssm.d_inner;
  const std::uint64_t wide = checked_add(ssm.dt_rank, times(2, ssm.d_state), "the width of a projection");
  out.linear(kMixer, at + "in_proj", times(2, inner), out.hidden, Split::kRows, 0, form.bias);
  out.conv(kMixer, at + "conv1d", inner, ssm.conv_kernel, Split::kRows);
  if (form.conv_bias) out.plain(kMixer, at + "conv1d.bias", inner, Split::kRows);
  out.linear(kMixer, at + "x_proj", wide, inner, Split::kColumns);
  out.linear(kMixer, at + "dt_proj", inner, ssm.dt_rank, Split::kRows, 0, true);
  out.plain(kMixer, at + "A_log", times(inner, ssm.d_state), Split::kRows).kept = Kept::kFloat32;
  out.plain(kMixer, at + "D", inner, Split::kRows);
  out.linear(kMixer, at + "out_proj", out.hidden, inner, Split::kColumns, 0, form.bias);
}

void Ssm::project(Projections& out) const {
  const SsmProjections form = out.ssm_projections(*this);
  if (version == Version::kMamba1) return project_mamba1(out, *this, form);
  const std::string at = std::string(form.module) + ".";
  const std::uint64_t inner = d_inner;
  const std::uint64_t grouped = times(2, times(n_groups, d_state));
  // A single group of B and C is replicated on every rank; several groups are distributed.
  const bool repeats = n_groups == 1;
  const std::uint64_t cut = repeats ? 0 : grouped;
  out.linear(kMixer, at + "in_proj",
             checked_add(times(2, inner), checked_add(cut, num_heads, "a projection"), "a projection"), out.hidden,
             Split::kRows, 0, form.bias);
  out.conv(kMixer, at + "conv1d", checked_add(inner, cut, "a convolution"), conv_kernel, Split::kRows);
  if (form.conv_bias) out.plain(kMixer, at + "conv1d.bias", checked_add(inner, cut, "a convolution"), Split::kRows);
  if (repeats) {
    out.linear(kMixer, at + "in_proj", grouped, out.hidden, Split::kNone, 0, form.bias);
    out.conv(kMixer, at + "conv1d", grouped, conv_kernel);
    if (form.conv_bias) out.plain(kMixer, at + "conv1d.bias", grouped);
  }
  if (form.has_mup_vector) {
    out.plain(kMixer, at + "mup_vector", checked_add(times(2, inner), num_heads, "a projection"), Split::kRows)
        .is_derived = true;
    out.plain(kMixer, at + "mup_vector", grouped).is_derived = true;
  }
  out.plain(kMixer, at + "A_log", num_heads, Split::kRows).kept = Kept::kFloat32;
  out.plain(kMixer, at + "decay", times(2, num_heads), Split::kRows);  // dt_bias, D
  if (form.has_norm) out.plain(Component::kNorms, at + "norm", inner, Split::kRows);
  out.linear(kMixer, at + "out_proj", out.hidden, inner, Split::kColumns, 0, form.out_bias);
}

}  // namespace kvplan
