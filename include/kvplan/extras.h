// What a deployment adds to a model: speculative decoding, LoRA adapters, an image projector, beams and samples.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kvplan/note.h"
#include "kvplan/quantity.h"
#include "kvplan/storage.h"

namespace kvplan {

struct ModelSpec;  // formulas/model.h

// Where the draft tokens of speculative decoding come from.
enum class DraftMethod : std::uint8_t {
  kModel,   // a separate, smaller model
  kEagle,   // one layer on top of the model, with the model's embedding and head
  kEagle3,  // one layer over three hidden states, with its own head
  kDflash,  // layers that draft a block at a time from several hidden states, with the model's embedding and head
  kDspark,  // as kDflash, with Markov heads
  kMtp,     // the model's own next-token layers
  kMedusa,  // heads on the last hidden state; nothing is cached
  kNgram,   // n-grams of the text itself; no weights, no cache
};
std::string_view name(DraftMethod method);
// By name, or as engines spell it ("STANDALONE", "NEXTN", "draft-mtp"); nothing if the word is unknown.
std::optional<DraftMethod> find_draft_method(std::string_view text);
// All names, separated by commas.
std::string known_draft_methods();

// The config of a draft that is not a whole model: heads that read another model's hidden states.
struct DraftHead {
  DraftMethod method = DraftMethod::kEagle;
  std::uint64_t target_hidden_size = 0,
                target_vocab_size = 0;  // of the model for which it was made; 0 if the config does not say
};

// The contents of --speculative-config, in vLLM's spelling.
struct SpeculativeConfig {
  std::optional<DraftMethod> method;
  std::string model;
  std::uint64_t num_tokens = 0;
  std::optional<std::string> weights;
  std::vector<std::string> unread;  // keys that kvplan ignores and the engine may not
};

// A LoRA adapter, as its files describe it.
struct AdapterFile {
  std::string source;
  std::uint64_t rank = 0;            // the largest of any module
  std::vector<std::string> targets;  // modules, each once: "q_proj"
  std::uint64_t tensors = 0;
  Elements elements;
  Bytes bytes;  // as stored
  std::vector<Note> notes;
  bool operator==(const AdapterFile&) const = default;
};

// An image projector of llama.cpp (mmproj): encoder and projector in one file.
struct ProjectorFile {
  std::string source;
  std::string projector;  // "gemma3"
  std::uint64_t tensors = 0;
  Bytes bytes;
  std::uint64_t width = 0, intermediate = 0, heads = 0;  // of the encoder
  std::uint64_t image_size = 0, patch_size = 0;
  std::uint64_t merge = 0;  // patches on each side of a token; 0: the default of its type
  bool operator==(const ProjectorFile&) const = default;
};

// The options for all extras. Absent: there is none, or the engine chooses.
struct ExtrasRequest {
  // What is loaded in addition to the model (--draft, --lora, --mmproj).
  std::shared_ptr<const ModelSpec> draft;
  std::vector<AdapterFile> adapters;
  std::optional<ProjectorFile> projector;
  bool projector_on_host = false;  // llama.cpp: --no-mmproj-offload

  std::optional<DraftMethod> draft_method;     // absent: what the draft's own config says
  std::optional<std::uint64_t> verify_tokens;  // SGLang: tokens verified in one step, including the last accepted one
  std::optional<Tokens> draft_ctx;             // llama.cpp: the draft's own n_ctx
  std::optional<Dtype> draft_cache_type_k, draft_cache_type_v;
  std::optional<std::string> draft_weights;

  bool enable_lora = false;
  std::optional<std::uint64_t> max_loras, max_lora_rank, max_cpu_loras;
  std::vector<std::string> lora_targets;  // modules; empty: the engine chooses
  bool fully_sharded_loras = false;

  std::uint64_t num_beams = 1;
  std::uint64_t num_samples = 1;

  // Images, videos and so on in one prompt; kinds that are not named are absent.
  std::vector<std::pair<std::string, std::uint64_t>> mm_limits;
  bool language_model_only = false;  // vLLM: no image, video or audio input at all

  // SGLang: which recurrent states a request keeps in addition to the current one.
  std::string mamba_strategy;  // "": the engine chooses; no_buffer, extra_buffer, extra_buffer_lazy
  bool disable_radix_cache = false;
  // SGLang's pools: sliding-window tokens per full-attention token, state bytes per KV byte, state slots, and most
  // tokens.
  std::optional<double> swa_ratio, state_ratio;
  std::optional<std::uint64_t> state_slots, max_total_tokens;
  bool one_pool = false;                     // SGLang: sliding-window layers keep all tokens, as other layers do
  std::optional<std::uint64_t> graph_batch;  // SGLang, vLLM: the largest batch that is captured
  std::vector<std::uint64_t> graph_sizes;    // vLLM: the batch sizes that are captured; empty: vLLM chooses
  bool whole_towers = false;                 // vLLM: each rank has the whole vision tower
  std::string attention_backend;             // SGLang, vLLM: "": the engine chooses
  std::string moe_runner;                    // SGLang: "": the engine chooses

  // How many sequences one request becomes.
  std::uint64_t copies() const { return checked_mul(num_beams, num_samples, "beams and samples"); }
  bool wants_lora() const {
    return enable_lora || max_loras || max_lora_rank || max_cpu_loras || !lora_targets.empty();
  }
  bool operator==(const ExtrasRequest&) const = default;
};

}  // namespace kvplan
