// The interface of an engine: it turns cache terms into reserved bytes on each GPU. An engine does not depend on
// attention kinds; it may read a term's role, shape, growth, limit and form, a layer's index and the architecture.
//
// To add an engine: one folder, one row in engines.cpp.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engines/command_options.h"
#include "engines/log_lines.h"
#include "engines/release.h"
#include "engines/shared_terms.h"
#include "kvplan/architecture.h"
#include "kvplan/gpu.h"
#include "kvplan/load.h"
#include "kvplan/model_facts.h"
#include "kvplan/note.h"
#include "kvplan/plan.h"
#include "kvplan/quantity.h"
#include "kvplan/quantization.h"
#include "kvplan/request.h"
#include "kvplan/storage.h"
#include "kvplan/tensors.h"
#include "kvplan/terms.h"

namespace kvplan {

// The cache of one mixer of one layer.
struct LayerCache {
  std::uint64_t layer = 0;  // index in the decoder
  std::string_view kind;    // for labels in reports, never for rules
  SharedTerms compact;
  SharedTerms expanded;  // equal to `compact` if the kind has only one form
};

// The dimensions of a vision tower that the memory for images depends on; 0 if the config does not say.
struct VisionShape {
  std::uint64_t width = 0, intermediate = 0;
  std::uint64_t patches = 1;       // patches merged into one token
  std::uint64_t image_tokens = 0;  // tokens of the largest image
  std::uint64_t copies =
      1;  // deepstack: the width of all outputs for an image token, as a multiple of the decoder's width
  bool both_ways = false;  // an image's tokens attend to each other in both directions in the decoder
  std::uint64_t declared_layers = 0,
                declared_width = 0;  // num_hidden_layers and hidden_size, if the tower's config has them
};

// What an engine may know about a model besides its caches.
struct ModelShape {
  Arch arch = Arch::kOther;
  ModelTraits traits;
  bool is_gguf = false;
  std::string_view model_type, architecture;  // for messages, and for lists of classes that an engine registers
  std::string_view root_type;                 // model_type of the whole file
  bool expanded_latents = false;              // a GGUF from before GGUFs had keys for latents
  std::uint64_t num_layers = 0;               // including layers without a cache
  std::uint64_t encoder_layers = 0;  // layers of a separate encoder; 0 without one, or if the config does not say
  std::uint64_t num_nextn_layers = 0;
  std::uint64_t hidden_size = 0, vocab_size = 0, intermediate_size = 0;
  std::uint64_t num_heads = 0;     // the most query heads of any layer
  std::uint64_t state_groups = 0;  // groups that share B and C in Mamba 2, or keys in a delta net; 0 without states
  ExpertShape experts;
  GraphFacts graph;
  std::span<const TensorGroup> tensors;  // the model's own
  std::span<const ConfigFact> facts;
  Tokens max_model_len;  // 0 if the config names none
  Tokens longest;        // the longest context with rope scaling; at least max_model_len
  Tokens source_tokens;
  Dtype dtype = Dtype::kBfloat16;
  std::optional<Dtype> declared_kv_dtype, declared_state_dtype;
  std::optional<VisionShape> vision;
  bool has_audio = false;         // has an audio encoder
  bool tags_kv_by_word = false;   // kv_cache_scheme is a string ("FP8"); in other configs it is an object
  QuantDeclaration quantization;  // without the rules for single layers
};

// Results that an engine computes once per plan and uses for every GPU.
struct EngineMemo {
  EngineMemo() = default;
  EngineMemo(const EngineMemo&) = delete;
  EngineMemo& operator=(const EngineMemo&) = delete;
  virtual ~EngineMemo() = default;
};

struct EngineInput {
  ModelShape model;
  std::vector<LayerCache> caches;  // ordered by layer; a layer with two mixers has two entries
  Request request;
  CacheTypes types;  // after the engine's own rule for `auto`
  // Speculative decoding, if any; and the draft model, with its own request.
  std::optional<DraftMethod> draft_method;
  std::shared_ptr<const EngineInput> draft;
  mutable std::shared_ptr<const EngineMemo> memo;  // set by the engine
};

// Whether `holds` is true for a term of any layer in the compact form.
template <class Holds>
bool any_term(const EngineInput& input, const Holds& holds) {
  return std::any_of(input.caches.begin(), input.caches.end(),
                     [&](const LayerCache& cache) { return any_term(cache.compact, holds); });
}

// Requests that arrive one after another and run together: their lengths, repeated in turn, and their common prefix.
struct Running {
  std::vector<Tokens> lengths;
  Tokens shared_prefix;
};

// One GPU's part of the cache.
struct RankCache {
  Bytes logical;   // the part of the model's need on this GPU, including replicated parts
  Bytes reserved;  // what the engine allocates
  std::vector<GapLine> gap;
  std::vector<LedgerLine> lines;  // parts that add up to `reserved`
};

// One allocation that an engine makes for the cache.
struct CacheBuffer {
  Template line;     // the ledger line that it belongs to, or a name that several lines share
  std::string name;  // "layer 3, key"
  Bytes bytes;
};

// A cap on the number of sequences: the one that the engine runs with, the largest that its cache allows, and its
// message if the cap is larger than that.
struct SequenceLimit {
  std::uint64_t cap = 0, most = 0;
  Template words;
};

// A second cache in host memory, for sequences that are not running.
struct HostCache {
  LedgerLine line;              // over all ranks
  std::uint64_t tokens = 0;     // that fit
  std::uint64_t sequences = 0;  // sequences of the load's length that fit in it
  bool at_least = false;        // more may fit, because parts of a sequence need not be stored
};

// The cache of one model in one engine, for any load. It is built once and queried often (a sweep makes a million
// queries), so the constructor computes everything that depends only on the model.
class CacheLayout {
 public:
  CacheLayout() = default;
  CacheLayout(const CacheLayout&) = delete;
  CacheLayout& operator=(const CacheLayout&) = delete;
  virtual ~CacheLayout() = default;

  // Reserved bytes of the fullest GPU, computed fast. Never decreases as the load grows.
  virtual Bytes reserved(const Load& load) const = 0;
  // As `reserved`, in detail: one entry for each GPU, ordered by pipeline stage and then by rank.
  virtual std::vector<RankCache> explain(const Load& load) const = 0;
  // The bytes of the fullest GPU of each pipeline stage, as explain() gives them, without its lines.
  virtual std::vector<Bytes> reserved_by_stage(const Load& load, std::uint64_t stages) const;
  virtual std::vector<CacheGroup> groups() const = 0;
  virtual std::optional<std::uint64_t> block_size() const { return std::nullopt; }
  // What fits in `budget` bytes of a GPU, as the engine's log prints it. max_model_len and max_num_seqs are computed by
  // longest_sequence and most_sequences (capacity.h), unless the engine has its own rule.
  virtual Capacity capacity(Bytes budget, const Load& load) const = 0;
  // How many requests the engine's scheduler runs together in `budget` bytes of a GPU, apart from its cap on sequences.
  // Absent if the engine's rule is not known.
  virtual std::optional<std::uint64_t> runs_at_once(Bytes, const Load&, const Running&) const { return std::nullopt; }
  // What the engine allocates for the cache on one GPU (`rank` as in explain), adding up to its reserved bytes. By
  // default, one buffer per line of the ledger.
  virtual std::vector<CacheBuffer> buffers(const Load& load, std::size_t rank) const;
  // What the engine allocates in host memory: parts of the cache, and buffers.
  virtual std::vector<LedgerLine> host(const Load&) const { return {}; }
  // The engine's second cache in host memory, next to a cache of `budget` bytes on a GPU. Nothing if it has none, or if
  // its size depends on a budget that is not known.
  virtual std::optional<HostCache> host_cache(std::optional<Bytes>, const Load&) const { return std::nullopt; }
  // Whether the engine runs `load` in `budget` bytes of a GPU: reserved(load) <= budget, or the engine's own rule
  // (several pools, a scheduler). Searches and verdicts only use this.
  virtual bool fits(Bytes budget, const Load& load) const { return reserved(load) <= budget; }
  // Why the load does not run, with the smallest remedy; empty if it runs.
  virtual Template shortfall(Bytes budget, const Load& load) const;
  // If the engine checks its cap on sequences after it has sized the cache, that check; otherwise nothing.
  virtual std::optional<SequenceLimit> sequence_limit(Bytes) const { return std::nullopt; }
  // The part of reserved(load) that the engine allocates outside its budget.
  virtual Bytes beyond_budget(const Load&) const { return Bytes(0); }
};

// The input for the ledger lines of activations and runtime on one GPU.
struct OverheadInput {
  const EngineInput* engine = nullptr;
  Load load;
  std::uint64_t stage = 0;          // pipeline stage of this GPU
  Bytes weights;                    // on this GPU; 0 if not known
  std::optional<Bytes> gpu_memory;  // of the GPU
  double weight_bits = 16;          // of a stored weight, on average
};

// The input for an engine's own tensors on one rank of a stage.
struct SideTensorsInput {
  Arch arch = Arch::kOther;
  std::string_view architecture;  // for lists of classes that an engine registers
  const Request* request = nullptr;
  const QuantDeclaration* quantization = nullptr;
  std::uint64_t attention_layers = 0;
  std::uint64_t index_topk = 0;  // tokens that an indexer selects; 0 without an indexer
};

// A model's tensors. The engine changes them to those of its classes.
struct EngineTensors {
  Arch arch = Arch::kOther;
  std::string_view root_type, model_type, architecture;  // of the whole file; of its decoder; the class
  const Request* request = nullptr;
  std::uint64_t num_layers = 0;
  std::vector<TensorGroup>& tensors;
  std::vector<UnknownTensors>& unknown;
  QuantDeclaration& quantization;
  std::vector<Note>& notes;
  std::span<const ConfigFact> facts;
  std::optional<bool> ties_head;  // tie_word_embeddings in the decoder's own section
  Dtype* dtype = nullptr;         // type of the weights that are not quantized
};

// The input of an engine's rule for the part of a GPU that its cache gets.
struct BudgetInput {
  const EngineInput* engine = nullptr;
  Bytes gpu_memory;
  Bytes weights, activation, runtime;  // on the fullest GPU; caches outside the pool count as activations
  Bytes graphs;                        // the graphs' part of `runtime`
};

struct LoraQuestion;  // engines/lora_slots.h
struct LoraSlots;
struct Launch;       // kvplan/launch.h
struct LaunchInput;  // engines/launch_input.h

// How LoRA adapters are stored.
enum class LoraStorage : std::uint8_t {
  kNone,
  kSlots,         // for every adapter of a batch a pair of matrices, allocated at the start
  kSlotsOrFiles,  // slots if requested, otherwise adapters as stored in their files
  kFiles,         // adapters as stored in their files
  kFloat32Files   // the same, in float32
};

// What an engine's log counts as weights, if that is more than the tensors.
enum class CountedAs : std::uint8_t {
  kTensors,
  kAllocated,  // torch.cuda.memory_allocated
  kReserved,   // the decrease of the GPU's free memory
};

// How much of its cache an engine must have to start.
enum class Start : std::uint8_t {
  kUnknown,      // none: it allocates its cache while it runs
  kAnything,     // any cache: its scheduler adapts to it
  kOneSequence,  // one sequence of the full length; its scheduler adapts to the rest
  kEverything,   // all sequences
};

// A release that an engine's files reproduce.
struct EngineVersion {
  std::string_view version;  // "0.30"
  std::string_view note;     // the evidence for it
};

// The layers of one pipeline stage, and whether the stage has the embedding and the head.
struct StageShare {
  std::uint64_t first_layer = 0;
  std::uint64_t layers = 0;
  bool has_embedding = false;
  bool has_head = false;
};

// The number of ranks that split attention (with states and towers), and the number that split the embedding. Both are
// the tensor parallel ranks, or fewer if these ranks include data parallel copies of attention.
struct TensorCuts {
  std::uint64_t attention = 1, embedding = 1;
};

// How an engine distributes a model over GPUs.
struct EngineDealing {
  // The layers of each stage; null: as vLLM splits them.
  std::vector<StageShare> (*stages)(std::uint64_t num_layers, const Request& request) = nullptr;
  // For data parallel copies of attention among the tensor parallel ranks; null: not supported.
  TensorCuts (*cuts)(const Request& request) = nullptr;
  // The tensor parallel ranks may store whole experts (--enable-expert-parallel).
  bool expert = false;
  // The ranks of all data parallel copies share the experts, which may be split or whole (vLLM).
  bool data_ranks_share_experts = false;
  // Ranks may divide the tokens of a sequence if otherwise each rank would store all of them (-dcp).
  bool decode_context = false;
  // Tensor parallelism splits vision towers and their projectors.
  bool cuts_towers = false;
  // Vocabulary rows are padded to 64 on a single rank too.
  bool pads_vocab = false;
  // Whether blocks of FP8 experts become smaller if ranks split them; null: never.
  bool (*refines_blocks)(const Request& request) = nullptr;
  // EPLB's buffer for moving experts is allocated with the weights, not when experts are first moved.
  bool has_expert_buffer = false;
  // MTP layers count when layers are distributed over GPUs, even if they are not used (llama.cpp).
  bool places_nextn_layers = false;
  // Layers are split over the GPUs unless the user requests tensor parallelism.
  bool layers_first = false;
  // The draft is distributed over the GPUs as the model is. Otherwise it is on the last pipeline stage.
  bool deals_draft = false;
};

// How an engine loads a checkpoint's tensors.
struct EngineLoading {
  // Weight types that the engine makes from a 16-bit checkpoint while loading. Any other type needs its own checkpoint.
  std::string_view made_at_load = "";
  // Whether --weights bnb-nf4 makes bnb-nf4-single; null: it does not.
  bool (*makes_single_nf4)(const Request& request) = nullptr;
  // Whether PyTorch leaves blocks of 20 MiB or more whole while the engine loads; null: it never does.
  bool (*keeps_large_rests)(const Request& request) = nullptr;
  // The type to which a GGUF's tensors are unpacked, unless --dtype names another. "": they stay packed.
  std::string_view unpacks_gguf = "";
  // The allocator's memory counts as weights if it is more than the tensors: it includes rotary tables and unused
  // memory.
  CountedAs counted = CountedAs::kTensors;
  // The embedding table stays in host memory, and a tied head is a copy of it on the GPU (llama.cpp).
  bool embedding_on_host = false;
  // The CPU backend keeps the embedding and the head in addition to the copies that it packs for its kernels.
  bool packs_embedding_on_cpu = false;
  // The bytes between a GGUF's tensors, for a stage's GPU or for host memory; null if there are none.
  LedgerLine (*padding)(std::span<const TensorGroup> tensors, const StageShare& stage, const Request& request,
                        bool on_host) = nullptr;
  // Experts of the first layers can stay in host memory while the rest of the layer is on the GPU (--n-cpu-moe), and
  // GPUs can have uneven parts (--tensor-split).
  bool places_parts = false;
  // A float32 checkpoint is loaded in 16 bit unless --dtype says otherwise.
  bool halves_float32 = false;
  // The engine's classes choose the types of some tensors and derive others (TensorGroup::kept, is_derived).
  bool keeps_types = false;
  // Changes the tensors to those of the engine's classes; null: they are the checkpoint's.
  void (*make_tensors)(EngineTensors& model) = nullptr;
  // A key for the part of a request that make_tensors depends on. Null: it does not depend on the request.
  std::string (*makes_by)(const Request& request) = nullptr;
  // Parameters are counted after make_tensors. Otherwise they are the checkpoint's.
  bool counts_made = false;
  // Only quant_method shows the engine a quantization. Without one it loads the tensors as if they had the model's
  // type.
  bool asks_quant_method = false;
  // If both files declare a quantization, hf_quant_config.json decides. Otherwise config.json does.
  bool reads_quant_file_first = false;
  // Whether the engine leaves image and audio towers out of the weights for this request; null: never.
  bool (*leaves_towers)(const Request& request, Arch arch, bool has_audio) = nullptr;
  // How the engine's kernels pad MXFP4 experts; null: not at all.
  Mxfp4Layout (*mxfp4_layout)(const Request& request) = nullptr;
  bool rotary_in_float32 = false;  // rotary tables are in float32; else in the model's type
  // Bytes of a rotary table, given the bytes of an element; null: rotary_in_float32 decides.
  Bytes (*rotary_table)(const RotaryTable& table, const SideTensorsInput& input, std::uint64_t element) = nullptr;
  // Tensors that the engine adds to the model's: scales, buffers of indexers. Null: none known.
  std::vector<LedgerLine> (*side_tensors)(const SideTensorsInput& input) = nullptr;
};

// What an engine can load in addition to a model.
struct EngineExtras {
  std::string_view draft_methods = "";  // speculative methods (kvplan/extras.h)
  LoraStorage lora = LoraStorage::kNone;
  // The engine's slots for LoRA adapters; null: it has none.
  LoraSlots (*lora_slots)(const LoraQuestion& asked, const Request& request, std::vector<Note>& notes) = nullptr;
  bool has_beams = false;
  bool eagle_is_own = false;  // EAGLE without a draft model is the model's own layer
  // An image projector is a separate file whose encoder needs this buffer; null: there are no such files.
  std::optional<LedgerLine> (*image_buffer)(const Request& request, const ProjectorFile& file) = nullptr;
  bool brings_projector = false;  // its own models come with that file
};

// How an engine places a model that does not fit on the GPUs, if no option says so.
struct AutoPlacement {
  std::vector<Bytes> margins;  // memory left free on each GPU
  Tokens least_context;        // the shortest context that the engine chooses by itself; 0: it keeps the context
  bool experts = false;        // only the experts of a mixture go to main memory, if that is enough
  bool sees_extras = true;     // drafts and image encoders are counted
  double one_gpu = 0;          // a model below this fraction of the largest GPU is on that GPU only
};

struct Engine {
  std::string_view name;
  std::string_view aliases;
  std::string_view summary;
  std::span<const EngineVersion> versions;  // oldest first; the last one is the default
  double memory_utilization;                // fraction of a GPU that the engine uses by default
  // The types behind `auto`; throws Error if the engine lacks a requested type.
  CacheTypes (*resolve_types)(const ModelShape& model, const Request& request);
  // Throws Error(kBadInput) with the engine's rule if it refuses the request; adds notes.
  std::unique_ptr<CacheLayout> (*layout)(const EngineInput& input, std::vector<Note>& notes);
  std::vector<LedgerLine> (*overhead)(const OverheadInput& input);

  // Rows of what changes from release to release, for `kvplan engines ENGINE --rules`; null: nothing that kvplan knows.
  std::vector<RuleRow> (*rules)() = nullptr;
  // Each patch level is a separate release: "0.5" is the newest 0.5 (SGLang).
  bool numbers_patches = false;

  // The engine's command line options that not every engine has: their first names, separated by spaces.
  std::string_view options = "";
  // It starts another engine (ollama), whose lines also appear in its log.
  bool wraps_engine = false;
  // Prefix and suffix of model names that select this engine if the user names none.
  std::string_view model_prefix = "", model_suffix = "";
  // The logical engine: it plans only what the architecture needs, and suggests no changes.
  bool is_logical = false;
  // The types that the engine's users choose from, widest first: the columns and rows of `compare`, and what `fit`
  // tries.
  std::string_view weight_choices = "bfloat16 fp8 int8 int4 nvfp4";
  std::string_view small_weight_choices = "";  // for `compare`, if none of these fits
  std::string_view kv_choices = "bfloat16 fp8_e4m3";
  // Vendors whose GPUs the engine runs on, separated by spaces, and which of their GPUs; null means all with a known
  // capability. `fit` offers only these GPUs. If the user names another GPU, kvplan plans it with a warning.
  std::string_view makers = "NVIDIA AMD Intel Apple";
  bool (*supports)(const Gpu& card) = nullptr;

  // The engine's names for options of kvplan, if users know them by these: "--max-model-len=--context-length ...".
  std::string_view spelling = "";
  // The pool's tokens are divided between window layers and other layers (--swa-full-tokens-ratio).
  bool has_window_ratio = false;
  // The option for the fraction of the GPU, if a user may raise it; otherwise "".
  std::string_view share_option = {};
  // The option for the tokens of a prefill chunk.
  std::string_view chunk_option = "--max-num-batched-tokens";
  // The engine's overhead includes the score matrix of naive attention. Otherwise the plan adds a general estimate.
  bool has_scores = false;
  // Tokens of a prefill chunk that pass through the layers at once, unless --ubatch-size says otherwise. 0: the whole
  // chunk.
  std::uint64_t micro_batch = 0;
  // The largest number of sequences of one copy of the engine, whatever the memory; 0: as many as fit.
  std::uint64_t most_sequences = 0;
  // The settings that the engine runs with; null: it has none.
  EngineSettings (*settings)(const EngineInput& input, const Load& load) = nullptr;
  // The fraction of the GPU if it depends on the release, the GPU or the model; null: memory_utilization.
  double (*utilization_of)(const EngineInput& input) = nullptr;
  // The memory left for the cache on a GPU. Null: the usable fraction of the GPU without weights, activations and
  // runtime.
  Bytes (*cache_budget)(const BudgetInput& input) = nullptr;
  // For engines whose --ctx-size is the total over all sequences: the tokens of one sequence, or of the pool with
  // --kv-unified. Null: --ctx-size means --max-model-len.
  Tokens (*slot_tokens)(Tokens ctx_size, const Request& request) = nullptr;
  // The engine's automatic placement of layers; nothing if everything goes onto the GPUs. Null: it has no such
  // placement.
  std::optional<AutoPlacement> (*places)(const Request& request) = nullptr;
  // The part of a GPU that --device-map auto fills with weights; null: the engine has no such option.
  double (*fills_gpu)(const Request& request) = nullptr;
  // What the request keeps in main memory although a GPU could store it; empty if nothing. Null: only offloaded weights
  // can be there.
  Template (*on_cpu)(const EngineInput& input) = nullptr;
  // The default context, at most the model's maximum; null: the model's maximum.
  Tokens (*default_context)(const Request& request, std::optional<Bytes> card) = nullptr;
  // A context beyond the model's maximum is reduced to it without a message.
  bool caps_context = false;
  // Whether kvplan knows, from the engine's lists or from a run, in which form the engine caches this model's latents
  // (MLA). Null: the form follows from the config's keys, or the engine refuses unknown models.
  bool (*names_latents)(const EngineInput& input) = nullptr;
  std::string_view oldest_recent = "";  // the first release of the last year
  // The maximum context that the engine assumes if the config has none; 0: it assumes none.
  Tokens assumed_length{};
  Start start = Start::kUnknown;
  // Why the engine would refuse to start even with enough memory; null: not known.
  std::optional<Refusal> (*refusal)(const EngineInput& input, const Load& load) = nullptr;
  // The engine's own command line for a plan. Throws Error if it has no option for something. Null: kvplan knows none.
  Launch (*launch)(const LaunchInput& input) = nullptr;

  EngineDealing parallel = {};
  EngineLoading loading = {};
  EngineExtras extras = {};
  EngineLogSource log = {};
  EngineCommand command = {};
};

// The table of engines, for help, look-up and dispatch.
std::span<const Engine> engines();
// Parses "vllm" or "vllm@0.20" into request.engine and request.engine_version. Throws an Error that lists the known
// ones.
const Engine& find_engine(std::string_view text, Request& request);
// The engine of exactly this name. Throws Error if there is none.
const Engine* engine_named(std::string_view name);
// The request's engine; the logical engine if it names none.
const Engine& engine_of(const Request& request);
// The version as a number that can be compared: "0.20" -> 20, "1.3" -> 1003. The newest if none was named.
std::uint64_t engine_version(const Engine& engine, const Request& request);
// The third number of the named release. If it has none, larger than any number: "0.5" is the newest 0.5.
std::uint64_t engine_patch(const Request& request);

// Whether the engine supports the GPU. True if no engine names the vendor: the GPU is then from the user's file.
bool runs_on(const Engine& engine, const Gpu& gpu);

TensorCuts tensor_cuts(const Request& request);
// The type of weights that are not quantized; absent if it is the checkpoint's.
std::optional<Dtype> loaded_dtype(const Request& request, const ModelTraits& traits, Dtype dtype);
// The number of copies of the whole layout, each on its own GPUs. Data parallel copies among its ranks do not count.
std::uint64_t layout_copies(const Request& request);

// The types behind `auto`, as most engines resolve them: the requested type, or what the checkpoint declares, or the
// model's own type (16 bit if that is float32). States have the type that the config names, or the model's own.
CacheTypes resolve_default_types(const ModelShape& model, const Request& request);

// Each returns the engine's row of the table.
Engine logical_engine();
Engine vllm_engine();
Engine llama_cpp_engine();
Engine sglang_engine();
Engine transformers_engine();
Engine tensorrt_llm_engine();
Engine mlx_engine();
Engine mistralrs_engine();
Engine ollama_engine();

}  // namespace kvplan
