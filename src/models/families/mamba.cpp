// Pure state space models, and Jamba, which also has attention. Source: transformers modeling_mamba.py,
// modeling_mamba2.py, modeling_falcon_mamba.py, modeling_jamba.py.
#include "models/blocks/blocks.h"

namespace kvplan {

static void read_mamba(Reader& reader) {
  const Ssm ssm = read_mamba1(reader.text, true);
  reader.model.layers.assign(reader.num_layers(), Layer{{ssm}});
}

void read_mamba2_model(Reader& reader) {
  const bool spelled_as_hybrid = reader.text.has("mamba_num_heads");
  const Ssm ssm = spelled_as_hybrid ? read_mamba2(reader.text) : read_mamba2_alone(reader.text);
  reader.model.layers.assign(reader.num_layers(), Layer{{ssm}});
}

// Norms of the time step, B and C.
static bool write_jamba(Inventory& out, const Mixer& mixer) {
  if (const auto* ssm = std::get_if<Ssm>(&mixer))
    out.norms("mamba.norms", checked_add(ssm->dt_rank, times(2, ssm->d_state), "the width of a projection"));
  return false;
}

// Vectors of ones for Falcon-Mamba's norms of the time step, B and C, which have no weights (vLLM
// layers/mamba/mamba_mixer.py).
static bool write_falcon_mamba(Inventory& out, const Mixer& mixer) {
  const auto* ssm = std::get_if<Ssm>(&mixer);
  if (ssm == nullptr || out.text.class_name() != "falcon_mamba") return false;
  const std::uint64_t width = checked_add(ssm->dt_rank, times(2, ssm->d_state), "the width of a projection");
  out.plain(Component::kNorms, "mixer.dt_layernorm, b_layernorm, c_layernorm", width).is_derived = true;
  return false;
}

// clang-format off
std::span<const Family> mamba_family() {
  static constexpr Family kRows[] = {
    {.is = {"mamba falcon_mamba", kExecutedClass, Arch::kMamba}, .layers = read_mamba, .rule = "mamba",
     .tensors = {.norms = 1, .has_mlps = false, .ties_by_default = true, .layer = "backbone.layers.*", .ssm = "mixer"},
     .mixer = write_falcon_mamba},
    {.is = {"mamba2", kExecutedClass, Arch::kMamba}, .layers = read_mamba2_model, .rule = "mamba2",
     .tensors = {.norms = 1, .has_mlps = false, .layer = "backbone.layers.*", .ssm = "mixer"}},
    // AI21's Jamba: Mamba 1, and attention where i % attn_layer_period == attn_layer_offset.
    {.is = {"jamba", kExecutedClass, Arch::kJamba},
     .layers = [](Reader& reader) { read_hybrid(reader, {}, read_mamba1(reader.text)); }, .rule = "jamba",
     .tensors = {.moe = "feed_forward"}, .mixer = write_jamba,
     .modules = "mlp=feed_forward feed_forward.gate=feed_forward.router"},
  };
  return kRows;
}
// clang-format on

}  // namespace kvplan
