#include "engines/release.h"

#include <cmath>

#include "engines/engine.h"
#include "kvplan/strings.h"

namespace kvplan {

Release release_of(const Engine& engine, const Request& request) {
  if (request.engine_version.starts_with('b')) return parse_release(request.engine_version);
  const std::uint64_t version = engine_version(engine, request);
  const std::uint64_t patch = engine_patch(request);
  const bool named = patch != kAnyCount;
  return {version / 1000, version % 1000, named ? patch : engine.numbers_patches ? kAnyCount : 0};
}

Release release_of(const Request& request) {
  return release_of(engine_of(request), request);
}

std::string format_release(Release release) {
  if (release == Release{} || release == kNoEnd) return "";
  if (release.major == 0 && release.minor == 0) return "b" + std::to_string(release.patch);  // a build of llama.cpp
  std::string out = std::to_string(release.major) + "." + std::to_string(release.minor);
  if (release.patch != 0) out += "." + std::to_string(release.patch);
  return out;
}

Release parse_release(std::string_view text) {
  Release out;
  if (text.starts_with('b')) return {0, 0, whole_number(text.substr(1)).value_or(0)};  // this is a build of llama.cpp
  std::uint64_t* const parts[] = {&out.major, &out.minor, &out.patch};
  for (std::uint64_t* part : parts) {
    *part = whole_number(text).value_or(0);
    const auto dot = text.find('.');
    if (dot == std::string_view::npos) break;
    text.remove_prefix(dot + 1);
  }
  return out;
}

RuleRow rule_row(Release since, Release until, double value, bool is_flag, std::string_view what,
                 std::string_view evidence, RuleBasis basis) {
  const bool is_whole = std::floor(value) == value;
  std::string text = is_whole ? std::to_string(static_cast<std::uint64_t>(value)) : std::to_string(value);
  if (!is_whole) text.erase(text.find_last_not_of('0') + 1);
  if (is_flag) text = value != 0 ? "" : "no";
  return {format_release(since), format_release(until), text, std::string(what), evidence, basis};
}

std::string date_basis(const RuleRow& row) {
  if (row.between.by != Release{})
    return "between " + format_release(row.between.after) + " and " + format_release(row.between.by);
  return row.basis == RuleBasis::kExecuted ? "executed" : "source";
}

}  // namespace kvplan
