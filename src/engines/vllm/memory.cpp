// The profile run: a batch of max_num_batched_tokens goes through the model, then max_num_seqs rows are sampled. vLLM
// prints the larger of the two peaks as "peak activation" and subtracts it from the budget (v1/worker/gpu_worker.py,
// determine_available_memory; worker/worker.py in V0).
//
//   batch:   tokens * 3 * (hidden + intermediate / tp) * 2 B: a layer's gate, up, product, residual, input and output
//   sampler: rows * vocabulary * bytes of an element, in addition to the hidden states of the batch
//
// On its first start the new runner compiles during the profile run. It then benchmarks the embedding kernel on a copy
// of the embedding, which counts in the peak. kvplan plans the first start, because it leaves the least memory for the
// cache.
//
// Checked against start-up logs: testdata/observations/vllm.json. scripts/ranges.py fits the ranges to them.
#include "engines/vllm/vllm.h"

#include <algorithm>
#include <cmath>

#include "engines/estimates.h"
#include "engines/kernel_table.h"
#include "engines/vllm/class_table.h"
#include "engines/vllm/rules.h"
#include "kvplan/gpus.h"

namespace kvplan {

namespace {

constexpr std::string_view kActivations = "the activations";

constexpr std::uint64_t kIndexerLogits = 512 * kMiB;  // VLLM_SPARSE_INDEXER_MAX_LOGITS_MB, in the profile run

// Bytes per element of the logits while rows are sampled. Full sampling has 16 and 32 bit logits, a sorted copy with
// int64 indices, probabilities and their sums. Other runners skip most of the sorting, or only have 16 bit logits once
// or twice.
std::uint64_t sampled_bytes(const EngineInput& input, const VllmRules& rules) {
  constexpr std::uint64_t kSorting = 39, kSparing = 15, kPlain = 2, kTwice = 10;
  if (vllm_has_new_runner(input, rules)) return rules.samples_twice ? kTwice : kPlain;
  return rules.sparing_sampler ? kSparing : kSorting;
}

// Tokens per index key, for MLA models with an indexer.
std::optional<std::uint64_t> index_stride(const EngineInput& input) {
  if (!vllm_class(input.model).has_index_workspace) return std::nullopt;
  for (const LayerCache& cache : input.caches)
    for (const Term& term : cache.compact)
      if (term.role == Role::kIndex) return std::max<std::uint64_t>(term.stride, 1);
  return std::nullopt;
}

// The rank's part of the embedding, if the first start copies it.
Bytes copied_embedding(const EngineInput& input, const VllmRules& rules) {
  if (input.request.enforce_eager || !vllm_has_new_runner(input, rules) || rules.compiles_before) return Bytes(0);
  const std::uint64_t rows = ceil_div(input.model.vocab_size, input.request.parallel.tensor);
  return Bytes(rows) * checked_mul(input.model.hidden_size, 2, kActivations);
}

bool is_quantized(const EngineInput& input) {
  return input.model.is_gguf || is_declared(planned_quantization(input));
}

// Workspaces of the experts' kernels are allocated once and stay (v1/worker/workspace.py), so they add to the sampler's
// peak. For each token and expert they have the product of both matrices, and their input or output
// (TritonExperts.workspace_shapes).
Bytes kept_workspaces(const EngineInput& input, const VllmRules& rules) {
  const ExpertShape& experts = input.model.experts;
  const Request& request = input.request;
  if (!rules.keeps_workspaces || experts.used == 0 || is_quantized(input) || request.card.is_amd() ||
      vllm_is_data_blackwell(request))
    return Bytes(0);
  const std::uint64_t width =
      request.parallel.expert ? experts.width : ceil_div(experts.width, request.parallel.tensor);
  const std::uint64_t hidden = input.model.hidden_size;
  const std::uint64_t both = checked_mul(width, 2, kActivations);
  const std::uint64_t row = checked_add(std::max(width, hidden), std::max(both, hidden), kActivations);
  return Bytes(vllm_batched_tokens(input, rules)) * checked_mul(experts.used, row, kActivations) * 2;
}

// The peak of the profile run. It is the largest of three: the sampler, a layer with the batch, and a first start that
// compiles.
LedgerLine activation(const EngineInput& input, const VllmRules& rules, bool is_first_stage, bool is_last_stage) {
  const bool is_new = vllm_has_new_runner(input, rules);
  const std::string_view term = is_new                  ? "vllm activation, new runner"
                                : rules.sparing_sampler ? "vllm activation"
                                : rules.v1_engine       ? "vllm activation until 0.16"
                                                        : "vllm activation until 0.8";
  std::string source = "estimate: the profile run of v1/worker/";
  if (is_new)
    source +=
        "gpu/model_runner.py, compared with start-up logs; a first start benchmarks the kernels that it compiles and "
        "took 0.1 to 0.8 GiB more";
  else if (rules.sparing_sampler)
    source += "gpu_model_runner.py, compared with start-up logs";
  else if (rules.v1_engine)
    source +=
        "gpu_model_runner.py, compared with start-up logs; FlashInfer's sampler does not sort logits and takes a "
        "third: 3 logs of 10";
  else
    source = "estimate: the profile run of worker/worker.py, compared with start-up logs";
  const std::uint64_t hidden = input.model.hidden_size;
  const std::uint64_t tokens = vllm_batched_tokens(input, rules);
  const std::uint64_t rows = std::min(vllm_max_num_seqs(input.request, rules), tokens);
  const Bytes logits(index_stride(input) ? kIndexerLogits : 0);
  const Bytes layer = Bytes(tokens) * vllm_layer_row(input) + logits;
  const std::uint64_t logit_bytes = sampled_bytes(input, rules);
  const Bytes libraries(is_new ? 32 * kMiB : 0);
  const Template library_term = libraries > Bytes(0) ? Template(" + 32 MiB") : Template();
  const Bytes kept = kept_workspaces(input, rules);
  const Template kept_term =
      kept > Bytes(0) ? Template(" + {kept} B of the experts' workspaces", {{"kept", kept.count()}}) : Template();
  Bytes sampler;
  if (is_last_stage)
    sampler = Bytes(rows) * checked_mul(input.model.vocab_size, logit_bytes, kActivations) +
              Bytes(tokens) * hidden * 2 + kept;
  const Bytes copied = is_first_stage ? copied_embedding(input, rules) : Bytes(0);
  if (copied > std::max(sampler, layer))
    return ranged_line("vllm activation, first start", Section::kActivation, "activation peak (a first start compiles)",
                       copied + libraries,
                       Template("{bytes} B of a rank's embedding", {{"bytes", copied.count()}}) + library_term,
                       "estimate: a first start benchmarks what it compiles, on a copy of the embedding; a later start "
                       "took 0.15 to 0.19 GiB");
  if (sampler > layer)
    return of_kind(
        LineId::kSampled,
        ranged_line(term, Section::kActivation, "activation peak (sampler)", sampler + libraries,
                    Template("{rows} rows * {vocab_size} logits * {each} B + {tokens} tokens * {hidden_size} * 2 B",
                             {{"rows", rows},
                              {"vocab_size", input.model.vocab_size},
                              {"each", logit_bytes},
                              {"tokens", tokens},
                              {"hidden_size", hidden}}) +
                        kept_term + library_term,
                    source));
  return ranged_line(term, Section::kActivation, "activation peak (batch)", layer + libraries,
                     Template("{tokens} tokens * 3 * ({hidden_size} + MLP width of a rank) * 2 B = {tokens} * {row} B",
                              {{"tokens", tokens}, {"hidden_size", hidden}, {"row", vllm_layer_row(input)}}) +
                         (logits > Bytes(0) ? Template(" + 512 MiB of the indexer's logits") : Template()) +
                         library_term,
                     source);
}

// The profile run allocates a buffer for the index keys of prefills: 128 FP8 bytes and a 4-byte scale per key. It
// stays, and it has space for 40 or 16 times the longest length (v1/attention/backends/mla/indexer.py,
// get_max_prefill_buffer_size).
std::optional<LedgerLine> index_workspace(const EngineInput& input, const VllmRules& rules, Tokens longest) {
  constexpr std::uint64_t kKey = 132, kRoom = 40, kLongRoom = 16, kLong = 256 * 1024;
  const std::optional<std::uint64_t> stride = index_stride(input);
  if (!stride || !rules.index_workspace) return std::nullopt;
  const std::uint64_t room = rules.short_index_workspace && longest.count() > kLong ? kLongRoom : kRoom;
  const std::uint64_t keys = checked_mul(longest.count(), room, kActivations) / *stride;
  // Since 0.27 memory that stays is printed as part of "consumed".
  const Section section = rules.counts_consumed ? Section::kRuntime : Section::kActivation;
  // On CDNA the logits of decodes are in the same workspace.
  const std::uint64_t batch = vllm_batched_tokens(input, rules);
  const Bytes logits = Bytes(batch) * checked_mul(longest.count() / *stride, 4, kActivations);
  const Gpu* const card = input.request.card.gpu;
  const bool is_cdna = card != nullptr && (card->capability == 0x942 || card->capability == 0x950);
  if (rules.decode_logits_on_rocm && is_cdna && logits > Bytes(keys) * kKey)
    return exact_line(section, "indexer's logits of decodes", logits,
                      {"{batch} tokens of a batch * {tokens} tokens / {stride} * 4 B",
                       {{"batch", batch}, {"tokens", longest}, {"stride", *stride}}},
                      "vLLM v1/attention/ops/rocm_aiter_mla_sparse.py rocm_aiter_sparse_attn_indexer");
  return exact_line(
      section, "indexer's workspace of prefills", Bytes(keys) * kKey,
      {*stride > 1 ? "{room} * {tokens} tokens / {stride} * {key} B" : "{room} * {tokens} tokens * {key} B",
       {{"room", room}, {"tokens", longest}, {"stride", *stride}, {"key", kKey}}},
      "vLLM v1/attention/backends/mla/indexer.py get_max_prefill_buffer_size");
}

// Whether NCCL has buffers for NVLink's switches and symmetric memory: on Hopper and newer GPUs, or on large GPUs if
// only the size is given.
bool has_wide_buffers(const Request& request) {
  constexpr unsigned kHopper = 90;
  constexpr std::uint64_t kLarge = 70 * kGiB;
  if (const unsigned capability = request.card.capability(); capability > 0) return capability >= kHopper;
  return !request.card.memory || *request.card.memory >= Bytes(kLarge);
}

// The CUDA context exists before the budget is computed. This line has what grows later: the workspaces of libraries
// and NCCL's buffers.
LedgerLine outside_torch(const EngineInput& input, const VllmRules& rules, bool samples) {
  const Request& request = input.request;
  const bool alone = request.parallel.tensor == 1;  // pipeline stages exchange data through a few buffers
  const Gpu* card = request.card.gpu;
  const auto line = [](std::string_view term, Template what, std::uint64_t mib, const char* where, std::string source) {
    return of_kind(LineId::kOutsideTorch,
                   ranged_line(term, Section::kRuntime, std::move(what), Bytes(mib * kMiB),
                               Template("{mib} MiB", {{"mib", mib}}) + where, "estimate: " + std::move(source)));
  };
  if (request.card.is_amd())
    return line("vllm outside, ROCm", "outside PyTorch", 600, " with ROCm", "0.46 to 0.78 GiB in 6 start-up logs");
  if (card != nullptr && card->unified)
    return line("vllm outside, unified memory", "outside PyTorch, and what the host takes meanwhile", 2048,
                " where the CPU shares the memory", "-0.5 to 5.7 GiB in 9 start-up logs on GB10");
  if (!alone && !rules.v1_engine)
    return line("vllm outside, several GPUs", "outside PyTorch and communication", 300, " on a rank of several",
                "0.11 to 0.93 GiB in 8 start-up logs of V0");
  // Logs from one source grow in the first step by as much again: probably a second NCCL communicator (docs/measure.md
  // has its size on an H200).
  if (!alone && rules.sparing_sampler && vllm_is_hopper(request))
    return line("vllm outside, Hopper with NVLink", "outside PyTorch and communication", 2112, " on a rank of several",
                "2.06 to 2.21 GiB in 13 start-up logs of H100, all of one source");
  if (!alone && has_wide_buffers(request))
    return line("vllm outside, several GPUs", "outside PyTorch and communication", 1400, " on a rank of several",
                "0.95 to 2.43 GiB in 8 start-up logs of V1 on Hopper and Blackwell");
  if (!alone)
    return line("vllm outside, several GPUs", "outside PyTorch and communication", !rules.sparing_sampler ? 150 : 300,
                " on a rank of several", "0.09 to 0.74 GiB in 5 start-up logs of V1 on GPUs before Hopper");
  if (!rules.excludes_context)
    return line("vllm outside until 0.16", "outside PyTorch, with the CUDA context", 230, " on one GPU",
                "0.12 to 0.35 GiB in 4 start-up logs");
  if (!rules.v1_engine && vllm_is_hopper(request))
    return line("vllm outside until 0.16", "outside PyTorch", 164, " on this GPU", "0.16 GiB in 4 start-up logs of V0");
  const bool is_new = vllm_has_new_runner(input, rules);
  if (!rules.sparing_sampler || ((is_new || !samples) && !rules.counts_consumed))
    return line(!rules.sparing_sampler ? "vllm outside until 0.16" : "vllm outside", "outside PyTorch", 56,
                " on one GPU", "0.00 to 0.35 GiB in 28 start-up logs, the median 0.05");
  if (!is_new && !rules.counts_consumed)
    return line("vllm outside", "outside PyTorch", 230, " on one GPU",
                "0.16 to 0.25 GiB in start-up logs since 0.16, 0.25 to 0.38 on A100");
  if (!is_new)
    return line("vllm outside since 0.27", "outside PyTorch, and kept by its allocator", 230, " on one GPU",
                "0.15 to 0.48 GiB in start-up logs since 0.27, 0.1 to 0.7 more at a first start");
  // PenaltiesState: for every request, a count (int32) and a bit per token of the vocabulary.
  const std::uint64_t seqs = vllm_max_num_seqs(request, rules);
  const Bytes counts(checked_mul(checked_mul(seqs, input.model.vocab_size, kActivations), 33, kActivations) / 8);
  const Bytes base(144 * kMiB);
  return of_kind(
      LineId::kOutsideTorch,
      ranged_line("vllm outside since 0.27", Section::kRuntime, "outside PyTorch, and kept by its allocator",
                  base + counts,
                  {"144 MiB + {requests} requests * {vocab_size} logits * 33 bits",
                   {{"requests", seqs}, {"vocab_size", input.model.vocab_size}}},
                  "estimate: worker/gpu/sample/penalties.py; 0.26 to 0.34 GiB in start-up logs, 0.1 to 0.7 more at a "
                  "first start"));
}

// The encoder runs over as many items as its budget allows, and its outputs stay while the batch is profiled
// (v1/core/encoder_cache_manager.py, multimodal/encoder_budget.py): budget = max(batch, tokens of the largest item).
struct EncoderBudget {
  std::uint64_t batch = 0, item = 0;  // in tokens; 0 if the config does not give the size of an item
  std::uint64_t budget = 0, held = 0;
  std::uint64_t encoded = 0;  // tokens that pass through the encoder in one run
};

constexpr std::uint64_t kQwenImage = 16384;  // max_pixels of Qwen's processors / pixels per token

// Qwen2-VL's longest video has two frames of the largest image for each image that the context has space for, up to a
// number of frames (Qwen2VLProcessingInfo.get_num_frames_with_most_features).
std::uint64_t qwen_video(const VllmRules& rules, Tokens context) {
  std::uint64_t images = context.count() / kQwenImage;
  if (rules.image_beside_video && images > 0) --images;
  return kQwenImage * std::clamp<std::uint64_t>(images, 1, rules.video_frames / 2);
}

// Qwen3-VL's videos have a limit of pixels. 0.11 and 0.12 count 12.5 tokens for each token of a video.
constexpr std::uint64_t kQwen3Video = 12288, kQwen3Counted = kQwen3Video * 25 / 2;

std::optional<EncoderBudget> encoder_budget(const EngineInput& input, const VllmRules& rules, Tokens context) {
  const VllmClass its = vllm_class(input.model);
  if (!input.model.vision || vllm_encodes_no_images(input.request.extras, its)) return std::nullopt;
  EncoderBudget out;
  out.batch = vllm_batched_tokens(input, rules);
  const bool has_videos = !vllm_refuses(input.request.extras, "video");
  out.item = its.sizes_images_by_pixels ? kQwenImage : input.model.vision->image_tokens;
  if (has_videos && its.sizes_videos_by_frames && rules.profiles_videos) out.item = qwen_video(rules, context);
  const bool counts_times = has_videos && its.counts_times_of_videos && rules.counts_times_of_videos;
  if (counts_times) out.item = kQwen3Counted;
  out.budget = std::max(out.batch, out.item);
  out.held = out.item == 0 ? out.budget : out.budget / out.item * out.item;
  out.encoded = counts_times ? kQwen3Video : out.held;
  return out;
}

LedgerLine encoder_cache(const EngineInput& input, const EncoderBudget& encoder) {
  const std::uint64_t width =
      checked_mul(checked_mul(input.model.hidden_size, input.model.vision->copies, kActivations), 2, kActivations);
  return {
      Section::kKvCache,
      "encoder cache",
      Bytes(encoder.held) * width,
      Bytes(0),
      Bytes(encoder.budget) * width,
      {encoder.item > 0
           ? "{held} embeddings (budget {budget} = max of a batch of {batch} and an item of {item}) * {width} B"
           : "{held} embeddings (budget {budget} = max of a batch of {batch}; the config sizes no item) * {width} B",
       {{"held", encoder.held},
        {"budget", encoder.budget},
        {"batch", encoder.batch},
        {"item", encoder.item},
        {"width", width}}},
      "estimate: vLLM v1/core/encoder_cache_manager.py compute_mm_encoder_budget",
      LineId::kEncoderCache};
}

// The encoder's peak counts if it is larger than the batch's peak. It is computed like a decoder layer's peak.
std::optional<LedgerLine> encoder_pass(const EngineInput& input, const EncoderBudget& encoder, Bytes batch_peak) {
  const VisionShape& vision = *input.model.vision;
  const std::uint64_t patches = checked_mul(encoder.encoded, vision.patches, kActivations);
  // Two thirds of the MLP's part are split over the ranks.
  const std::uint64_t ranks = input.request.parallel.tensor;
  const std::uint64_t mlp =
      checked_add(checked_mul(vision.intermediate, 2, kActivations),
                  checked_mul(ceil_div(vision.intermediate, ranks), 4, kActivations), kActivations);
  const std::uint64_t row = checked_add(checked_mul(vision.width, 6, kActivations), mlp, kActivations);
  const Bytes peak = Bytes(patches) * row;
  if (vision.width == 0 || peak <= batch_peak) return std::nullopt;
  const Bytes more = peak - batch_peak;
  return ranged_line(
      "vllm encoder", Section::kActivation, "vision encoder's pass above the batch's peak", more,
      {"{patches} patches * {row} B of a rank's part of a layer, less the batch's peak and the encoder cache",
       {{"patches", patches}, {"row", row}}},
      "estimate: the profile run of v1/worker/gpu_worker.py");
}

// For an encoder-decoder V0 profiled max_num_seqs prompts, each with its largest image, and ran the encoder over all of
// them at once. The output stays in addition to the batch (worker/enc_dec_model_runner.py, profile_run).
std::optional<LedgerLine> crossed_images(const EngineInput& input, const VllmRules& rules, const Load& load,
                                         Bytes batch_peak) {
  if (rules.v1_engine || !input.model.vision || !vllm_has_cross_attention(input) || load.source_tokens == Tokens(0))
    return std::nullopt;
  const VisionShape& vision = *input.model.vision;
  const std::uint64_t tokens =
      checked_mul(vllm_max_num_seqs(input.request, rules), load.source_tokens.count(), kActivations);
  // Mllama's encoder keeps the outputs of five layers in addition to the last one, and copies all six when it joins
  // them.
  constexpr std::uint64_t kJoined = 24;  // six outputs of two bytes, and their copy
  const std::uint64_t row =
      checked_add(checked_mul(checked_add(vision.width, vision.intermediate, kActivations), 6, kActivations),
                  checked_add(checked_mul(vision.width, kJoined, kActivations),
                              checked_mul(input.model.hidden_size, 2, kActivations), kActivations),
                  kActivations);
  const Bytes peak = Bytes(tokens) * row;
  if (vision.width == 0 || peak <= batch_peak) return std::nullopt;
  const Bytes more = peak - batch_peak;
  const Bytes twentieth(more.count() / 20);
  return LedgerLine{Section::kActivation,
                    "vision encoder over every prompt's image",
                    more,
                    std::min(twentieth * 16, more),
                    std::max(twentieth * 24, more),
                    {"{patches} patches * {row} B, less the batch's peak", {{"patches", tokens}, {"row", row}}},
                    "estimate: the profile run of V0, worker/enc_dec_model_runner.py"};
}

std::optional<LedgerLine> exchange_buffers(const EngineInput& input, const VllmRules& rules) {
  const std::string backend = input.request.vllm.all2all_backend.value_or("");
  if (!vllm_exchanges_experts(input.request) || !backend.starts_with("deepep_")) return std::nullopt;
  constexpr std::uint64_t kChunk = 256;  // VLLM_MOE_DP_CHUNK_SIZE
  const std::uint64_t tokens = rules.batched_dp_default ? vllm_batched_tokens(input, rules) : kChunk;
  return deepep_buffers(input, vllm_batches_experts(input.request) ? tokens : 0,
                        "estimate: vLLM distributed/device_communicators/all2all.py, DeepEP config.hpp");
}

}  // namespace

bool vllm_has_new_runner(const EngineInput& input, const VllmRules& rules) {
  // _get_v2_model_runner_unsupported_features (vllm/config/vllm.py)
  const bool has_old_draft = (input.draft_method == DraftMethod::kModel && !rules.new_runner_for_models) ||
                             (input.draft_method == DraftMethod::kNgram && !rules.new_runner_for_ngrams) ||
                             (input.draft_method == DraftMethod::kMedusa && !rules.new_runner_for_medusa);
  const bool is_dense = input.model.experts.used == 0;
  if (has_old_draft) return false;
  if (rules.new_runner_for_all || vllm_lists_new_runner(input)) {
    const bool is_excluded = input.request.card.is_amd() && vllm_class(input.model).has_old_runner_on_rocm;
    return (rules.new_runner_on_rocm || !is_excluded) &&
           (rules.new_runner_for_quantized || (is_dense && !is_quantized(input)));
  }
  return rules.new_runner && is_dense && !has_states(input);
}

std::uint64_t vllm_layer_row(const EngineInput& input) {
  const std::uint64_t hidden = input.model.hidden_size;
  const std::uint64_t wide =
      input.model.intermediate_size > 0 ? input.model.intermediate_size : checked_mul(hidden, 4, kActivations);
  const std::uint64_t mlp = ceil_div(wide, input.request.parallel.tensor);
  return checked_mul(checked_add(hidden, mlp, kActivations), 6, kActivations);
}

std::vector<LedgerLine> vllm_overhead(const OverheadInput& in) {
  const EngineInput& input = *in.engine;
  const VllmRules rules = vllm_rules(input.request);
  std::vector<LedgerLine> out;
  out.push_back(activation(input, rules, in.stage == 0, in.stage + 1 == input.request.parallel.pipeline));
  if (auto kept = loaded_weights("vllm weights", in.weights)) out.push_back(std::move(*kept));
  out.push_back(outside_torch(input, rules, in.stage + 1 == input.request.parallel.pipeline));
  if (!input.request.enforce_eager) {
    out.push_back(vllm_graphs_line(input, rules));
    if (auto room = vllm_room_for_graphs(input, rules, out.back().bytes)) out.push_back(std::move(*room));
  }
  if (auto workspace = index_workspace(input, rules, in.load.max_model_len)) out.push_back(std::move(*workspace));
  if (auto buffers = exchange_buffers(input, rules)) out.push_back(std::move(*buffers));
  if (in.stage == 0)
    if (auto images = crossed_images(input, rules, in.load, out.front().bytes)) out.push_back(std::move(*images));
  const auto encoder = rules.v1_engine ? encoder_budget(input, rules, in.load.max_model_len) : std::nullopt;
  if (encoder && in.stage == 0) {
    out.push_back(encoder_cache(input, *encoder));
    if (auto pass = encoder_pass(input, *encoder, out.front().bytes + out.back().bytes))
      out.push_back(std::move(*pass));
  }
  return out;
}

std::vector<LedgerLine> vllm_host_caches(const Request& request, const VllmRules& rules) {
  constexpr std::uint64_t kSwap = 4 * kGiB;  // EngineArgs.swap_space, until V0 was removed
  std::vector<LedgerLine> out;
  const std::uint64_t ranks = checked_mul(request.parallel.tensor, request.parallel.pipeline, "the ranks");
  const Bytes swap = request.vllm.swap_space.value_or(Bytes(!rules.v1_engine ? kSwap : 0)) * ranks;
  if (swap > Bytes(0))
    out.push_back(exact_line(Section::kKvCache, "swap space (CPU blocks)", swap,
                             {"--swap-space on each of {ranks:rank}", {{"ranks", ranks}}},
                             "vLLM engine/arg_utils.py of V0"));
  return out;
}

Bytes vllm_cache_budget(const EngineInput& input, Bytes gpu_memory, Bytes others, Bytes captured) {
  const VllmRules rules = vllm_rules(input.request);
  const double share = input.request.memory_utilization.value_or(rules.utilization);
  const Bytes requested(static_cast<std::uint64_t>(std::ceil(static_cast<double>(gpu_memory.count()) * share)));
  if (!vllm_estimates_graphs(input, rules)) others = others > captured ? others - captured : Bytes(0);
  return requested > others ? requested - others : Bytes(0);
}

}  // namespace kvplan
