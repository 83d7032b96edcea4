// Shared work for plans of one model. Many questions (fit, a table of GPUs and types) read it once, count its weights
// once per weight type and layout, and lay out its cache once for all lengths.
#pragma once

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

// What makes a plan doubtful: known errors of kvplan, and parts that nobody has checked.
struct Doubts {
  std::vector<Note> notes;
  Template no_verdict;  // why there is no verdict; empty: there is one
};
Doubts doubts_of(const EngineInput& input);

class PlanCache {
 public:
  // `model` must outlive the cache.
  explicit PlanCache(const ModelSpec& model);

  const ModelSpec& model() const { return *model_; }
  // The same, with the tensors of the request's engine.
  const ModelSpec& model(const Request& request);
  const std::string& attention() const { return attention_; }
  const std::vector<LayerGroup>& groups() const { return groups_; }
  const std::shared_ptr<const ModelFacts>& facts(const Request& request);

  // The engine's layout for the request, for any length and any weights. Throws what the engine throws. `input` belongs
  // to this request. The result is valid until the next call.
  struct LaidOut {
    Request key;
    EngineInput input;
    std::unique_ptr<CacheLayout> layout;
    std::vector<Note> notes;
    Doubts doubts;
    mutable std::optional<TermSum> whole = std::nullopt;  // what the architecture needs, once a plan needs it
  };
  const LaidOut& laid_out(const Request& request);

  // The weights of the request, for any load and GPU.
  struct Weighed {
    Request key;
    RankWeights weights;
    std::vector<Note> notes;
  };
  const Weighed& weighed(const Request& request);
  // For the request's types, and the model's own tensors.
  const Weigher& weigher(const Request& request);

 private:
  const ModelSpec* model_;
  std::string attention_;
  std::vector<LayerGroup> groups_;
  std::shared_ptr<const ModelFacts> facts_;
  // The model with the tensors of an engine's own classes.
  struct OfEngine {
    std::string_view engine;
    std::string by;  // the part of the request that it depends on
    ModelSpec model;
    std::shared_ptr<const ModelFacts> facts;
  };
  std::list<OfEngine> made_;
  const OfEngine* made(const Request& request);
  // Newest first.
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
