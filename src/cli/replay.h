// The command that plans one row of a table, a grid or an answer again.
#pragma once

#include <string>

#include "cli/options.h"
#include "plan/answer.h"

namespace kvplan {

// The typed command, with lists, searches and `auto` replaced by the row's engine, GPU, types, layout, length and
// sequences.
OptionValues replay(const Invocation& call, const std::string& source, const Request& planned);

}  // namespace kvplan
