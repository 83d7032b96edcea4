// The weights of each pipeline stage's ranks, as lines of the ledger.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engines/engine.h"
#include "formulas/model.h"
#include "kvplan/plan.h"
#include "kvplan/request.h"
#include "weights/weigh.h"

namespace kvplan {

struct RankWeights {
  std::string type;                            // "bfloat16", "gptq-int4"
  std::vector<std::vector<LedgerLine>> lines;  // one rank of each stage; empty if the weights are not known
  // The sizes that PyTorch's allocator requests from the GPU for the weights, in order; empty for engines with another
  // allocator.
  std::vector<std::vector<Bytes>> segments;
  bool is_known = true;
  std::vector<LedgerLine> host;  // in host memory, for all ranks of one data parallel copy
  // What a decoding step reads of one rank's weights in all stages: for every token, and for its experts. Weights in
  // host memory are included.
  Bytes read_always, experts;
  Bytes host_always, host_experts;  // the parts of these bytes that are in host memory
  std::uint64_t host_layers = 0;    // the first layers that are entirely in host memory, including their cache
  double bits = 16;                 // of a weight as stored, on average
};

// The layers of each pipeline stage, and what is on a rank of a stage.
std::vector<StageShare> layer_stages(std::uint64_t layers, const Request& request);
void set_stage(const StageShare& stage, WeightShare& share);

// The model with the tensors of the request's engine.
ModelSpec as_made(const ModelSpec& model, const Request& request);

// --weights, or the type that the engine uses if it does not know the checkpoint's quantization.
std::optional<std::string> asked_weights(const ModelSpec& model, const Request& request);

// `weigher` is the model's, for the request's types. If a stage is named, the other stages have no lines.
RankWeights rank_weights(const ModelSpec& model, const Weigher& weigher, const Request& request,
                         std::vector<Note>& notes);
RankWeights rank_weights(const ModelSpec& model, const Request& request, std::vector<Note>& notes);

}  // namespace kvplan
