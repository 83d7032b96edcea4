// Questions that are answered by many plans of one model: quantizations side by side, and what fits.
#ifndef KVPLAN_PLAN_QUESTIONS_H_
#define KVPLAN_PLAN_QUESTIONS_H_

#include <optional>
#include <string>
#include <vector>

#include "plan/plan.h"
#include "plan/plan_cache.h"

namespace kvplan {

// Types to compare; those that the engine's users choose where a list is empty. "auto" is the model's own.
struct TypeLists {
  std::vector<std::string> weights, kv;
  std::vector<std::string> stored;  // models of local stores, to be named where they have what another checkpoint has
};
// Weight types x KV types in the layout of the request, what loses least first. The checkpoint's own types are always
// there.
Answers compare_types(const ModelSpec& model, const Request& request, const TypeLists& lists = {});

// Copies of the layout that takes the fewest GPUs for all of the request's users at once, and the plan of one copy;
// nothing where no layout of up to two nodes holds one of them.
struct UsersPlan {
  UsersAnswer answer;
  Request copy;
};
std::optional<UsersPlan> fewest_for_users(PlanCache& cache, const Request& request);
Template sentence_of(const UsersPlan& plan);

// With a card: the longest context at the requested sequences, the most sequences at the requested context, the
// frontier of both, the best types, the fewest GPUs and the layouts that work. Without one: the smallest cards of the
// catalogue that hold the request. What an answer says fits, make_plan says fits; one token more does not.
Answers fit_model(const ModelSpec& model, const Request& request);

// What makes a request fit that does not: single changes, the one that gives up least first. A narrower KV type,
// narrower weights, more cards, fewer sequences, a shorter context (right after the KV type where the length is not the
// user's own; never where a least context was asked for).
std::vector<Remedy> remedies(PlanCache& cache, const Plan& asked);

}  // namespace kvplan

#endif  // KVPLAN_PLAN_QUESTIONS_H_
