#include "measure/line_template.h"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "kvplan/numbers.h"

namespace kvplan {

namespace {

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

// Three digits and no more stand behind a comma of "1,234,567".
bool separates_thousands(std::string_view behind) {
  return behind.size() >= 3 && is_digit(behind[0]) && is_digit(behind[1]) && is_digit(behind[2]) &&
         (behind.size() == 3 || !is_digit(behind[3]));
}

constexpr std::pair<std::string_view, LogUnit> kUnits[] = {
    {"GiB", LogUnit::kGibibytes},  {"MiB", LogUnit::kMebibytes}, {"B", LogUnit::kBytes},
    {"tokens", LogUnit::kTokens},  {"blocks", LogUnit::kBlocks}, {"layers", LogUnit::kLayers},
    {"seqs", LogUnit::kSequences}, {"x", LogUnit::kTimes},       {"share", LogUnit::kShare},
    {"%", LogUnit::kPercent},      {"s", LogUnit::kSeconds},     {"", LogUnit::kCount}};

// "GiB", "GB" and "G" are one thing in a log: 2^30 bytes.
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

std::uint32_t hash_of(std::string_view key) {
  std::uint32_t out = 0;
  for (const char c : key.substr(0, TemplateIndex::kKey)) out = out * 31 + static_cast<unsigned char>(c);
  return (out ^ (out >> 14)) & ((1U << 14) - 1);
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

std::string plain_line(std::string_view line) {
  std::string out;
  out.reserve(line.size());
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (c == '\x1b') {
      if (i + 1 >= line.size() || line[i + 1] != '[') continue;
      i += 2;
      while (i < line.size() && !(line[i] >= '@' && line[i] <= '~')) ++i;
    } else if (c == ' ' || c == '\t' || c == '\r' || c == '\n') {
      if (!out.empty() && out.back() != ' ') out += ' ';
    } else {
      out += c;
    }
  }
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
    if (hole == "*" || unit == "text")
      part.hole = Hole::kAnything;
    else if (unit == "word")
      part.hole = Hole::kWord;
    else if (unit == "size")
      part.hole = Hole::kSize;
    else {
      const auto* const known =
          std::find_if(std::begin(kUnits), std::end(kUnits), [&](const auto& one) { return one.first == unit; });
      if (known == std::end(kUnits)) throw std::logic_error("a template's unit is not known");
      part.unit = known->second;
    }
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
  for (const Part& part : parts_) {
    while (at < text.size() && text[at] == ' ') ++at;
    const std::string_view rest = text.substr(at);
    LogValue value{part.name, "", 0, part.unit};
    std::size_t length = 0;
    if (part.hole == Hole::kNumber || part.hole == Hole::kSize) {
      const auto number = log_number(rest);
      if (!number) return false;
      value.value = number->value;
      length = number->length;
      value.text = std::string(rest.substr(0, length));
    } else if (part.hole == Hole::kWord) {
      while (length < rest.size() && !ends_word(rest[length]) &&
             (part.literal.empty() || !rest.substr(length).starts_with(part.literal)))
        ++length;
      if (length == 0) return false;
      value.text = std::string(rest.substr(0, length));
    }
    at += length;
    if (part.hole == Hole::kSize) {
      std::size_t unit_at = at;
      while (unit_at < text.size() && text[unit_at] == ' ') ++unit_at;
      const auto* const unit = std::find_if(std::begin(kPrinted), std::end(kPrinted), [&](const Printed& one) {
        return text.substr(unit_at).starts_with(one.letters);
      });
      if (unit == std::end(kPrinted)) return false;
      value.value *= unit->times;
      value.unit = unit->unit;
      at = unit_at + unit->letters.size();
    }
    if (part.hole == Hole::kAnything) {
      const std::size_t found =
          part.literal.empty() ? std::max(at, std::min(limit, text.size())) : text.find(part.literal, at);
      if (found == std::string_view::npos) return false;
      value.text = std::string(trimmed(text.substr(at, found - at)));
      if (part.name != "*") out.values.push_back(std::move(value));
      at = found + part.literal.size();
      continue;
    }
    if (!part.literal.empty()) {
      if (!text.substr(at).starts_with(part.literal)) {
        while (at < text.size() && text[at] == ' ') ++at;
        if (!text.substr(at).starts_with(part.literal)) return false;
      }
      at += part.literal.size();
    }
    out.values.push_back(std::move(value));
  }
  out.end = at;
  return true;
}

std::optional<LineTemplate::Match> LineTemplate::match(std::string_view text, std::size_t limit) const {
  for (std::size_t at = text.find(anchor_); at < limit && at != std::string_view::npos;
       at = text.find(anchor_, at + 1)) {
    Match out;
    out.begin = at;
    if (before_ && before_->hole != Hole::kAnything) {
      const std::string_view behind = trimmed(text.substr(0, at));
      const std::size_t blank = behind.find_last_of(" ([=\'\"");
      const std::string_view word = blank == std::string_view::npos ? behind : behind.substr(blank + 1);
      LogValue value{before_->name, std::string(word), 0, before_->unit};
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
  by_hash_[hash_of(anchor)].push_back(static_cast<std::uint32_t>(templates_.size() - 1));
  return templates_.size() - 1;
}

void TemplateIndex::candidates(std::string_view text, std::vector<std::size_t>& out) const {
  out.clear();
  for (std::size_t at = 0; at + kKey <= text.size(); ++at)
    for (const std::uint32_t number : by_hash_[hash_of(text.substr(at, kKey))])
      if (const std::string_view anchor = templates_[number].anchor(), rest = text.substr(at);
          rest.starts_with(anchor) || anchor.starts_with(rest))  // a message may go on in the next line
        out.push_back(number);
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
}

}  // namespace kvplan
