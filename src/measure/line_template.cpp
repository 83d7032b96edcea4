#include "measure/line_template.h"

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <utility>

#include "kvplan/numbers.h"
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

bool ends_word(char c) {
  return c == ' ' || c == ',' || c == '\'' || c == '"' || c == ')' || c == ']' || c == '}' || c == ';';
}

// The hash of the four bytes from `key` on.
std::uint32_t hash_of(const char* key) {
  std::uint32_t word = 0;
  std::memcpy(&word, key, sizeof word);
  constexpr std::uint32_t kSpread = 2654435769U;
  return (word * kSpread) >> 18;
}

bool is_name_character(char c) {
  return is_digit(c) || c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

// Characters between an argument's name and its value; 0 where these are something else.
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

LineTemplate::LineTemplate(const LogTemplate& source) {
  std::string_view rest = source.text;
  bool has_anchor = false;
  while (!rest.empty()) {
    const std::size_t open = rest.find('{');
    if (!has_anchor && !before_) {
      anchor_ = trimmed(rest.substr(0, open));
      has_anchor = !anchor_.empty();
    }
    if (open == std::string_view::npos) break;
    const std::size_t close = rest.find('}', open);
    if (close == std::string_view::npos) throw std::logic_error("a template's hole is open");
    const std::string_view hole = rest.substr(open + 1, close - open - 1);
    rest.remove_prefix(close + 1);
    const std::size_t colon = hole.find(':');
    const std::string_view unit = colon == std::string_view::npos ? "" : hole.substr(colon + 1);
    Part part{trimmed(rest.substr(0, rest.find('{'))), Hole::kNumber, hole.substr(0, colon), LogUnit::kCount};
    if (hole == "*")
      part.hole = Hole::kAnything;
    else if (hole == "=")
      part.hole = Hole::kEquals;
    else if (unit == "word")
      part.hole = Hole::kWord;
    else if (unit == "text")
      part.hole = Hole::kText;
    else if (unit == "size")
      part.hole = Hole::kSize;
    else {
      const auto* const known =
          std::find_if(std::begin(kUnits), std::end(kUnits), [&](const auto& one) { return one.first == unit; });
      if (known == std::end(kUnits)) throw std::logic_error("a template's unit is not known");
      part.unit = known->second;
    }
    if (has_anchor && parts_.empty()) is_name_ = part.hole == Hole::kEquals;
    if (has_anchor)
      parts_.push_back(part);
    else {
      before_ = part;
      anchor_ = part.literal;
      has_anchor = true;
    }
  }
}

bool LineTemplate::match_parts(std::string_view text, std::size_t at, std::size_t limit, Match& out) const {
  const auto skip_blanks = [&] {
    while (at < text.size() && text[at] == ' ') ++at;
  };
  for (const Part& part : parts_) {
    if (part.hole == Hole::kEquals) {
      const std::size_t length = equals_length(text.substr(at));
      if (length == 0) return false;
      at += length;
      if (!text.substr(at).starts_with(part.literal)) return false;
      at += part.literal.size();
      continue;
    }
    skip_blanks();
    if (part.hole == Hole::kAnything || part.hole == Hole::kText) {
      const std::size_t found =
          part.literal.empty() ? std::max(at, std::min(limit, text.size())) : text.find(part.literal, at);
      if (found == std::string_view::npos) return false;
      if (part.hole == Hole::kText) {
        const std::string_view words = trimmed(text.substr(at, found - at));
        if (words.empty()) return false;
        out.values.push_back({part.name, std::string(words), 0, LogUnit::kCount});
      }
      at = found + part.literal.size();
      continue;
    }
    if (part.hole == Hole::kWord && at < text.size() && (text[at] == '\'' || text[at] == '"')) ++at;
    const std::string_view rest = text.substr(at);
    LogValue value{part.name, "", 0, part.unit};
    std::size_t length = 0;
    if (part.hole == Hole::kWord) {
      while (length < rest.size() && !ends_word(rest[length]) &&
             (part.literal.empty() || !rest.substr(length).starts_with(part.literal)))
        ++length;
      if (length == 0) return false;
      value.text = std::string(rest.substr(0, length));
    } else {
      const auto number = log_number(rest);
      if (!number) return false;
      value.value = number->value;
      length = number->length;
      value.text = std::string(rest.substr(0, length));
    }
    at += length;
    if (part.hole == Hole::kSize) {
      skip_blanks();
      const auto* const unit = std::find_if(std::begin(kPrinted), std::end(kPrinted), [&](const Printed& one) {
        return text.substr(at).starts_with(one.letters);
      });
      if (unit == std::end(kPrinted)) return false;
      value.value *= unit->times;
      value.unit = unit->unit;
      at += unit->letters.size();
    }
    if (!part.literal.empty()) {
      if (!text.substr(at).starts_with(part.literal)) skip_blanks();
      if (!text.substr(at).starts_with(part.literal)) return false;
      at += part.literal.size();
    }
    out.values.push_back(std::move(value));
  }
  out.end = at;
  return true;
}

std::optional<LineTemplate::Match> LineTemplate::match(std::string_view text, std::size_t limit) const {
  // The range in which the anchor may be, to its end.
  const std::string_view near = text.substr(0, limit < text.size() ? limit + anchor_.size() - 1 : text.size());
  for (std::size_t at = near.find(anchor_); at != std::string_view::npos; at = near.find(anchor_, at + 1)) {
    if (is_name_ && at > 0 && is_name_character(text[at - 1])) continue;
    Match out;
    out.begin = at;
    if (before_ && before_->hole != Hole::kAnything) {
      const std::string_view behind = trimmed(text.substr(0, at));
      const auto last_word = [](std::string_view part) {
        const std::size_t blank = part.find_last_of(" ([='\"");
        return blank == std::string_view::npos ? part : part.substr(blank + 1);
      };
      std::string_view word = last_word(behind);
      LogValue value{before_->name, std::string(word), 0, before_->unit};
      if (before_->hole == Hole::kSize) {
        // "8.00 GiB", or both without a blank.
        if (!log_number(word))
          word = last_word(trimmed(behind.substr(0, static_cast<std::size_t>(word.data() - behind.data()))));
        const auto number = log_number(word);
        if (!number) continue;
        const std::string_view unit_text =
            trimmed(text.substr(static_cast<std::size_t>(word.data() - text.data()) + number->length));
        const auto* const unit = std::find_if(std::begin(kPrinted), std::end(kPrinted),
                                              [&](const Printed& one) { return unit_text.starts_with(one.letters); });
        if (unit == std::end(kPrinted)) continue;
        value.text = std::string(word.substr(0, number->length));
        value.value = number->value * unit->times;
        value.unit = unit->unit;
      }
      if (before_->hole == Hole::kNumber) {
        const auto number = log_number(word);
        if (!number || number->length != word.size()) continue;
        value.value = number->value;
      }
      if (word.empty()) continue;
      out.begin = static_cast<std::size_t>(word.data() - text.data());
      out.values.push_back(std::move(value));
    }
    if (match_parts(text, at + anchor_.size(), limit, out)) return out;
  }
  return std::nullopt;
}

std::size_t TemplateIndex::add(const LogTemplate& source) {
  templates_.emplace_back(source);
  const std::string_view anchor = templates_.back().anchor();
  if (anchor.size() < kKey) throw std::logic_error("a template begins with too short a text");
  const std::uint32_t bucket = hash_of(anchor.data());
  by_hash_[bucket].push_back(static_cast<std::uint32_t>(templates_.size() - 1));
  known_.set(bucket);
  return templates_.size() - 1;
}

void TemplateIndex::candidates(std::string_view text, std::vector<std::size_t>& out) const {
  out.clear();
  if (text.size() < kKey) return;
  const char* const last = text.data() + text.size() - kKey;
  for (const char* at = text.data(); at <= last; ++at) {
    const std::uint32_t bucket = hash_of(at);
    if (!known_[bucket]) continue;
    const std::string_view rest(at, static_cast<std::size_t>(last - at) + kKey);
    for (const std::uint32_t number : by_hash_[bucket])
      if (const std::string_view anchor = templates_[number].anchor();
          rest.starts_with(anchor) || anchor.starts_with(rest))  // a message may continue on the next line
        out.push_back(number);
  }
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
}

}  // namespace kvplan
