// Tensors that vLLM makes beside a checkpoint's, and what it rounds up before it loads one.
#ifndef KVPLAN_ENGINES_VLLM_TENSORS_H_
#define KVPLAN_ENGINES_VLLM_TENSORS_H_

#include <cstdint>
#include <utility>
#include <vector>

#include "engines/engine.h"

namespace kvplan {

// What its classes make of a model's tensors: classes.cpp; and what of a request that goes by.
void vllm_make_tensors(EngineTensors& model);
std::string vllm_makes_by(const Request& request);

// Bytes of a table of angles (layers/rotary_embedding), from those of an element of the model's type. 0: it has none.
Bytes vllm_rotary_table(const RotaryTable& table, const SideTensorsInput& input, std::uint64_t element);

// Scales of attention layers, and the tokens that an indexer chooses for each of a batch.
std::vector<LedgerLine> vllm_side_tensors(const SideTensorsInput& input);

// Whether VocabParallelEmbedding rounds its rows up on one rank too, and whether blocks of FP8 experts that ranks cut
// are made smaller (fused_moe/oracle/fp8.py).
bool vllm_pads_vocab(const Request& request);
bool vllm_refines_blocks(const Request& request);

// What the kernels of the card round an MXFP4 expert up to: inner and outer width. Nothing where no card is named.
Mxfp4Layout vllm_mxfp4_layout(const Request& request);

}  // namespace kvplan

#endif  // KVPLAN_ENGINES_VLLM_TENSORS_H_
