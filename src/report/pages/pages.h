// What the pages share.
#pragma once

#include "report/fields_tables.h"
#include "report/report.h"
#include "report/text.h"
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

}  // namespace kvplan
