// Thompson's construction, and a simulation that keeps the set of all states that the text may have led to: each
// character costs each state once, without backtracking. The parser keeps its own stack, so that nesting needs no
// recursion.
#include "weights/expression.h"

#include <algorithm>
#include <array>

namespace kvplan {

namespace {

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
bool is_word(char c) {
  return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}
bool is_space(char c) {
  return c == ' ' || c == '\t' || c == '\n' || c == '\f' || c == '\r';
}

// The class that \d and the like stand for; nothing for another letter.
std::optional<std::bitset<256>> class_of(char letter) {
  bool (*is_in)(char) = nullptr;
  switch (letter) {
    case 'd':
    case 'D': is_in = is_digit; break;
    case 'w':
    case 'W': is_in = is_word; break;
    case 's':
    case 'S': is_in = is_space; break;
    default: return std::nullopt;
  }
  std::bitset<256> out;
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = is_in(static_cast<char>(i));
  return letter < 'a' ? ~out : out;
}

// Whether an escape stands for the character itself; those of letters and digits have a meaning, or may get one.
bool is_literal_escape(char c) {
  return !is_word(c) || c == '_';
}

}  // namespace

class Expression::Reader {
 public:
  Reader(std::string_view text, Expression& out) : text_(text), out_(out), levels_(1) {}

  bool read() {
    while (at_ < text_.size())
      if (!read_one() || out_.states_.size() >= kMaxStates) return false;
    if (levels_.size() != 1) return false;
    const Part whole = closed(levels_.back());
    out_.start_ = whole.first;
    out_.states_[whole.last].next = out_.add({Kind::kMatch});
    return out_.states_.size() <= kMaxStates;
  }

 private:
  // A group that is not closed yet.
  struct Level {
    std::optional<Part> choices;  // alternatives before the last "|"
    std::optional<Part> run;      // the sequence after it, without `last`
    std::optional<Part> last;     // what a repetition would repeat
    bool is_repeated = false;     // `last` already has a repetition
  };

  bool read_one() {
    const char c = text_[at_++];
    switch (c) {
      case '(':
        if (levels_.size() > kMaxNesting) return false;
        if (text_.substr(at_).starts_with("?:"))
          at_ += 2;
        else if (text_.substr(at_).starts_with('?'))
          return false;
        levels_.emplace_back();
        return true;
      case ')': {
        if (levels_.size() == 1) return false;
        const Part group = closed(levels_.back());
        levels_.pop_back();
        put(group);
        return true;
      }
      case '|': {
        Level& level = levels_.back();
        const Part choices = closed(level);
        level = Level();
        level.choices = choices;
        return true;
      }
      case '*':
      case '+':
      case '?': return repeat(c);
      case '[': return read_set();
      case '\\': return read_escape();
      case '{': return false;
      case '^': put(Kind::kBegin); return true;
      case '$': put(Kind::kEnd); return true;
      case '.': put(Kind::kAny); return true;
      default: put_byte(c); return true;
    }
  }

  void put(Part part) {
    Level& level = levels_.back();
    if (level.last) level.run = level.run ? joined(*level.run, *level.last) : *level.last;
    level.last = part;
    level.is_repeated = false;
  }
  void put(State state) {
    const Index index = out_.add(state);
    put(Part{index, index});
  }
  void put(Kind kind) { put(State{kind}); }
  void put_byte(char c) { put(State{Kind::kByte, static_cast<std::uint8_t>(c)}); }
  void put_set(const Bytes& set) {
    put(State{Kind::kSet, 0, static_cast<Index>(out_.sets_.size())});
    out_.sets_.push_back(set);
  }

  Part joined(Part before, Part behind) {
    out_.states_[before.last].next = behind.first;
    return {before.first, behind.last};
  }

  // The level as one part: its alternatives and its sequence.
  Part closed(Level& level) {
    Part run;
    if (level.run && level.last) {
      run = joined(*level.run, *level.last);
    } else if (level.last) {
      run = *level.last;
    } else {
      const Index empty = out_.add({Kind::kPass});
      run = {empty, empty};
    }
    if (!level.choices) return run;
    const Index end = out_.add({Kind::kPass});
    out_.states_[level.choices->last].next = end;
    out_.states_[run.last].next = end;
    return {out_.add({Kind::kSplit, 0, 0, level.choices->first, run.first}), end};
  }

  bool repeat(char how) {
    Level& level = levels_.back();
    // Python has no "a**", and its "a*+" is not supported.
    if (!level.last || level.is_repeated) return false;
    // Whether a repetition is lazy does not change whether there is a match.
    if (text_.substr(at_).starts_with('?')) ++at_;
    const Part body = *level.last;
    const Index split = out_.add({Kind::kSplit, 0, 0, 0, body.first});
    if (how == '?') {
      const Index end = out_.add({Kind::kPass});
      out_.states_[split].next = end;
      out_.states_[body.last].next = end;
      level.last = Part{split, end};
    } else {
      out_.states_[body.last].next = split;
      level.last = Part{how == '*' ? split : body.first, split};
    }
    level.is_repeated = true;
    return true;
  }

  bool read_escape() {
    if (at_ == text_.size()) return false;
    const char c = text_[at_++];
    if (const auto set = class_of(c))
      put_set(*set);
    else if (c == 'b' || c == 'B')
      put(c == 'b' ? Kind::kBoundary : Kind::kNoBoundary);
    else if (is_literal_escape(c))
      put_byte(c);
    else
      return false;
    return true;
  }

  // Reads one character of a set, or a class in it, which cannot end a range.
  bool read_member(Bytes& set, std::optional<std::uint8_t>& member) {
    char c = text_[at_++];
    member.reset();
    if (c == '[' && at_ < text_.size() && (text_[at_] == ':' || text_[at_] == '.' || text_[at_] == '=')) return false;
    if (c == '\\') {
      if (at_ == text_.size()) return false;
      c = text_[at_++];
      if (const auto known = class_of(c)) {
        set |= *known;
        return true;
      }
      if (!is_literal_escape(c)) return false;
    }
    member = static_cast<std::uint8_t>(c);
    return true;
  }

  bool read_set() {
    Bytes set;
    const bool is_negated = text_.substr(at_).starts_with('^');
    if (is_negated) ++at_;
    // A "]" at the beginning belongs to the set.
    for (bool is_first = true;; is_first = false) {
      if (at_ == text_.size()) return false;
      if (text_[at_] == ']' && !is_first) break;
      std::optional<std::uint8_t> low, high;
      if (!read_member(set, low)) return false;
      const std::string_view rest = text_.substr(at_);
      if (rest.size() >= 2 && rest[0] == '-' && rest[1] != ']') {
        ++at_;
        if (!read_member(set, high) || !low || !high || *low > *high) return false;
        for (std::size_t i = *low; i <= *high; ++i) set.set(i);
      } else if (low) {
        set.set(*low);
      }
    }
    ++at_;
    put_set(is_negated ? ~set : set);
    return true;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  Expression& out_;
  std::vector<Level> levels_;
};

Expression::Index Expression::add(State state) {
  states_.push_back(state);
  return static_cast<Index>(states_.size() - 1);
}

std::optional<Expression> Expression::read(std::string_view text) {
  if (text.size() > kMaxLength) return std::nullopt;
  // A character of several bytes would count as several for "." and "+"; no module's name has one.
  if (std::any_of(text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) > 0x7f; }))
    return std::nullopt;
  std::optional<Expression> out(std::in_place);
  if (!Reader(text, *out).read()) return std::nullopt;
  out->states_.shrink_to_fit();
  out->sets_.shrink_to_fit();
  return out;
}

bool Expression::matches_start(std::string_view text, std::uint64_t& steps) const {
  // States to visit, and states waiting for a character. seen: the place in the text, from one, where each state was
  // last entered.
  std::array<Index, kMaxStates> open, waiting;
  std::array<std::uint32_t, kMaxStates> seen;
  std::fill_n(seen.begin(), states_.size(), 0);
  std::size_t open_count = 0, waiting_count = 0;
  std::uint32_t place = 1;
  const auto enter = [&](Index index) {
    if (seen[index] == place) return;
    seen[index] = place;
    open[open_count++] = index;
  };
  steps += 4 + states_.size() / 64;  // the cost of a call that ends at once
  enter(start_);
  for (std::size_t at = 0;; ++at) {
    const bool is_end = at == text.size();
    const auto is_boundary = [&] { return (at > 0 && is_word(text[at - 1])) != (!is_end && is_word(text[at])); };
    while (open_count > 0) {
      const Index index = open[--open_count];
      const State& state = states_[index];
      ++steps;
      bool passes = false;
      switch (state.kind) {
        case Kind::kMatch: return true;
        case Kind::kByte:
        case Kind::kAny:
        case Kind::kSet: waiting[waiting_count++] = index; break;
        case Kind::kSplit: enter(state.second); [[fallthrough]];
        case Kind::kPass: passes = true; break;
        case Kind::kBegin: passes = at == 0; break;
        case Kind::kEnd: passes = is_end; break;
        case Kind::kBoundary: passes = is_boundary(); break;
        case Kind::kNoBoundary: passes = !is_boundary(); break;
      }
      if (passes) enter(state.next);
    }
    if (is_end || waiting_count == 0) return false;
    ++place;
    const auto byte = static_cast<unsigned char>(text[at]);
    for (std::size_t i = 0; i < waiting_count; ++i) {
      const State& state = states_[waiting[i]];
      const bool takes = state.kind == Kind::kByte  ? byte == state.byte
                         : state.kind == Kind::kAny ? byte != '\n'
                                                    : sets_[state.set].test(byte);
      if (takes) enter(state.next);
    }
    waiting_count = 0;
  }
}

}  // namespace kvplan
