// The plan as text to paste: the engine's own command line, and a container's resources and arguments. Many characters
// are special in YAML's plain style; a JSON string is always safe.
#include <fmt/format.h>

#include <algorithm>

#include "kvplan/characters.h"
#include "kvplan/error.h"
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

std::string launch_k8s(const Plan& plan) {
  const Launch& launch = *plan.launch;
  if (launch.image.empty())
    usage_error("--format k8s: " + std::string(launch.engine) + " is in no container of its makers",
                "use --format args");
  const auto container = [&](const std::vector<std::string>& words) {
    std::string name(launch.engine);
    std::replace(name.begin(), name.end(), '.', '-');  // a container's name has no dots
    std::string out =
        fmt::format("containers:\n  - name: {}\n    image: {}\n    command:\n", name, json_string(launch.image));
    for (std::size_t i = 0; i < words.size(); ++i) {
      if (i == 1) out += "    args:\n";
      out += fmt::format("      - {}\n", json_string(words[i]));
    }
    if (!launch.environment.empty()) out += "    env:\n";
    for (const auto& [variable, value] : launch.environment)
      out += fmt::format("      - name: {}\n        value: {}\n", variable, json_string(value));
    return out + fmt::format("    resources:\n      limits:\n        nvidia.com/gpu: {}\n", launch.gpus_per_node);
  };
  // A document for each node.
  return join(launch.commands, "---\n", container);
}

std::string launch_warning(const Plan& plan) {
  std::vector<std::string> out;
  if (plan.verdict.fails())
    out.push_back((plan.verdict.no_verdict.empty() ? "does not fit: " : "unknown: ") + reason_of(plan.verdict));
  if (plan.launch) out.insert(out.end(), plan.launch->remarks.begin(), plan.launch->remarks.end());
  return join(out, "; ");
}

}  // namespace kvplan
