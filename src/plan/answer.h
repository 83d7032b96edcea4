// A complete answer as data: everything that a report or a program needs of a plan. Reports compute nothing themselves.
// Unless stated otherwise, bytes are for the whole request, and tokens are of one sequence.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kvplan/calibration.h"
#include "kvplan/error.h"
#include "kvplan/extras.h"
#include "kvplan/gpu.h"
#include "kvplan/kind.h"
#include "kvplan/launch.h"
#include "kvplan/load.h"
#include "kvplan/measurement.h"
#include "kvplan/note.h"
#include "kvplan/observation.h"
#include "kvplan/plan.h"
#include "kvplan/request.h"
#include "kvplan/storage.h"
#include "kvplan/tensors.h"
#include "kvplan/terms.h"
#include "kvplan/watched.h"

namespace kvplan {

using OptionValues = std::vector<std::pair<std::string, std::string>>;  // "" for a flag's value

// "-tp 8 -pp 2", in the engine's own spelling ("--max-model-len=-c ...") if it has one.
std::string options_text(const OptionValues& options, std::string_view spelling = "");

// "TP 8, PP 2"; "1 GPU".
std::string layout_name(const Parallel& parallel);

// A part next to the decoder, without a cache.
struct TowerFacts {
  TowerKind what = TowerKind::kVision;
  std::string model_type;
  std::uint64_t num_layers = 0;  // 0 if the config does not say
};

// The facts of a model that no request changes.
struct ModelFacts {
  std::string source;                    // file, "-" or Hub id
  std::string name;                      // last part of the source: "llama-3.1-8b"
  std::string model_type, architecture;  // empty if the config names none
  std::string family;                    // the rule that reads its layers
  std::string_view checked;              // the evidence for its numbers; empty if there is none
  Dtype dtype = Dtype::kBfloat16;
  std::uint64_t num_layers = 0, hidden_size = 0;
  Tokens max_model_len;  // 0 if the config names none
  Parameters parameters;
  std::vector<ConfigFact> config;
  std::vector<TowerFacts> towers;
};

// One term of a layer's cache, at the plan's types and load.
struct TermFacts {
  std::string_view name;
  Role role = Role::kKey;
  Shape shape;
  std::uint64_t elements = 0;
  Growth growth = Growth::kToken;
  std::uint64_t stride = 1;                  // tokens per entry
  std::optional<std::uint64_t> token_limit;  // tokens after which it does not grow
  std::string dtype;
  Bytes entry;                // bytes of one entry
  std::uint64_t entries = 0;  // of one sequence
};

// Layers that are the same.
struct LayerFacts {
  KindInfo kind;
  std::string_view variant;
  std::uint64_t count = 0;
  std::string indices;                                        // "0-60"
  std::uint64_t bytes_per_token = 0, bytes_per_sequence = 0;  // of one layer
  std::optional<std::uint64_t> token_limit;
  std::vector<Symbol> symbols;
  std::vector<TermFacts> terms;
};

// An estimate of a plan that a calibration replaced.
struct AppliedFigure {
  std::string name;  // "context_bytes"
  std::string what;  // the line, or the part of the plan, that the figure replaces
  Figure figure;
  std::string source;  // "measured 3 times on NVIDIA H100 80GB HBM3, 2026-11-21"
};

// The reserved bytes of the fullest GPU for contexts up to the model's maximum.
struct CacheCurve {
  std::string types;  // "fp8_e4m3"
  std::vector<std::uint64_t> tokens;
  std::vector<Bytes> bytes;
};

// Numbers of sequences, each with the longest context that fits.
using ContextsBySequences = std::vector<std::pair<std::uint64_t, std::uint64_t>>;

// The verdict of one engine that runs on the GPU, for the same request. Shown if the user named no engine.
struct EngineVerdict {
  std::string engine, engine_version;
  VerdictReport verdict;
  Bytes total;  // on the fullest GPU
  std::optional<std::uint64_t> max_model_len;
  std::string error;  // why the engine refuses; if set, everything else is empty
};

// Shown only by `explain`.
struct Explanation {
  std::vector<LayerFacts> draft_layers;  // at the draft's own types
  std::vector<ConfigFact> draft_config;
  std::uint64_t prefill_chunk = 0;  // tokens that pass through the layers at once
  std::uint64_t num_heads = 0;      // the largest of any layer
  double attention_flops = 0;       // operations for one token that attends to all tokens before it
  // Bytes of a token if every layer had a key and a value for every head (MHA); 0 if some attention has no such form.
  Elements multi_head;
};

struct Plan {
  std::shared_ptr<const ModelFacts> model;
  Request request;          // as requested, with the layout that was chosen
  Parallel asked_parallel;  // before a layout was searched for
  // the request before the engine's own placement of layers
  std::optional<std::pair<LlamaCppOptions, std::optional<Tokens>>> asked_placement;
  std::string engine, engine_version;
  bool is_logical = false;  // no engine is named: what the architecture needs
  Load load;                // with every default filled in
  EngineSettings settings;
  CacheTypes types;
  std::string weights_dtype;
  std::string_view weights_loss;  // approximate loss of quality, as published for the type; empty: not published

  std::optional<Bytes> card;            // memory of one GPU: as requested, calibrated, or from the catalogue
  std::optional<double> usable_share;   // the part of it that the engine may use
  std::optional<Bytes> taken_at_start;  // on the fullest GPU, for an engine that allocates its cache at the start

  std::string attention;
  std::vector<LayerFacts> layers;
  KvCachePlan kv_cache;
  std::vector<GpuMemory> memory;
  std::vector<LedgerLine> host;  // what the engine keeps in host memory, not part of the GPUs
  TotalReport total;
  std::optional<Capacity> capacity;
  std::optional<MixReport> mix;
  std::optional<Roofline> roofline;  // absent if no bandwidth is known
  VerdictReport verdict;
  std::optional<DraftMethod> draft_method;
  std::string draft_source;                // "" if the draft is not a separate model
  std::vector<AppliedFigure> calibrated;   // estimates that a calibration replaced
  std::optional<Measurement> measurement;  // set by --measure
  std::vector<Note> notes;
  OptionValues command;  // the command that plans this again: "kvplan", the model and options; empty without one

  // Added by complete(), for a plan that is shown (plan/questions.h).
  CacheCurve contexts;  // doubling from 4,096
  Explanation explanation;
  std::vector<CacheCurve> curves;  // one for each KV type in use with this engine, the plan's own first
  ContextsBySequences contexts_by_sequences;
  std::optional<Launch> launch;
  std::vector<EngineVerdict> engines;

  const GpuMemory& fullest() const;  // the GPU with the least memory left, if GPUs differ
  // The memory of GPU number `gpu`; `alike` is the memory of each GPU if all are the same.
  Bytes card_of(std::size_t gpu, Bytes alike) const;
  Tokens tokens_of_sequence() const;  // the mean of the given lengths; the full length if none are given
  Bytes host_total() const;
  Request unplaced() const;  // the request before the engine's own placement
  Request as_asked() const;  // the same, with a new search for the layout if one was searched
};

// One of several plans, with the options that make its request differ from the original one.
struct Answer {
  std::string name;                                          // option and value
  std::vector<std::pair<std::string, std::string>> changes;  // option and value
  Template note;                                             // one sentence; may be empty
  bool other_checkpoint = false;                    // the engine cannot make its weights from the model's while loading
  std::vector<std::string> stored;                  // models in local stores that have these weights
  std::optional<std::uint64_t> longest, most_seqs;  // of a layout: the longest context and the most sequences
  std::optional<std::uint64_t> copies;              // --users: how many copies of the layout, each a separate server
  Plan plan;
};

// --users: copies of a layout that serve all users together.
struct UsersAnswer {
  std::uint64_t users = 0, of_a_copy = 0, copies = 0, gpus = 0, nodes = 0;
  std::uint64_t most = 0;       // users that these GPUs serve at once
  std::optional<double> price;  // price of these GPUs per hour
};

// The answers of `compare` or `fit`.
struct Answers {
  Plan asked;  // the plan of the original request
  std::vector<Answer> rows;
  std::vector<Template> sentences;  // "KV to fp8_e4m3: +61k tokens"
  Template buys_most;               // the change that gains the most context; empty if none does
  ContextsBySequences contexts_by_sequences;
  std::optional<UsersAnswer> users;
  std::vector<Note> notes;
};

// One of several models or engines: its plan, or why there is no plan.
struct FleetEntry {
  std::string source;
  std::string engine;   // as given to --engine
  std::string variant;  // the engine and type, if each model has several rows: "vllm, fp8"
  std::optional<Plan> plan;
  std::string error;  // one line, without the program's name
  Exit exit = Exit::kAnswered;
};

// What an engine keeps on a GPU while it sleeps: everything except its cache and its weights, which move to main
// memory.
Bytes kept_asleep(const Plan& plan);

// Several models that share a GPU, each in its own engine.
struct SharedCard {
  std::vector<FleetEntry> models;
  std::string card;             // the GPU's name; empty if only a size was given
  Bytes memory;                 // of one GPU
  Bytes total;                  // what all models need of one GPU, with only one of the sleeping engines awake
  Bytes usable;                 // the memory of one GPU, without the part that is kept free
  std::optional<Bytes> asleep;  // what all engines with sleep mode keep of the GPU while they sleep
  Verdict status = Verdict::kUnknown;
};

// `fit` for one engine and GPU of several.
struct FitEntry {
  std::string source;
  std::string engine;  // as given to --engine
  std::optional<Answers> answers;
  std::string error;
  Exit exit = Exit::kAnswered;
};

// One model, engine and weight type on one GPU: the figures of its plan.
struct GridCell {
  std::uint64_t max_model_len = 0;  // the tokens that it was planned with
  VerdictReport verdict;
  std::uint64_t longest = 0, longest_by_memory = 0, most_seqs = 0;  // of the plan's Capacity
  Parallel parallel;
  Bytes total;           // of the fullest GPU
  OptionValues command;  // as Plan::command
  std::string error;     // why the engine refuses; if set, everything else is empty
};

struct GridRow {
  std::string source;
  std::string engine, engine_version;
  std::string weights;
  CacheTypes types;
  std::optional<std::uint64_t> parameters;  // as Parameters::total
  std::uint64_t max_model_len = 0;
  std::vector<GridCell> cells;  // one for each GPU; empty if the model cannot be read
  std::string error;            // one line, without the program's name
  Exit exit = Exit::kAnswered;
};

struct GridCard {
  std::string name;
  Bytes memory;  // of one GPU
};

// Models and GPUs: what fits where, and how much.
struct Grid {
  std::vector<GridCard> cards;
  std::uint64_t gpu_count = 1, num_seqs = 1;
  std::vector<GridRow> rows;
};

struct ValueChange {
  std::string where;  // the part of the plan that it belongs to: "config" or "request"
  std::string key;
  std::string before, after;  // empty if one plan lacks it
};

struct MemoryChange {
  std::string part;
  std::uint64_t before = 0, after = 0;
  std::int64_t difference() const { return signed_difference(after, before); }
};

// A changed capacity of the GPU. A value is absent if its plan does not have the figure.
struct CapacityChange {
  std::string what;  // "tokens", "max_model_len", "max_num_seqs"
  std::optional<std::uint64_t> before, after;
};

// --fail-over SIZE or PERCENT%: whether the total grew by more than that.
struct GrowthLimit {
  std::optional<Bytes> bytes;
  std::optional<double> percent;
};

// One of the two plans of a diff.
struct DiffSide {
  std::string source, model_file;
  std::string verdict;
  std::uint64_t bytes_per_token = 0;
};

struct PlanDiff {
  DiffSide before, after;
  std::vector<ValueChange> values;
  std::vector<MemoryChange> memory;  // biggest change first; parts that did not change are left out
  MemoryChange total;
  std::vector<CapacityChange> capacity;  // unchanged figures are left out
  GrowthLimit limit;                     // as the user set it
  bool is_too_much = false;              // the total grew by more than the limit
  bool lost_fit = false;                 // the old plan fits and the new one does not
  std::vector<std::string> broken;  // limits that the new plan breaks: "31.40 GiB are more than --max-vram of 24 GiB"
};

struct LogLine {
  Observation seen;
  std::optional<double> predicted;  // in the line's unit; absent: the plan has no such figure
  bool exact = false;               // exact arithmetic, so any difference is a disagreement
  std::string reason;               // why the figures differ, or what the line means, if known
  double low = 0, high = 0;         // the range of an estimate, in the line's unit; both 0: no range

  double difference() const;  // (predicted - seen) / seen
  bool is_outside() const;    // an estimate whose range does not contain the log's figure
};

// One part of a GPU's memory without the cache (weights, activations, runtime): the log's figure and the plan's.
struct LogPart {
  std::string what;  // "weights", "activation", "non_torch", "cuda_graphs"
  Section part = Section::kWeights;
  Bytes observed, predicted, low, high;
};
struct LogTotal {
  std::vector<LogPart> parts;
  Bytes observed, predicted, low, high;
};

// How the start in a log went.
enum class LogVerdict : std::uint8_t {
  kStarted,  // without a plan, or without an exact figure in the log
  kAsPlanned,
  kLessRoom,  // the cache is smaller than planned
  kMoreRoom,
  kDiffers,
  kServesWithTrouble,  // it runs, but requests are refused, cut, preempted or waiting
  kDidNotStart,
  kDied,  // it failed after it had started
  kCannotTell
};

// What an engine was doing when it failed.
enum class LogPhase : std::uint8_t { kUnknown, kLoading, kProfiling, kCache, kGraphs, kServing };

struct LogRemedy {
  LogCure cure = LogCure::kNothing;
  std::string option, value;     // the engine's option; "" if none is needed
  std::optional<double> figure;  // the number in the remedy's sentence: tokens, ranks
  std::optional<bool> fits;      // from a new plan; absent if none was made
  std::string effect = {};       // the words of a table's row; "" for the usual ones
};

// Why an engine did not start, or what keeps it from serving. Figures are from the log.
struct Diagnosis {
  LogVerdict verdict = LogVerdict::kCannotTell;
  LogPhase phase = LogPhase::kUnknown;
  std::optional<LogEvent> cause;         // absent if nothing went wrong
  std::optional<Bytes> missing;          // how much memory is missing
  std::vector<LogValue> figures;         // computed from figures in the log
  std::vector<LogEvent> other_failures;  // other lines that report a failure, at most two
  std::vector<LogEvent> hints;           // other lines that help to explain the cause
  std::vector<LogRemedy> remedies;       // the log's own advice first, then the smallest change first
  std::vector<LogEvent> other_events;    // other events, which are not faults
};

// A start-up log compared with a plan.
struct LogCheck {
  LogOptions options;
  std::string engine;      // "" if no line tells which engine wrote it
  std::string program;     // the engine's name for people
  std::string planned_as;  // the engine of kvplan that plans for it; "": none
  Diagnosis diagnosis;
  std::vector<std::string> read;  // options that the log shows, and options that were assumed
  std::vector<std::string> assumed;
  Plan plan;  // empty without a model
  bool has_plan = true;
  std::vector<LogLine> lines;
  std::optional<LogTotal> total;  // absent if the log prints none of these parts
  std::size_t compared = 0;       // exact figures that do not depend on an assumption
  std::size_t disagreements = 0;  // how many of them differ by more than rounding
  std::size_t outside = 0;        // estimates that are outside their range
  std::string agrees_with;        // an option or release with which the estimates are inside; "": none found
  std::vector<std::string> remarks;
};

// A part of a plan, and what was measured of it.
struct WatchedLine {
  StartStage stage = StartStage::kWeights;
  bool is_whole = false;        // the sum of all stages after the process itself
  std::optional<Bytes> logged;  // as the engine printed it
  Bytes planned, low, high;     // over all GPUs, or all processes
  std::int64_t seen = 0;        // growth of the counter
  bool is_judged = false;       // this figure counts for the verdict
  bool is_inside = true;        // within the range
};

// A watched start compared with its plan.
struct WatchReport {
  Plan plan;
  Watched seen;
  LogCheck check;  // of the engine's own log lines
  std::vector<WatchedLine> lines;
  bool agrees = true;
};

// A row of the table of engines.
struct EngineRow {
  std::string_view engine, release, evidence;
};

// A behaviour of an engine from one release until before another. Empty: from the first known release, or until today.
struct EngineRule {
  std::string_view engine;
  std::string since, until, value;  // the value; empty if the rule is just on or off
  std::string_view rule, evidence;
  std::string checked;  // how its date is known, as in date_basis()
};

}  // namespace kvplan
