// Questions that take many plans of one model: quantizations side by side, and what fits.
#ifndef KVPLAN_PLAN_QUESTIONS_H_
#define KVPLAN_PLAN_QUESTIONS_H_

#include <optional>
#include <string>
#include <vector>

#include "plan/plan.h"
#include "plan/plan_cache.h"

namespace kvplan {

// Types to compare; where a list is empty, those in use with the engine. "auto" is the model's own.
struct TypeLists {
  std::vector<std::string> weights, kv;
  // Models in local stores, to be named where they have the weights of another checkpoint.
  std::vector<std::string> stored;
};
// Weight types x KV types in the request's layout, smallest loss of quality first. The checkpoint's own types are
// always among them.
Answers compare_types(const ModelSpec& model, const Request& request, const TypeLists& lists = {});

// The layout that takes the fewest GPUs to hold all of the request's users at once in copies, and the plan of one copy;
// nothing where no layout on up to two nodes holds one.
struct UsersPlan {
  UsersAnswer answer;
  Request copy;
};
std::optional<UsersPlan> fewest_for_users(PlanCache& cache, const Request& request);
Template sentence_of(const UsersPlan& plan);

// With a card: the longest context at the requested sequences, the most sequences at the requested context, the
// frontier of both, the best types, the fewest GPUs and the layouts that work. Without one: the smallest cards of the
// catalogue that hold the request. What an answer says fits, make_plan says fits, and one token more does not.
Answers fit_model(const ModelSpec& model, const Request& request);

// What makes a request fit: single changes, the one that gives up least first. They are a narrower KV type, narrower
// weights, more cards, fewer sequences and a shorter context (right after the KV type where the user named no length;
// never where a minimum context was asked for).
std::vector<Remedy> remedies(PlanCache& cache, const Plan& asked);

}  // namespace kvplan

#endif  // KVPLAN_PLAN_QUESTIONS_H_
