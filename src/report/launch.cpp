// The plan as text to paste: the engine's own command line.
#include "kvplan/strings.h"
#include "report/report.h"
#include "report/text.h"
#include "report/words.h"

namespace kvplan {

std::string launch_args(const Plan& plan) {
  const auto setting = [](const auto& variable) { return variable.first + "=" + shell_word(variable.second) + " "; };
  const std::string before = join(plan.launch->environment, "", setting);
  const auto line = [&](const std::vector<std::string>& words) { return before + join(words, " ", shell_word) + "\n"; };
  return join(plan.launch->commands, "", line);
}

std::string launch_warning(const Plan& plan) {
  std::vector<std::string> out;
  if (plan.verdict.fails())
    out.push_back((plan.verdict.no_verdict.empty() ? "does not fit: " : "unknown: ") + reason_of(plan.verdict));
  if (plan.launch) out.insert(out.end(), plan.launch->remarks.begin(), plan.launch->remarks.end());
  return join(out, "; ");
}

}  // namespace kvplan
