// Expressions and names from random bytes, and RE2's result for what src/weights/expression.h gives.
#pragma once

#ifdef KVPLAN_HAS_RE2
#include <re2/re2.h>
#endif

#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "fuzz/source.h"
#include "weights/expression.h"

namespace kvplan::fuzz {

// Only a few characters, so that some texts match.
inline std::string make_atom(Source& source) {
  constexpr std::string_view kAtoms[] = {
      "a",     "b",     "1",     "_",   ".",         "-",      "\\.",  "\\-", "]",        "}",       ",",
      "\\d",   "\\w",   "\\s",   "\\D", "\\W",       "\\S",    "\\b",  "\\B", "^",        "$",       "",
      "[ab]",  "[^a]",  "[a-c]", "[]]", "[^]a]",     "[-a]",   "[a-]", ".*",  "[\\d.]",   "[^\\w.]", "[0-9]",
      "[.*+]", "[\\]]", "[^b-]", "[{]", "layers\\.", "q_proj", "mlp",  "12",  "[\\w\\-]", "[!-/]",   "()"};
  return std::string(kAtoms[source.below(std::size(kAtoms))]);
}

inline std::string make_expression(Source& source, int depth = 4) {
  std::string out;
  for (std::uint64_t choices = source.from(1, 3); choices > 0; --choices) {
    for (std::uint64_t parts = source.below(4); parts > 0; --parts) {
      std::string part = make_atom(source);
      if (depth > 0 && source.below(3) == 0)
        part = (source.below(2) == 0 ? "(" : "(?:") + make_expression(source, depth - 1) + ")";
      constexpr std::string_view kHow[] = {"", "", "", "*", "+", "?", "*?", "+?", "??"};
      // A repetition needs something to repeat, and is not itself repeated.
      if (!part.empty() && part != ".*") part += kHow[source.below(std::size(kHow))];
      out += part;
    }
    if (choices > 1) out += '|';
  }
  return out;
}

inline std::string make_text(Source& source) {
  constexpr std::string_view kPieces[] = {"a", "b", "c", "1",       "12",  "_",     ".",
                                          "-", "]", " ", "layers.", "mlp", "q_proj"};
  std::string out;
  for (std::uint64_t pieces = source.below(9); pieces > 0; --pieces) out += kPieces[source.below(std::size(kPieces))];
  return out;
}

#ifdef KVPLAN_HAS_RE2

// Whether RE2 accepts an expression, in bytes, and its result for the beginning of a text.
class Re2 {
 public:
  explicit Re2(const std::string& expression) : re2_(expression, options()) {}
  bool is_read() const { return re2_.ok(); }
  bool matches_start(const std::string& text) const {
    return re2_.Match(text, 0, text.size(), RE2::ANCHOR_START, nullptr, 0);
  }

 private:
  static RE2::Options options() {
    RE2::Options out(RE2::Latin1);
    out.set_log_errors(false);
    return out;
  }
  RE2 re2_;
};

// Where the two disagree; empty if they agree. An expression that kvplan reads must be one for RE2 too, with the same
// result for every text. must_read: the expression belongs to kvplan's grammar and is within its limits.
inline std::string difference(const std::string& expression, const std::vector<std::string>& texts, bool must_read) {
  const auto ours = Expression::read(expression);
  const Re2 theirs(expression);
  if (!ours) return must_read && theirs.is_read() ? "\"" + expression + "\": RE2 reads it, we do not" : "";
  if (!theirs.is_read()) return "\"" + expression + "\": we read it, RE2 does not";
  for (const std::string& text : texts) {
    std::uint64_t steps = 0;
    const bool matches = ours->matches_start(text, steps);
    if (matches != theirs.matches_start(text))
      return "\"" + expression + "\" on \"" + text + "\": we say " + (matches ? "yes" : "no");
    if (steps > (text.size() + 1) * ours->states() + ours->least_steps())
      return "\"" + expression + "\" on \"" + text + "\": " + std::to_string(steps) + " steps";
  }
  return "";
}

#endif

}  // namespace kvplan::fuzz
