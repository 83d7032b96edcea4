
#include <algorithm>
#include <string>

#include "kvplan/strings.h"

namespace kvplan {

constexpr std::size_t kLongest = 64;

// Optimal string alignment, with three rows of the table.
static std::size_t distance(std::string_view a, std::string_view b) {
  a = a.substr(0, kLongest);
  b = b.substr(0, kLongest);
  std::vector<std::size_t> before(b.size() + 1);
  std::vector<std::size_t> last(b.size() + 1);
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) last[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (a[i - 1] == b[j - 1] ? 0U : 1U)});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) row[j] = std::min(row[j], before[j - 2] + 1);
    }
    std::swap(before, last);
    std::swap(last, row);
  }
  return last[b.size()];
}

std::size_t edit_distance(std::string_view a, std::string_view b) {
  return distance(folded(a), folded(b));
}

std::vector<std::string_view> nearest_names(std::string_view wanted, std::span<const Candidate> known,
                                            std::size_t count) {
  const std::string text = folded(wanted);
  struct Scored {
    std::size_t distance;
    std::string_view name;
  };
  std::vector<Scored> scored;
  for (const Candidate& candidate : known) {
    const std::string spelling = folded(candidate.spelling);
    std::size_t far = distance(text, spelling);
    const bool begins =
        text.size() >= 2 && spelling.size() >= 2 && (spelling.starts_with(text) || text.starts_with(spelling));
    if (begins) far = 0;
    scored.push_back({far, candidate.name});
  }
  std::stable_sort(scored.begin(), scored.end(),
                   [](const Scored& a, const Scored& b) { return a.distance < b.distance; });
  std::vector<std::string_view> out;
  for (const Scored& each : scored) {
    if (out.size() == count) break;
    if (std::find(out.begin(), out.end(), each.name) == out.end()) out.push_back(each.name);
  }
  return out;
}

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
