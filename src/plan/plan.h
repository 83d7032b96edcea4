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
// Keeps what many plans of one model share.
class PlanCache;
Plan make_plan(PlanCache& cache, const Request& request);
// The verdict of make_plan, without the rest of a plan: what searches ask for.
VerdictReport verdict_of(PlanCache& cache, const Request& request);
// The most GPUs of a plan.
inline constexpr std::uint64_t kMostGpusOfPlan = 2048;
// One GPU of each pipeline stage: what a search over placements asks for.
std::vector<GpuMemory> stages_of(PlanCache& cache, const Request& request);

// Steps of make_plan, for callers that ask many questions about one model (fit, compare, sweeps).
// `known`: an earlier input of the same model, from which the parts that no request changes are taken.
EngineInput engine_input(const ModelSpec& model, const Request& request, const EngineInput* known = nullptr);
Load load_of(const ModelSpec& model, const Request& request);
// The model's own maximum: by the config, which names `own`, else by the engine's own rule.
std::optional<Tokens> longest_of(Tokens own, const Engine& engine);
// The longest context that every command answers with: what the memory holds, at most the model's own maximum.
std::uint64_t longest_context(std::uint64_t by_memory, Tokens own, const Engine& engine);
// The card's memory: as the user gives it, as a calibration measured it, else as catalogued.
std::optional<Bytes> card_memory(const Request& request);
// The context to plan for where neither config nor request names one.
inline constexpr std::uint64_t kDefaultContext = 4096;

}  // namespace kvplan

#endif  // KVPLAN_PLAN_PLAN_H_
