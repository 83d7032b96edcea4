// llama.cpp's mixtures: the ggml type of each tensor in a file. "Q4_K_M" is not a type but a rule over the tensors'
// names, layers and shapes, so a file's bits per weight depend on the model (4.8 to 6.4 for Q4_K_M).
//
// Source: llama.cpp, src/llama-quant.cpp (type selection without an importance matrix, and the fallback of rows that
// are not a whole number of blocks).
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "kvplan/weight_model.h"

namespace kvplan {

// "q8_0", "q4_k_m", ... in llama.cpp's order.
std::span<const std::string_view> gguf_mixture_names();
bool is_gguf_mixture(std::string_view name);

class GgufMixture {
 public:
  // `name` is from the list, in any case. The constructor looks at the model's experts, heads and layers once.
  GgufMixture(std::string_view name, const WeightModel& model);

  // Bytes of `copies` matrices of rows x columns in one layer; outside of the layers, layer 0.
  Bytes bytes(const TensorGroup& group, std::uint64_t layer, std::uint64_t rows, std::uint64_t columns) const;

 private:
  enum class Category : std::uint8_t {
    kOther,
    kEmbedding,
    kOutput,
    kQuery,
    kKey,
    kValue,
    kQkv,
    kKvB,
    kAttnOut,
    kUp,
    kGate,
    kDown
  };
  static Category category(const TensorGroup& group);
  std::string_view type_of(Category category, std::uint64_t layer, const TensorGroup& group) const;
  Bytes bytes_as(std::string_view type, bool is_output, std::uint64_t rows, std::uint64_t columns) const;
  // The number of earlier layers that have a value projection.
  std::uint64_t value_index(std::uint64_t layer) const;

  std::string_view ftype_;
  std::string_view base_;
  std::uint64_t num_layers_ = 0;
  std::uint64_t num_experts_ = 0;
  std::uint64_t gqa_ = 1;
  std::uint64_t nope_ = 0, value_width_ = 0;  // of latent attention
  bool tied_ = false;
  bool is_falcon_ = false;
  bool is_70b_ = false;
  std::vector<std::uint64_t> downs_before_;  // the ffn_down tensors of earlier layers, for each layer
  std::vector<std::uint64_t> value_layers_;  // layers with a value projection, ascending
};

}  // namespace kvplan
