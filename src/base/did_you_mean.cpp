#include "kvplan/did_you_mean.h"

#include <algorithm>

#include "kvplan/strings.h"
#include "kvplan/suggest.h"

namespace kvplan {

std::string did_you_mean(std::string_view wrong, std::span<const std::string_view> known) {
  std::vector<Candidate> candidates;
  for (const std::string_view name : known) candidates.push_back({name, name});
  std::vector<std::string_view> near;
  for (const std::string_view name : nearest_names(wrong, candidates, 3)) {
    const std::size_t most = std::max<std::size_t>(1, std::min(wrong.size(), name.size()) / 3);
    const bool begins = wrong.size() >= 2 && name.starts_with(wrong);
    if (begins || edit_distance(wrong, name) <= most) near.push_back(name);
  }
  std::string out;
  for (std::size_t i = 0; i < near.size(); ++i) {
    out += i == 0 ? "did you mean " : i + 1 == near.size() ? " or " : ", ";
    out += near[i];
  }
  return out.empty() ? out : out + "?";
}

std::string nearest_remedy(std::string_view wrong, std::span<const std::string_view> known) {
  if (std::string near = did_you_mean(wrong, known); !near.empty()) return near;
  return "use one of " + join(known);
}

std::string nearest_remedy(std::string_view wrong, std::string_view known) {
  return nearest_remedy(wrong, split(known));
}

}  // namespace kvplan
