// The lines of a plan that the deployment adds to the model.
#ifndef KVPLAN_REPORT_EXTRAS_TEXT_H_
#define KVPLAN_REPORT_EXTRAS_TEXT_H_

#include <string>

#include "plan/answer.h"

namespace kvplan {

// A section for people, of the fullest GPU; "" where nothing is added.
std::string extra_lines_text(const Plan& plan);

// The files that are loaded beside the model, one after the other; "" where there are none.
std::string companions_text(const ExtrasRequest& extras);

}  // namespace kvplan

#endif  // KVPLAN_REPORT_EXTRAS_TEXT_H_
