// The plan: a model, a request and an engine become a ledger per GPU, with totals, capacity and a verdict.
#ifndef KVPLAN_PLAN_PLAN_H_
#define KVPLAN_PLAN_PLAN_H_

#include <optional>
#include <vector>

#include "engines/engine.h"
#include "formulas/model.h"
#include "kvplan/request.h"
#include "plan/answer.h"
#include "plan/calibrate.h"

namespace kvplan {

// Plans `model`. Throws Error where the request makes no sense for it.
Plan make_plan(const ModelSpec& model, const Request& request);
// The same for many plans of one model.
class PlanCache;
Plan make_plan(PlanCache& cache, const Request& request);
// The verdict of make_plan, without what a plan tells besides: what searches ask.
VerdictReport verdict_of(PlanCache& cache, const Request& request);
// GPUs of a plan at most.
inline constexpr std::uint64_t kMostGpusOfPlan = 2048;
// One GPU of each pipeline stage: what a search over placements asks.
std::vector<GpuMemory> stages_of(PlanCache& cache, const Request& request);

// Steps of make_plan, for those who ask many questions of one model (fit, compare, sweeps).
// `known`: an earlier input of the same model, which has what does not depend on the request.
EngineInput engine_input(const ModelSpec& model, const Request& request, const EngineInput* known = nullptr);
Load load_of(const ModelSpec& model, const Request& request);
// The longest sequence by the config, else by the engine's own rule.
std::optional<Tokens> longest_of(const ModelSpec& model, const Engine& engine);
// The card's memory: as the user says, as a calibration measured it, else as the catalogue has it.
std::optional<Bytes> card_memory(const Request& request);
// Tokens that are planned for where neither the config nor the request names any.
inline constexpr std::uint64_t kDefaultContext = 4096;

}  // namespace kvplan

#endif  // KVPLAN_PLAN_PLAN_H_
