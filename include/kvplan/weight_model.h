// What the weights room sees of a model: its tensors, and the few dimensions that llama.cpp's mixtures look at. A view;
// the model must outlive it.
#ifndef KVPLAN_WEIGHT_MODEL_H_
#define KVPLAN_WEIGHT_MODEL_H_

#include <cstdint>
#include <string_view>
#include <vector>

#include "kvplan/quantization.h"
#include "kvplan/storage.h"
#include "kvplan/tensors.h"

namespace kvplan {

struct WeightModel {
  bool is_falcon = false;         // Falcon's first models: mixtures of a GGUF treat them apart
  bool is_plain_decoder = false;  // every layer is full attention or a window
  Dtype dtype = Dtype::kBfloat16;
  std::uint64_t num_layers = 0;
  std::uint64_t group = 1;                  // query heads of one KV head, the most of any layer
  std::uint64_t nope = 0, value_width = 0;  // of latent attention
  std::string_view stored_weights;          // the mixture that a file names; empty where it names none
  const std::vector<TensorGroup>& tensors;
  const std::vector<UnknownTensors>& unknown_tensors;
  const std::vector<StoredTensors>& stored;
  const QuantDeclaration& quantization;
};

}  // namespace kvplan

#endif  // KVPLAN_WEIGHT_MODEL_H_
