#include "measure/log_reader.h"

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <utility>

#include "kvplan/strings.h"

namespace kvplan {

namespace {

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

// Whether exactly three digits follow a comma, as in "1,234,567".
bool separates_thousands(std::string_view behind) {
  return behind.size() >= 3 && is_digit(behind[0]) && is_digit(behind[1]) && is_digit(behind[2]) &&
         (behind.size() == 3 || !is_digit(behind[3]));
}

constexpr std::pair<std::string_view, LogUnit> kUnits[] = {
    {"GiB", LogUnit::kGibibytes},  {"MiB", LogUnit::kMebibytes}, {"B", LogUnit::kBytes},
    {"tokens", LogUnit::kTokens},  {"blocks", LogUnit::kBlocks}, {"layers", LogUnit::kLayers},
    {"seqs", LogUnit::kSequences}, {"x", LogUnit::kTimes},       {"share", LogUnit::kShare},
    {"%", LogUnit::kPercent},      {"s", LogUnit::kSeconds},     {"", LogUnit::kCount}};

// In a log "GiB", "GB" and "G" are the same: 2^30 bytes.
struct Printed {
  std::string_view letters;
  LogUnit unit;
  double times;
};
constexpr Printed kPrinted[] = {{"TiB", LogUnit::kGibibytes, 1024},
                                {"TB", LogUnit::kGibibytes, 1024},
                                {"GiB", LogUnit::kGibibytes, 1},
                                {"GB", LogUnit::kGibibytes, 1},
                                {"G", LogUnit::kGibibytes, 1},
                                {"MiB", LogUnit::kMebibytes, 1},
                                {"MB", LogUnit::kMebibytes, 1},
                                {"M", LogUnit::kMebibytes, 1},
                                {"KiB", LogUnit::kMebibytes, 1.0 / 1024},
                                {"KB", LogUnit::kMebibytes, 1.0 / 1024},
                                {"kB", LogUnit::kMebibytes, 1.0 / 1024},
                                {"bytes", LogUnit::kBytes, 1},
                                {"B", LogUnit::kBytes, 1}};

// Scales a value by the unit at the beginning of `text`; returns the unit's length, 0 if there is none.
std::size_t take_unit(std::string_view text, LogValue& value) {
  for (const Printed& unit : kPrinted)
    if (text.starts_with(unit.letters)) {
      value.value *= unit.times;
      value.unit = unit.unit;
      return unit.letters.size();
    }
  return 0;
}

constexpr std::size_t kKey = 4;  // the least length of an anchor

// The hash of the four bytes from `key` on.
std::uint32_t hash_of(const char* key) {
  std::uint32_t word = 0;
  static_assert(sizeof word == kKey);
  std::memcpy(&word, key, sizeof word);
  constexpr std::uint32_t kSpread = 2654435769U;
  return (word * kSpread) >> 18;
}

bool is_name_character(char c) {
  return is_digit(c) || c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

// Characters between an argument's name and its value; 0 if these are something else.
std::size_t equals_length(std::string_view text) {
  constexpr std::string_view kSigns[] = {"': ", "\": ", "':", "\":", " = ", "= ", "=", ": "};
  for (const std::string_view sign : kSigns)
    if (text.starts_with(sign)) return sign.size();
  return 0;
}

}  // namespace

std::optional<LogNumber> log_number(std::string_view text) {
  constexpr std::size_t kMostDigits = 24;
  std::string digits;
  std::size_t used = 0;
  for (; used < text.size() && digits.size() < kMostDigits; ++used) {
    const char c = text[used];
    const bool next_is_digit = used + 1 < text.size() && is_digit(text[used + 1]);
    if (is_digit(c) || (c == '.' && next_is_digit && digits.find('.') == std::string::npos) ||
        (c == '-' && used == 0 && next_is_digit))
      digits += c;
    else if (c != ',' || digits.empty() || !separates_thousands(text.substr(used + 1)))
      break;
  }
  if (digits.empty() || digits.size() >= kMostDigits) return std::nullopt;
  LogNumber out;
  if (parse_real(digits, out.value).ec != std::errc()) return std::nullopt;
  out.length = used;
  return out;
}

double last_digit_of(std::string_view printed) {
  const std::size_t point = printed.find('.');
  double out = 1;
  if (point != std::string_view::npos)
    for (std::size_t digits = printed.size() - point - 1; digits > 0; --digits) out /= 10;
  return out;
}

std::string plain_line(std::string_view line) {
  std::string out(line.size(), ' ');
  std::size_t used = 0;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (c == '\x1b') {
      if (i + 1 >= line.size() || line[i + 1] != '[') continue;
      i += 2;
      while (i < line.size() && !(line[i] >= '@' && line[i] <= '~')) ++i;
    } else if (c == ' ' || c == '\t' || c == '\r' || c == '\n') {
      if (used > 0 && out[used - 1] != ' ') out[used++] = ' ';
    } else {
      out[used++] = c;
    }
  }
  out.resize(used);
  return out;
}

const LogValue* LineTemplate::Match::value(std::string_view name) const {
  const auto found = std::find_if(values.begin(), values.end(), [&](const LogValue& one) { return one.name == name; });
  return found == values.end() ? nullptr : &*found;
}

// Reads a hole, from after its opening brace, and the literal after it.
LineTemplate::Part LineTemplate::read_part(std::string_view& rest) {
  constexpr std::pair<std::string_view, Hole> kHoles[] = {
      {"word", Hole::kWord}, {"text", Hole::kText}, {"size", Hole::kSize}};
  const std::size_t close = rest.find('}');
  if (close == std::string_view::npos) throw std::logic_error("a template's hole is open");
  const std::string_view hole = rest.substr(0, close);
  rest = rest.substr(close + 1);
  const std::size_t colon = std::min(hole.find(':'), hole.size());
  const std::string_view unit = hole.substr(std::min(colon + 1, hole.size()));
  Part out{trimmed(rest.substr(0, rest.find('{'))), Hole::kNumber, hole.substr(0, colon), LogUnit::kCount};
  if (hole == "*" || hole == "=") {
    out.hole = hole == "*" ? Hole::kAnything : Hole::kEquals;
    return out;
  }
  for (const auto& [name, kind] : kHoles)
    if (unit == name) {
      out.hole = kind;
      return out;
    }
  for (const auto& [name, kind] : kUnits)
    if (unit == name) {
      out.unit = kind;
      return out;
    }
  throw std::logic_error("a template's unit is not known");
}

LineTemplate::LineTemplate(const LogTemplate& source) {
  std::string_view rest = source.text;
  anchor_ = trimmed(rest.substr(0, rest.find('{')));
  weight_ = anchor_.size();
  for (std::size_t open = rest.find('{'); open != std::string_view::npos; open = rest.find('{')) {
    rest.remove_prefix(open + 1);
    const Part part = read_part(rest);
    weight_ += part.literal.size();
    if (anchor_.empty()) {
      before_ = part;
      anchor_ = part.literal;
    } else {
      if (parts_.empty()) is_name_ = part.hole == Hole::kEquals;
      parts_.push_back(part);
    }
  }
}

bool LineTemplate::match_parts(std::string_view text, std::size_t at, std::size_t limit, Match& out) const {
  const auto skip_blanks = [&] { at = std::min(text.find_first_not_of(' ', at), text.size()); };
  for (const Part& part : parts_) {
    const bool is_open = part.hole == Hole::kAnything || part.hole == Hole::kText;
    if (part.hole == Hole::kEquals) {
      const std::size_t length = equals_length(text.substr(at));
      if (length == 0) return false;
      at += length;
    } else {
      skip_blanks();
    }
    LogValue value{part.name, "", 0, part.unit};
    if (is_open) {
      const std::size_t found =
          part.literal.empty() ? std::max(at, std::min(limit, text.size())) : text.find(part.literal, at);
      if (found == std::string_view::npos) return false;
      value.text = trimmed(text.substr(at, found - at));
      if (part.hole == Hole::kText && value.text.empty()) return false;
      at = found;
    } else if (part.hole == Hole::kWord) {
      if (at < text.size() && (text[at] == '\'' || text[at] == '"')) ++at;
      std::size_t end = std::min(text.find_first_of(" ,'\")]};", at), text.size());
      if (!part.literal.empty()) end = std::min(end, text.substr(0, end + part.literal.size()).find(part.literal, at));
      if (end == at) return false;
      value.text = text.substr(at, end - at);
      at = end;
    } else if (part.hole != Hole::kEquals) {
      const auto number = log_number(text.substr(at));
      if (!number) return false;
      value.value = number->value;
      value.text = text.substr(at, number->length);
      at += number->length;
      if (part.hole == Hole::kSize) {
        skip_blanks();
        const std::size_t length = take_unit(text.substr(at), value);
        if (length == 0) return false;
        at += length;
      }
    }
    if (!is_open && part.hole != Hole::kEquals && !text.substr(at).starts_with(part.literal)) skip_blanks();
    if (!text.substr(at).starts_with(part.literal)) return false;
    at += part.literal.size();
    if (part.hole != Hole::kEquals && part.hole != Hole::kAnything) out.values.push_back(std::move(value));
  }
  out.end = at;
  return true;
}

// Reads the word or number that ends at position `at`, where the anchor begins.
bool LineTemplate::match_before(std::string_view text, std::size_t at, Match& out) const {
  const std::string_view behind = trimmed(text.substr(0, at));
  const auto last_word = [](std::string_view part) { return part.substr(part.find_last_of(" ([='\"") + 1); };
  std::string_view word = last_word(behind);
  // "8.00 GiB" or "8.00GiB".
  if (before_->hole == Hole::kSize && !log_number(word))
    word = last_word(trimmed(behind.substr(0, static_cast<std::size_t>(word.data() - behind.data()))));
  if (word.empty()) return false;
  LogValue value{before_->name, std::string(word), 0, before_->unit};
  out.begin = static_cast<std::size_t>(word.data() - text.data());
  if (before_->hole != Hole::kWord) {
    const auto number = log_number(word);
    if (!number) return false;
    value.value = number->value;
    if (before_->hole == Hole::kNumber && number->length != word.size()) return false;
    value.text.resize(number->length);
    if (before_->hole == Hole::kSize && take_unit(trimmed(text.substr(out.begin + number->length)), value) == 0)
      return false;
  }
  out.values.push_back(std::move(value));
  return true;
}

std::optional<LineTemplate::Match> LineTemplate::match(std::string_view text, std::size_t limit) const {
  // The anchor must begin before `limit`, so it ends within this text.
  const std::string_view near = text.substr(0, limit < text.size() ? limit + anchor_.size() - 1 : text.size());
  for (std::size_t at = near.find(anchor_); at != std::string_view::npos; at = near.find(anchor_, at + 1)) {
    if (is_name_ && at > 0 && is_name_character(text[at - 1])) continue;
    Match out;
    out.begin = at;
    if (before_ && before_->hole != Hole::kAnything && !match_before(text, at, out)) continue;
    if (match_parts(text, at + anchor_.size(), limit, out)) return out;
  }
  return std::nullopt;
}

void TemplateIndex::add(std::span<const LogTemplate> rows, const LogProgram* program, Kind kind) {
  for (const LogTemplate& row : rows) {
    const std::string_view anchor =
        entries_.emplace_back(Entry{LineTemplate(row), &row, program, kind}).pattern.anchor();
    if (anchor.size() < kKey) throw std::logic_error("a template begins with too short a text");
    const std::uint32_t bucket = hash_of(anchor.data());
    by_hash_[bucket].push_back(static_cast<std::uint32_t>(entries_.size() - 1));
    known_.set(bucket);
  }
}

std::vector<const TemplateIndex::Entry*> TemplateIndex::candidates(std::string_view text) const {
  std::vector<const Entry*> out;
  for (std::size_t at = 0; at + kKey <= text.size(); ++at) {
    const std::uint32_t bucket = hash_of(text.data() + at);
    if (!known_[bucket]) continue;
    const std::string_view rest = text.substr(at);
    for (const std::uint32_t number : by_hash_[bucket])
      if (const std::string_view anchor = entries_[number].pattern.anchor();
          rest.starts_with(anchor) || anchor.starts_with(rest))  // a message may continue on the next line
        out.push_back(&entries_[number]);
  }
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

const TemplateIndex& log_index() {
  using enum TemplateIndex::Kind;
  static const TemplateIndex index = [] {
    TemplateIndex out;
    for (const LogProgram& program : log_programs()) {
      out.add(program.log->figures, &program, kFigure);
      out.add(program.log->events, &program, kEvent);
      out.add(program.log->slots, &program, kSlot);
      out.add(program.log->metrics, &program, kMetric);
    }
    out.add(system_log().events, nullptr, kEvent);
    return out;
  }();
  return index;
}

}  // namespace kvplan
