// What the pages share.
#pragma once

#include <string>
#include <string_view>

#include "plan/answer.h"
#include "report/fields_tables.h"
#include "report/report.h"
#include "report/words.h"

namespace kvplan {

// The forms of an answer: its page, its fields as JSON, and as CSV if it is made of plans.
template <class Answer>
Reply reply_with(Page (*page)(const Answer&), const Answer& answer) {
  Reply out{[page, &answer] { return page(answer); }, [&answer] { return json_of(answer); }, {}};
  if constexpr (requires { csv_of(answer); }) out.csv = [&answer] { return csv_of(answer); };
  return out;
}

template <class Item>
Reply reply_with(Page (*page)(std::span<const Item>), std::span<const Item> list) {
  return {[=] { return page(list); }, [=] { return json_of(list); }, {}};
}

// The page of a log, which that of a watched start includes.
Page check_log_page(const LogCheck& check);

// What makes it fit, or keeps it on the GPU.
void add_remedies(const Plan& plan, Page& page);
// A command over several lines, as a shell takes it: a line ends before an option.
Sentences command_lines(std::string_view command);

// Blocks that plan and explain share.
void add_measurement(const Plan& plan, Page& page);  // for a plan that was measured
void add_speed(const Plan& plan, bool is_whole, Page& page);
void add_host(const Plan& plan, Page& page);
// The longest context for each number of sequences, as a curve.
void add_contexts_by_sequences(const ContextsBySequences& contexts, Page& page);

// The words for a log's events: a sentence for each cause and each remedy, with its values.

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
