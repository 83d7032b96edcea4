// What plans of one model share: many questions of one model (fit, a fleet over cards and types) read it once, weigh it
// once for each weight type and layout, and lay its cache out once for all lengths.
#ifndef KVPLAN_PLAN_PLAN_CACHE_H_
#define KVPLAN_PLAN_PLAN_CACHE_H_

#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "engines/engine.h"
#include "formulas/model.h"
#include "plan/rank_weights.h"

namespace kvplan {

class PlanCache {
 public:
  // `model` must outlive the cache and every plan made with it.
  explicit PlanCache(const ModelSpec& model);

  const ModelSpec& model() const { return *model_; }
  const std::string& attention() const { return attention_; }
  const std::vector<LayerGroup>& groups() const { return groups_; }

  // The engine's layout for the request, whatever the lengths asked of it and the weights beside it. Throws as the
  // engine does. `input` is of this very request. Good until the next call.
  struct LaidOut {
    Request key;
    EngineInput input;
    std::unique_ptr<CacheLayout> layout;
    std::vector<Note> notes;
  };
  const LaidOut& laid_out(const Request& request);

  // The weights of the request, whatever the load and the card.
  struct Weighed {
    Request key;
    RankWeights weights;
    std::vector<Note> notes;
  };
  const Weighed& weighed(const Request& request);

 private:
  const ModelSpec* model_;
  std::string attention_;
  std::vector<LayerGroup> groups_;
  // The last ones; entries do not move.
  std::deque<LaidOut> laid_out_;
  std::deque<Weighed> weighed_;
};

}  // namespace kvplan

#endif  // KVPLAN_PLAN_PLAN_CACHE_H_
