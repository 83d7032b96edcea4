// The weights of each pipeline stage's ranks, as lines of the ledger.
#ifndef KVPLAN_PLAN_RANK_WEIGHTS_H_
#define KVPLAN_PLAN_RANK_WEIGHTS_H_

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
  std::vector<std::vector<LedgerLine>> lines;  // of one rank of each stage; empty where nothing is known
  // What PyTorch's allocator takes from the card for them, in its order; empty where the engine has another.
  std::vector<std::vector<Bytes>> segments;
  bool is_known = true;
  std::vector<LedgerLine> host;  // in host memory, of all ranks of one data parallel copy
  // What a step of decoding reads of one rank's weights, all stages together: by every token, and of the experts. What
  // lies in host memory is read too.
  Bytes read_always, experts;
  Bytes host_always, host_experts;  // the parts of them that lie in host memory
  std::uint64_t host_layers = 0;    // so many first layers have all there, their cache too
  double bits = 16;                 // of a weight as stored, on average
};

// The model with its tensors as the classes of the request's engine make them.
ModelSpec as_made(const ModelSpec& model, const Request& request);

// --weights, or what takes its place where the engine does not know the checkpoint's quantization.
std::optional<std::string> asked_weights(const ModelSpec& model, const Request& request);

// `weigher` is the model's, for the request's types. Not in words: lines have bytes alone. Of one stage, where it is
// named: the lines of the others stay empty.
RankWeights rank_weights(const ModelSpec& model, const Weigher& weigher, const Request& request,
                         std::vector<Note>& notes);
RankWeights rank_weights(const ModelSpec& model, const Request& request, std::vector<Note>& notes);

}  // namespace kvplan

#endif  // KVPLAN_PLAN_RANK_WEIGHTS_H_
