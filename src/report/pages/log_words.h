// The words for a log's events: a sentence for each cause and each remedy, with its values.
#pragma once

#include <string>
#include <string_view>

#include "plan/answer.h"

namespace kvplan {

// "one sequence of 221000 tokens needs 10.12 GiB of KV cache and 5.59 GiB is left", with figures as the log prints
// them.
std::string cause_text(const Diagnosis& diagnosis);
// The sentence for an event that is not a fault; "" if it does not need a line.
std::string event_text(const LogEvent& event);
// "--max-model-len 122080", or a description if no option does it.
std::string cure_option(const LogRemedy& remedy);
std::string cure_effect(const LogRemedy& remedy);
// "it started, with less room than planned".
std::string_view verdict_title(LogVerdict verdict);
std::string_view phase_text(LogPhase phase);

}  // namespace kvplan
