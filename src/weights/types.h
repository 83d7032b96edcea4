// The table of weight types: how the matrix of a linear layer is stored, scales and all. A type is one row.
#ifndef KVPLAN_WEIGHTS_TYPES_H_
#define KVPLAN_WEIGHTS_TYPES_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "kvplan/quantity.h"
#include "kvplan/quantization.h"

namespace kvplan {

// Which tensors a type packs where nothing names them one by one.
enum class Scope : std::uint8_t {
  kEverything,  // a plain number type: norms and biases too
  kLinears,     // the linear layers of the blocks; embedding, head, routers and norms stay
  kTables,      // the embedding and the head besides (MLX)
  kExperts,     // the experts alone, in a model that has some
};

// bytes = elements * bits + what stands beside them, each part rounded up to a byte.
struct WeightType {
  std::string_view name = "";
  std::string_view aliases = "";  // separated by spaces
  Scope scope = Scope::kLinears;
  std::uint32_t millibits = 16000;  // of an element, in 1/1000 bit
  std::uint32_t group = 0;          // elements along the input that share a scale
  std::uint32_t group_bits = 0;     // of their scale
  std::uint32_t zero_bits = 0;      // of their zero point
  std::uint32_t flat = 0;           // elements in a row of the whole tensor that share a scale
  std::uint32_t flat_bits = 0;
  std::uint32_t flat_scale_group = 0;  // scales that share a scale of their own (double quantization)
  std::uint32_t block = 0;             // edge of a square that shares a scale
  std::uint32_t block_bits = 0;
  std::uint32_t row_bits = 0;     // for each output
  std::uint32_t column_bits = 0;  // for each input (the order of GPTQ's columns)
  std::uint32_t tensor_bits = 0;  // for the tensor
  std::string_view quality = "";  // rough
  std::string_view what = "";     // for people
};

std::span<const WeightType> weight_types();
// The row of a name or alias, case folded; null where none has it.
const WeightType* find_weight_type(std::string_view name);
// The row that a declared scheme means, with the scheme's own group size and bits put in.
WeightType resolve(const WeightScheme& scheme);
// For a map of schemes: libc++ 13, which a page is compiled with, has no <=> of strings.
struct SchemeOrder {
  bool operator()(const WeightScheme& a, const WeightScheme& b) const;
};
// "exl2-4.25" and its like: a type whose bits are in its name.
std::optional<WeightType> fractional_type(std::string_view name);

// MLX keeps scales and biases of groups in the type of the matrix before (mlx.core.quantize).
WeightType with_scales_of(const WeightType& plain, WeightType type);

// Bytes of one matrix.
Bytes matrix_bytes(const WeightType& type, std::uint64_t rows, std::uint64_t columns);

// Every name that --weights knows, in the table's order.
std::string known_weight_types();

}  // namespace kvplan

#endif  // KVPLAN_WEIGHTS_TYPES_H_
