// Thompson's construction: all states at one position of the text, then all states at the next. Each state is entered
// at most once per position, so there is no exponential backtracking.
#include "weights/expression.h"

#include <algorithm>
#include <array>

#include "kvplan/strings.h"

namespace kvplan {

static bool is_word(char c) {
  return is_letter_or_digit(c) || c == '_';
}

// The characters that \d and similar classes stand for. Nothing for another letter.
static std::optional<std::bitset<256>> class_of(char letter) {
  constexpr std::string_view kDigits = "0123456789", kSpace = " \t\n\f\r";
  std::bitset<256> out;
  for (std::size_t i = 0; i < out.size(); ++i) {
    const char c = static_cast<char>(i);
    switch (letter | 0x20) {
      case 'd': out[i] = kDigits.find(c) != std::string_view::npos; break;
      case 'w': out[i] = is_word(c); break;
      case 's': out[i] = kSpace.find(c) != std::string_view::npos; break;
      default: return std::nullopt;
    }
  }
  return letter < 'a' ? ~out : out;
}

// Whether an escape means the character itself. Escaped letters and digits have a meaning, or may get one.
static bool is_literal_escape(char c) {
  return !is_letter_or_digit(c);
}

class Expression::Reader {
 public:
  Reader(std::string_view text, Expression& out) : rest_(text), out_(out) {}

  bool read() {
    if (!read_choices() || !rest_.empty()) return false;
    add({Kind::kMatch});
    return true;
  }

 private:
  int size() const { return static_cast<int>(out_.states_.size()); }
  void add(State state) { out_.states_.push_back(state); }
  void add_set(const std::bitset<256>& set) {
    add({Kind::kSet, 0, static_cast<std::int16_t>(out_.sets_.size())});
    out_.sets_.push_back(set);
  }
  void add_byte(char c) { add({Kind::kByte, static_cast<std::uint8_t>(c)}); }
  static State leading(Kind kind, int away) { return {kind, 0, static_cast<std::int16_t>(away)}; }
  // Puts a split before the states from `begin` on.
  void insert_split(int begin, int away) {
    out_.states_.insert(out_.states_.begin() + begin, leading(Kind::kSplit, away));
  }

  bool is_at(std::string_view some) const { return rest_.find_first_of(some) == 0; }
  bool take(std::string_view word) {
    const bool is_there = rest_.starts_with(word);
    if (is_there) rest_.remove_prefix(word.size());
    return is_there;
  }
  char take_one() {
    const char c = rest_.front();
    rest_.remove_prefix(1);
    return c;
  }

  bool read_choices() {
    const int begin = size();
    while (!rest_.empty() && !is_at("|)")) {
      const int atom = size();
      if (!read_atom() || !read_repetition(atom)) return false;
    }
    if (!take("|")) return true;
    insert_split(begin, size() - begin + 2);
    const int jump = size();
    add({Kind::kJump});
    const bool is_read = read_choices();
    out_.states_[static_cast<std::size_t>(jump)] = leading(Kind::kJump, size() - jump);
    return is_read;
  }

  bool read_atom() {
    switch (const char c = take_one()) {
      case '(': {
        if ((!take("?:") && is_at("?")) || ++depth_ > kMaxNesting) return false;
        const bool is_read = read_choices() && take(")");
        --depth_;
        return is_read;
      }
      case '*':
      case '+':
      case '?':
      case '{': return false;
      case '[': return read_set();
      case '\\': return read_escape();
      case '^': add({Kind::kBegin}); return true;
      case '$': add({Kind::kEnd}); return true;
      case '.': add({Kind::kAny}); return true;
      default: add_byte(c); return true;
    }
  }

  bool read_repetition(int begin) {
    if (!is_at("*+?")) return true;
    const char how = take_one();
    take("?");                          // a lazy "*?" matches the same texts as "*"
    if (is_at("*+?")) return false;     // Python has no "a**", and its "a*+" is not supported
    const int length = size() - begin;  // length of what is repeated
    if (how == '+') {
      add(leading(Kind::kSplit, -length));
    } else if (how == '?') {
      insert_split(begin, length + 1);
    } else {
      insert_split(begin, length + 2);
      add(leading(Kind::kJump, -length - 1));
    }
    return true;
  }

  bool read_escape() {
    if (rest_.empty()) return false;
    const char c = take_one();
    if (const auto set = class_of(c))
      add_set(*set);
    else if (c == 'b' || c == 'B')
      add({c == 'b' ? Kind::kBoundary : Kind::kNoBoundary});
    else if (is_literal_escape(c))
      add_byte(c);
    else
      return false;
    return true;
  }

  // Reads one character of a set, or a class in it, which cannot end a range.
  bool read_member(std::bitset<256>& set, std::optional<std::uint8_t>& member) {
    char c = take_one();
    member.reset();
    if (c == '[' && is_at(":.=")) return false;
    if (c == '\\') {
      if (rest_.empty()) return false;
      c = take_one();
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
    std::bitset<256> set;
    const bool is_negated = take("^");
    // A "]" at the beginning belongs to the set.
    for (bool is_first = true; is_first || !is_at("]"); is_first = false) {
      std::optional<std::uint8_t> low, high;
      if (rest_.empty() || !read_member(set, low)) return false;
      if (rest_.size() >= 2 && rest_[0] == '-' && rest_[1] != ']') {
        take("-");
        if (!read_member(set, high) || !low || !high || *low > *high) return false;
        for (std::size_t i = *low; i <= *high; ++i) set.set(i);
      } else if (low) {
        set.set(*low);
      }
    }
    take("]");
    add_set(is_negated ? ~set : set);
    return true;
  }

  std::string_view rest_;
  Expression& out_;
  std::size_t depth_ = 0;
};

std::optional<Expression> Expression::read(std::string_view text) {
  // A character of several bytes would count as several for "." and "+". No module's name has one.
  const bool is_ascii = std::all_of(text.begin(), text.end(), [](char c) { return (c & 0x80) == 0; });
  std::optional<Expression> out(std::in_place);
  if (text.size() > kMaxLength || !is_ascii || !Reader(text, *out).read()) return std::nullopt;
  out->states_.shrink_to_fit();
  out->sets_.shrink_to_fit();
  return out;
}

bool Expression::takes(const State& state, char c) const {
  if (state.kind == Kind::kAny) return c != '\n';
  const auto byte = static_cast<unsigned char>(c);
  return state.kind == Kind::kByte ? byte == state.byte : sets_[static_cast<std::size_t>(state.to)].test(byte);
}

bool Expression::matches_start(std::string_view text, std::uint64_t& steps) const {
  // The states at a position of the text and at the next one, and for each state the last position at which it was
  // entered, counted from 1.
  struct Place {
    std::array<std::uint16_t, kMaxStates> states;
    std::array<std::uint32_t, kMaxStates> entered;
    std::size_t count = 0;
  } places[2];
  for (Place& place : places) std::fill_n(place.entered.begin(), states_.size(), 0);
  const auto enter = [&](std::size_t at, int state) {
    Place& place = places[at % 2];
    const auto number = static_cast<std::size_t>(state);
    if (place.entered[number] == at + 1) return;
    place.entered[number] = static_cast<std::uint32_t>(at + 1);
    place.states[place.count++] = static_cast<std::uint16_t>(number);
  };
  steps += least_steps();
  enter(0, 0);
  for (std::size_t at = 0; at <= text.size() && places[at % 2].count > 0; ++at) {
    Place& here = places[at % 2];
    const bool is_end = at == text.size();
    const bool is_boundary = (at > 0 && is_word(text[at - 1])) != (!is_end && is_word(text[at]));
    for (std::size_t i = 0; i < here.count; ++i, ++steps) {
      const int index = here.states[i];
      const State& state = states_[here.states[i]];
      switch (state.kind) {
        case Kind::kMatch: return true;
        case Kind::kSplit: enter(at, index + state.to); [[fallthrough]];
        case Kind::kJump: enter(at, state.kind == Kind::kJump ? index + state.to : index + 1); break;
        case Kind::kBegin:
          if (at == 0) enter(at, index + 1);
          break;
        case Kind::kEnd:
          if (is_end) enter(at, index + 1);
          break;
        case Kind::kBoundary:
        case Kind::kNoBoundary:
          if (is_boundary == (state.kind == Kind::kBoundary)) enter(at, index + 1);
          break;
        default:
          if (!is_end && takes(state, text[at])) enter(at + 1, index + 1);
      }
    }
    here.count = 0;
  }
  return false;
}

}  // namespace kvplan
