// The storage types of tensors in a GGUF file: elements and bytes of a block. The GGUF reader checks files with this
// table, and weights are counted with it.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "kvplan/quantity.h"

namespace kvplan {

struct GgmlType {
  std::uint32_t id = 0;  // the number in a file's tensor infos
  std::string_view name;
  std::uint32_t block = 1;      // elements of a block; the first dimension is a multiple of it
  std::uint32_t bytes = 1;      // bytes of a block
  std::uint32_t row_bytes = 0;  // bytes of each row in addition to its blocks (ik_llama.cpp's row scales)
  bool removed = false;         // llama.cpp no longer reads it; old files still have it
  bool interleaved = false;     // a layout of several rows together (ik_llama.cpp's _R4 and _R8); the size is the same
};

// The types of llama.cpp and ik_llama.cpp. Interleaved ones can only be found by id.
std::span<const GgmlType> ggml_types();
std::optional<GgmlType> find_ggml_type(std::uint32_t id);
// By name, case folded: "q4_k", "Q4_K", "f16".
std::optional<GgmlType> find_ggml_type(std::string_view name);

// Bytes of a tensor, dims[0] the fastest dimension. Throws Error(kBadInput) if dims[0] is not a whole number of
// blocks, or the size does not fit 64 bits.
Bytes tensor_bytes(const GgmlType& type, std::span<const std::uint64_t> dims);

}  // namespace kvplan
