#include "plan/rank_weights.h"

#include "engines/parallel.h"
#include "weights/weigh.h"

namespace kvplan {

RankWeights rank_weights(const ModelSpec& model, const Request& request, std::vector<Note>& notes) {
  RankWeights out;
  WeightRequest asked;
  asked.type = request.weights;
  asked.dtype = request.dtype;
  asked.with_mtp = request.mtp;
  WeightShare& share = asked.share;
  share.tensor_parallel = request.tensor_parallel;
  // vLLM flattens data parallel ranks into those of the experts, whether it cuts experts or deals them out.
  const std::uint64_t flat = checked_mul(request.tensor_parallel, request.data_parallel, "the number of ranks");
  share.expert_tensor_parallel = request.engine == "vllm" ? flat : request.tensor_parallel;
  if (request.expert_parallel) share.expert_parallel = request.engine == "sglang" ? request.tensor_parallel : flat;
  share.embedding_on_host = engine_of(request).embedding_on_host;
  const std::uint64_t stages = request.pipeline_parallel;
  std::vector<std::uint64_t> sizes{model.layers.size()};
  if (stages > 1)
    sizes = stage_layers(model.layers.size(), stages,
                         request.engine == "sglang" ? StageSplit::kLastFirst : StageSplit::kSpareLast);
  std::uint64_t first = 0;
  for (std::uint64_t stage = 0; stage < stages; ++stage) {
    if (stages > 1) {
      share.first_layer = first;
      share.layers = sizes[stage];
      share.first_stage = stage == 0;
      share.last_stage = stage + 1 == stages;
      first += sizes[stage];
    }
    const WeightReport report = weigh(model, asked);
    out.type = report.type;
    out.is_known = report.is_known;
    std::vector<LedgerLine> lines;
    for (const WeightLine& line : report.lines)
      lines.push_back({Section::kWeights, line.what, line.bytes, line.low, line.high, line.formula, line.source});
    out.lines.push_back(std::move(lines));
    if (stage == 0) notes.insert(notes.end(), report.notes.begin(), report.notes.end());
  }
  return out;
}

}  // namespace kvplan
