// Releases of an engine, and the table of what depends on them. Only this file compares releases. An engine lists its
// rules as rows (ENGINE/rules.cpp), and a request resolves them once into a plain struct.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace kvplan {

struct Engine;
struct Request;

// "0.20.1" is {0, 20, 1}.
struct Release {
  std::uint64_t major = 0, minor = 0, patch = 0;
  friend auto operator<=>(const Release&, const Release&) = default;
};
// Later than every release: the end of a rule that still applies.
inline constexpr Release kNoEnd{~std::uint64_t{0}, 0, 0};

// The release that the request names, or the newest known one. If the request gives no patch level ("0.5"), it means
// the newest patch if `Engine::numbers_patches` is set (SGLang), and the first one otherwise.
Release release_of(const Engine& engine, const Request& request);
Release release_of(const Request& request);
std::string format_release(Release release);
// "0.4.10.post2" is {0, 4, 10}. The build "b6900" is {0, 0, 6900}, which is older than all tags.
Release parse_release(std::string_view text);

// How the date of a change is known. kExecuted: there are executed figures of a release before it and of one after it.
// kRead: the source of both was read.
enum class RuleBasis : std::uint8_t { kRead, kExecuted };

// If neither is possible: the newest release that is known to be older than the change, and the oldest known to have
// it.
struct Between {
  Release after{}, by{};
  bool has(Release release) const { return release > after && release < by; }
};

// One row: from `since` until before `until`, the member has the value `to`. In other releases it has the struct's
// initial value. If several rows apply to a member, the last one wins.
template <class Rules>
struct Rule {
  std::variant<bool Rules::*, std::uint64_t Rules::*, double Rules::*> sets;
  double to = 1;
  Release since{}, until = kNoEnd;
  std::string_view what{};      // the behaviour, in words
  std::string_view evidence{};  // a pull request, a function of the engine's source, a log
  RuleBasis basis = RuleBasis::kRead;
  Between between{};  // `since`, or else `until`, is somewhere in here
};

// `turned`: the words of a rule that is planned as on the other side of its change.
template <class Rules, std::size_t N>
Rules resolve_rules(const Rule<Rules> (&table)[N], Release release, std::string_view turned = {}) {
  Rules out;
  for (const Rule<Rules>& rule : table) {
    const bool is_on = release >= rule.since && release < rule.until;
    if (is_on == (rule.what == turned)) continue;
    std::visit([&]<class Value>(Value Rules::*member) { out.*member = static_cast<Value>(rule.to); }, rule.sets);
  }
  return out;
}

// A row as `kvplan engines ENGINE --rules` prints it.
struct RuleRow {
  std::string since, until, value;  // "" for an open end, and for a rule that is simply on
  std::string what;
  std::string_view evidence;
  RuleBasis basis = RuleBasis::kRead;
  Between between{};
};
// "executed", "source", or "between 0.13 and 0.15".
std::string date_basis(const RuleRow& row);
RuleRow rule_row(Release since, Release until, double value, bool is_flag, std::string_view what,
                 std::string_view evidence, RuleBasis basis);

template <class Rules, std::size_t N>
std::vector<RuleRow> rule_rows(const Rule<Rules> (&table)[N]) {
  std::vector<RuleRow> out;
  for (const Rule<Rules>& rule : table) {
    out.push_back(
        rule_row(rule.since, rule.until, rule.to, rule.sets.index() == 0, rule.what, rule.evidence, rule.basis));
    out.back().between = rule.between;
  }
  return out;
}

}  // namespace kvplan
