// How many GPUs serve all users at once.
#pragma once

#include <vector>

#include "plan/plan.h"
#include "plan/plan_cache.h"

namespace kvplan {

// Copies of a layout that serve the request's users together, and the plan of one copy.
struct UsersPlan {
  UsersAnswer answer;
  Request copy;
};

// The layouts of the fewest GPUs that serve all users (of --gpu-count if that is given), best first; empty if not
// even one user fits.
std::vector<UsersPlan> layouts_for_users(PlanCache& cache, const Request& request);
Template sentence_of(const UsersPlan& plan);
// Of one of the copies that serve the users, where --users leaves the GPUs open; else of the request.
Plan plan_for_users(const ModelSpec& model, const Request& request);

}  // namespace kvplan
