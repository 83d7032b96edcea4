// Tensors that vLLM adds to a checkpoint's, and sizes that it pads before loading.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engines/engine.h"

namespace kvplan {

// Changes a model's tensors to those of vLLM's classes (tensor_edits.cpp); and the part of the request that this
// depends on.
void vllm_make_tensors(EngineTensors& model);
std::string vllm_makes_by(const Request& request);

// What depends on the release in these, for `kvplan engines vllm --rules`.
std::vector<RuleRow> vllm_tensor_rule_rows();

// Bytes of a table of angles (layers/rotary_embedding), given those of an element in the model's type. 0: vLLM has no
// such table.
Bytes vllm_rotary_table(const RotaryTable& table, const SideTensorsInput& input, std::uint64_t element);

// Scales of attention layers, and a buffer for the tokens that an indexer chooses for a batch.
std::vector<LedgerLine> vllm_side_tensors(const SideTensorsInput& input);

// The multiples to which the GPU's kernels pad an MXFP4 expert's inner and outer width. No padding without a GPU.
Mxfp4Layout vllm_mxfp4_layout(const Request& request);

}  // namespace kvplan
