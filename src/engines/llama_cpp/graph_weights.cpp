#include "engines/llama_cpp/graph_weights.h"

#include "kvplan/ggml_types.h"

namespace kvplan {

GraphWeights::GraphWeights(const ModelShape& model) {
  for (const TensorGroup& group : model.tensors)
    if (!is_tower(group.component) && group.component != Component::kMtp) add(model, group);
}

bool GraphWeights::is_beside(std::string_view name) {
  return name.ends_with("input_scale") || name.starts_with("rope_f") || name.starts_with("nextn.") ||
         name == "exp_probs_b_vl.bias";  // for image tokens
}

void GraphWeights::add(const ModelShape& model, const TensorGroup& group) {
  std::string_view name = group.module;
  if (name.ends_with(".weight")) name.remove_suffix(7);
  ElementType type = kElementF16;
  if (const auto stored = find_ggml_type(group.stored_type)) type = {stored->id, stored->block, stored->bytes};
  const GraphWeight weight{type, {group.columns, group.rows, group.copies, 1}};
  constexpr std::string_view kLayer = "blk.*.";
  if (!name.starts_with(kLayer)) {
    outside_[std::string(name)] = weight;
    return;
  }
  put(model, name.substr(kLayer.size()), group, weight);
}

void GraphWeights::put(const ModelShape& model, std::string_view name, const TensorGroup& group,
                       const GraphWeight& weight) {
  const std::uint64_t layers = model.num_layers + model.num_nextn_layers;
  std::vector<GraphWeight>& all = in_layers_[std::string(name)];
  all.resize(layers, GraphWeight{kElementF32, {0, 0, 0, 0}});
  for (const LayerRun& run : group.layers) {
    for (std::uint64_t i = 0; i < run.count; ++i) {
      const std::uint64_t layer = run.first + i * run.step;
      if (layer >= layers) continue;
      all[layer] = weight;
    }
  }
}

const GraphWeight* GraphWeights::find(std::string_view name, std::uint64_t layer) const {
  const auto found = in_layers_.find(name);
  if (found == in_layers_.end() || layer >= found->second.size()) return nullptr;
  const GraphWeight& weight = found->second[layer];
  return weight.ne[0] == 0 ? nullptr : &weight;
}

const GraphWeight* GraphWeights::find(std::string_view name) const {
  const auto found = outside_.find(name);
  return found == outside_.end() ? nullptr : &found->second;
}

}  // namespace kvplan
