// What plans of one model share: many questions of one model (fit, a fleet over cards and types) read it once, weigh it
// once for each weight type and layout, and lay its cache out once for all lengths.
#ifndef KVPLAN_PLAN_PLAN_CACHE_H_
#define KVPLAN_PLAN_PLAN_CACHE_H_

#include <list>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engines/engine.h"
#include "engines/term_sum.h"
#include "formulas/model.h"
#include "plan/answer.h"
#include "plan/rank_weights.h"

namespace kvplan {

class PlanCache {
 public:
  // `model` must outlive the cache.
  explicit PlanCache(const ModelSpec& model);

  const ModelSpec& model() const { return *model_; }
  // The same with its tensors as the request's engine makes them.
  const ModelSpec& model(const Request& request);
  const std::string& attention() const { return attention_; }
  const std::vector<LayerGroup>& groups() const { return groups_; }
  const std::shared_ptr<const ModelFacts>& facts(const Request& request);

  // The engine's layout for the request, whatever the lengths asked of it and the weights beside it. Throws as the
  // engine does. `input` is of this very request. Good until the next call.
  struct LaidOut {
    Request key;
    EngineInput input;
    std::unique_ptr<CacheLayout> layout;
    std::vector<Note> notes;
    mutable std::optional<TermSum> whole = std::nullopt;  // what the architecture needs, where a plan asked for it
  };
  const LaidOut& laid_out(const Request& request);

  // The weights of the request, whatever the load and the card.
  struct Weighed {
    Request key;
    RankWeights weights;
    std::vector<Note> notes;
  };
  const Weighed& weighed(const Request& request);
  // The model's own, for the request's types.
  const Weigher& weigher(const Request& request);

 private:
  const ModelSpec* model_;
  std::string attention_;
  std::vector<LayerGroup> groups_;
  std::shared_ptr<const ModelFacts> facts_;
  // The model as engines with classes of their own make it; entries do not move.
  struct OfEngine {
    std::string_view engine;
    std::string by;  // what of the request it is made by
    ModelSpec model;
    std::shared_ptr<const ModelFacts> facts;
  };
  std::list<OfEngine> made_;
  const OfEngine* made(const Request& request);
  // The last ones, the latest first; entries do not move.
  std::list<LaidOut> laid_out_;
  std::list<Weighed> weighed_;
  struct OfType {
    const ModelSpec* model;
    std::optional<std::string> type;
    std::optional<Dtype> dtype;
    Weigher weigher;
    OfType(const ModelSpec& spec, const std::optional<std::string>& weights, std::optional<Dtype> compute,
           const Weigher* like)
        : model(&spec), type(weights), dtype(compute), weigher(spec, weights, compute, like) {}
  };
  std::list<OfType> weighers_;
};

}  // namespace kvplan

#endif  // KVPLAN_PLAN_PLAN_CACHE_H_
