#include "measure/log_text.h"

#include <algorithm>
#include <utility>

#include "kvplan/characters.h"
#include "kvplan/numbers.h"

namespace kvplan {

void LogText::decide() {
  constexpr std::string_view kMark = "\xEF\xBB\xBF";
  if (open_.starts_with("\xFF\xFE")) {
    coding_ = Coding::kLittle;
    open_.erase(0, 2);
  } else if (open_.starts_with("\xFE\xFF")) {
    coding_ = Coding::kBig;
    open_.erase(0, 2);
  } else if (open_ != "\xFF" && open_ != "\xFE" && (open_.size() >= kMark.size() || !kMark.starts_with(open_))) {
    coding_ = Coding::kBytes;
    if (open_.starts_with(kMark)) open_.erase(0, kMark.size());
  }
}

void LogText::take_unit(char32_t unit, std::string& out) {
  constexpr char32_t kHigh = 0xD800, kLow = 0xDC00, kEnd = 0xE000, kFirst = 0x10000, kReplacement = 0xFFFD;
  const bool is_low = unit >= kLow && unit < kEnd;
  if (high_ != 0) {
    const char32_t high = std::exchange(high_, 0);
    append_utf8(is_low ? kFirst + ((high - kHigh) << 10U) + (unit - kLow) : kReplacement, out);
    if (is_low) return;
  }
  if (unit >= kHigh && unit < kLow)
    high_ = unit;
  else
    append_utf8(is_low ? kReplacement : unit, out);
}

std::string LogText::utf8(std::string_view piece) {
  open_ += piece;
  if (coding_ == Coding::kUnknown) decide();
  std::string out;
  if (coding_ == Coding::kUnknown) return out;  // possibly part of a byte order mark
  if (coding_ == Coding::kBytes) {
    out.swap(open_);
    return out;
  }
  const bool is_big = coding_ == Coding::kBig;
  std::size_t at = 0;
  for (; at + 1 < open_.size(); at += 2) {
    const auto byte = [&](std::size_t i) { return char32_t{static_cast<unsigned char>(open_[i])}; };
    take_unit(is_big ? byte(at) << 8U | byte(at + 1) : byte(at + 1) << 8U | byte(at), out);
  }
  open_.erase(0, at);
  return out;
}

namespace {

constexpr std::uint64_t kMostRanks = 4096;

// The number in "TP3" or "rank=3", or nothing.
std::optional<std::uint64_t> rank_behind(std::string_view word, std::string_view name) {
  if (!word.starts_with(name)) return std::nullopt;
  const std::string_view digits = word.substr(name.size());
  if (digits.empty() || digits.size() > 4 || digits.find_first_not_of("0123456789") != std::string_view::npos)
    return std::nullopt;
  const auto rank = whole_number(digits);
  return rank && *rank < kMostRanks ? rank : std::nullopt;
}

void read_group(std::string_view group, LogRanks& out) {
  const bool worker = group.starts_with("VllmWorkerProcess ") || group.starts_with("RayWorkerVllm ") ||
                      group.starts_with("RayWorkerWrapper ");
  const auto take = [](std::optional<std::uint64_t>& field, std::optional<std::uint64_t> rank) {
    if (rank && !field) field = rank;
  };
  while (!group.empty()) {
    const std::size_t end = group.find_first_of(" _,");
    const std::string_view word = group.substr(0, end);
    take(out.tensor, rank_behind(word, "TP"));
    take(out.tensor, rank_behind(word, "rank="));
    take(out.tensor, rank_behind(word, "id="));  // also "gpu_id=2"
    take(out.pipeline, rank_behind(word, "PP"));
    take(out.data, rank_behind(word, "DP"));
    take(out.expert, rank_behind(word, "EP"));
    if (worker && word.starts_with("pid=")) take(out.worker, whole_number(word.substr(4)));
    group = end == std::string_view::npos ? std::string_view() : group.substr(end + 1);
  }
}

// The contents of a JSON string, from after its opening quote to the closing one, or to the end of a cut line.
std::string json_text(std::string_view rest) {
  std::string out;
  for (std::size_t i = 0; i < rest.size() && rest[i] != '"'; ++i) {
    if (rest[i] != '\\' || i + 1 >= rest.size()) {
      const std::size_t end = std::min(rest.find_first_of("\"\\", i + 1), rest.size());
      out += rest.substr(i, end - i);
      i = end - 1;
      continue;
    }
    switch (const char c = rest[++i]) {
      case 'n': out += '\n'; break;
      case 't': out += '\t'; break;
      case 'r': out += '\r'; break;
      case 'b':
      case 'f': out += ' '; break;
      case 'u': {
        const auto code = whole_number(rest.substr(i + 1, 4), 16);
        if (code && i + 4 < rest.size()) append_utf8(static_cast<char32_t>(*code), out);
        i += 4;
        break;
      }
      default: out += c;
    }
  }
  return out;
}

}  // namespace

LogRanks ranks_of(std::string_view plain) {
  constexpr std::size_t kPrefix = 200;
  constexpr std::size_t kGroup = 80;
  LogRanks out;
  const std::string_view prefix = plain.substr(0, kPrefix);
  for (std::size_t at = prefix.find_first_of("(["); at != std::string_view::npos;
       at = prefix.find_first_of("([", at + 1)) {
    const std::string_view rest = prefix.substr(at + 1, kGroup);
    const std::size_t end = rest.find_first_of("([)]");
    if (end != std::string_view::npos) read_group(rest.substr(0, end), out);
  }
  return out;
}

std::optional<std::string> unpacked(std::string_view line) {
  while (!line.empty() && (line.front() == ' ' || line.front() == '\t')) line.remove_prefix(1);
  if (!line.starts_with('{')) return std::nullopt;
  for (const std::string_view key : {"\"log\"", "\"message\"", "\"MESSAGE\"", "\"msg\"", "\"line\"", "\"text\""}) {
    const std::size_t at = line.find(key);
    if (at == std::string_view::npos) continue;
    std::string_view rest = line.substr(at + key.size());
    while (!rest.empty() && (rest.front() == ' ' || rest.front() == ':')) rest.remove_prefix(1);
    if (rest.starts_with('"')) return json_text(rest.substr(1));
  }
  return std::nullopt;
}

}  // namespace kvplan
