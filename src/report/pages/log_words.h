// The words for what a log tells: a sentence for each cause and each cure, made of its values.
#ifndef KVPLAN_REPORT_PAGES_LOG_WORDS_H_
#define KVPLAN_REPORT_PAGES_LOG_WORDS_H_

#include <string>
#include <string_view>

#include "plan/answer.h"

namespace kvplan {

// "one sequence of 221000 tokens needs 10.12 GiB of KV cache and 5.59 GiB is left": figures as the log prints them.
std::string cause_text(const Diagnosis& diagnosis);
// Of what is told and no fault; "" where it is not worth a line.
std::string event_text(const LogEvent& event);
// "--max-model-len 122080", or what to do where no option does it.
std::string cure_option(const LogRemedy& remedy);
std::string cure_effect(const LogRemedy& remedy);
// "it started, with less room than planned".
std::string_view verdict_title(LogVerdict verdict);
std::string_view phase_text(LogPhase phase);

}  // namespace kvplan

#endif  // KVPLAN_REPORT_PAGES_LOG_WORDS_H_
