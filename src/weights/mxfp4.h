// Bytes of MXFP4 experts in the layout of an engine's kernels.
#pragma once

#include "kvplan/quantization.h"
#include "kvplan/tensors.h"
#include "weights/share.h"
#include "weights/types.h"

namespace kvplan {

// Bytes of one expert's matrix, of which `piece` is the rank's part.
Bytes mxfp4_matrix(const WeightType& type, const TensorGroup& group, Piece piece, const Mxfp4Layout& layout);
// Rows of its bias, padded.
std::uint64_t mxfp4_bias_rows(const TensorGroup& group, std::uint64_t rows, const Mxfp4Layout& layout);

}  // namespace kvplan
