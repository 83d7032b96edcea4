// Builds the graph of one micro-batch, block by block, in llama.cpp's order (src/llama-graph.cpp and src/models). A
// layer's tensors determine its blocks.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "engines/llama_cpp/cache.h"
#include "engines/llama_cpp/classes.h"
#include "engines/llama_cpp/compute_graph.h"
#include "engines/llama_cpp/graph_weights.h"
#include "engines/llama_cpp/rules.h"

namespace kvplan {

// The conditions that the graph is built for.
struct GraphQuestion {
  const EngineInput* input = nullptr;
  LlamaContext context;
  LlamaPlacement placement;
  std::uint64_t outputs = 1;  // rows of logits
  bool flash_attention = true;
  // The cache stores values by channel if flash attention was off from the start. If llama.cpp finds only later that
  // there is no kernel for the model's heads, values stay stored by token.
  bool transposes_values = false;
  LlamaRules rules{};
  LlamaClass of_class{};
};

// Thrown if a block lacks a tensor that it needs.
struct NotCovered {};

ElementType element_type(Dtype type);  // of a cache

class GraphBuilder {
 public:
  GraphBuilder(const GraphQuestion& question, const GraphWeights& weights);
  // False if kvplan has no code for some of the model's blocks.
  bool build();
  ComputeGraph& graph() { return graph_; }

 private:
  // The cache of one layer's attention.
  struct KvCache {
    std::uint64_t heads = 0, key = 0, value = 0;  // number of KV heads, and the widths of one
    std::uint64_t latent = 0;                     // width of a latent that is cached without being expanded
    bool windowed = false;
    bool is_shared = false;  // this cache belongs to another layer
    TensorId k = kNoTensor, v = kNoTensor;
  };
  // The states of one layer.
  struct States {
    std::uint64_t conv_elements = 0, elements = 0;
    std::uint64_t heads = 0, vectors = 0, width = 0;
    TensorId conv = kNoTensor, state = kNoTensor;
  };
  // Cells of one kind of cache.
  struct Cells {
    std::uint64_t count = 0;
    TensorId mask = kNoTensor, k_ids = kNoTensor, v_ids = kNoTensor, k_turn = kNoTensor, v_turn = kNoTensor;
  };
  struct Heads {
    TensorId q = kNoTensor, k = kNoTensor, v = kNoTensor;
  };

  // Weights of the current layer.
  bool has(std::string_view name) const { return find(name) != nullptr; }
  const GraphWeight* find(std::string_view name) const;
  const GraphWeight& need(std::string_view name) const;  // throws NotCovered if the tensor is missing
  TensorId weight(std::string_view name);
  TensorId weight_as(std::string_view name, Dims ne);  // the same elements with other dimensions
  int device_of_layer() const;
  int device_of(std::uint64_t unit) const;
  std::uint64_t tokens() const { return tokens_; }

  // graph_blocks.cpp
  TensorId embed();
  TensorId position_ids();
  TensorId position_scale();
  TensorId output_ids();
  TensorId chosen(TensorId x) { return graph_.rows(x, output_ids()); }
  TensorId norm(TensorId x, std::string_view name);
  TensorId linear(std::string_view name, TensorId x);  // with its scale, without its bias
  TensorId linear_with_bias(std::string_view name, TensorId x);
  TensorId rope(TensorId x);
  TensorId mlp(TensorId x, std::string_view suffix = "");
  TensorId experts(TensorId x);
  TensorId shared_expert(TensorId x);
  TensorId expert_matrix(std::string_view name, TensorId x, TensorId ids);
  TensorId head(TensorId x);

  // graph_attention.cpp
  bool read_caches();
  void share_caches();
  Cells& cells_of(const KvCache& cache) { return cache.windowed ? window_ : full_; }
  void make_inputs(Cells& cells);
  TensorId mask_input(Dims ne);
  TensorId hadamard_matrix(std::uint64_t width);
  bool read_batch();
  TensorId attend_batch(const Heads& heads);
  TensorId attend_heads(TensorId q, TensorId key, TensorId value, TensorId mask, TensorId sinks);
  TensorId gated(TensorId out, TensorId x);
  Heads project(TensorId x, bool whole = true);
  TensorId turned(TensorId x, TensorId matrix);
  void store(const KvCache& cache, const Heads& heads);
  TensorId attend(const KvCache& cache, Heads heads, TensorId sinks);
  TensorId attention_of(const KvCache& cache, TensorId q, TensorId sinks, TensorId mask);
  TensorId attention(TensorId x);
  TensorId value_matrix();
  bool rotates() const;

  // graph_latent.cpp
  TensorId latent_attention(TensorId x);
  TensorId attend_latent(const KvCache& cache, const Heads& heads);

  // graph_recurrent.cpp
  bool read_states();
  void copy_into(TensorId source, TensorId target);
  TensorId read_state(TensorId stored, const std::function<TensorId(TensorId)>& read = {});
  TensorId convolution_input(TensorId x);
  TensorId convolve(TensorId x, std::string_view name);
  TensorId mamba(TensorId x);
  TensorId mamba2(TensorId x);
  TensorId short_convolution(TensorId x);
  TensorId delta_net(TensorId x);

  // graph_per_layer.cpp
  TensorId slice(TensorId x);
  TensorId look_up_layers();
  void embed_layers(TensorId x, TensorId looked_up);
  TensorId layer_input(TensorId x);

  // graph_decoder.cpp
  bool covers() const;
  bool build_all();
  bool chooses_late() const;
  bool is_replaced(std::string_view name) const;
  TensorId mixer(TensorId x);
  TensorId mlp_or_experts(TensorId x);
  TensorId layer(TensorId x);
  TensorId parallel_layer(TensorId x);
  TensorId parallel_mixer_layer(TensorId x);

  const GraphQuestion& question_;
  const EngineInput& input_;
  const ModelShape& model_;
  const GraphWeights& weights_;
  ComputeGraph graph_;
  std::uint64_t tokens_ = 0;
  std::uint64_t layer_ = 0;
  bool is_outside_ = false;  // the builder is outside of the layers
  bool last_ = false;
  std::vector<KvCache> caches_;  // by layer
  std::vector<States> states_;   // by layer
  bool has_states_ = false;
  bool keeps_nothing_ = false;         // tokens attend only within the batch
  TensorId layer_inputs_ = kNoTensor;  // the layers' own embeddings
  // State indices: of all sequences, of those that are read, of all but the first, of none.
  TensorId all_state_ids_ = kNoTensor, state_ids_ = kNoTensor, other_state_ids_ = kNoTensor, no_state_ids_ = kNoTensor;
  Cells full_, window_;
  bool has_windows_ = false;  // windows have a separate cache
  // Weights in the graph, by name and then by layer. The last entry is for weights outside of the layers.
  std::map<std::string, std::vector<TensorId>, std::less<>> made_;
  TensorId token_ids_ = kNoTensor, positions_ = kNoTensor, outputs_ = kNoTensor, position_scale_ = kNoTensor;
};

}  // namespace kvplan
