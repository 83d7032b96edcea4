#include "kvplan/mistake.h"

#include <algorithm>

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
  std::string all;
  for (const std::string_view name : known) all += (all.empty() ? "use one of " : ", ") + std::string(name);
  return all;
}

std::string nearest_remedy(std::string_view wrong, std::string_view known) {
  std::vector<std::string_view> words;
  for (std::string_view rest = known; !rest.empty();) {
    const auto space = rest.find(' ');
    if (space != 0) words.push_back(rest.substr(0, space));
    rest = space == std::string_view::npos ? std::string_view() : rest.substr(space + 1);
  }
  return nearest_remedy(wrong, words);
}

}  // namespace kvplan
