// The cache of a model in llama.cpp: buffers of cells on each device. The rules are in llama_cpp.cpp.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "engines/engine.h"
#include "engines/llama_cpp/classes.h"
#include "engines/llama_cpp/rules.h"
#include "engines/term_sum.h"

namespace kvplan {

// llama.cpp's default of --ubatch-size.
inline constexpr std::uint64_t kLlamaMicroBatch = 512;
inline constexpr std::uint64_t kDefaultDraft = 3;    // draft tokens by default, without --num-speculative-tokens
inline constexpr std::uint64_t kPipelineCopies = 4;  // copies of the graph's inputs when several GPUs run as a pipeline

// Whether the type is stored in blocks.
inline bool is_quantized(Dtype type) {
  return info(type).key.block > 1;
}

// How llama_context sizes itself for a load.
struct LlamaContext {
  std::uint64_t num_seqs = 1;
  std::uint64_t n_ctx_seq = 0;  // cells of a stream, padded
  std::uint64_t unpadded = 0;   // what was requested
  std::uint64_t streams = 1;
  std::uint64_t n_batch = 0;
  std::uint64_t n_ubatch = kLlamaMicroBatch;
  std::uint64_t pad = 256;
  bool unified = false;
  friend bool operator==(const LlamaContext&, const LlamaContext&) = default;
};
// Ollama's rule for the tokens of a batch and a micro-batch, given the context of all sequences.
using BatchRule = std::uint64_t (*)(std::uint64_t tokens);
LlamaContext llama_context(const EngineInput& input, const Load& load, BatchRule batch_rule = nullptr);
EngineSettings llama_cpp_settings(const EngineInput& input, const Load& load);
// Cells of a window's cache. `apart`: each sequence has its own cells even with --kv-unified (DeepSeek-V4).
std::uint64_t llama_window_cells(const LlamaContext& context, std::uint64_t window, bool apart);
bool llama_keeps_sequences_apart(const EngineInput& input);

// The backend that the request names, or the usual one of the GPU.
LlamaBackend llama_backend(const Request& request);
// Whether flash attention is off for reasons other than the backend: because of -fa, the class, or an older build's
// default.
bool llama_flash_attention_off(const EngineInput& input);
// Whether the context runs with flash attention, as -fa says or as "auto" decides.
bool llama_flash_attention(const EngineInput& input);
// The types of the MTP context's own cache: 16 bit unless -ctkd and -ctvd say otherwise, whatever -ctk says.
CacheTypes llama_mtp_types(const EngineInput& input);
// The number of tokens with logits in a graph.
std::uint64_t llama_output_rows(const EngineInput& input, const LlamaContext& context);

// Whether the request uses no GPU: it names none, or only the machine's memory.
bool llama_without_gpu(const Request& request);

// The placement of layers on devices. Units are the layers and then the output.
struct LlamaPlacement {
  std::uint64_t gpus = 1;
  std::uint64_t first_on_gpu = 0;  // units before this one stay in host memory
  std::uint64_t units_on_gpu = 0;
  bool pipelined =
      false;  // several GPUs with all layers on them process micro-batches one after another, as a pipeline

  // `num_layers` includes a file's MTP layers, even if they are not used (load_tensors: n_layer_all).
  LlamaPlacement(const Request& request, std::uint64_t num_layers);
  explicit LlamaPlacement(const EngineInput& input)
      : LlamaPlacement(input.request, input.model.num_layers + input.model.num_nextn_layers) {}
  bool on_host(std::uint64_t unit) const { return unit < first_on_gpu; }
  std::uint64_t gpu_of(std::uint64_t unit) const;

 private:
  std::vector<float> ends_;  // the end of each GPU's part, if -ts is given
};

// The layers of weights on each GPU: the last -ngl units, the very last of which is the output.
std::vector<StageShare> llama_cpp_stages(std::uint64_t num_layers, const Request& request);
std::optional<AutoPlacement> llama_cpp_places(const Request& request);
Template llama_cpp_on_cpu(const EngineInput& input);
// EngineLoading::padding.
LedgerLine llama_cpp_padding(std::span<const TensorGroup> tensors, const StageShare& stage, const Request& request,
                             bool on_host);

// What Ollama's own engine stores in addition to llama.cpp's cache, to reuse prefixes.
struct LlamaKeeps {
  std::uint64_t window = 0;       // least number of tokens in a window
  std::uint64_t checkpoints = 0;  // copies of a sequence's states
};

class LlamaCppLayout : public CacheLayout {
 public:
  explicit LlamaCppLayout(const EngineInput& input, std::optional<LlamaKeeps> own_engine = {},
                          BatchRule batch_rule = nullptr);

  Bytes reserved(const Load& load) const override;
  std::vector<RankCache> explain(const Load& load) const override;
  std::vector<Bytes> reserved_by_stage(const Load& load, std::uint64_t stages) const override;
  std::vector<CacheGroup> groups() const override { return groups_; }
  Capacity capacity(Bytes budget, const Load& load) const override;
  std::vector<LedgerLine> host(const Load& load) const override;

 private:
  // What the number of cells of a buffer depends on.
  enum class Cells { kFull, kWindow, kCompressed, kSequence };

  // One tensor of a layer: a term as llama.cpp stores it.
  struct Tensor {
    std::size_t device = 0;  // the last device is host memory
    Cells cells = Cells::kFull;
    std::uint64_t window = 0, stride = 1;
    bool own_streams = false;        // each sequence has its own stream even with --kv-unified
    std::uint64_t rows = 1;          // kSequence: entries of a sequence
    std::uint64_t rollback = 0;      // kSequence: additional copies of the entries, to roll back to
    Bytes cell;                      // of one cell
    Bytes widest;                    // bytes per cell that padding V to the widest layer adds
    Bytes row_padding;               // counted once for the tensor
    Term logical;                    // the term that this tensor stores
    Bytes logical_cell;              // bytes of a cell in the model's own types
    std::string_view stored_reason;  // why `cell` differs from `logical_cell`
    bool stored = true;              // false: llama.cpp does not store the term
    bool extra = false;              // the architecture does not need it
  };
  // Tensors with the same rule on one device.
  struct Buffer {
    Cells cells;
    std::uint64_t window, stride;
    bool own_streams;
    Bytes cell;
  };
  struct Device {
    std::vector<Buffer> buffers;
    Bytes row_padding;
  };

  void add_layer(const LayerCache& cache, const CacheTerms& terms, std::string_view reason, bool extra);
  void add_empty_layers();
  void add_index_values(const Tensor& index, const CacheTerms& terms);
  void add_extra(const Tensor& tensor, const Term& term, std::string_view reason, Bytes padding = {});
  Bytes cell_bytes(const Term& term) const;
  std::optional<LedgerLine> checkpoints(const Load& load) const;
  Bytes row_padding(const Tensor& of, const Term& kept, std::uint64_t row) const;
  void add_tensor(const Tensor& tensor);
  LlamaContext context_of(const Load& load) const;
  std::uint64_t window_cells(std::uint64_t window, const LlamaContext& context) const;
  std::size_t device_of(std::uint64_t layer) const;
  std::uint64_t cells_of(Cells rule, std::uint64_t window, std::uint64_t stride, const LlamaContext& context) const;
  Bytes device_bytes(const Device& device, const LlamaContext& context) const;
  RankCache explain_device(std::size_t device, const Load& load) const;

  EngineInput input_;
  LlamaRules rules_;
  LlamaClass class_;
  std::optional<LlamaKeeps> own_engine_;  // Ollama's
  BatchRule batch_rule_;                  // null: the request's, or llama.cpp's default
  bool flash_attention_;
  bool keeps_windows_;
  bool keeps_latents_twice_ = false;
  std::uint64_t rollback_rows_;
  LlamaPlacement placement_;
  std::uint64_t widest_value_ = 0;  // elements of the widest V; 0 if V is not padded
  bool compressed_ = false;         // the model has DeepSeek-V4's caches
  std::vector<Tensor> tensors_;
  std::vector<Device> devices_;
  std::vector<CacheGroup> groups_;
};

// The layout of a request in llama.cpp or Ollama's own engine. Throws Error if that engine refuses the request.
std::unique_ptr<CacheLayout> llama_cpp_layout(const EngineInput& input, std::vector<Note>& notes,
                                              std::optional<LlamaKeeps> own_engine = {},
                                              BatchRule batch_rule = nullptr);

}  // namespace kvplan
