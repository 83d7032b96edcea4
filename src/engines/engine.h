// What an engine is to kvplan: it turns cache terms into reserved bytes on each GPU. It knows no attention kind; it
// may read a term's role, shape, growth, limit and form, a layer's index and the architecture.
//
// To add an engine: one folder, one row in engines.cpp.
#ifndef KVPLAN_ENGINES_ENGINE_H_
#define KVPLAN_ENGINES_ENGINE_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engines/log_lines.h"
#include "engines/shared_terms.h"
#include "kvplan/architecture.h"
#include "kvplan/experts.h"
#include "kvplan/gpu.h"
#include "kvplan/graph_facts.h"
#include "kvplan/load.h"
#include "kvplan/note.h"
#include "kvplan/plan.h"
#include "kvplan/quantity.h"
#include "kvplan/quantization.h"
#include "kvplan/request.h"
#include "kvplan/rotary.h"
#include "kvplan/storage.h"
#include "kvplan/tensors.h"
#include "kvplan/terms.h"

namespace kvplan {

// The cache of one mixer of one layer.
struct LayerCache {
  std::uint64_t layer = 0;  // index in the decoder
  std::string_view kind;    // for labels in reports; no rule may rest on it
  SharedTerms compact;
  SharedTerms expanded;  // equal to compact where the kind has one form
};

// A vision tower, as far as the memory for images follows from it; 0 where the config does not say.
struct VisionShape {
  std::uint64_t width = 0, intermediate = 0;
  std::uint64_t patches = 1;       // that become one token
  std::uint64_t image_tokens = 0;  // of the largest image
  std::uint64_t copies = 1;        // of the decoder's width that a token is handed on in
  bool both_ways = false;          // tokens of an image attend to each other in the decoder, later ones too
  std::uint64_t declared_layers = 0, declared_width = 0;  // num_hidden_layers and hidden_size, where they stand there
};

// What engines may know of a model beside its caches.
struct ModelShape {
  Arch arch = Arch::kOther;
  bool is_gguf = false;
  std::string_view model_type, architecture;  // for words, and for lists of classes that an engine registers
  std::string_view root_type;                 // model_type of the whole file
  bool expanded_latents = false;              // of a GGUF from before the latent's keys
  std::uint64_t num_layers = 0;               // with the layers that hold no cache
  std::uint64_t num_nextn_layers = 0;
  std::uint64_t hidden_size = 0, vocab_size = 0, intermediate_size = 0;
  std::uint64_t num_heads = 0;     // the most query heads of any layer
  std::uint64_t state_groups = 0;  // that share B and C of a Mamba 2, or keys of a delta net; 0: no states
  ExpertShape experts;
  GraphFacts graph;
  std::span<const TensorGroup> tensors;  // the model's own
  std::span<const ConfigFact> facts;
  Tokens max_model_len;  // 0 where the config names none
  Tokens longest;        // that the rotation reaches, by its scaling; never below max_model_len
  Tokens source_tokens;
  Dtype dtype = Dtype::kBfloat16;
  std::optional<Dtype> declared_kv_dtype, declared_state_dtype;
  std::optional<VisionShape> vision;
  bool hears = false;             // has an audio encoder
  bool tags_kv_by_word = false;   // kv_cache_scheme is a word ("FP8"), where others have an object
  QuantDeclaration quantization;  // without the rules of its lists
  bool is_packed = false;         // the weights are in a type of their own, or a GGUF
};

// What an engine works out once for a plan and is asked for GPU by GPU.
struct EngineMemo {
  EngineMemo() = default;
  EngineMemo(const EngineMemo&) = delete;
  EngineMemo& operator=(const EngineMemo&) = delete;
  virtual ~EngineMemo() = default;
};

struct EngineInput {
  ModelShape model;
  std::vector<LayerCache> caches;  // in layer order; a layer with two mixers has two entries
  Request request;
  CacheTypes types;  // resolved by the engine's own rule
  // How tokens are guessed ahead, where they are; and the draft model, with a request of its own.
  std::optional<DraftMethod> draft_method;
  std::shared_ptr<const EngineInput> draft;
  mutable std::shared_ptr<const EngineMemo> memo;  // filled by the engine
};

// Requests that come one after another and run together: their lengths, in turn, and what all of them begin with.
struct Running {
  std::vector<Tokens> lengths;
  Tokens shared_prefix;
};

// One GPU's share of the cache.
struct RankCache {
  Bytes logical;   // its share of the model's need, with what must be replicated there
  Bytes reserved;  // what the engine takes
  std::vector<GapLine> gap;
  std::vector<LedgerLine> lines;  // parts of `reserved`, adding up to it
};

// One allocation that an engine makes for the cache.
struct CacheBuffer {
  Template line;     // the part of the plan it belongs to: a line of the ledger, or what several lines share
  std::string name;  // "layer 3, key"
  Bytes bytes;
};

// The cache of one model in one engine, ready to be asked for any load. Built once; asking is cheap (a sweep asks a
// million times), so whatever depends on the model alone is worked out in the constructor.
class CacheLayout {
 public:
  CacheLayout() = default;
  CacheLayout(const CacheLayout&) = delete;
  CacheLayout& operator=(const CacheLayout&) = delete;
  virtual ~CacheLayout() = default;

  // Reserved bytes of the fullest GPU: the fast question. Never falls as the load grows.
  virtual Bytes reserved(const Load& load) const = 0;
  // The same in full: one entry for each GPU, pipeline stage by stage, ranks of a stage together.
  virtual std::vector<RankCache> explain(const Load& load) const = 0;
  // Of the fullest GPU of each pipeline stage: the numbers of explain without its words.
  virtual std::vector<Bytes> reserved_by_stage(const Load& load, std::uint64_t stages) const;
  virtual std::vector<CacheGroup> groups() const = 0;
  virtual std::optional<std::uint64_t> block_size() const { return std::nullopt; }
  // What `budget` bytes a GPU hold, as the engine's own log prints it. max_model_len and max_num_seqs are left to
  // longest_sequence and most_sequences (capacity.h) unless the engine has a rule of its own.
  virtual Capacity capacity(Bytes budget, const Load& load) const = 0;
  // How many requests the engine's own scheduler runs together in `budget` bytes a GPU, without its cap on sequences.
  // Absent where kvplan does not know its rule.
  virtual std::optional<std::uint64_t> runs_at_once(Bytes, const Load&, const Running&) const { return std::nullopt; }
  // What the engine allocates for it on one GPU (`rank` counts as in explain), adding up to its reserved bytes. Without
  // a rule of its own: one buffer for each line of the ledger.
  virtual std::vector<CacheBuffer> buffers(const Load& load, std::size_t rank) const;
  // What the engine keeps in host memory of the cache, and buffers beside it.
  virtual std::vector<LedgerLine> host(const Load&) const { return {}; }
  // Why `budget` bytes a GPU do not hold `load`, with the smallest remedy; empty where they do. For engines whose
  // rule is more than reserved(load) <= budget (a budget split between pools, a least pool).
  virtual Template shortfall(Bytes budget, const Load& load) const;
};

// Activations and runtime of one GPU, as lines with a range.
struct OverheadInput {
  const EngineInput* engine = nullptr;
  Load load;
  std::uint64_t stage = 0;          // pipeline stage of this GPU
  Bytes weights;                    // on this GPU; 0 where not known
  std::optional<Bytes> gpu_memory;  // of the card
  double weight_bits = 16;          // of a stored weight, on average
};

// What an engine's tensors beside the model's depend on, on one rank of a stage.
struct SideTensorsInput {
  Arch arch = Arch::kOther;
  std::string_view architecture;  // for lists of classes that an engine registers
  const Request* request = nullptr;
  const QuantDeclaration* quantization = nullptr;
  std::uint64_t attention_layers = 0;
  std::uint64_t index_topk = 0;  // tokens that an indexer chooses; 0: there is none
};

// A model's tensors, to be changed to what an engine's own classes make of them.
struct EngineTensors {
  Arch arch = Arch::kOther;
  std::string_view root_type, model_type, architecture;  // of the file, of its decoder; the class
  const Request* request = nullptr;
  std::uint64_t num_layers = 0;
  std::vector<TensorGroup>& tensors;
  std::vector<UnknownTensors>& unknown;
  std::vector<StoredTensors>& stored;
  QuantDeclaration& quantization;
  std::vector<Note>& notes;
  std::span<const ConfigFact> facts;
  std::optional<bool> ties_head;  // what the decoder's own part of the config says
};

// What an engine's own rule for the cache's share of a card needs to know.
struct BudgetInput {
  const EngineInput* engine = nullptr;
  Bytes gpu_memory;
  Bytes weights, activation, runtime;  // on the fullest GPU; what holds tokens beside the cache counts as activation
  Bytes graphs;                        // the part of `runtime` that captured graphs take
};

struct LoraQuestion;  // engines/lora_slots.h
struct LoraSlots;
struct Launch;       // kvplan/launch.h
struct LaunchInput;  // engines/launch_input.h

// How LoRA adapters are held.
enum class LoraStorage : std::uint8_t {
  kNone,
  kSlots,         // pairs of matrices for every adapter of a batch, taken at the start
  kSlotsOrFiles,  // slots where they are asked for, else each adapter as its file has it
  kFiles,         // each adapter as its file has it
  kFloat32Files   // the same, in float32
};

// What an engine's log calls the weights, where PyTorch allocates them: the tensors alone are less.
enum class CountedAs : std::uint8_t {
  kTensors,
  kAllocated,  // torch.cuda.memory_allocated
  kReserved,   // what the card has less
};

// What an engine needs of its cache to start.
enum class Start : std::uint8_t {
  kUnknown,      // it takes its cache as it goes
  kAnything,     // some cache, and it schedules within it
  kOneSequence,  // one sequence of the full length, and it schedules within what there is
  kEverything,   // the cache of all sequences
};

// A release that an engine file mimics.
struct EngineVersion {
  std::string_view version;  // "0.30"
  std::string_view note;     // what it rests on
};

// The layers that one stage of a pipeline holds, and whether the embedding and the head are with it.
struct StageShare {
  std::uint64_t first_layer = 0;
  std::uint64_t layers = 0;
  bool has_embedding = false;
  bool has_head = false;
};

// Ranks that attention (with states and towers) and the embedding are cut to: the tensor parallel ones, or fewer where
// data parallel copies of attention stand among them.
struct TensorCuts {
  std::uint64_t attention = 1, embedding = 1;
};

// How it deals a model to GPUs.
struct EngineDealing {
  // How weights are dealt to the stages; null: as vLLM splits them.
  std::vector<StageShare> (*stages)(std::uint64_t num_layers, const Request& request) = nullptr;
  // Data parallel copies of attention within the tensor parallel ranks; null: there is no such layout.
  TensorCuts (*cuts)(const Request& request) = nullptr;
  // Experts may be dealt whole to the tensor parallel ranks (--enable-expert-parallel).
  bool expert = false;
  // Ranks of data parallel copies share out the experts too, whether these are cut or dealt (vLLM).
  bool data_ranks_share_experts = false;
  // Ranks may share the tokens of a sequence, where each would hold all of them (-dcp).
  bool decode_context = false;
  // Tensor parallelism shares out vision towers and their projectors.
  bool cuts_towers = false;
  // Whether the rows of a vocabulary are a multiple of 64 on one rank too; null: on several alone.
  bool (*pads_vocab)(const Request& request) = nullptr;
  // Whether blocks of FP8 experts get smaller where ranks cut them; null: never.
  bool (*refines_blocks)(const Request& request) = nullptr;
  // MTP layers count where layers are dealt to GPUs, whether or not they are used (llama.cpp).
  bool places_nextn_layers = false;
  // The draft is dealt to the GPUs as the model is; else it stands on the last stage of a pipeline.
  bool deals_draft = false;
};

// What it makes of a checkpoint's tensors.
struct EngineLoading {
  // Weight types that it makes of a 16-bit checkpoint while it loads; any other is a checkpoint of its own.
  std::string_view made_at_load = "";
  // Where it is more than tensors, rotary tables and the allocator's pieces count as weights.
  CountedAs counted = CountedAs::kTensors;
  // The embedding's table stays in host memory (llama.cpp), and a tied head is a copy of it on the GPU.
  bool embedding_on_host = false;
  // Experts of the first layers can stay there while the rest of the layers is on the GPU (--n-cpu-moe), and GPUs can
  // have uneven shares (--tensor-split).
  bool places_parts = false;
  // A checkpoint in float32 is loaded in 16 bit unless --dtype says otherwise.
  bool halves_float32 = false;
  // Its classes decide on the types of some tensors, and derive others (TensorGroup::kept, is_derived).
  bool keeps_types = false;
  // Its classes drop, add or keep tensors in a way of their own; null: they are as the checkpoint has them.
  void (*make_tensors)(EngineTensors& model) = nullptr;
  // Requests for which that is the same have the same words; null: it asks the request nothing.
  std::string (*makes_by)(const Request& request) = nullptr;
  // What it makes is what it counts as the model's parameters; else they are the checkpoint's.
  bool counts_made = false;
  // Knows a quantization by its quant_method alone; without one it loads what is there in the model's type.
  bool asks_quant_method = false;
  // Whether the request leaves the towers of images and sounds out of the weights; null: it cannot.
  bool (*leaves_towers)(const Request& request, Arch arch, bool hears) = nullptr;
  // What its kernels make of MXFP4 experts; null: nothing.
  Mxfp4Layout (*mxfp4_layout)(const Request& request) = nullptr;
  bool rotary_in_float32 = false;  // its tables of angles; else in the model's type
  // Bytes of a table of angles, from those of an element; null: rotary_in_float32 decides.
  Bytes (*rotary_table)(const RotaryTable& table, const SideTensorsInput& input, std::uint64_t element) = nullptr;
  // Tensors of its own beside the model's: scales, buffers of indexers. Null: none are known.
  std::vector<LedgerLine> (*side_tensors)(const SideTensorsInput& input) = nullptr;
};

// What it can load beside a model.
struct EngineExtras {
  std::string_view draft_methods = "";  // ways to guess tokens (kvplan/extras.h)
  LoraStorage lora = LoraStorage::kNone;
  // The slots that it takes; null where it takes none.
  LoraSlots (*lora_slots)(const LoraQuestion& asked, const Request& request, std::vector<Note>& notes) = nullptr;
  bool has_beams = false;
  bool has_projector_files = false;  // an image projector in a file of its own
};

// The lines of its log, as its sources write them: figures, and what else is told.
struct EngineLog {
  std::span<const LogTemplate> figures = {}, events = {};
  std::span<const StageMark> stages = {};  // where one stage of a start ends
};

struct Engine {
  std::string_view name;
  std::string_view aliases;
  std::string_view summary;
  std::span<const EngineVersion> versions;  // oldest first; the last is the default
  double memory_utilization;                // of a card, where the user names none
  // The types behind `auto`; throws Error where the engine lacks a type that was asked for.
  CacheTypes (*resolve_types)(const ModelShape& model, const Request& request);
  // Throws Error(kBadInput) with the engine's rule where it refuses the request; adds notes.
  std::unique_ptr<CacheLayout> (*layout)(const EngineInput& input, std::vector<Note>& notes);
  std::vector<LedgerLine> (*overhead)(const OverheadInput& input);

  // Options of the command line that it has and not every engine: their first names, separated by spaces.
  std::string_view options = "";
  // No engine: what the architecture needs. It has no rules to advise by.
  bool is_logical = false;
  // What users of the engine choose from, widest first: the columns and rows of `compare`, and what `fit` tries.
  std::string_view weight_choices = "bfloat16 fp8 int8 int4 nvfp4";
  std::string_view kv_choices = "bfloat16 fp8_e4m3";
  // Makers whose cards it runs on, separated by spaces, and which of those cards; null: all whose capability is known.
  // What `fit` offers; a card that was asked for is planned with a warning.
  std::string_view makers = "NVIDIA AMD Intel Apple";
  bool (*supports)(const Gpu& card) = nullptr;

  // Its tokens are shared out between layers of a window and the others (--swa-full-tokens-ratio).
  bool has_window_ratio = false;
  std::string_view share_option = {};  // of the card, which a user may raise; "" where there is none
  // Its overhead counts the matrix of scores where attention is naive; else the plan adds a general one.
  bool has_scores = false;
  // Tokens of a prefill chunk that pass the layers at once, where --ubatch-size names no other; 0: the whole chunk.
  std::uint64_t micro_batch = 0;
  // Sequences that one copy of the engine can hold, whatever the memory; 0: as many as fit.
  std::uint64_t most_sequences = 0;
  // What it is started with; null: it has no settings.
  EngineSettings (*settings)(const EngineInput& input, const Load& load) = nullptr;
  // Where it depends on the release, the card or the model; memory_utilization otherwise.
  double (*utilization_of)(const EngineInput& input) = nullptr;
  // What is left for the cache on a GPU. Null: the usable share of the card less weights, activations and runtime.
  Bytes (*cache_budget)(const BudgetInput& input) = nullptr;
  // Where --ctx-size is the total over all sequences: the tokens of one of them, or of the pool that --kv-unified
  // makes. Null: --ctx-size is another name of --max-model-len, and there are no pools.
  Tokens (*slot_tokens)(Tokens ctx_size, const Request& request) = nullptr;
  // The context where the user names none (never beyond the model's own); null: the model's own maximum.
  Tokens (*default_context)(std::optional<Bytes> card) = nullptr;
  // The longest sequence that it assumes where the config names none; 0: it has no such rule.
  Tokens assumed_length{};
  Start start = Start::kUnknown;
  // What it refuses at its start though the memory were enough; null: not known.
  std::optional<Refusal> (*refusal)(const EngineInput& input, const Load& load) = nullptr;
  // Its own command line for a plan; throws Error for what it has no option for. Null: kvplan knows none.
  Launch (*launch)(const LaunchInput& input) = nullptr;

  EngineDealing parallel = {};
  EngineLoading loading = {};
  EngineExtras extras = {};
  EngineLog log = {};
};

// The table of engines: help, look-up and dispatch read it.
std::span<const Engine> engines();
// "vllm" or "vllm@0.20": sets request.engine and request.engine_version. Error that lists the known ones.
const Engine& find_engine(std::string_view text, Request& request);
// The one of that very name; Error where there is none.
const Engine* engine_named(std::string_view name);
// The request's; without one the logical engine.
const Engine& engine_of(const Request& request);
// The versions as numbers, for comparisons: "0.20" -> 20, "1.3" -> 1003. Newest where none was named.
std::uint64_t engine_version(const Engine& engine, const Request& request);
// The third number of the release that was named; more than any where none was: "0.5" is the newest of its kind.
std::uint64_t engine_patch(const Request& request);

// Whether the engine supports the card. Makers that no engine names are the user's own: always.
bool runs_on(const Engine& engine, const Gpu& gpu);

TensorCuts tensor_cuts(const Request& request);
// The type that weights which nothing quantizes are kept in; absent: as the checkpoint has them.
std::optional<Dtype> loaded_dtype(const Request& request, Arch arch, Dtype dtype);
// Copies of the whole layout, each on GPUs of its own: the data parallel ones that are not among its ranks.
std::uint64_t layout_copies(const Request& request);

// The types behind `auto` as most engines resolve them: what was asked for, else what the checkpoint declares, else
// the model's own type (16 bit where that is float32). States: the type the config names, else the model's own.
CacheTypes resolve_default_types(const ModelShape& model, const Request& request);

// Rows of the table, one for each engine file.
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

#endif  // KVPLAN_ENGINES_ENGINE_H_
