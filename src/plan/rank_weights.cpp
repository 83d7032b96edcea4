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
  const Engine& engine = engine_of(request);
  const std::uint64_t flat = checked_mul(request.tensor_parallel, request.data_parallel, "the number of ranks");
  const std::uint64_t expert_ranks = engine.data_ranks_share_experts ? flat : request.tensor_parallel;
  share.expert_tensor_parallel = expert_ranks;
  if (request.expert_parallel) share.expert_parallel = expert_ranks;
  share.embedding_on_host = engine.embedding_on_host;
  const std::uint64_t layers = model.layers.size();
  std::vector<StageShare> stages{{0, layers, true, true}};
  if (engine.stages != nullptr)
    stages = engine.stages(layers, request);
  else if (request.pipeline_parallel > 1)
    stages = stage_shares(layers, request.pipeline_parallel, StageSplit::kSpareLast);
  for (std::size_t stage = 0; stage < stages.size(); ++stage) {
    const StageShare& part = stages[stage];
    const bool whole = part.layers == layers && part.has_embedding && part.has_head;
    share.first_layer = part.first_layer;
    share.layers = whole ? std::nullopt : std::optional(part.layers);
    share.first_stage = part.has_embedding;
    share.last_stage = part.has_head;
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
