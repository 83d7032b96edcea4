// A model as the weights need it: its tensors, and the few dimensions that llama.cpp's mixtures depend on. The model
// must outlive it.
#pragma once

#include <cstdint>
#include <map>
#include <string_view>
#include <vector>

#include "kvplan/quantization.h"
#include "kvplan/storage.h"
#include "kvplan/tensors.h"

namespace kvplan {

struct WeightModel {
  bool is_falcon = false;         // Falcon's first models, which GGUF mixtures treat differently
  bool is_plain_decoder = false;  // every layer is full or sliding-window attention
  Dtype dtype = Dtype::kBfloat16;
  std::uint64_t num_layers = 0;
  std::uint64_t group = 1;                  // query heads per KV head, the most of any layer
  std::uint64_t nope = 0, value_width = 0;  // MLA's
  std::string_view stored_weights;          // the mixture that a file is stored in; empty if it names none
  const std::vector<TensorGroup>& tensors;
  const std::vector<UnknownTensors>& unknown_tensors;
  const std::vector<StoredTensors>& stored;
  const std::map<Component, Bytes>& declared_bytes;  // see ModelSpec
  const QuantDeclaration& quantization;
};

}  // namespace kvplan
