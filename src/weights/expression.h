// Regular expressions from a checkpoint's files, which are untrusted. They are read and matched in time and memory that
// their length limits. The syntax is Python's, as far as an automaton can match it: literals, ".", classes, \d \w \s \D
// \W \S \b \B, escaped punctuation, "* + ?" greedy and lazy, "|", "(...)", "(?:...)", "^", "$". There are no
// backreferences, counts in braces, look-around, flags or named classes.
#pragma once

#include <bitset>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace kvplan {

class Expression {
 public:
  // Expressions written by people have tens of characters. A character makes at most two states.
  static constexpr std::size_t kMaxLength = 300;
  static constexpr std::size_t kMaxStates = 2 * kMaxLength + 1;
  static constexpr std::size_t kMaxNesting = 32;  // of groups

  // Nothing if the expression is wrong, unsupported, or beyond a limit.
  static std::optional<Expression> read(std::string_view text);

  // Whether a prefix of the text matches, as with Python's re.match. Adds its cost to `steps`: one for each state
  // entered, at most once per character of the text, plus least_steps().
  bool matches_start(std::string_view text, std::uint64_t& steps) const;

  std::size_t states() const { return states_.size(); }
  // The cost of a call that ends immediately.
  std::uint64_t least_steps() const { return 4 + states_.size() / 16; }

 private:
  enum class Kind : std::uint8_t { kByte, kAny, kSet, kJump, kSplit, kBegin, kEnd, kBoundary, kNoBoundary, kMatch };
  // A state leads to the next one. A jump leads to another one instead, and a split leads to both.
  struct State {
    Kind kind;
    std::uint8_t byte = 0;
    std::int16_t to = 0;  // of a jump or split: how many states away; of a set: its index
  };
  class Reader;
  bool takes(const State& state, char c) const;

  std::vector<State> states_;
  std::vector<std::bitset<256>> sets_;
};

}  // namespace kvplan
