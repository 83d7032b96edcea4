// The tensors of a GGUF. Which of them exist determines the graph.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "engines/engine.h"
#include "engines/llama_cpp/compute_graph.h"

namespace kvplan {

struct GraphWeight {
  ElementType type;
  Dims ne{1, 1, 1, 1};
};

class GraphWeights {
 public:
  explicit GraphWeights(const ModelShape& model);
  // "attn_q" and "attn_q.bias" of a layer, "token_embd" outside of them; null if there is none.
  const GraphWeight* find(std::string_view name, std::uint64_t layer) const;
  const GraphWeight* find(std::string_view name) const;
  // Whether any layer has the tensor.
  bool any(std::string_view name) const { return in_layers_.find(name) != in_layers_.end(); }
  // Names of layer tensors that no part of the graph uses, other than scales and rotation factors.
  template <class Used>
  bool all_used(const Used& is_used) const {
    for (const auto& [name, layers] : in_layers_)
      if (!is_used(name) && !is_beside(name)) return false;
    return true;
  }

 private:
  static bool is_beside(std::string_view name);
  void add(const ModelShape& model, const TensorGroup& group);
  void put(const ModelShape& model, std::string_view name, const TensorGroup& group, const GraphWeight& weight);

  // An entry without elements means that the layer lacks the tensor.
  std::map<std::string, std::vector<GraphWeight>, std::less<>> in_layers_;
  std::map<std::string, GraphWeight, std::less<>> outside_;
};

}  // namespace kvplan
