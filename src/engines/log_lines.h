// The lines of an engine's log, as its own sources write them.
#ifndef KVPLAN_ENGINES_LOG_LINES_H_
#define KVPLAN_ENGINES_LOG_LINES_H_

#include <span>
#include <string_view>

#include "kvplan/observation.h"
#include "kvplan/watched.h"

namespace kvplan {

// Literal text with holes. A blank stands for any run of blanks and line breaks, or none beside a hole.
//   {name}        a number, with or without commas between thousands
//   {name:UNIT}   the same in tokens, blocks, GiB, MiB, B, % ...: what the figure is
//   {name:size}   a number and the unit that is printed behind it ("5.62 GiB", "253.6M")
//   {name:word}   up to a blank, a comma, a quote or a bracket; a quote before it is passed over
//   {name:text}   up to what follows the hole
//   {=}           what stands between an argument's name and its value: "=", "': ", " = "
//   {*}           anything, not kept
// A hole's name is what the figure is called: of an Observation, or of a LogValue.
struct LogTemplate {
  std::string_view text;
  LogEventId event = LogEventId::kRefused;  // only in log_events
  std::string_view since = "", until = "";  // releases that print it, where the line reveals the release
};

// Figures in the engines' logs, one file an engine (log_figures.cpp).
extern const std::span<const LogTemplate> kVllmLogFigures, kSglangLogFigures, kLlamaCppLogFigures, kOllamaLogFigures,
    kTensorrtLlmLogFigures, kMistralrsLogFigures;
constexpr LogTemplate log_figure(std::string_view text, std::string_view since = "", std::string_view until = "") {
  return {text, LogEventId::kRefused, since, until};
}

// A line that contains `text` is printed at the end of a stage of the start.
struct StageMark {
  std::string_view text;
  StartStage ended;
};
extern const std::span<const StageMark> kVllmStages, kSglangStages, kLlamaCppStages, kOllamaStages;

// Lines of PyTorch, drivers and the system, whatever the engine.
extern const std::span<const LogTemplate> kSystemLogEvents;

// Other lines of each engine (log_events.cpp).
extern const std::span<const LogTemplate> kVllmLogEvents, kSglangLogEvents, kLlamaCppLogEvents, kOllamaLogEvents,
    kTensorRtLlmLogEvents, kMistralRsLogEvents;

}  // namespace kvplan

#endif  // KVPLAN_ENGINES_LOG_LINES_H_
