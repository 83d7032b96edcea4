// mistral.rs: a paged pool with one rule for every layer.
//
// Source: mistral.rs of 2026, mistralrs-core/src/paged_attention/mod.rs and cache_engine.rs (read). 0.9.5 was run on a
// CPU, with a small model of Llama's class: chunks of 1,024 tokens, --isq makes q4k with q6k for sensitive tensors, and
// "paged attention is unavailable on this device". So no run has checked the rules of the pool.
// - Blocks of 8, 16 or 32 tokens, 32 by default; the pool's blocks are the budget in whole MiB over the bytes of a
//   block of all layers. Every layer keeps every token, sliding ones too.
// - MLA keeps the latent and the rope part; KV types are the model's own and FP8 (f8e4m3).
// - The budget is a fraction (0.9) of the GPU less what is in use.
#include "engines/class_rows.h"
#include "engines/estimates.h"
#include "engines/layer_buffers.h"
#include "kvplan/error.h"

namespace kvplan {

constexpr EngineVersion kVersions[] = {
    {"0.6",
     "source of the paged pool (read); never run, no log read. Not checked: models with windows, states or index "
     "keys, and the cache without PagedAttention"},
    {"0.9",
     "0.9.5 run on a CPU: it loads a model, quantizes it and reads a prompt in chunks of 1,024 tokens. PagedAttention "
     "does not run there: the pool as of 0.6 (read). Not checked: its automatic memory goal"},
};
constexpr Tokens kPromptChunk{1024};  // "Prompt chunk size is 1024", printed by 0.5 and 0.9.5
constexpr double kShare = 0.9;        // of the GPU, for weights and cache together
constexpr std::uint64_t kBlock = 32;

static CacheTypes resolve(const ModelShape& model, const Request& request) {
  CacheTypes types = resolve_default_types(model, request);
  if (!request.cache_type_k) types.key = types.model;
  if (!request.cache_type_v) types.value = types.model;
  refuse_types(types, "mistralrs", {Dtype::kBfloat16, Dtype::kFloat16, Dtype::kFloat32, Dtype::kFp8E4m3});
  return types;
}

static std::unique_ptr<CacheLayout> layout(const EngineInput& input, std::vector<Note>& notes) {
  const std::uint64_t block = input.request.block_size.value_or(kBlock);
  if (block != 8 && block != 16 && block != 32)
    refuse("--block-size " + std::to_string(block) + ": mistral.rs has blocks of 8, 16 and 32 tokens",
           "use one of them");
  const CacheTypes types = input.types;
  LayerBufferRules rules;
  rules.block_size = block;
  rules.source = "mistral.rs paged_attention/cache_engine.rs";
  rules.hold = [=](const LayerCache&, const Term& term, std::uint64_t units) {
    return block_buffer(term, types, units, block);
  };
  if (has_windows(input)) notes.push_back(unverified_note("mistral.rs", "sliding layers"));
  if (has_states(input)) notes.push_back(unverified_note("mistral.rs", "recurrent states"));
  return layer_buffers_layout(input, rules);
}

static EngineSettings settings(const EngineInput& input, const Load&) {
  EngineSettings out;
  out.max_num_batched_tokens = input.request.max_num_batched_tokens.value_or(kPromptChunk).count();
  out.memory_fraction = input.request.memory_utilization.value_or(kShare);
  return out;
}

static std::vector<LedgerLine> overhead(const OverheadInput& in) {
  const EngineInput& input = *in.engine;
  const std::uint64_t tokens = checked_mul(in.load.max_model_len.count(), in.load.num_seqs, "the tokens of the load");
  const std::uint64_t prompt = std::min(tokens, input.request.max_num_batched_tokens.value_or(kPromptChunk).count());
  std::vector<LedgerLine> out{mlp_activations(input, prompt, "a prompt chunk")};
  out.push_back(logits_line(input, in.load.num_seqs, {0.5, 2}));
  out.push_back({Section::kRuntime, "driver context and libraries", Bytes(500000000), Bytes(250000000),
                 Bytes(1000000000), "allowance of 500 MB a GPU", "estimate: a figure that users report; not measured",
                 LineId::kContext});
  if (has_states(input) || has_windows(input)) out.push_back(unverified_line(in));
  return out;
}

EngineCommand mistralrs_command() {
  static constexpr std::string_view kPrograms[] = {"mistralrs serve", "mistralrs run", "mistralrs-server"};
  return {kPrograms, "mistral.rs", "", mistralrs_option_lines};
}

Engine mistralrs_engine() {
  Engine out{"mistralrs", "mistral.rs mistral-rs", "mistral.rs with PagedAttention", kVersions, kShare, resolve, layout,
             overhead};
  out.names_latents = mistralrs_names_latents;
  out.log.lines = mistralrs_log_lines;
  out.command = mistralrs_command();
  out.loading.made_at_load = "fp8 int8 int4";  // --isq
  out.loading.halves_float32 = true;           // utils/normal.rs: bfloat16, else float16, on every GPU that has either
  out.settings = settings;
  out.options = "--block-size";
  out.makers = "NVIDIA Apple";  // CUDA and Metal
  // pipeline/speculative.rs of 0.6; the releases of 2026 replace it by MTP and DFlash.
  out.extras.draft_methods = "draft_model";
  out.extras.lora = LoraStorage::kFiles;
  return out;
}

}  // namespace kvplan
