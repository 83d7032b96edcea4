// How many GPUs hold all users at once.
#pragma once

#include <optional>

#include "plan/plan.h"
#include "plan/plan_cache.h"

namespace kvplan {

// The layout that takes the fewest GPUs to hold all of the request's users at once in copies, and the plan of one copy;
// nothing where no layout on up to two nodes holds one.
struct UsersPlan {
  UsersAnswer answer;
  Request copy;
};
std::optional<UsersPlan> fewest_for_users(PlanCache& cache, const Request& request);
Template sentence_of(const UsersPlan& plan);

}  // namespace kvplan
