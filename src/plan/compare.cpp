#include <algorithm>

#include "kvplan/error.h"
#include "kvplan/strings.h"
#include "plan/answers.h"
#include "plan/changes.h"
#include "weights/types.h"

namespace kvplan {

namespace {

void add_unique(std::vector<std::string>& list, std::string_view word) {
  if (std::find(list.begin(), list.end(), word) == list.end()) list.emplace_back(word);
}

// "f16" is another name of float16.
bool same_type(std::string_view a, std::string_view b) {
  const WeightType* type = find_weight_type(a);
  return type != nullptr && type == find_weight_type(b);
}

}  // namespace

Answers compare_types(const ModelSpec& model, const Request& request) {
  Answers out;
  out.asked = make_plan(model, request);
  const Engine& engine = engine_of(request);
  const std::string own_weights = out.asked.weights_dtype;
  const std::string own_kv(name(out.asked.types.key));
  std::vector<std::string> weights{own_weights};
  std::vector<std::string> kvs{own_kv};
  for (const std::string_view word : split(engine.weight_choices))
    if (!same_type(word, own_weights)) add_unique(weights, word);
  for (const std::string_view word : split(engine.kv_choices)) add_unique(kvs, word);

  const Answer* cheapest = nullptr;
  for (const std::string& weight : weights) {
    for (const std::string& kv : kvs) {
      Request changed = request;
      Answer answer;
      answer.name = weight + " x " + kv;
      if (weight != own_weights) {
        changed.weights = weight;
        answer.changes.emplace_back("--weights", weight);
      }
      if (kv != own_kv) {
        changed.cache_type_k = changed.cache_type_v = parse_dtype(kv, "--kv-cache-dtype");
        answer.changes.emplace_back("--kv-cache-dtype", kv);
      }
      try {
        answer.plan = make_plan(model, changed);
      } catch (const Error& error) {
        take_as_misfit(error);
        continue;  // the engine or the model has no such type
      }
      out.answers.push_back(std::move(answer));
    }
  }
  // The fewest changes that make it fit, and of those the one that gives up the fewest bytes.
  if (out.asked.verdict.status == Verdict::kDoesNotFit) {
    for (const Answer& answer : out.answers) {
      if (answer.plan.verdict.status != Verdict::kFits) continue;
      const auto cost = [](const Answer& a) { return std::pair(a.changes.size(), ~a.plan.total.bytes.count()); };
      if (cheapest == nullptr || cost(answer) < cost(*cheapest)) cheapest = &answer;
    }
    if (cheapest == nullptr) {
      out.sentences.push_back("no combination of types fits");
    } else {
      out.sentences.push_back(options_text(cheapest->changes) + " makes it fit");
    }
  }
  return out;
}

}  // namespace kvplan
