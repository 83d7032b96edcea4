#include "engines/vllm/rules.h"

#include <algorithm>
#include <array>

#include "engines/drafts.h"
#include "engines/vllm/card.h"

namespace kvplan {

namespace {

// Releases, as engine_version() spells them: the minor number.
constexpr std::uint64_t kCeilConcurrency = 10;  // before that, tokens / length
constexpr std::uint64_t kHybridManager = 10;    // before that, one block table for all layers (V0, early V1)
constexpr std::uint64_t kChunkedGroups = 14;    // #29627 flipped VLLM_ALLOW_CHUNKED_LOCAL_ATTN_WITH_HYBRID_KV_CACHE
constexpr std::uint64_t kBatchForSource = 13;   // the length of an encoder in config/vllm.py; not in 0.13
constexpr std::uint64_t kGroupRatio = 18;       // 1.25 before, 1.5 since (drafters add a layer to one bucket)
constexpr std::uint64_t kTokensFromConcurrency = 21;  // #40691, #43308
constexpr std::uint64_t kGraphsInBudget = 20;         // VLLM_MEMORY_PROFILER_ESTIMATE_CUDAGRAPHS defaults to 1
constexpr std::uint64_t kUtilization = 20;            // 0.90 before, 0.92 from here on
constexpr std::uint64_t kWindowValueWidth = 20;   // SlidingWindowSpec.head_size_v; before that, one width in all groups
constexpr std::uint64_t kPadAttentionPages = 24;  // AttentionSpec.indexes_kv_by_block_stride; not in 0.23
constexpr std::uint64_t kPackedSlots = 23;        // #44454: a packed block no longer counts pages that no group has
constexpr std::uint64_t kInFlight = 26;           // #47728: max_in_flight_tokens
constexpr std::uint64_t kGptOssGraphs = 12;       // GptOssForCausalLMConfig; 992 in 0.11
constexpr std::uint64_t kWholeItems = 22;         // #43051: the default batch holds the largest item
constexpr std::uint64_t kPlainFp8Latents = 19;    // #35891; not in 0.18
constexpr std::uint64_t kLargestCards = 28;       // #51726: cards of 160 GiB; #49390: graphs of 1024 tokens
// A log of 0.30 shows the weights without the tower, and source of August 2026 has the rule; its first release was not
// looked up.
constexpr std::uint64_t kTowersLeftOut = 11;
constexpr std::uint64_t kSpeculativeAll = 22;     // MambaSpec in the mode "all" counts drafts; not in 0.21
constexpr std::uint64_t kWidestGroup = 27;        // a packed block is as wide as its widest group; not in 0.26
constexpr std::uint64_t kNewestSpecs = 28;        // AttentionSpec.head_size_v, align by default; not in 0.27
constexpr std::uint64_t kCachedStates = 28;       // #50991: is_prefix_caching_supported of hybrids; not in 0.27
constexpr std::uint64_t kNullBlock = 29;          // get_kv_cache_configs: check_memory; not in 0.28
constexpr std::uint64_t kLatentStateBlocks = 27;  // Platform._align_hybrid_block_size; not in 0.26
constexpr std::uint64_t kCompositeMasks = 30;     // TRITON_FLASHINFER; not in 0.29
// FLASH_ATTN_MLA, FLASHINFER_MLA first; the oldest release that was executed.
constexpr std::uint64_t kLatentsByCard = 26;
constexpr std::uint64_t kPlainDeclaredFp8 = 30;   // FLASHINFER_MLA_SPARSE_SM90; not in 0.29
constexpr std::uint64_t kLatentCheckpoints = 29;  // models/kimi_k3/nvidia/kda.py; not in 0.28
constexpr std::uint64_t kScanCheckpoints = 32;    // MambaMixer2.get_kv_cache_spec; not in 0.31
constexpr std::uint64_t kOneMode = 32;            // CacheConfig.mamba_cache_mode "all" was removed; still in 0.31
constexpr std::uint64_t kGlmFp8 = 32;             // GlmMoeDsaForCausalLM in models/config.py; not in 0.31
constexpr std::uint64_t kDeltaCheckpoints = 33;   // qwen_gdn_linear_attn.py get_kv_cache_spec
constexpr std::uint64_t kHyIndexers = 31;     // hy_v4/nvidia/attention.py create_indexer; 0.30 (executed) built none
constexpr std::uint64_t kWideFp8Blocks = 31;  // FlashAttentionBackend._get_sm90_fa4_fp8_kv_block_size; not in 0.30
constexpr std::uint64_t kWholeTypes = 32;     // MiMo-V2's layers use the cache's settings; not in 0.31

constexpr std::array kVersions{
    EngineVersion{"0.6",
                  "V0: one block table; figures of start-up logs of 0.4 to 0.8 (blocks, CPU blocks, concurrency)"},
    EngineVersion{"0.11", "hybrid manager, states paged; a start-up log of Qwen3-Next with TP 2"},
    EngineVersion{"0.16", "groups by the ratio 1.25 (0.15 to 0.17); source only"},
    EngineVersion{"0.19", "old \"KV cache size\" line; logs of Qwen3.5, Gemma-4, DeepSeek-V3, EXAONE-4, Llama"},
    EngineVersion{"0.20", "CUDA graphs in the budget, which is 0.92 of the card; values of windows; source"},
    EngineVersion{"0.21", "\"KV cache size\" is concurrency x length; a log of Qwen2.5-14B"},
    EngineVersion{"0.22", "DeepSeek-V4; logs of GLM-5, Kimi-K3, DeepSeek-V4-Flash"},
    EngineVersion{"0.24", "padded pages of attention; source"},
    EngineVersion{"0.26", "executed; windows are charged two batches in flight"},
    EngineVersion{"0.27", "packed blocks of the widest group; source, a log of Qwen3.8"},
    EngineVersion{"0.28", "prefix caching of states; source"},
    EngineVersion{"0.29", "the null block, checkpoints of Kimi-Linear; source"},
    EngineVersion{"0.30", "executed; block size and \"KV cache needed\" lines of Qwen3.5, Qwen3.8, Kimi-Linear"},
    EngineVersion{"0.31", "FP8 heads of 512 on Hopper; a log of Llama-3.1"},
    EngineVersion{"0.32", "Mamba 2 keeps a checkpoint of a prefill; source, starts on a CPU"},
    EngineVersion{"0.33", "newest known; executed. Checkpoints of gated delta nets"},
};

constexpr std::uint64_t kDefaultDraftTokens = 3;  // vLLM requires a number; this is the one in its examples

constexpr std::uint64_t kLargeCard = 70 * kGiB;
constexpr std::uint64_t kLargestCard = 160 * kGiB;
// Gemma 4's largest item is a video: 32 frames of at most 70 tokens, each with a begin, an end and a time
// (gemma4_mm.py).
constexpr std::uint64_t kGemma4Video = 32 * (70 + 2 + 6);

// Whether EngineArgs counts the card as large: at least 70 GiB and no A100. Without a card, the figures for a large one
// are used.
bool large_card(const Request& request) {
  if (!request.card.memory) return true;
  if (request.card.gpu && request.card.gpu->name.find("a100") != std::string::npos)
    return false;  // vLLM also goes by the name
  return request.card.memory->count() >= kLargeCard;
}

}  // namespace

VllmRules vllm_rules(const Request& request) {
  const std::uint64_t v = engine_version(engine_of(request), request);
  // 0.20.1 was cut from main like 0.21 (a log prints the new line): "0.20" stands for 0.20.0.
  constexpr std::uint64_t kPatched = 20;
  const bool patched = v == kPatched && engine_patch(request) >= 1 && engine_patch(request) < kPatched;
  VllmRules rules;
  rules.version = v;
  rules.hybrid_manager = v >= kHybridManager;
  rules.ceil_concurrency = v >= kCeilConcurrency;
  rules.chunked_groups = v >= kChunkedGroups;
  rules.batch_for_source = v >= kBatchForSource;
  rules.group_ratio = v >= kGroupRatio ? 1.5 : 1.25;
  rules.tokens_from_concurrency = v >= kTokensFromConcurrency || patched;
  rules.graphs_in_budget = v >= kGraphsInBudget;
  rules.utilization = v >= kUtilization ? 0.92 : 0.90;
  rules.window_value_width = v >= kWindowValueWidth;
  rules.pad_attention_pages = v >= kPadAttentionPages;
  rules.in_flight_batches = v >= kInFlight;
  rules.packed_block = v >= kWidestGroup   ? PackedBlock::kWidestGroup
                       : v >= kPackedSlots ? PackedBlock::kSlots
                                           : PackedBlock::kTuples;
  rules.packed_sum_of_pages = v >= kWidestGroup;  // #48317
  rules.all_mode_speculative = v >= kSpeculativeAll;
  rules.local_value_width = rules.align_by_default = v >= kNewestSpecs;
  rules.caches_states = v >= kCachedStates;
  rules.all_mode = v < kOneMode;
  rules.scan_checkpoints = v >= kScanCheckpoints;
  rules.delta_checkpoints = v >= kDeltaCheckpoints;
  rules.latent_checkpoints = v >= kLatentCheckpoints;
  rules.latent_state_blocks = v >= kLatentStateBlocks;
  rules.latents_by_card = v >= kLatentsByCard;
  rules.composite_masks = v >= kCompositeMasks;
  rules.wide_fp8_blocks = v >= kWideFp8Blocks;
  rules.hy_indexers = v >= kHyIndexers;
  rules.null_block = v >= kNullBlock;
  rules.plain_declared_fp8 = v >= kPlainDeclaredFp8;
  rules.split_types = v < kWholeTypes;
  rules.glm_fp8 = v >= kGlmFp8;
  return rules;
}

bool vllm_indexes_every_layer(Arch arch, std::span<const ConfigFact> facts) {
  if (!is_one_of(arch, {Arch::kDeepseekV32, Arch::kGlmMoeDsa})) return false;
  const auto stated = [&](std::string_view key) -> std::string_view {
    for (const ConfigFact& fact : facts)
      if (fact.origin == Origin::kFile && fact.key.ends_with(key) && fact.value != "null") return fact.value;
    return "";
  };
  const std::string_view every = stated("index_topk_freq");
  return !stated("indexer_types").empty() && stated("index_topk_pattern").empty() && (every.empty() || every == "1");
}

bool vllm_builds_no_indexer(Arch arch, const VllmRules& rules) {
  return arch == Arch::kHyV4 && !rules.hy_indexers;
}

bool vllm_uses_mla(Arch arch) {
  return is_one_of(
      arch, {Arch::kAxk1, Arch::kDeepseekV3, Arch::kDeepseekV32, Arch::kDeepseekV4, Arch::kGlmMoeDsa,
             Arch::kGlm4MoeLite, Arch::kKimiK2, Arch::kKimiK3, Arch::kKimiLinear, Arch::kLongcat, Arch::kPanguUltraMoe,
             Arch::kBailingHybrid, Arch::kMistral4, Arch::kMistralLarge4, Arch::kHyV4});
}

bool vllm_packs_fp8_latents(Arch arch) {
  return is_one_of(arch, {Arch::kDeepseekV32, Arch::kDeepseekV4, Arch::kGlmMoeDsa, Arch::kHyV4});
}

bool vllm_lacks(Arch arch) {
  return is_one_of(arch, {Arch::kRwkv, Arch::kRecurrentGemma, Arch::kXlstm, Arch::kT5, Arch::kT5Gemma, Arch::kMarian});
}

std::uint64_t vllm_batched_tokens(const EngineInput& input, const VllmRules& rules) {
  const Request& request = input.request;
  if (request.max_num_batched_tokens) return request.max_num_batched_tokens->count();
  const bool largest = request.card.memory && request.card.memory->count() >= kLargestCard;
  const std::uint64_t usual = !large_card(request) ? 2048 : largest && rules.version >= kLargestCards ? 16384 : 8192;
  const bool whole = input.model.vision && input.model.vision->both_ways && rules.version >= kWholeItems &&
                     !request.extras.language_model_only &&
                     is_one_of(input.model.arch, {Arch::kGemma4, Arch::kGemma4Unified});
  return whole ? std::max(usual, kGemma4Video) : usual;
}

bool vllm_leaves_towers(const Request& request, Arch arch, bool has_audio) {
  const ExtrasRequest& extras = request.extras;
  if (engine_version(engine_of(request), request) < kTowersLeftOut) return false;
  if (extras.language_model_only) return true;
  // Their processors take no videos: a limit for images is enough.
  const bool stills = is_one_of(arch, {Arch::kGemma2, Arch::kGemma3, Arch::kGemma3n, Arch::kMistral, Arch::kMistral3,
                                       Arch::kMistral4, Arch::kMistralLarge4, Arch::kMinistral, Arch::kLlama,
                                       Arch::kLlama4, Arch::kMllama, Arch::kPhi3V, Arch::kCohere2, Arch::kDeepseek,
                                       Arch::kDeepseekOcr, Arch::kDeepseekV3, Arch::kDeepseekV32, Arch::kDeepseekV4});
  const auto none = [&](std::string_view what) {
    return std::any_of(extras.mm_limits.begin(), extras.mm_limits.end(),
                       [&](const auto& limit) { return limit.first == what && limit.second == 0; });
  };
  return none("image") && (stills || none("video")) && (!has_audio || none("audio"));
}

bool vllm_keeps_fp8_plain(const Request& request) {
  return vllm_is_data_blackwell(request) && engine_version(engine_of(request), request) >= kPlainFp8Latents;
}

bool vllm_names_largest_graph(Arch arch, const VllmRules& rules) {
  return arch == Arch::kGptOss && rules.version >= kGptOssGraphs;
}

std::uint64_t vllm_largest_graph(const Request& request, Arch arch, const VllmRules& rules) {
  return vllm_names_largest_graph(arch, rules) || (vllm_is_data_blackwell(request) && rules.version >= kLargestCards)
             ? 1024
             : 512;
}

std::uint64_t vllm_max_num_seqs(const Request& request, const VllmRules& rules) {
  if (request.max_num_seqs) return *request.max_num_seqs;
  return large_card(request) && rules.hybrid_manager ? 1024 : 256;
}

bool vllm_caches_prefixes(const Request& request, Arch arch, bool has_states, const VllmRules& rules) {
  if (request.prefix_caching) return *request.prefix_caching;
  if (!has_states) return rules.version >= kV1;
  // On for hybrid models, off for classes without attention (ModelConfig.is_prefix_caching_supported).
  return (rules.caches_states && arch != Arch::kMamba) || request.vllm.mamba_cache_mode.value_or("none") != "none";
}

bool vllm_has_flash_mla(const Request& request) {
  return !request.card.gpu || vllm_is_hopper(request) || vllm_is_data_blackwell(request);
}

std::uint64_t vllm_speculative_tokens(const EngineInput& input) {
  if (input.request.num_speculative_tokens > 0) return input.request.num_speculative_tokens;
  if (input.request.mtp) return input.model.num_nextn_layers > 0 ? 1 : 0;
  return step_draft_tokens(input, kDefaultDraftTokens);
}

std::span<const EngineVersion> vllm_versions() {
  return kVersions;
}

bool vllm_keeps(Dtype type) {
  switch (type) {
    case Dtype::kFloat16:
    case Dtype::kBfloat16:
    case Dtype::kFp8E4m3:
    case Dtype::kFp8E5m2:
    case Dtype::kFp8PerTokenHead:
    case Dtype::kFp8DsMla:
    case Dtype::kInt8:
    case Dtype::kInt4:
    case Dtype::kNvfp4:
    case Dtype::kTurboquantK8V4:
    case Dtype::kTurboquant4bit:
    case Dtype::kTurboquantK3V4:
    case Dtype::kTurboquant3bit: return true;
    default: return false;
  }
}

}  // namespace kvplan
