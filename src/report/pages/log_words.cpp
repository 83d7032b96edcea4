#include "report/pages/pages.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <optional>

#include "kvplan/strings.h"
#include "report/names.h"
#include "report/words.h"

namespace kvplan {

std::span<const std::string_view> log_word_lines();  // log_words.txt

namespace {

using enum LogEventId;

std::string value_text(const LogValue& value) {
  if (value.text.empty()) return fmt::format("{:.2f} {}", value.value, unit_name(value.unit));  // a computed one
  if (value.unit == LogUnit::kBytes) {
    constexpr double kLarge = 1 << 20;
    const std::string bytes = value.text + " bytes";
    if (value.value < kLarge) return bytes;
    return fmt::format("{} ({:.2f} GiB)", bytes, value.value / (1024.0 * 1024 * 1024));
  }
  const std::string_view unit = unit_name(value.unit);
  double printed = value.value;
  parse_real(value.text, printed);
  // A value that the log prints in another unit: "31457280kB".
  if (std::abs(printed - value.value) > 1e-6 * std::abs(printed) && value.text.find(',') == std::string::npos) {
    constexpr double kMany = 1024;
    const bool is_large = value.unit == LogUnit::kMebibytes && value.value >= kMany;
    return fmt::format("{:.2f} {}", is_large ? value.value / kMany : value.value, is_large ? "GiB" : unit);
  }
  if (unit.empty() || value.unit == LogUnit::kShare) return value.text;
  if (value.unit == LogUnit::kSequences) return value.text;
  std::string_view text = value.text;
  if (value.unit == LogUnit::kTokens && text.ends_with(".0")) text.remove_suffix(2);
  return std::string(text) + " " + std::string(unit);
}

std::optional<std::string> filled(std::string_view text, const LogEvent& event) {
  std::string out;
  while (!text.empty()) {
    const std::size_t open = text.find('{');
    out += text.substr(0, open);
    if (open == std::string_view::npos) break;
    const std::size_t close = text.find('}', open);
    const LogValue* value = event.value(text.substr(open + 1, close - open - 1));
    if (value == nullptr || (value->text.empty() && value->unit == LogUnit::kCount)) return std::nullopt;
    out += value_text(*value);
    text.remove_prefix(close + 1);
  }
  return out;
}

// The row's own words, or else those of the event's class.
std::string sentence_of(std::string_view section, const LogEvent& event) {
  if (!event.meaning.empty())
    if (auto text = filled(event.meaning, event)) return *text;
  static const std::vector<SectionRow> rows = section_rows(log_word_lines());
  for (const SectionRow& row : rows)
    if (row.section == section && row.word == name(event.id) && !row.text.empty())
      if (auto text = filled(row.text, event)) return *text;
  return "";
}

double figure_of(const Diagnosis& diagnosis, std::string_view name) {
  for (const LogValue& value : diagnosis.figures)
    if (value.name == name) return value.value;
  return 0;
}

// Which requests wait and for what, by the scheduler's newest line.
std::string traffic_text(const Diagnosis& diagnosis) {
  const LogEvent& event = *diagnosis.cause;
  const LogValue* usage = event.value("usage");
  std::string out = sentence_of("events", event);
  if (const double tokens = figure_of(diagnosis, "tokens_per_request"); usage == nullptr && tokens > 0)
    return out + fmt::format(": a request has {} tokens on average, and the cache fits about {:.0f} of them at once",
                             grouped(static_cast<std::uint64_t>(tokens)), figure_of(diagnosis, "room_for"));
  if (usage == nullptr) return out;
  constexpr double kFull = 0.9;
  const double share = usage->unit == LogUnit::kPercent ? usage->value / 100 : usage->value;
  out += share < kFull ? ": they wait for prefill or the scheduler's cap, not for KV cache"
                       : ": the KV cache is full and requests wait for it";
  if (const double room = figure_of(diagnosis, "room_for"); room > 0)
    out += fmt::format("; one request takes {:.2f} % of it, so about {:.0f} fit at once",
                       figure_of(diagnosis, "usage_per_request"), room);
  if (const double tokens = figure_of(diagnosis, "tokens_per_request"); tokens > 0)
    out += fmt::format(", of {} tokens on average", grouped(static_cast<std::uint64_t>(tokens)));
  return out;
}

struct CureWords {
  std::string_view noun;  // for changes that are not options
  std::string_view effect;
  std::string_view with_figure = "";  // the effect if the figure is known
};
const std::map<std::string_view, CureWords>& cure_words() {
  static const std::map<std::string_view, CureWords> words = [] {
    std::map<std::string_view, CureWords> out;
    for (const SectionRow& row : section_rows(log_word_lines())) {
      if (row.section != "cures" || row.text.empty()) continue;
      const std::size_t blank = row.text.find(' ');
      const std::string_view what = row.text.substr(0, blank);
      CureWords& cure = out[row.word];
      (what == "noun" ? cure.noun : what == "effect" ? cure.effect : cure.with_figure) = row.text.substr(blank + 1);
    }
    return out;
  }();
  return words;
}

const CureWords& words_of(LogCure cure) {
  static const CureWords none;
  const auto found = cure_words().find(name(cure));
  return found == cure_words().end() ? none : found->second;
}

}  // namespace

std::string cause_text(const Diagnosis& diagnosis) {
  if (!diagnosis.cause) return "";
  if (diagnosis.cause->id == kTraffic) return traffic_text(diagnosis);
  if (diagnosis.cause->id == kExited)
    if (const LogValue* code = diagnosis.cause->value("code");
        code != nullptr && (code->text == "137" || code->text == "-9"))
      return "the process was killed (exit code " + code->text +
             "): most likely the machine ran out of main memory (RAM); GPU options do not help";
  std::string out = sentence_of("causes", *diagnosis.cause);
  if (out.empty()) out = diagnosis.cause->words;
  if (!diagnosis.cause->meaning.empty()) return out;
  if (diagnosis.cause->id == kOutOfMemory || diagnosis.cause->id == kGraphsFailed)
    if (const std::string_view phase = phase_text(diagnosis.phase); !phase.empty()) out += ", " + std::string(phase);
  const LogValue* wanted = diagnosis.cause->value("wanted");
  const LogValue* free = diagnosis.cause->value("free");
  if (diagnosis.cause->id == kOutOfMemory && wanted != nullptr && free != nullptr && !diagnosis.missing)
    out += ": the GPU reports it as free, but the system does not provide it (unified memory)";
  return out;
}

std::string event_text(const LogEvent& event) {
  return sentence_of("events", event);
}

std::string cure_option(const LogRemedy& remedy) {
  if (remedy.cure == LogCure::kOther || remedy.cure == LogCure::kAsTheLogSays) return one_line(remedy.option, 200);
  if (remedy.cure == LogCure::kFitByItself) return "without " + remedy.option;
  if (remedy.option.empty()) return std::string(words_of(remedy.cure).noun);
  const bool is_variable = remedy.option.starts_with("OLLAMA_") || remedy.option.starts_with("VLLM_CPU");
  if (remedy.value.empty()) return remedy.option;
  return remedy.option + (is_variable ? "=" : " ") + remedy.value;
}

std::string cure_effect(const LogRemedy& remedy) {
  if (remedy.cure == LogCure::kOther) return remedy.effect;
  const CureWords& words = words_of(remedy.cure);
  std::string out(words.effect);
  if (remedy.figure && words.with_figure.find("{}") != std::string_view::npos)
    out = fmt::format(fmt::runtime(words.with_figure),
                      grouped(static_cast<std::uint64_t>(std::clamp(*remedy.figure, 0.0, 1e15))));
  else if (remedy.figure && !words.with_figure.empty())
    out = fmt::format(fmt::runtime(words.with_figure), *remedy.figure);
  if (remedy.fits)
    out += std::string(out.empty() ? "" : "; ") + (*remedy.fits ? "planned: fits" : "planned: not enough");
  return out;
}

std::string_view verdict_title(LogVerdict verdict) {
  switch (verdict) {
    case LogVerdict::kStarted: return "STARTED";
    case LogVerdict::kAsPlanned: return "STARTED AS PLANNED";
    case LogVerdict::kLessRoom:
    case LogVerdict::kMoreRoom:
    case LogVerdict::kDiffers: return "STARTED, DIFFERS FROM THE PLAN";
    case LogVerdict::kServesWithTrouble: return "RUNS, WITH TROUBLE";
    case LogVerdict::kDidNotStart: return "DID NOT START";
    case LogVerdict::kDied: return "STARTED, THEN FAILED";
    case LogVerdict::kCannotTell: return "CANNOT BE JUDGED";
  }
  return "";
}

std::string_view phase_text(LogPhase phase) {
  return nth_word(phase,
                  "|while weights were loaded|in the profiling pass|while the KV cache was made|"
                  "while graphs were captured or warmed up|while it served",
                  '|');
}

}  // namespace kvplan
