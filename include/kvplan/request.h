// What the user asks for: the options of the command line as plain data. Absent means "as the engine chooses".
#ifndef KVPLAN_REQUEST_H_
#define KVPLAN_REQUEST_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "kvplan/extras.h"
#include "kvplan/quantity.h"
#include "kvplan/storage.h"

namespace kvplan {

struct Calibration;

enum class FlashAttention { kAuto, kOn, kOff };
// Whether a prefill holds a matrix of scores (chunk x context x heads). As the engine does it where nobody says.
enum class AttentionKernel { kEngine, kNaive, kFlash };

struct Request {
  std::string engine = "logical";  // as the table of engines spells it
  std::string engine_version;      // "" for the newest known

  // The load.
  std::optional<Tokens> max_model_len;           // of one sequence
  std::optional<Tokens> ctx_size;                // llama.cpp's n_ctx: the total over all slots
  std::uint64_t num_seqs = 1;                    // live sequences, each at full length
  std::optional<std::uint64_t> max_num_seqs;     // the scheduler's cap: moves logits, graphs and state slots
  std::optional<Tokens> encoder_len;             // source tokens of one sequence
  std::optional<Tokens> max_num_batched_tokens;  // prefill chunk
  std::optional<std::uint64_t> batch, ubatch;    // llama.cpp's n_batch, n_ubatch

  // A mix of lengths, beside the load: what slabs, pages and a shared prefix make of it.
  std::vector<Tokens> seq_lens;
  std::optional<Tokens> avg_len;        // of each of num_seqs sequences
  std::optional<Tokens> shared_prefix;  // tokens that all sequences begin with

  // Types.
  std::optional<std::string> weights;               // weight type; as the checkpoint declares
  std::optional<Dtype> dtype;                       // compute type
  std::optional<Dtype> cache_type_k, cache_type_v;  // absent: auto
  std::optional<Dtype> state_dtype;                 // --mamba-ssm-cache-dtype

  // Layout.
  std::uint64_t tensor_parallel = 1;
  std::uint64_t pipeline_parallel = 1;
  std::uint64_t data_parallel = 1;
  std::uint64_t decode_context_parallel = 1;
  bool expert_parallel = false;
  bool dp_attention = false;  // SGLang: the data parallel ranks are among the tensor parallel ones
  bool layout_given = false;  // -tp or -pp was named: --gpu-count then is no search
  std::optional<std::uint64_t> block_size;

  // What a prefill holds, and how sure that is.
  AttentionKernel attention = AttentionKernel::kEngine;
  std::optional<double> margin;  // share: the range of every estimate; absent: each estimate's own

  // Weights and caches that are moved to host memory.
  std::optional<Bytes> cpu_offload;             // of the layers' weights, per GPU (vLLM, SGLang)
  std::optional<std::uint64_t> cpu_moe_layers;  // llama.cpp: the experts of so many first layers
  std::optional<Bytes> host_kv_cache;           // vLLM: a second cache, all ranks together
  std::optional<Bytes> swap_space;              // vLLM's V0, per GPU

  // llama.cpp.
  bool kv_unified = false;
  bool swa_full = false;
  FlashAttention flash_attention = FlashAttention::kAuto;
  std::optional<std::uint64_t> gpu_layers;  // -ngl
  bool no_kv_offload = false;
  std::vector<double> tensor_split;  // -ts: shares of the GPUs; empty: as even as the layers divide
  bool all_logits = false;           // --tool cli: logits of every token of a batch, not of the slots' last ones

  // vLLM.
  std::optional<bool> prefix_caching;
  std::optional<std::string> mamba_cache_mode;  // none, align, all
  bool hybrid_manager = true;
  bool enforce_eager = false;
  std::uint64_t num_speculative_tokens = 0;
  bool mtp = false;

  // transformers: which of its caches; dynamic where nothing else is said.
  std::optional<std::string> cache_implementation;

  ExtrasRequest extras;

  // The card and the budget.
  std::optional<std::string> gpu;                  // name in the catalogue
  std::optional<Bytes> gpu_memory;                 // of one card
  std::vector<std::string> rig;                    // cards that differ, in the order of the GPUs; `gpu` is the smallest
  std::string gpu_note;                            // --gpu auto: what was found, for the reader
  std::uint64_t gpu_count = 1;                     // cards at hand
  bool gpu_count_given = false;                    // --gpu-count was named: another number of cards must be, too
  std::optional<double> memory_utilization;        // share of the card the engine may use
  std::optional<Bytes> kv_cache_memory_bytes;      // the KV budget itself, per GPU
  std::shared_ptr<const Calibration> calibration;  // figures in place of estimates, where card and engine match
  std::optional<std::string> measured_card;        // --measure: the device's name, where no card is named

  std::optional<double> gpu_bandwidth;  // 10^9 bytes a second; absent: the card's
  std::optional<double> gpu_tflops;     // dense, of the compute type; absent: the card's

  // Limits for CI.
  std::optional<Bytes> max_vram;
  std::optional<Tokens> min_context;
  std::optional<std::uint64_t> min_seqs;

  bool operator==(const Request&) const = default;

  // GPUs of the layout. SGLang's data parallel attention needs none of its own.
  std::uint64_t gpus() const {
    constexpr const char* kWhat = "the number of GPUs";
    const std::uint64_t copy = checked_mul(tensor_parallel, pipeline_parallel, kWhat);
    return dp_attention ? copy : checked_mul(copy, data_parallel, kWhat);
  }
  // Live sequences, each beam and sample counted.
  std::uint64_t sequences() const { return checked_mul(num_seqs, extras.copies(), "the sequences"); }
};

}  // namespace kvplan

#endif  // KVPLAN_REQUEST_H_
