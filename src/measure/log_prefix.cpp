#include "measure/log_prefix.h"

#include <algorithm>

#include "kvplan/numbers.h"

namespace kvplan {

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

void add_utf8(std::uint32_t code, std::string& out) {
  if (code < 0x80) {
    out += static_cast<char>(code);
  } else if (code < 0x800) {
    out += static_cast<char>(0xc0 | (code >> 6));
    out += static_cast<char>(0x80 | (code & 0x3f));
  } else {
    out += static_cast<char>(0xe0 | (code >> 12));
    out += static_cast<char>(0x80 | ((code >> 6) & 0x3f));
    out += static_cast<char>(0x80 | (code & 0x3f));
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
        if (code && i + 4 < rest.size()) add_utf8(static_cast<std::uint32_t>(*code), out);
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
