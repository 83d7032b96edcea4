// The steps that make a plan, each in a file of that name: input, facts, extras, mix, margins, verdict, speed, ledger.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "engines/engine.h"
#include "engines/term_sum.h"
#include "formulas/model.h"
#include "kvplan/load.h"
#include "kvplan/plan.h"
#include "kvplan/ranges.h"
#include "kvplan/request.h"
#include "plan/answer.h"
#include "plan/rank_weights.h"

namespace kvplan {

// A model and a request as engines need them, with every default filled in.

// `known`: an earlier input of the same model. The parts that do not depend on the request are copied from it.
EngineInput engine_input(const ModelSpec& model, const Request& request, const EngineInput* known = nullptr);
Load load_of(const ModelSpec& model, const Request& request);
// The model's maximum: `own` from the config, otherwise the engine's rule.
std::optional<Tokens> longest_of(Tokens own, const Engine& engine);
// The longest context that every command shows: what fits in memory, but at most the model's maximum.
std::uint64_t longest_context(std::uint64_t by_memory, Tokens own, const Engine& engine);
// The GPU's memory: as the user gives it, as a calibration measured it, or as in the catalogue.
std::optional<Bytes> card_memory(const Request& request);
// The context to plan for if neither the config nor the request names one.
inline constexpr std::uint64_t kDefaultContext = 4096;

// What an answer says about a model and its layers, so that reports need no model.

// A model's name from its path: "llama-3.1-8b" for configs/llama-3.1-8b.json.
std::string name_of(std::string_view source);

std::shared_ptr<const ModelFacts> facts_of(const ModelSpec& model);

// The layers at a plan's types and load.
std::vector<LayerFacts> layer_facts(const std::vector<LayerGroup>& groups, const CacheTypes& types, const Load& load);

// If the release is older than the first known one or newer than the last, says which release it is planned as. Empty
// for a known release.
Template unknown_release(const Engine& engine, const Request& request);

// Query heads of a layer, and the largest number of any layer; 0 if there are none.
std::uint64_t num_heads(const Mixer& mixer);
std::uint64_t most_heads(const std::vector<LayerGroup>& groups);

// What a deployment adds to a model, as lines of the ledger: a draft's weights, LoRA slots and adapters, an image
// projector. The engine lays out their caches (the draft's, the encoder's).

// The speculative method that the request or the draft's own config names; nothing if there is none.
std::optional<DraftMethod> draft_method_of(const Request& request);

// Throws Error(kBadInput) if the engine lacks a requested extra. The message names the engines that have it.
void check_extras(const ModelSpec& model, const Request& request);

// The request for the draft model's own cache and weights.
Request draft_request(const Request& request);

struct ExtraLines {
  std::vector<std::vector<LedgerLine>> stages;  // weights and workspaces of one rank of each stage
  std::vector<LedgerLine> host;
};
ExtraLines extra_lines(const ModelSpec& model, const EngineInput& input, std::vector<Note>& notes);

// The longest and the mean of the given lengths, and the shared prefix. 0 if none is given.
std::uint64_t longest_stated(const Request& request);

// Throws Error if a given length exceeds max_model_len.
void check_lengths(const Request& request, const Load& load);

// Nothing if the request gives no lengths. Throws Error if the prefix is longer than a sequence.
std::optional<MixReport> mix_of(const EngineInput& input, const CacheLayout& layout, const Load& load);

// How certain a plan is: the range of each estimate, and what to do if the limit is within it.

void apply_margin(LedgerLine& line, const std::optional<double>& margin);

// The first thing to lower so that the range's high end fits too. It is `over` bytes too much.
Template what_to_lower(const CacheLayout& layout, const Plan& plan, const GpuMemory& fullest, Bytes over);

// The range of the cache's budget. It is as uncertain as the parts besides the cache and, if the engine uses it, the
// GPU's free memory at the start. Absent if the user gave the budget.
std::optional<Range> budget_range(const EngineInput& input, const Engine& engine, const Plan& plan, Bytes budget);

// The memory of a request's sequences in the cache: all at full length, or at the given lengths, with a shared prefix
// counted once. A plan's memory, verdict and capacity all use these bytes.

class Occupancy {
 public:
  // `load`: one copy's sequences at full length. Throws Error if there are too many given lengths.
  Occupancy(const EngineInput& input, const CacheLayout& layout, const Load& load);

  // Whether the request gives lengths or a prefix, so that the bytes differ from those of `load`.
  bool is_stated() const { return is_stated_; }
  const std::vector<Load>& parts() const { return parts_; }
  // Bytes on the fullest GPU, and on one GPU of each stage.
  Bytes held() const;
  std::vector<Bytes> held_by_stage(std::uint64_t stages) const;
  // One entry for each GPU, with `share` of its bytes (cut()).
  std::vector<RankCache> explain(double share) const;

  // Whether the engine runs all sequences at once in `budget` bytes of a GPU. It may need less than held(): the windows
  // of many sequences are not all full at the same time.
  bool fits(Bytes budget) const;
  // Why the sequences do not run, in words; empty if they do.
  Template shortfall(Bytes budget) const;
  // If all sequences run in `budget` but need less than held(), the fraction that they need; otherwise 1.
  double cut(Bytes budget) const;

 private:
  const CacheLayout* layout_;
  Load load_;
  std::vector<Load> parts_;  // groups of equal sequences
  Running running_;
  std::uint64_t sequences_ = 0;
  bool is_stated_ = false;
  bool starts_with_one_ = false;  // the engine does not start without the memory of a full sequence
};

// How many sequences like the request's run together in `budget` bytes. Absent if the engine's rule is not known.
std::optional<std::uint64_t> runs_at_once(const Request& request, const CacheLayout& layout, const Load& load,
                                          Bytes budget);

// Whether a plan fits: the engine's own rule, the GPU, and the limits that the user set.

// What is in main memory although a GPU could store it, because of the engine's placement or --cpu-offload-gb. Empty if
// nothing is.
Template on_cpu(const Engine& engine, const EngineInput& input);

// The fraction of a GPU that an engine without its own rule (cache_budget) uses, and the same in bytes of `memory`.
double usable_share(const Engine& engine, const EngineInput& input);
Bytes usable_memory(const Engine& engine, const EngineInput& input, Bytes memory);

// The whole memory if CPU and GPU share it; nothing for a GPU with its own memory.
std::optional<Bytes> shared_memory(const Request& request);

// Fills plan.verdict from the plan's ledger, cache and capacity.
void judge(const EngineInput& input, const Engine& engine, const CacheLayout& layout, const Occupancy& occupancy,
           Plan& plan);
// Adds how many sequences run together and, if the verdict is too close to call, what to lower first.
void advise(const CacheLayout& layout, Plan& plan);

// Upper bounds of speed from the GPU's bandwidth.

// Nothing if no bandwidth is known, or no weights.
std::optional<Roofline> roofline_of(const ModelSpec& model, const std::vector<LayerGroup>& groups, const Plan& plan,
                                    const RankWeights& weights);

// Operations of attention for one decoded token, with the keys and values of all earlier tokens cached.
double decode_attention_flops(const std::vector<LayerGroup>& groups, const Load& load);

// The ledger of a plan: what is on every GPU and in host memory.

// A request with its cache laid out and its weights counted. Every figure of its plan comes from here.
struct Pieces {
  const Engine& engine;
  const EngineInput& input;
  const CacheLayout& layout;
  const RankWeights& weights;
  ExtraLines extras;
  std::vector<Note> notes;  // in the plan's order
  Template no_verdict;      // why the plan has no verdict; empty: it has one
};

// Every GPU, with the cache of each rank of a copy.
void fill_memory(const Pieces& pieces, const std::vector<RankCache>& ranks, Plan& plan);
void fill_cache(const TermSum& whole, const CacheLayout& layout, const Occupancy& occupancy,
                const std::vector<RankCache>& ranks, Plan& plan);
// One GPU of each stage with these bytes of cache: all that a search needs.
void fill_stages(const Pieces& pieces, const std::vector<Bytes>& stages, Plan& plan);
std::vector<LedgerLine> host_lines(const Pieces& pieces, const Plan& plan);
// The memory left for the cache on the fullest GPU, or the budget that the user gave.
std::optional<Bytes> cache_budget(const Pieces& pieces, const Plan& plan);
// One GPU of each stage for plan.load, and the cache's budget: all that a verdict needs.
Occupancy occupy_stages(const Pieces& pieces, Plan& plan);

}  // namespace kvplan
