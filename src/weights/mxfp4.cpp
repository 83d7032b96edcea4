#include "weights/types.h"

#include <algorithm>
#include <string_view>

namespace kvplan {

constexpr std::string_view kWhat = "an expert's padded width";

static std::uint64_t inner_of(const Mxfp4Layout& layout) {
  return std::max<std::uint64_t>(layout.width, 1);
}

Bytes mxfp4_matrix(const WeightType& type, const TensorGroup& group, Piece piece, const Mxfp4Layout& layout) {
  const bool down = group.split == Split::kColumns;
  const std::uint64_t rows = round_up(piece.rows, down ? layout.hidden : inner_of(layout), kWhat);
  const std::uint64_t columns = round_up(piece.columns, down ? inner_of(layout) : layout.hidden, kWhat);
  // Width 0 means no padding, and a partial block has no scale (SGLang).
  if (const std::uint64_t rest = columns % type.group; layout.width == 0 && rest > 0)
    return matrix_bytes(type, rows, columns - rest) + Bytes(rows * rest / 2);
  if (layout.second_scale_rows == 0) return matrix_bytes(type, rows, columns);
  // Engines store gate and up as one matrix.
  const std::uint64_t joined = down ? 1 : 2;
  const std::uint64_t scales = round_up(checked_mul(joined, rows, kWhat), layout.second_scale_rows, kWhat) / joined;
  return matrix_bytes(type, rows, columns) + Bytes(scales) * ceil_div(columns, type.group);
}

std::uint64_t mxfp4_bias_rows(const TensorGroup& group, std::uint64_t rows, const Mxfp4Layout& layout) {
  return round_up(rows, group.split == Split::kRows ? inner_of(layout) : layout.hidden, kWhat);
}

}  // namespace kvplan
