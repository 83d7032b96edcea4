#include "measure/log_reader.h"

#include <algorithm>
#include <cstddef>

#include "kvplan/strings.h"

namespace kvplan {

static bool is_digit_of_time(char c) {
  return (c >= '0' && c <= '9') || c == ':' || c == '.' || c == '-' || c == '/' || c == ',' || c == '+';
}

static bool is_level(std::string_view word) {
  constexpr std::string_view kLevels[] = {"ERROR", "ERROR:",   "INFO",      "INFO:", "WARNING", "WARNING:",
                                          "WARN",  "CRITICAL", "CRITICAL:", "FATAL", "FATAL:",  "DEBUG",
                                          "E",     "W",        "I",         "-",     "|",       "error"};
  return std::find(std::begin(kLevels), std::end(kLevels), word) != std::end(kLevels);
}

// "2026-05-08", "11:47:02.257", "10-13", "2025-10-14T23:59:25.595130753Z", "E1118"
static bool is_time(std::string_view word) {
  constexpr std::size_t kLeast = 4;
  if (word.size() < kLeast) return false;
  const auto digits = static_cast<std::size_t>(std::count_if(word.begin(), word.end(), is_digit_of_time));
  return digits + 2 >= word.size() && word[1] >= '0' && word[1] <= '9';
}

// The length of what a logger puts before a message: one word or one group in brackets. 0 if the message begins here.
static std::size_t prefix_length(std::string_view text) {
  constexpr std::size_t kLongest = 160;
  if (text.starts_with('[') || text.starts_with('(')) {
    const std::size_t end = text.substr(0, kLongest).find(text.front() == '[' ? ']' : ')');
    if (end == std::string_view::npos) return 0;
    return end + 1 + (text.substr(end + 1).starts_with(':') ? 1 : 0);
  }
  const std::string_view word = text.substr(0, text.find(' '));
  if (is_level(word) || is_time(word)) return word.size();
  // "vllm | ", "host ollama[7644]: "
  if (const std::size_t bar = text.substr(0, 40).find(" | "); bar != std::string_view::npos) return bar + 2;
  if (const std::size_t tag = text.substr(0, 60).find("]: "); tag != std::string_view::npos) return tag + 2;
  return 0;
}

static bool is_type_character(char c) {
  return is_letter_or_digit(c) || c == '_' || c == '.';
}

// The type of an exception at the beginning of the text: "torch.OutOfMemoryError". Outside a traceback only its ending
// ("Error") identifies it.
static std::string_view type_at(std::string_view text, bool is_in_traceback = false) {
  const auto length =
      static_cast<std::size_t>(std::find_if_not(text.begin(), text.end(), is_type_character) - text.begin());
  const std::string_view word = text.substr(0, length);
  const std::string_view last = word.substr(word.rfind('.') + 1);
  if (last.empty() || last.front() < 'A' || last.front() > 'Z') return {};
  const bool has_small = std::any_of(last.begin(), last.end(), [](char c) { return c >= 'a' && c <= 'z'; });
  if (is_in_traceback && has_small) return word;
  constexpr std::string_view kEnds[] = {"Error", "Exception", "OutOfResources", "ErrorGroup", "Interrupt"};
  const bool is_type =
      std::any_of(std::begin(kEnds), std::end(kEnds), [&](std::string_view end) { return last.ends_with(end); });
  return is_type ? word : std::string_view();
}

static bool is_mere_warning(std::string_view text) {
  for (const std::string_view level : {"WARNING", "WARN", "INFO", "DEBUG", "arning:"})
    if (text.find(level) != std::string_view::npos) return true;
  return false;
}

std::string_view message_of(std::string_view plain) {
  constexpr int kMostPrefixes = 12;
  for (int i = 0; i < kMostPrefixes; ++i) {
    plain = plain.substr(std::min(plain.find_first_not_of(' '), plain.size()));
    const std::size_t length = prefix_length(plain);
    if (length == 0) break;
    plain.remove_prefix(length);
  }
  return plain.substr(std::min(plain.find_first_not_of(' '), plain.size()));
}

std::optional<RaisedError> raised_error(std::string_view plain, bool is_in_traceback) {
  const std::string_view message = message_of(plain);
  std::string_view kind = type_at(message, is_in_traceback);
  std::string_view rest = message.substr(kind.size());
  const bool is_line = !kind.empty() && (rest.empty() || rest == " " || rest.starts_with(": ") || rest == ":");
  if (!is_line) {
    // "AsyncEngine failed: ValueError: ..."
    kind = {};
    if (is_mere_warning(plain)) return std::nullopt;
    for (const std::string_view sign : {"Error: ", "Exception: "})
      if (const std::size_t at = message.find(sign); at != std::string_view::npos && at > 0) {
        std::size_t begin = at;
        while (begin > 0 && is_type_character(message[begin - 1])) --begin;
        kind = type_at(message.substr(begin));
        rest = message.substr(begin + kind.size());
        if (!kind.empty() && rest.starts_with(": ") && (begin == 0 || message[begin - 1] == ' ')) break;
        kind = {};
      }
    if (kind.empty()) return std::nullopt;
  }
  return RaisedError{kind, trimmed(rest.substr(std::min<std::size_t>(rest.size(), 1)))};
}

bool continues_message(std::string_view plain) {
  if (plain.empty() || plain == " ") return false;
  for (const std::string_view sign :
       {"Traceback", "File \"", "The above exception", "During handling", "pid=", "INFO", "WARN", "ERROR", "DEBUG"})
    if (plain.find(sign) != std::string_view::npos) return false;
  if (raised_error(plain)) return false;
  return message_of(plain).size() == plain.size() - plain.find_first_not_of(' ');
}

std::vector<std::string> advice_in(std::string_view message) {
  constexpr std::size_t kMostAdvice = 2, kLeast = 8, kLongest = 180;
  constexpr std::string_view kVerbs =
      "try |tried using|please |increas|decreas|reduc|lower|raise |larger |smaller "
      "|install|upgrad|updat|enabl|disabl|set |use |using "
      "|pass |specify|consider |ensure |make sure|switch|add |remove |adjust|--|instead|export ";
  constexpr std::string_view kNoAdvice =
      "cannot |can't |could not|failed to |unable to |stack trace|report |root cause|see http|file an issue|for more "
      "info|for details|see documentation|cuda_launch_blocking|"
      "device-side assertions|avoid fragmentation";
  std::vector<std::string> out;
  while (!message.empty() && out.size() < kMostAdvice) {
    std::size_t end = 0;
    for (end = 0; end < message.size(); ++end) {
      const bool is_stop = message[end] == '.' || message[end] == ';' || message[end] == '!' || message[end] == '\n';
      if (is_stop && (end + 1 == message.size() || message[end + 1] == ' ' || message[end + 1] == '\n')) break;
    }
    const std::string_view clause = trimmed(message.substr(0, end));
    message.remove_prefix(std::min(end + 1, message.size()));
    if (clause.size() < kLeast) continue;
    const std::string text = lower(clause);
    if (!has_one_of(text, kVerbs) || has_one_of(text, kNoAdvice)) continue;
    std::size_t begin = 0;
    for (const std::string_view before :
         {", try ", ", please ", ", use ", ", set ", "mitigations: ", "possible solutions: "})
      if (const std::size_t at = text.find(before); at != std::string::npos)
        begin = before.front() == ',' ? at + 2 : at + before.size();
    out.emplace_back(clause.substr(begin, kLongest));
  }
  return out;
}

bool has_one_of(std::string_view text, std::string_view words) {
  for (const std::string_view word : split(words, '|'))
    if (text.find(word) != std::string_view::npos) return true;
  return false;
}

}  // namespace kvplan
