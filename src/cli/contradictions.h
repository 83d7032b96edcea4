// Options that cannot all apply at once.
#pragma once

#include <functional>
#include <string_view>

#include "cli/options.h"

namespace kvplan {

// Throws Error that names both options and the remedy. `given` says whether an option (by its first name) was on the
// command line. Only what no model and no GPU could satisfy is refused. What does not fit gets a plan.
void check_contradictions(const Invocation& call, const std::function<bool(std::string_view)>& given);

}  // namespace kvplan
