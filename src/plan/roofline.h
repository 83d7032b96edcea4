// Upper bounds of speed from the GPU's bandwidth. They count bytes that a step cannot avoid reading, so no engine is
// faster; how close it comes is not modelled.
//
//   step(B)   = weights(B) + B * cache                    bytes of one rank, all pipeline stages together
//   weights(B) = read by every token + experts * (1 - (1 - k/E)^B)      k of E experts a token: those met by B tokens
//   tokens/s  <= bandwidth * stages * B / step(B)         one sequence passes through the stages in turn: no * stages
//   prefill   = 2 * parameters passed * L + 2 * vocab * hidden + 2 * multiply-adds of attention
//   first token >= max(prefill / (TFLOPS * ranks), weights(1) / (bandwidth * stages))
//               matrices at the rate of their type where activations are as narrow (FP8, INT8, NVFP4 on GPUs that
//               have such cores), else at 16 bit; latents in the cheaper of their two forms
//
// cache is what a sequence at full length, or of the stated mean length, attends to: for a window the tokens in it; for
// an indexer all keys and the index_topk entries that it chooses; a layer that shares another's cache reads it again;
// recurrent states are read and written. Experts are taken as chosen evenly, host memory as no slower than the GPU's.
#pragma once

#include "plan/answer.h"
#include "plan/rank_weights.h"

namespace kvplan {

// Nothing if no bandwidth is known, or no weights.
std::optional<Roofline> roofline_of(const ModelSpec& model, const std::vector<LayerGroup>& groups, const Plan& plan,
                                    const RankWeights& weights);

// Operations of attention for one decoded token after all others, whose keys and values are cached.
double decode_attention_flops(const std::vector<LayerGroup>& groups, const Load& load);

}  // namespace kvplan
