// The plan as something to paste: the engine's own command line, and a container's resources and arguments.
#include <fmt/format.h>

#include "kvplan/strings.h"
#include "report/report.h"

namespace kvplan {

namespace {

std::string quoted(const std::string& word) {
  constexpr std::string_view kPlain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./:=,@%+";
  if (!word.empty() && word.find_first_not_of(kPlain) == std::string::npos) return word;
  std::string out = "'";
  for (const char c : word) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

// YAML's plain style breaks on many characters; double quotes with JSON's escapes never do.
std::string yaml_string(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += static_cast<unsigned char>(c) < 0x20 ? '?' : c;
  }
  return out + "\"";
}

}  // namespace

std::string launch_args(const Plan& plan) {
  const auto line = [](const std::vector<std::string>& words) { return join(words, " ", quoted) + "\n"; };
  return join(plan.launch->commands, "", line);
}

std::string launch_k8s(const Plan& plan) {
  const Launch& launcher = *plan.launch;
  std::string out =
      fmt::format("containers:\n  - name: {}\n    image: {}\n    command:\n",
                  launcher.engine == "llama.cpp" ? "llama-cpp" : launcher.engine, yaml_string(launcher.image));
  bool first = true;
  for (const std::string& word : launcher.commands.front()) {
    out += fmt::format("      - {}\n", yaml_string(word));
    if (first) out += "    args:\n";
    first = false;
  }
  return out + fmt::format("    resources:\n      limits:\n        nvidia.com/gpu: {}\n", plan.memory.size());
}

}  // namespace kvplan
