// What kvplan knows about an engine's log, and about the options that remedy a failure. Each engine has its own table,
// ENGINE/log.txt, and so have programs that kvplan does not plan (other_logs/):
//   [options]          a member of RemedyOptions or EngineLog, and its value
//   [figures], [slots] a template per line; after " @ " the phase that it begins, "since R", "until R"
//   [events], [stages], [metrics]   a word of LogEventId, StartStage or EngineLog::metrics, and below it its templates
//   [remedies], [topics]            a word of LogEventId, or the words of a LogTopic, and below it the remedies
//   [texts]            remedies that several rows name as "$name"
// Below a template, "    = TEXT" is its meaning and "    - TEXT" is one of its remedies.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kvplan/observation.h"
#include "kvplan/request.h"
#include "kvplan/watched.h"

namespace kvplan {

// How far a start has come. A line of an earlier phase means that another start began.
inline constexpr std::string_view kStartPhaseWords = "none server engine weights cache serving";
enum class StartPhase : std::uint8_t {
  kNone,
  kServer,   // the API server's first line; a new start always begins here
  kEngine,   // the engine's first line; begins a new start if weights were loaded before
  kWeights,  // weights are being loaded; begins a new start if a cache was allocated before
  kCache,
  kServing
};

// Literal text with holes. A blank matches any run of blanks and line breaks, and next to a hole also nothing.
//   {name}        a number, with or without commas between thousands
//   {name:UNIT}   the same in tokens, blocks, GiB, MiB, B, % ...: what the figure is
//   {name:size}   a number and the unit that is printed after it ("5.62 GiB", "253.6M")
//   {name:word}   up to a blank, a comma, a quote or a bracket; a quote before it is passed over
//   {name:text}   up to what follows the hole
//   {=}           what is between an argument's name and its value: "=", "': ", " = "
//   {*}           anything, not kept
// A hole's name is what the figure is called: of an Observation, or of a LogValue.
struct LogTemplate {
  std::string_view text;
  LogEventId event = LogEventId::kRefused;  // only in events
  // What the line means, with the values of the holes; "": the usual sentence of its class
  // (report/pages/log_words.cpp).
  std::string_view meaning = "";
  // What helps, smallest loss first, separated by "; ". Each one is
  //   @cure, @cure VALUE        a word of LogCure, by the engine's option; without VALUE it follows from the log's
  //   figures
  //   @cure:OPTION, @cure:OPTION VALUE
  //   TEXT, TEXT | EFFECT       in the row's own words
  // A remedy with an empty hole is dropped. "": the remedies of its class.
  std::string remedies = "";
  std::string_view since = "", until = "";  // releases that print it, if the line reveals the release
  StartPhase phase = StartPhase::kNone;
};
// A stage of the start ends with a line that contains `text`.
struct StageMark {
  std::string_view text;
  StartStage ended;
};

// The engine's options for what remedies change. "" if it has no such option.
struct RemedyOptions {
  std::string_view length = "", share = "";
  std::string_view cache_type = "", eight_bit = "";  // and the value for a cache of 8 bits
  std::string_view ranks = "", stages = "", batch = "", sequences = "", no_graphs = "";
  std::string_view cache_size = "";              // bytes or tokens of the cache, whatever the GPU reports
  std::string_view cpu_cache = "";               // the cache's size on its CPU backend
  std::string_view experts = "";                 // whole experts on each rank
  bool counts_experts = false;                   // the option takes the number of ranks
  std::string_view images = "", one_image = "";  // of a prompt, and the value for a single one
  std::string_view gpu_layers = "", split = "";  // layers on the GPUs, and the parts of each GPU
  std::string_view flash_attention = "";
  std::string_view shared_slots = "";  // sequences, from one pool of cells
};

// The remedies for a class of failures, written as in LogTemplate::remedies.
struct RemedyRule {
  LogEventId cause;
  std::string remedies;
};

// What to try for a failure without a row if its message or traceback contains one of these words (lower case,
// separated by "|").
struct LogTopic {
  std::string_view words;
  std::string remedies;
};

struct LogRequest;  // engines/log_request.h

// Where an engine's table is, and what it needs code for.
struct EngineLogSource {
  std::span<const std::string_view> (*lines)() = nullptr;
  // Reads the request from the log; null: in the way that suits vLLM, SGLang and others.
  void (*read_request)(const LogReading& log, LogRequest& out) = nullptr;
  // A remark on a figure that this release prints wrongly for a model with several groups of caches.
  std::string_view (*remark)(const Request& request) = nullptr;
};

struct EngineLog : EngineLogSource {
  std::vector<LogTemplate> figures = {}, events = {};
  std::vector<StageMark> stages = {};
  // What the server's slots do, if the engine prints no line about its load. The lines have these figures: the number
  // of {slots}; the {longest} sequence of a slot; a {task} that has to wait, that starts in a {slot}, and that ends
  // there with {tokens}.
  std::vector<LogTemplate> slots = {};
  // The series of the engine's Prometheus page; `meaning` is the figure of kTraffic that one gives: running, waiting,
  // usage (a fraction), hit_rate (a fraction), queries, hits, tokens, preemptions.
  std::vector<LogTemplate> metrics = {};
  RemedyOptions options = {};
  std::vector<RemedyRule> remedies = {};  // for a class of failures, instead of those of system_log()
  std::vector<LogTopic> topics = {};

  bool is_library = false;       // other programs run this engine and print its lines
  bool by_device = false;        // the log has buffers per device instead of figures per rank
  bool picks_layers = false;     // the engine itself leaves layers on the CPU if the GPU is too small
  bool block_option = false;     // {block_size} is the option's value, not a result
  bool profiles_prompt = false;  // without chunked prefill the engine profiles one prompt of the full length
  // The engine's versions are builds ("4277" is b4277), and this build wrote the logs with the oldest wording. "": no
  // builds.
  std::string_view old_build = "";
  // The only release whose patch levels differ. "": none does, and a version stays as the log prints it.
  std::string_view patched_release = "";
};

// Reads a table; throws std::logic_error at a line that it does not understand.
EngineLog engine_log(const EngineLogSource& source);

std::span<const std::string_view> vllm_log_lines();
std::span<const std::string_view> sglang_log_lines();
std::span<const std::string_view> llama_cpp_log_lines();
std::span<const std::string_view> ollama_log_lines();
std::span<const std::string_view> tensorrt_llm_log_lines();
std::span<const std::string_view> mistralrs_log_lines();
std::span<const std::string_view> mlx_log_lines();
std::span<const std::string_view> transformers_log_lines();

struct Engine;

// A program whose log kvplan can read.
struct LogProgram {
  std::string_view name;   // "vllm", "koboldcpp"
  std::string_view title;  // for people
  const EngineLog* log = nullptr;
  const Engine* engine = nullptr;  // the engine of kvplan that plans for it; null: none
  bool is_engine = false;          // the program is that engine
};
// All programs, kvplan's engines first.
std::span<const LogProgram> log_programs();
// The program of that name; null if there is none.
const LogProgram* log_program(std::string_view name);
// The table of an engine; an empty one if it has none.
const EngineLog& log_of(const Engine& engine);

// Lines that any engine's log may have: of PyTorch, Python, drivers, NCCL and the system. And topics of failures that
// all engines share.
const EngineLog& system_log();

}  // namespace kvplan
