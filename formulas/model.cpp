#include "formulas/model.h"

#include <algorithm>

namespace kvplan {

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
