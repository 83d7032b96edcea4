// The whole reply to a question, as data: what every form and every program may ask of a plan. Nothing is worked out
// after it; a form that needs a number has it here. Bytes are of the request as it is, tokens of one sequence, where
// nothing else is said.
#ifndef KVPLAN_PLAN_ANSWER_H_
#define KVPLAN_PLAN_ANSWER_H_

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
#include "kvplan/tower_kind.h"
#include "kvplan/watched.h"

namespace kvplan {

// "TP 8, PP 2"; "1 GPU".
std::string layout_name(const Parallel& parallel);

// A part beside the decoder that costs no cache.
struct TowerFacts {
  TowerKind what = TowerKind::kVision;
  std::string model_type;
  std::uint64_t num_layers = 0;  // 0 where the config does not say
};

// What is said of a model, whatever is asked of it.
struct ModelFacts {
  std::string source;                    // file, "-" or Hub id
  std::string name;                      // the last part of it: "llama-3.1-8b"
  std::string model_type, architecture;  // empty where the config names none
  std::string family;                    // the rule that classified it
  std::string_view checked;              // what its numbers were held against; empty: nothing
  Dtype dtype = Dtype::kBfloat16;
  std::uint64_t num_layers = 0, hidden_size = 0;
  Tokens max_model_len;  // 0 where the config names none
  Parameters parameters;
  std::vector<ConfigFact> config;
  std::vector<TowerFacts> towers;
};

// One term of a layer's cache, at the types and the load of the plan.
struct TermFacts {
  std::string_view name;
  Role role = Role::kKey;
  Shape shape;
  std::uint64_t elements = 0;
  Growth growth = Growth::kToken;
  std::uint64_t stride = 1;                  // tokens of an entry
  std::optional<std::uint64_t> token_limit;  // tokens beyond it cost nothing
  std::string dtype;
  Bytes entry;                // of one entry
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

// What a calibration changed in a plan.
struct AppliedFigure {
  std::string name;  // "context_bytes"
  std::string what;  // the line, or the part of the plan
  Figure figure;
  std::string source;  // "measured 3 times on NVIDIA H100 80GB HBM3, 2026-11-21"
};

// The reserved bytes of the fullest GPU for contexts up to the model's maximum.
struct CacheCurve {
  std::string types;  // "fp8_e4m3"
  std::vector<std::uint64_t> tokens;
  std::vector<Bytes> bytes;
};

// Sequences, and the longest context that so many have room for.
using Frontier = std::vector<std::pair<std::uint64_t, std::uint64_t>>;

// Where no engine was named: what one of those that run on the card says of the same request.
struct EngineVerdict {
  std::string engine, engine_version;
  VerdictReport verdict;
  Bytes total;  // of the fullest GPU
  std::optional<std::uint64_t> max_model_len;
  std::string error;  // it refuses; everything else is empty then
};

// What stands in `explain` alone.
struct Explanation {
  std::vector<LayerFacts> draft_layers;  // at the draft's own types
  std::vector<ConfigFact> draft_config;
  std::uint64_t prefill_chunk = 0;  // tokens that pass the layers at once
  std::uint64_t num_heads = 0;      // the most of any layer
  double attention_flops = 0;       // of one token behind all others
};

struct Plan {
  std::shared_ptr<const ModelFacts> model;
  Request request;          // as asked, with the layout that was chosen
  Parallel asked_parallel;  // as asked
  std::string engine, engine_version;
  Load load;  // with every default filled in
  EngineSettings settings;
  CacheTypes types;
  std::string weights_dtype;
  std::string_view weights_loss;  // of quality, roughly, as the type's makers publish it; empty: nobody says

  std::optional<Bytes> card;            // the memory of one: as asked, as calibrated, as catalogued
  std::optional<double> usable_share;   // of it, that the engine may use
  std::optional<Bytes> taken_at_start;  // on the fullest GPU, by an engine that takes its cache then

  std::string attention;
  std::vector<LayerFacts> layers;
  KvCachePlan kv_cache;
  std::vector<GpuMemory> memory;
  std::vector<LedgerLine> host;  // what the engine keeps in host memory, beside the GPUs
  TotalReport total;
  std::optional<Capacity> capacity;
  std::optional<MixReport> mix;
  std::optional<Roofline> roofline;  // where a bandwidth is known
  VerdictReport verdict;
  std::optional<DraftMethod> draft_method;
  std::string draft_source;                // "" without a draft of its own
  std::vector<AppliedFigure> calibrated;   // estimates that a calibration replaced
  std::optional<Measurement> measurement;  // filled by --measure
  std::vector<Note> notes;

  // What complete() adds, for a plan that is shown (plan/complete.h).
  CacheCurve contexts;  // doubling from 4,096
  Explanation explanation;
  std::vector<CacheCurve> curves;  // a curve for each KV type that the engine's users choose, the plan's own first
  Frontier frontier;
  std::optional<Launch> launch;
  std::vector<EngineVerdict> engines;

  const GpuMemory& fullest() const;  // of cards that differ, the one with the least room
  // The memory of the card that holds `memory[gpu]`, `alike` where they do not differ.
  Bytes card_of(std::size_t gpu, Bytes alike) const;
  Bytes host_total() const;
  Request as_asked() const;  // the request, whose layout is searched where it was
};

// One plan among several, and how its request differs from the one that was asked.
struct Answer {
  std::string name;                                          // "longest_context", "fp8 x fp8_e4m3"
  std::vector<std::pair<std::string, std::string>> changes;  // option and value
  Template note;                                             // one sentence; may be empty
  bool other_checkpoint = false;                    // its weights are not made at load time from those of the model
  std::vector<std::string> stored;                  // models of local stores that have such weights
  std::optional<std::uint64_t> longest, most_seqs;  // of a layout: the longest context, the most sequences
  Plan plan;
};

// --users: copies of a layout that hold them all at once.
struct UsersAnswer {
  std::uint64_t users = 0, of_a_copy = 0, copies = 0, gpus = 0, nodes = 0;
};

// compare and fit.
struct Answers {
  Plan asked;  // the request as it is
  std::vector<Answer> answers;
  std::vector<Template> sentences;  // "KV to fp8_e4m3: +61k tokens"
  Template buys_most;               // the change behind the largest gain; empty for none
  Frontier frontier;
  std::optional<UsersAnswer> users;
  std::vector<Note> notes;
};

// One model of a fleet (or one engine of several): a plan, or why there is none.
struct FleetEntry {
  std::string source;
  std::string engine;  // as asked for
  std::optional<Plan> plan;
  std::string error;  // one line, without the program's name
  Exit exit = Exit::kAnswered;
};

// Several models on one card, each with an engine of its own.
struct SharedCard {
  std::vector<FleetEntry> models;
  std::string card;  // its name; empty where only a size was given
  Bytes memory;      // of one
  Bytes total;       // that all models claim of one card
  Bytes usable;      // of it, less what is kept free
  Verdict status = Verdict::kUnknown;
};

// fit for one engine and card of several.
struct FitEntry {
  std::string source;
  std::string engine;  // as asked for
  std::optional<Answers> answers;
  std::string error;
  Exit exit = Exit::kAnswered;
};

// One model, engine and weight type on one card.
struct GridCell {
  VerdictReport verdict;        // of the request as it is
  std::uint64_t longest = 0;    // the longest context that fits at the requested sequences; 0: none does
  std::uint64_t most_seqs = 0;  // the most sequences at the requested context
  Parallel parallel;
  Bytes total;        // of the fullest GPU
  std::string error;  // the engine refuses; everything else is empty then
};

struct GridRow {
  std::string source;
  std::string engine, engine_version;
  std::string weights;
  CacheTypes types;
  std::uint64_t max_model_len = 0;
  std::vector<GridCell> cells;  // one for each card; none where the model cannot be read
  std::string error;            // one line, without the program's name
  Exit exit = Exit::kAnswered;
};

struct GridCard {
  std::string name;
  Bytes memory;  // of one
};

// Models against cards: what fits where, and how much of it.
struct Grid {
  std::vector<GridCard> cards;
  std::uint64_t gpu_count = 1, num_seqs = 1;
  std::vector<GridRow> rows;
};

struct ValueChange {
  std::string where;  // "config" or "request"
  std::string key;
  std::string before, after;  // empty: not there
};

struct MemoryChange {
  std::string part;
  std::uint64_t before = 0, after = 0;
  std::int64_t difference() const { return signed_difference(after, before); }
};

// What the card holds; nothing where one of the plans does not say.
struct CapacityChange {
  std::string what;  // "tokens", "max_model_len", "max_num_seqs"
  std::optional<std::uint64_t> before, after;
};

// --fail-over SIZE or PERCENT%: whether the total grew by more.
struct GrowthLimit {
  std::optional<Bytes> bytes;
  std::optional<double> percent;
};

// One of the two plans of a diff, as its file says.
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
  std::vector<CapacityChange> capacity;  // unchanged figures left out
  GrowthLimit limit;                     // as the user set it
  bool is_too_much = false;              // the total grew beyond it
  bool lost_fit = false;                 // what fitted does not any more
  std::vector<std::string> broken;  // limits that the new plan breaks: "31.40 GiB are more than --max-vram of 24 GiB"
};

struct LogLine {
  Observation seen;
  std::optional<double> predicted;  // in the unit of the line; absent: the plan says nothing of it
  bool exact = false;               // arithmetic: a difference is a disagreement
  std::string reason;               // why they differ, or what the line means, where that is known

  double difference() const;  // of predicted from seen, as a share
};

// What a log prints of one GPU's memory beside the cache, against the plan: weights, activations, runtime.
struct LogPart {
  std::string what;  // "weights", "activation", "non_torch", "cuda_graphs"
  Section part = Section::kWeights;
  Bytes observed, predicted, low, high;
};
struct LogTotal {
  std::vector<LogPart> parts;
  Bytes observed, predicted, low, high;
};

// What became of the start that a log tells of.
enum class LogVerdict : std::uint8_t {
  kStarted,  // and there is no plan to hold it against, or nothing exact in it
  kAsPlanned,
  kLessRoom,  // than planned
  kMoreRoom,
  kDiffers,
  kServesWithTrouble,  // it runs: requests are refused, cut, preempted, or wait
  kDidNotStart,
  kDied,  // after it had started
  kCannotTell
};

// What an engine was at when it failed.
enum class LogPhase : std::uint8_t { kUnknown, kLoading, kProfiling, kCache, kGraphs, kServing };

// What a remedy does.
enum class LogCure : std::uint8_t {
  kShorterLength,
  kLargerShare,
  kSmallerShare,
  kSmallerCacheType,
  kPlainCacheType,
  kMoreRanks,
  kRanksThatDivide,
  kPipelineInstead,
  kWholeExperts,
  kSmallerBatch,
  kLargerBatch,
  kChunkedPrefill,
  kFewerSequences,
  kFewerImages,
  kFlashAttention,
  kNoGraphs,
  kFreeTheCard,
  kFixedCache,
  kSmallerWeights,
  kOtherWeights,
  kAcrossNodes,
  kRanksForBlocks,
  kFewerLayersOnGpu,
  kOtherSplit,
  kFitByItself,
  kFloat16,
  kLongerByOverride,
  kLongerContext,
  kShorterInput,
  kOtherKernels,
  kOtherBuild,
  kNewerRelease,
  kOtherCard,
  kMoreHostMemory,
  kNothing
};

struct LogRemedy {
  LogCure cure = LogCure::kNothing;
  std::string option, value;     // of the engine; "" where there is none
  std::optional<double> figure;  // what the sentence about it names: tokens, ranks
  std::optional<bool> fits;      // planned again; absent where it was not
};

// Why an engine did not start, or what keeps it from serving: from the log's own figures.
struct Diagnosis {
  LogVerdict verdict = LogVerdict::kCannotTell;
  LogPhase phase = LogPhase::kUnknown;
  std::optional<LogEvent> cause;    // absent where nothing went wrong
  std::optional<Bytes> missing;     // memory that is short
  std::vector<LogValue> figures;    // worked out of the log's own
  std::vector<LogRemedy> remedies;  // least loss first
  std::vector<LogEvent> beside;     // what else is told, and no fault
};

// A start-up log beside the plan.
struct LogCheck {
  LogOptions options;
  std::string engine;  // whose log it is; "" where no line tells
  Diagnosis diagnosis;
  std::vector<std::string> read;  // what was taken from the log, and what had to be assumed
  std::vector<std::string> assumed;
  Plan plan;  // empty without a model
  bool has_plan = true;
  std::vector<LogLine> lines;
  std::optional<LogTotal> total;  // absent where the log prints none of it
  std::size_t compared = 0;       // exact figures that do not rest on what had to be assumed
  std::size_t disagreements = 0;  // of them, off by more than what was rounded for printing
  std::vector<std::string> remarks;
};

// A part of a plan beside what was watched of it.
struct WatchedLine {
  StartStage stage = StartStage::kWeights;
  bool is_whole = false;        // of all stages behind the process's own
  std::optional<Bytes> logged;  // as the engine printed it
  Bytes planned, low, high;     // over all GPUs, or all of the processes
  std::int64_t seen = 0;        // what the counter grew by
  bool is_judged = false;       // the verdict rests on it
  bool is_inside = true;        // of the range
};

// A watched start beside its plan.
struct WatchReport {
  Plan plan;
  Watched seen;
  LogCheck check;  // of the engine's own lines
  std::vector<WatchedLine> lines;
  bool agrees = true;
};

// A row of the table of engines.
struct EngineRow {
  std::string_view engine, release, evidence;
};

}  // namespace kvplan

#endif  // KVPLAN_PLAN_ANSWER_H_
