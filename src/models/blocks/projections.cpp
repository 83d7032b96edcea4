// Details of the projections that the attention kind leaves open, from the family and the config.
#include "models/blocks/inventory.h"

namespace kvplan {

AttentionProjections Inventory::attention_of(const Heads& heads, bool has_own_kv) const {
  AttentionProjections out{.qkv_bias = on(traits.qkv_bias), .fuses_qkv = traits.fuses_qkv};
  const bool has_gate =
      (traits.gate == Gate::kDoubledQuery || traits.gate == Gate::kWide || traits.gate == Gate::kHead) &&
      on(traits.gate_key);
  if (has_gate) out.gate = traits.gate;
  // Gemma 4's full layers have wider heads than the config's, and use the key as the value too.
  if (has_own_kv)
    out.shares_value = on(traits.shares_values) && heads.head_dim != text.count_or("head_dim", heads.head_dim);
  out.o_bias = on(traits.o_bias);
  out.has_sinks = traits.has_sinks;
  if (traits.qk_norm != QkNorm::kNone && on(traits.qk_norm_key)) out.qk_norm = traits.qk_norm;
  return out;
}

LatentProjections Inventory::latent_projections() const {
  return {.bias = text.flag("attention_bias", false),
          .gate = traits.gate,
          .has_output_gate = text.flag("mla_use_output_gate", false),
          .has_one_scale = traits.has_latent_scale};
}

SsmProjections Inventory::ssm_projections(const Ssm& ssm) const {
  SsmProjections out{.module = traits.ssm};
  const bool is_second = ssm.version == Ssm::Version::kMamba2;
  out.bias = text.flag("use_bias", false) || text.flag("mamba_proj_bias", false) ||
             (is_second && text.flag("add_bias_linear", false));
  out.conv_bias = text.flag("use_conv_bias", text.flag("mamba_conv_bias", true));
  out.has_norm = is_second && on(traits.ssm_norm);
  out.out_bias = is_second && !traits.ssm_out_bias.empty() ? on(traits.ssm_out_bias) : out.bias;
  out.has_mup_vector = traits.has_mup_vector;
  return out;
}

LinearProjections Inventory::linear_projections(const Linear& linear) const {
  LinearProjections out;
  if (linear.rule == Linear::Rule::kMlstm) out.bias = text.flag("use_bias", false);
  if (linear.rule == Linear::Rule::kLightning)
    out.has_qk_norm = traits.qk_norm == QkNorm::kHead && on(traits.qk_norm_key);
  if (linear.rule != Linear::Rule::kKda) return out;
  const auto settings = text.child("linear_attn_config");
  out.has_full_rank_decay = traits.has_full_rank_gates;
  out.has_full_rank_gate = out.has_full_rank_decay || (settings && settings->flag("use_full_rank_gate", false)) ||
                           text.flag("use_full_rank_gate", false);
  out.repeats_conv = traits.repeats_conv;
  return out;
}

bool Inventory::has_short_conv_bias() const {
  return text.flag("conv_bias", false);
}

void write_mixer(Inventory& out, const Mixer& mixer) {
  const auto own = out.family.mixer;
  if (own == nullptr || !own(out, mixer)) project(mixer, out);
}

}  // namespace kvplan
