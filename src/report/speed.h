// Bounds of speed, and what a prefill holds at least: sections of the table and of explain.
#ifndef KVPLAN_REPORT_SPEED_H_
#define KVPLAN_REPORT_SPEED_H_

#include <string>

#include "plan/answer.h"

namespace kvplan {

// "" where no bandwidth is known.
std::string speed_lines(const Plan& plan);
// The same with what each bound rests on.
std::string speed_section(const Plan& plan);
// The floor of the hidden states, and the score matrix of naive attention whole and by chunks.
std::string prefill_section(const Plan& plan);

}  // namespace kvplan

#endif  // KVPLAN_REPORT_SPEED_H_
