// The whole reply to a question, as data: everything that a report or a program needs from a plan. Reports compute
// nothing themselves. Unless stated otherwise, bytes are for the request as it is, and tokens are of one sequence.
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

// "-tp 8 -pp 2", in the engine's own spelling ("--max-model-len=-c ...") where it has one.
std::string options_text(const OptionValues& options, std::string_view spelling = "");

// "TP 8, PP 2"; "1 GPU".
std::string layout_name(const Parallel& parallel);

// A part beside the decoder that costs no cache.
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
  std::string family;                    // the rule that classified it
  std::string_view checked;              // what its numbers were compared with; empty: nothing
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
  std::optional<std::uint64_t> token_limit;  // tokens beyond this cost nothing more
  std::string dtype;
  Bytes entry;                // bytes of one entry
  std::uint64_t entries = 0;  // of one sequence
};

// Layers that are alike.
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
  std::string what;  // the line, or the part of the plan, that it replaced
  Figure figure;
  std::string source;  // "measured 3 times on NVIDIA H100 80GB HBM3, 2026-11-21"
};

// The reserved bytes of the fullest GPU for contexts up to the model's maximum.
struct CacheCurve {
  std::string types;  // "fp8_e4m3"
  std::vector<std::uint64_t> tokens;
  std::vector<Bytes> bytes;
};

// Numbers of sequences, each with the longest context at which they fit.
using ContextsBySequences = std::vector<std::pair<std::uint64_t, std::uint64_t>>;

// Where no engine was named: the verdict of one engine that runs on the GPU, for the same request.
struct EngineVerdict {
  std::string engine, engine_version;
  VerdictReport verdict;
  Bytes total;  // on the fullest GPU
  std::optional<std::uint64_t> max_model_len;
  std::string error;  // why it refuses; everything else is then empty
};

// What only `explain` shows.
struct Explanation {
  std::vector<LayerFacts> draft_layers;  // at the draft's own types
  std::vector<ConfigFact> draft_config;
  std::uint64_t prefill_chunk = 0;  // tokens that pass through the layers at once
  std::uint64_t num_heads = 0;      // the most of any layer
  double attention_flops = 0;       // for one token that attends to all before it
  // Of a token, with a key and a value for every head in each layer (MHA); 0: some attention has no such form.
  Elements multi_head;
};

struct Plan {
  std::shared_ptr<const ModelFacts> model;
  Request request;          // as requested, with the layout that was chosen
  Parallel asked_parallel;  // before a layout was searched for
  // Before the engine's own placement.
  std::optional<std::pair<LlamaCppOptions, std::optional<Tokens>>> asked_placement;
  std::string engine, engine_version;
  bool is_logical = false;  // no engine: what the architecture needs
  Load load;                // with every default filled in
  EngineSettings settings;
  CacheTypes types;
  std::string weights_dtype;
  std::string_view weights_loss;  // rough loss of quality, as the type's makers publish it; empty: not published

  std::optional<Bytes> card;            // memory of one GPU: as requested, as calibrated, or as in the catalogue
  std::optional<double> usable_share;   // the part of it that the engine may use
  std::optional<Bytes> taken_at_start;  // on the fullest GPU, for an engine that allocates its cache at the start

  std::string attention;
  std::vector<LayerFacts> layers;
  KvCachePlan kv_cache;
  std::vector<GpuMemory> memory;
  std::vector<LedgerLine> host;  // kept in host memory by the engine, apart from the GPUs
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
  OptionValues command;  // the command line that plans it: "kvplan" with the model, then options; empty: none was typed

  // Added by complete(), for a plan that is shown (plan/questions.h).
  CacheCurve contexts;  // doubling from 4,096
  Explanation explanation;
  std::vector<CacheCurve> curves;  // one for each KV type in use with this engine, the plan's own first
  ContextsBySequences contexts_by_sequences;
  std::optional<Launch> launch;
  std::vector<EngineVerdict> engines;

  const GpuMemory& fullest() const;  // with different GPUs, the one with the least memory left
  // The memory of GPU number `gpu`; `alike` is the memory of each if all are the same.
  Bytes card_of(std::size_t gpu, Bytes alike) const;
  Tokens tokens_of_sequence() const;  // the mean of the stated lengths; without them the full length
  Bytes host_total() const;
  Request unplaced() const;  // the request before the engine's own placement
  Request as_asked() const;  // the same, with the layout searched again if it was searched
};

// One plan of several, and how its request differs from the original one.
struct Answer {
  std::string name;                                          // "longest_context", "fp8 x fp8_e4m3"
  std::vector<std::pair<std::string, std::string>> changes;  // option and value
  Template note;                                             // one sentence; may be empty
  bool other_checkpoint = false;                             // its weights cannot be made from the model's at load time
  std::vector<std::string> stored;                           // models in local stores that have these weights
  std::optional<std::uint64_t> longest, most_seqs;           // of a layout: the longest context and the most sequences
  std::optional<std::uint64_t> copies;                       // --users: of the layout, each a separate server
  Plan plan;
};

// --users: copies of a layout that serve them together.
struct UsersAnswer {
  std::uint64_t users = 0, of_a_copy = 0, copies = 0, gpus = 0, nodes = 0;
  std::uint64_t most = 0;       // users that these GPUs serve at once
  std::optional<double> price;  // of the GPUs, for an hour
};

// The answers of compare and fit.
struct Answers {
  Plan asked;  // the plan of the request as it is
  std::vector<Answer> rows;
  std::vector<Template> sentences;  // "KV to fp8_e4m3: +61k tokens"
  Template buys_most;               // the change with the largest gain; empty for none
  ContextsBySequences contexts_by_sequences;
  std::optional<UsersAnswer> users;
  std::vector<Note> notes;
};

// One model of several (or one engine of several): its plan, or why there is none.
struct FleetEntry {
  std::string source;
  std::string engine;   // as given to --engine
  std::string variant;  // the engine and type where each model has several rows: "vllm, fp8"
  std::optional<Plan> plan;
  std::string error;  // one line, without the program's name
  Exit exit = Exit::kAnswered;
};

// What an engine keeps on a GPU while it sleeps: all but its weights, which move to main memory, and its cache.
Bytes kept_asleep(const Plan& plan);

// Several models that share a GPU, each in its own engine.
struct SharedCard {
  std::vector<FleetEntry> models;
  std::string card;             // the GPU's name; empty if only a size was given
  Bytes memory;                 // of one GPU
  Bytes total;                  // what all models take of one GPU; of the engines that sleep, one is awake
  Bytes usable;                 // of one GPU's memory, without what is kept free
  std::optional<Bytes> asleep;  // of the GPU that all engines that sleep keep asleep
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

// One model, engine and weight type on one GPU: figures of one plan.
struct GridCell {
  std::uint64_t max_model_len = 0;  // it was planned with
  VerdictReport verdict;
  std::uint64_t longest = 0, longest_by_memory = 0, most_seqs = 0;  // of the plan's Capacity
  Parallel parallel;
  Bytes total;           // of the fullest GPU
  OptionValues command;  // as Plan::command
  std::string error;     // why the engine refuses; everything else is then empty
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

// Models against GPUs: what fits where, and how much.
struct Grid {
  std::vector<GridCard> cards;
  std::uint64_t gpu_count = 1, num_seqs = 1;
  std::vector<GridRow> rows;
};

struct ValueChange {
  std::string where;  // the part of the plan it is in: "config" or "request"
  std::string key;
  std::string before, after;  // empty if one plan lacks it
};

struct MemoryChange {
  std::string part;
  std::uint64_t before = 0, after = 0;
  std::int64_t difference() const { return signed_difference(after, before); }
};

// A change of what fits on the GPU; nothing if one of the plans does not say.
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
  std::vector<MemoryChange> memory;  // biggest first; unchanged parts left out
  MemoryChange total;
  std::vector<CapacityChange> capacity;  // unchanged figures are left out
  GrowthLimit limit;                     // as the user set it
  bool is_too_much = false;              // the total grew beyond it
  bool lost_fit = false;                 // it fitted before and no longer does
  std::vector<std::string> broken;  // limits that the new plan breaks: "31.40 GiB are more than --max-vram of 24 GiB"
};

struct LogLine {
  Observation seen;
  std::optional<double> predicted;  // in the line's unit; absent: the plan has no such figure
  bool exact = false;               // exact arithmetic: any difference is a disagreement
  std::string reason;               // why they differ, or what the line means, if known
  double low = 0, high = 0;         // of an estimate, in the line's unit; both 0: it has no range

  double difference() const;  // (predicted - seen) / seen
  bool is_outside() const;    // an estimate that misses its range
};

// What a log prints about one GPU's memory apart from the cache, and the plan's figures: weights, activations, runtime.
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
  kStarted,  // with no plan to compare it with, or no exact figure in it
  kAsPlanned,
  kLessRoom,  // the cache is smaller than planned
  kMoreRoom,
  kDiffers,
  kServesWithTrouble,  // it runs, but requests are refused, truncated, preempted or waiting
  kDidNotStart,
  kDied,  // after it had started
  kCannotTell
};

// What an engine was doing when it failed.
enum class LogPhase : std::uint8_t { kUnknown, kLoading, kProfiling, kCache, kGraphs, kServing };

struct LogRemedy {
  LogCure cure = LogCure::kNothing;
  std::string option, value;     // the engine's; "" if none is needed
  std::optional<double> figure;  // the number in its sentence: tokens, ranks
  std::optional<bool> fits;      // by a new plan; absent if none was made
  std::string effect = {};       // in the words of a table's row; "" for the usual ones
};

// Why an engine did not start, or what keeps it from serving, from the log's own figures.
struct Diagnosis {
  LogVerdict verdict = LogVerdict::kCannotTell;
  LogPhase phase = LogPhase::kUnknown;
  std::optional<LogEvent> cause;         // absent if nothing went wrong
  std::optional<Bytes> missing;          // how much memory is short
  std::vector<LogValue> figures;         // computed from the log's own
  std::vector<LogEvent> other_failures;  // other lines that report a failure, at most two
  std::vector<LogEvent> hints;           // other lines that help to explain the cause
  std::vector<LogRemedy> remedies;       // what the log suggests, then least loss first
  std::vector<LogEvent> other_events;    // other events, which are not faults
};

// A start-up log compared with a plan.
struct LogCheck {
  LogOptions options;
  std::string engine;      // "" if no line tells which engine wrote it
  std::string program;     // its name for people
  std::string planned_as;  // the engine that plans for it; "": none
  Diagnosis diagnosis;
  std::vector<std::string> read;  // what was read from the log, and what was assumed
  std::vector<std::string> assumed;
  Plan plan;  // empty without a model
  bool has_plan = true;
  std::vector<LogLine> lines;
  std::optional<LogTotal> total;  // absent if the log prints no part of it
  std::size_t compared = 0;       // exact figures that depend on no assumption
  std::size_t disagreements = 0;  // those of them that are off by more than their rounding
  std::size_t outside = 0;        // estimates that are outside their range
  std::string agrees_with;        // an option or release with which they are inside; "": none found
  std::vector<std::string> remarks;
};

// A part of a plan, and what was seen of it.
struct WatchedLine {
  StartStage stage = StartStage::kWeights;
  bool is_whole = false;        // the sum of all stages after the process itself
  std::optional<Bytes> logged;  // as the engine printed it
  Bytes planned, low, high;     // over all GPUs, or all processes
  std::int64_t seen = 0;        // growth of the counter
  bool is_judged = false;       // the verdict depends on it
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

// A behaviour of an engine from a release on, or until before one; empty: from the first known, or still.
struct EngineRule {
  std::string_view engine;
  std::string since, until, value;  // value: empty if the rule is on or off
  std::string_view rule, evidence;
  std::string_view checked;  // "executed": the engine's code was run before and after; else "read"
};

}  // namespace kvplan
