// The command that plans one row of a table, a grid or an answer again.
#pragma once

#include <string>

#include "cli/options.h"
#include "plan/answer.h"

namespace kvplan {

// What was typed, with what the row was planned with in place of lists, searches and `auto`: its engine, card, types,
// layout, length and sequences.
OptionValues replay(const Invocation& call, const std::string& source, const Request& planned);

}  // namespace kvplan
