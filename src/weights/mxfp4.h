// Bytes of MXFP4 experts as an engine's kernels hold them.
#ifndef KVPLAN_WEIGHTS_MXFP4_H_
#define KVPLAN_WEIGHTS_MXFP4_H_

#include "kvplan/quantization.h"
#include "kvplan/tensors.h"
#include "weights/share.h"
#include "weights/types.h"

namespace kvplan {

// One expert's matrix, the piece of it that a rank has.
Bytes mxfp4_matrix(const WeightType& type, const TensorGroup& group, Piece piece, const Mxfp4Layout& layout);
// Rows of its bias.
std::uint64_t mxfp4_bias_rows(const TensorGroup& group, std::uint64_t rows, const Mxfp4Layout& layout);

}  // namespace kvplan

#endif  // KVPLAN_WEIGHTS_MXFP4_H_
