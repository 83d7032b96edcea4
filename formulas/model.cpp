#include "formulas/model.h"

#include <algorithm>

namespace kvplan {

ModelSpec::operator WeightModel() const {
  WeightModel out{.is_falcon = known_as->traits.is_first_falcon,
                  .is_plain_decoder = !layers.empty(),
                  .dtype = dtype,
                  .num_layers = layers.size(),
                  .stored_weights = stored_weights,
                  .tensors = tensors,
                  .unknown_tensors = unknown_tensors,
                  .stored = stored,
                  .declared_bytes = declared_bytes,
                  .quantization = quantization};
  for (const Layer& layer : layers) {
    const Mixer& first = layer.mixers.front();
    const bool plain = std::holds_alternative<FullAttention>(first) || std::holds_alternative<SlidingWindow>(first);
    out.is_plain_decoder = out.is_plain_decoder && plain && layer.mixers.size() == 1;
    for (const Mixer& mixer : layer.mixers) {
      if (const Heads* heads = heads_of(mixer))
        out.group = std::max(out.group, heads->num_heads / std::max<std::uint64_t>(1, heads->num_kv_heads));
      if (const Latent* latent = latent_of(mixer)) {
        out.group = std::max(out.group, latent->num_heads);  // llama.cpp keeps one KV head for MLA
        out.nope = latent->qk_nope_head_dim;
        out.value_width = latent->v_head_dim;
      }
    }
  }
  return out;
}

std::vector<LayerGroup> group_layers(const ModelSpec& model) {
  std::vector<LayerGroup> out;
  for (std::uint64_t i = 0; i < model.layers.size(); ++i) {
    for (const Mixer& mixer : model.layers[i].mixers) {
      auto same = std::find_if(out.begin(), out.end(), [&](const LayerGroup& g) { return *g.mixer == mixer; });
      if (same == out.end()) same = out.insert(out.end(), LayerGroup{&mixer, {}});
      same->indices.push_back(i);
    }
  }
  return out;
}

std::string model_attention(const ModelSpec& model) {
  std::string_view kind;
  for (const Layer& layer : model.layers) {
    for (const Mixer& mixer : layer.mixers) {
      const std::string_view here = kind_info(mixer).name;
      if (here == "none" || here == "shared") continue;
      if (!kind.empty() && kind != here) return "hybrid";
      kind = here;
    }
  }
  return kind.empty() ? "none" : std::string(kind);
}

std::string index_ranges(const std::vector<std::uint64_t>& indices) {
  std::string out;
  for (std::size_t i = 0; i < indices.size();) {
    std::size_t last = i;
    while (last + 1 < indices.size() && indices[last + 1] == indices[last] + 1) ++last;
    if (!out.empty()) out += ',';
    out += std::to_string(indices[i]);
    if (last > i) out += '-' + std::to_string(indices[last]);
    i = last + 1;
  }
  return out;
}

}  // namespace kvplan
