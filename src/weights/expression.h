// Regular expressions that come with a checkpoint, from people whom nobody here knows: read and matched in time and
// memory that are bounded by their length, whatever they say. Python's spelling, as far as an automaton has it:
// literals, ".", classes, \d \w \s \D \W \S \b \B, escaped punctuation, "* + ?" greedy and lazy, "|", "(...)",
// "(?:...)", "^", "$". Not references, counts in braces, looking around, flags and named classes.
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
  // What a person writes has tens of characters.
  static constexpr std::size_t kMaxLength = 300;
  // A match keeps two lists of them and a mark for each on the stack, 4 KiB. What a person writes has one or two for
  // each character; 300 characters of "|" alone would have 900.
  static constexpr std::size_t kMaxStates = 512;
  // Groups within groups; each is a step that any character of the text may pay for.
  static constexpr std::size_t kMaxNesting = 32;

  // Nothing where the expression is wrong, has what is not read, or passes a bound.
  static std::optional<Expression> read(std::string_view text);

  // Whether some beginning of the text matches, as Python's re.match has it. Adds the work to steps: one for each state
  // that is entered, at most once for each character of the text, and a few for the call.
  bool matches_start(std::string_view text, std::uint64_t& steps) const;

  std::size_t states() const { return states_.size(); }

 private:
  using Index = std::uint16_t;
  using Bytes = std::bitset<256>;
  enum class Kind : std::uint8_t { kByte, kAny, kSet, kPass, kSplit, kBegin, kEnd, kBoundary, kNoBoundary, kMatch };
  struct State {
    Kind kind = Kind::kPass;
    std::uint8_t byte = 0;
    Index set = 0;               // of kSet: which of sets_
    Index next = 0, second = 0;  // second: the other way of a kSplit
  };
  // A part of the automaton: entered at first, left by the next of last, which is still open.
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
