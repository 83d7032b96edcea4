// The table of weight types: how a linear layer's matrix is stored, including its scales. One row for each type.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "kvplan/quantity.h"
#include "kvplan/quantization.h"
#include "kvplan/tensors.h"
#include "weights/share.h"

namespace kvplan {

// Which tensors a type applies to, unless they are named one by one.
enum class Scope : std::uint8_t {
  kEverything,  // a plain number type: also norms and biases
  kLinears,     // linear layers of the blocks; not embedding, head, routers and norms
  kTables,      // also the embedding and the head (MLX)
  kExperts,     // only the experts, in a model that has some
};

// bytes = elements * bits + the parts below, each rounded up to a byte.
struct WeightType {
  std::string_view name = "";
  std::string_view aliases = "";  // separated by spaces
  Scope scope = Scope::kLinears;
  std::uint32_t millibits = 16000;  // of an element, in 1/1000 bit
  std::uint32_t group = 0;          // elements along the input that share a scale
  std::uint32_t group_bits = 0;     // bits of a group's scale
  std::uint32_t zero_bits = 0;      // bits of a group's zero point
  std::uint32_t flat = 0;           // consecutive elements of the whole tensor that share a scale
  std::uint32_t flat_bits = 0;
  std::uint32_t flat_scale_group = 0;  // scales that share another scale (double quantization)
  std::uint32_t block = 0;             // edge of a square block that shares a scale
  std::uint32_t block_bits = 0;
  std::uint32_t row_bits = 0;     // bits for each output
  std::uint32_t column_bits = 0;  // bits for each input (GPTQ's order of columns)
  std::uint32_t tensor_bits = 0;  // bits for the tensor
  std::string_view quality = "";  // rough loss of quality
  std::string_view what = "";     // description for people
};

std::span<const WeightType> weight_types();
// The row with a name or alias, in any case; null for an unknown one.
const WeightType* find_weight_type(std::string_view name);
// The row for a declared scheme, with the scheme's group size and bits.
WeightType weight_type_of(const WeightScheme& scheme);
// For a map of schemes. libc++ 13, with which the web page is compiled, has no <=> for strings.
struct SchemeOrder {
  bool operator()(const WeightScheme& a, const WeightScheme& b) const;
};
// "exl2-4.25" and the like: types with their bits in the name.
std::optional<WeightType> fractional_type(std::string_view name);

// MLX stores a group's scales and biases in the type that the matrix had before (mlx.core.quantize).
WeightType with_scales_of(const WeightType& plain, WeightType type);

// Bytes of one matrix.
Bytes matrix_bytes(const WeightType& type, std::uint64_t rows, std::uint64_t columns);

// All names that --weights accepts, in the table's order.
std::string known_weight_types();

// Bytes of MXFP4 experts in the layout of an engine's kernels.

// Bytes of one expert's matrix. `piece` is the rank's part of it.
Bytes mxfp4_matrix(const WeightType& type, const TensorGroup& group, Piece piece, const Mxfp4Layout& layout);
// Rows of its bias, padded.
std::uint64_t mxfp4_bias_rows(const TensorGroup& group, std::uint64_t rows, const Mxfp4Layout& layout);

}  // namespace kvplan
