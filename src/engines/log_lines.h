// What kvplan knows about an engine's log and about the options that cure a failure. Each engine fills in its own
// (ENGINE/log.cpp).
#pragma once

#include <span>
#include <string_view>

#include "kvplan/observation.h"
#include "kvplan/request.h"
#include "kvplan/watched.h"

namespace kvplan {

// How far a start has come. A line of an earlier phase begins another start.
enum class StartPhase : std::uint8_t {
  kNone,
  kServer,   // the API server's first line, which always begins a start
  kEngine,   // the engine's first line, which begins a start where weights were loaded before
  kWeights,  // loads weights, which begins a start where a cache was allocated before
  kCache,
  kServing
};

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
  LogEventId event = LogEventId::kRefused;  // only in events
  std::string_view since = "", until = "";  // releases that print it, where the line reveals the release
  StartPhase phase = StartPhase::kNone;
};
constexpr LogTemplate log_figure(std::string_view text, std::string_view since = "", std::string_view until = "") {
  return {text, LogEventId::kRefused, since, until};
}
constexpr LogTemplate log_phase(StartPhase phase, std::string_view text, std::string_view since = "",
                                std::string_view until = "") {
  return {text, LogEventId::kRefused, since, until, phase};
}

// A line that contains `text` is printed at the end of a stage of the start.
struct StageMark {
  std::string_view text;
  StartStage ended;
};

// An engine's options for what remedies change; "" where it has no such option.
struct RemedyOptions {
  std::string_view length = "", share = "";
  std::string_view cache_type = "", eight_bit = "";  // and the value for a cache of 8 bits
  std::string_view ranks = "", stages = "", batch = "", sequences = "", no_graphs = "";
  std::string_view cache_size = "";              // bytes or tokens of the cache, whatever the card reports
  std::string_view cpu_cache = "";               // the cache's size on its CPU backend
  std::string_view experts = "";                 // whole experts on each rank
  bool counts_experts = false;                   // ... where it takes the number of ranks
  std::string_view images = "", one_image = "";  // of a prompt, and the value for a single one
  std::string_view gpu_layers = "", split = "";  // layers on the GPUs, and their shares
  std::string_view shared_slots = "";            // sequences, from one pool of cells
};

struct Cure {
  LogCure cure = LogCure::kNothing;
  std::string_view option = "";  // "": the one of RemedyOptions
  std::string_view value = "";   // "{blocks}" is a figure of the cause; "": computed where there is a rule for the cure
};
// The remedies for a cause, smallest loss first.
struct RemedyRule {
  LogEventId cause;
  Cure cures[5];
};

struct LogRequest;  // engines/log_request.h

struct EngineLog {
  std::span<const LogTemplate> figures = {}, events = {};
  std::span<const StageMark> stages = {};
  // What its server's slots do, where it prints no line about its traffic. By their figures: the number of {slots}; the
  // {longest} sequence of one; a {task} that has to wait, that starts in a {slot}, and that ends there with {tokens}.
  std::span<const LogTemplate> slots = {};
  RemedyOptions options = {};
  std::span<const RemedyRule> remedies = {};  // of a cause that is here, these replace those of measure/remedies.cpp

  bool by_device = false;             // it prints buffers for each device in place of figures for each rank
  bool picks_layers = false;          // layers left on the CPU are its own choice: the card was too small
  bool block_option = false;          // {block_size} is the option's value, not a result
  bool profiles_prompt = false;       // without chunked prefill it profiles one prompt of the full length
  bool allocates_with_torch = false;  // the most likely engine where PyTorch's own message is all that there is
  // Its versions are builds ("4277" is b4277). The one that a log of the oldest wording stands for; "": no builds.
  std::string_view old_build = "";
  // The only release whose patch levels differ; "": a version is kept as printed.
  std::string_view patched_release = "";
  // The request behind its log; null: as vLLM, SGLang and others print it.
  void (*read_request)(const LogReading& log, LogRequest& out) = nullptr;
  // A remark on a figure of the log that the release prints wrongly for a model with several groups of caches.
  std::string_view (*remark)(const Request& request) = nullptr;
};

EngineLog vllm_log();
EngineLog sglang_log();
EngineLog llama_cpp_log();
EngineLog ollama_log();
EngineLog tensorrt_llm_log();
EngineLog mistralrs_log();

// Lines of PyTorch, drivers and the system, whatever the engine.
extern const std::span<const LogTemplate> kSystemLogEvents;

}  // namespace kvplan
