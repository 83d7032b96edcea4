// Regular expressions that come with a checkpoint from unknown people: parsed and matched in time and memory limited by
// their length, whatever they contain. Python's syntax, as far as an automaton can match it: literals, ".", classes, \d
// \w \s \D \W \S \b \B, escaped punctuation, "* + ?" greedy and lazy, "|", "(...)", "(?:...)", "^", "$". No
// backreferences, counts in braces, look-around, flags or named classes.
#ifndef KVPLAN_WEIGHTS_EXPRESSION_H_
#define KVPLAN_WEIGHTS_EXPRESSION_H_

#include <bitset>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace kvplan {

class Expression {
 public:
  // Expressions written by people have tens of characters.
  static constexpr std::size_t kMaxLength = 300;
  // A match keeps two lists of states and a mark for each on the stack, 4 KiB. Expressions written by people have one
  // or two states per character; 300 characters of only "|" would have 900.
  static constexpr std::size_t kMaxStates = 512;
  // Of groups; each level may cost a step for every character of the text.
  static constexpr std::size_t kMaxNesting = 32;

  // Nothing where the expression is wrong, unsupported, or beyond a limit.
  static std::optional<Expression> read(std::string_view text);

  // Whether a prefix of the text matches, like Python's re.match. Adds its cost to `steps`: one for each state entered,
  // at most once per character of the text, and a few for the call.
  bool matches_start(std::string_view text, std::uint64_t& steps) const;

  std::size_t states() const { return states_.size(); }

 private:
  using Index = std::uint16_t;
  using Bytes = std::bitset<256>;
  enum class Kind : std::uint8_t { kByte, kAny, kSet, kPass, kSplit, kBegin, kEnd, kBoundary, kNoBoundary, kMatch };
  struct State {
    Kind kind = Kind::kPass;
    std::uint8_t byte = 0;
    Index set = 0;               // for kSet: index into sets_
    Index next = 0, second = 0;  // second: the other branch of a kSplit
  };
  // A part of the automaton: entered at `first`, left by the `next` of `last`, which is not set yet.
  struct Part {
    Index first = 0, last = 0;
  };
  class Reader;

  Index add(State state);

  std::vector<State> states_;
  std::vector<Bytes> sets_;
  Index start_ = 0;
};

}  // namespace kvplan

#endif  // KVPLAN_WEIGHTS_EXPRESSION_H_
