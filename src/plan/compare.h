// Weight types and KV types side by side.
#pragma once

#include <string>
#include <vector>

#include "plan/plan.h"

namespace kvplan {

// Types to compare; if a list is empty, those in use with the engine. "auto" is the model's own.
struct TypeLists {
  std::vector<std::string> weights, kv;
  // Models in local stores, to be named if they have the weights of another checkpoint.
  std::vector<std::string> stored;
};
// Weight types x KV types in the request's layout, smallest loss of quality first. The checkpoint's own types are
// always among them.
Answers compare_types(const ModelSpec& model, const Request& request, const TypeLists& lists = {});

}  // namespace kvplan
