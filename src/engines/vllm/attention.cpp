// vLLM's attention backends. The model starts if each layer has a backend that supports its cache type and heads on the
// GPU. If the command names a backend, that one must support them. Source: platforms/cuda.py and v1/attention/backends
// of the wheels of 0.11 to 0.33.
#include <algorithm>
#include <string>

#include "engines/vllm/class_table.h"
#include "engines/vllm/vllm.h"
#include "kvplan/strings.h"

namespace kvplan {

namespace {

enum class Reads : std::uint8_t { kHeads, kLatents, kIndexedLatents };
using enum Reads;

struct AttentionRow {
  std::string_view backend;
  Reads reads;
  std::string_view cards;   // compute capabilities times ten
  std::string_view types;   // of the cache; "16" for float16 and bfloat16
  std::string_view widths;  // of a head
  std::string_view sinks;   // GPUs on which the backend supports attention sinks
  bool masks = false;       // supports images with attention in both directions
  Release since{}, until = kNoEnd;
};

constexpr Release minor_of(std::uint64_t minor) {
  return {0, minor, 0};
}

constexpr std::string_view kAny = "0+", kNoCard = "", kUpTo256 = "0-256";
constexpr std::string_view kFlashInferHeads = "64-64 128-128 256-256";
constexpr std::string_view kWiderHeads = "64-64 128-128 256-256 512-512";
constexpr unsigned kFirstWithFp8 = 89;
constexpr std::string_view kFp8 = "fp8_e4m3 fp8_e5m2", kWithFp8 = "16 fp8_e4m3 fp8_e5m2";

// clang-format off
constexpr AttentionRow kAttentionRows[] = {
    {"FLASH_ATTN", kHeads, "80+", "16", kUpTo256, "90-99", false, {}, minor_of(20)},
    {"FLASH_ATTN", kHeads, "80+", "16", kUpTo256, "90-119", false, minor_of(20)},
    {"FLASH_ATTN", kHeads, "90-119", "16", "0-512", "90-119", true, minor_of(20)},
    {"FLASH_ATTN", kHeads, "90-99", kFp8, kUpTo256, "90-99", false, {}, minor_of(22)},
    {"FLASH_ATTN", kHeads, "90-99", "fp8_e4m3", "0-512", "90-99", false, minor_of(22)},
    {"FLASHINFER", kHeads, "100-100", kWithFp8, kFlashInferHeads, kNoCard, false, {}, minor_of(12)},
    {"FLASHINFER", kHeads, "75-121", kWithFp8, kFlashInferHeads, "100-109", false, minor_of(12), minor_of(22)},
    {"FLASHINFER", kHeads, "75-121", kWithFp8, kWiderHeads, "100-109", false, minor_of(22), minor_of(24)},
    {"FLASHINFER", kHeads, "80-121", kWithFp8, kWiderHeads, "100-109", false, minor_of(24), minor_of(28)},
    {"FLASHINFER", kHeads, "80-121", kWithFp8, kWiderHeads, "100-129", false, minor_of(28), minor_of(30)},
    {"FLASHINFER", kHeads, "80-121", kWithFp8, kWiderHeads, "90-129", false, minor_of(30)},
    {"FLASHINFER", kHeads, "100-109", "nvfp4", kWiderHeads, "100-109", false, minor_of(21)},
    {"FLASHINFER", kHeads, "80-99 120-121", "nvfp4", "128-512", kNoCard, false, minor_of(32)},
    {"TRITON_ATTN", kHeads, "80+", "16", kAny, kAny, true, {}, minor_of(12)},
    {"TRITON_ATTN", kHeads, kAny, "16", kAny, kAny, true, minor_of(12)},
    {"TRITON_ATTN", kHeads, "89+", kFp8, kAny, kAny, true},
    {"TRITON_ATTN", kHeads, kAny, "fp8_e5m2", kAny, kAny, true, minor_of(12), minor_of(24)},
    {"TRITON_ATTN", kHeads, kAny, "int8", kAny, kAny, true, minor_of(20)},
    {"TRITON_ATTN", kHeads, "89+", "fp8_per_token_head", kAny, kAny, true, minor_of(20)},
    {"TRITON_ATTN", kHeads, kAny, "int4", kAny, kAny, true, minor_of(25)},
    {"FLEX_ATTENTION", kHeads, kAny, "16", kAny, kNoCard, true},
    {"FLASH_ATTN_MLA", kLatents, "90-99", "16", kAny, kNoCard},
    {"FLASHMLA", kLatents, "90-99", "16 fp8_e4m3", kAny, kNoCard},
    {"FLASHINFER_MLA", kLatents, "100-109", "16 fp8_e4m3", kAny, kNoCard},
    {"CUTLASS_MLA", kLatents, "100-109", "16 fp8_e4m3", kAny, kNoCard},
    {"TRITON_MLA", kLatents, kAny, "16", kAny, kNoCard},
    {"TRITON_MLA", kLatents, "89+", "fp8_e4m3", kAny, kNoCard, false, minor_of(18)},
    {"FLASHMLA_SPARSE", kIndexedLatents, "90-109", "16 fp8_ds_mla", kAny, kNoCard},
    {"FLASHINFER_MLA_SPARSE", kIndexedLatents, "100-109", "16 fp8_e4m3", kAny, kNoCard, false, minor_of(17)},
    {"FLASHINFER_MLA_SPARSE_SM90", kIndexedLatents, "90-99", "16 fp8_e4m3", kAny, kNoCard, false, minor_of(30)},
    {"FLASHINFER_MLA_SPARSE_SM120", kIndexedLatents, "120-121", "fp8_ds_mla", kAny, kNoCard, false, minor_of(24)},
};
// clang-format on

// What a layer needs from a backend.
struct Need {
  Reads reads = kHeads;
  std::string type;
  std::uint64_t width = 0;
  bool sinks = false, masks = false;
  bool has_one_kernel = false;  // some layers cannot use FlashInfer
};

bool takes(const AttentionRow& row, const Need& need, unsigned capability) {
  return row.reads == need.reads && is_among(row.cards, capability) && has_word(row.types, need.type) &&
         is_among(row.widths, need.width) && (!need.sinks || is_among(row.sinks, capability)) &&
         (!need.masks || row.masks) && !(need.has_one_kernel && row.backend == "FLASHINFER");
}

bool is_of(const AttentionRow& row, Release release) {
  return release >= row.since && release < row.until;
}

// TurboQuant and DeepSeek-V4 have separate backends. The rows only cover the indexers of deepseek_v2.py.
bool is_in_table(const EngineInput& input, const VllmClass& the_class, bool has_indexers) {
  return !the_class.is_always_packed && (!has_indexers || the_class.indexes_by_frequency) &&
         !name(input.types.key).starts_with("turboquant");
}

std::optional<Refusal> refuse_backend(const Need& need, std::string_view asked, unsigned capability) {
  const std::string dotted = std::to_string(capability / 10) + "." + std::to_string(capability % 10);
  // Triton has its own check (TritonAttentionImpl, TritonMLAImpl).
  const bool is_triton = need.reads != kIndexedLatents && (asked.empty() || asked.starts_with("triton"));
  if (is_triton && has_word(kFp8, need.type) && capability < kFirstWithFp8)
    return Refusal{
        "no_fp8_cache",
        {"FP8 KV cache is not supported by the Triton {backend} backend (compute capability {capability}); native "
         "FP8 (fp8e4nv) requires SM89+",
         {{"backend", need.reads == kLatents ? "MLA" : "attention"}, {"capability", dotted}}},
        "use --kv-cache-dtype bfloat16"};
  const std::string type = need.type == "16" ? "auto" : need.type;
  const char* const words = asked.empty()
                                ? "No valid attention backend found for cuda with head_size={width}, "
                                  "kv_cache_dtype={type}, has_sink={sinks}, compute capability {capability}"
                                : "Selected backend {asked} is not valid for this configuration: head_size={width}, "
                                  "kv_cache_dtype={type}, has_sink={sinks}, compute capability {capability}";
  return Refusal{need.type == "16" ? "no_kernel" : "no_fp8_cache",
                 {words,
                  {{"asked", asked},
                   {"width", need.width},
                   {"type", type},
                   {"sinks", need.sinks ? "True" : "False"},
                   {"capability", dotted}}},
                 !asked.empty()      ? "leave --attention-backend out: vLLM chooses one that fits"
                 : need.type != "16" ? "use --kv-cache-dtype auto"
                 : capability >= 120 ? "use a newer release and --kv-cache-dtype fp8, or a Hopper GPU"
                                     : "use a Hopper or Blackwell GPU"};
}

// ROCm's backends that do not support attention sinks. vLLM checks them since 0.18 (platforms/rocm.py).
std::optional<Refusal> rocm_refusal(const EngineInput& input, const VllmClass& the_class) {
  constexpr Release kFirstChecked = minor_of(18), kFirstWithSinks = minor_of(23);  // rocm_aiter_fa.py
  const Release release = release_of(input.request);
  const std::string& asked = input.request.extras.attention_backend;
  const std::string backend = lower(asked);
  if (!input.request.card.is_amd() || !the_class.has_sinks || release < kFirstChecked) return std::nullopt;
  if (backend != "rocm_attn" && (backend != "rocm_aiter_fa" || release >= kFirstWithSinks)) return std::nullopt;
  return Refusal{"no_kernel",
                 {"Selected backend {asked} is not valid for this configuration. Reason: ['attention sinks not "
                  "supported']",
                  {{"asked", asked}}},
                 "leave --attention-backend out: vLLM chooses one that fits"};
}

}  // namespace

std::optional<Refusal> vllm_attention_refusal(const EngineInput& input, const VllmRules& rules) {
  constexpr Release kFirst = minor_of(11), kFirstByName = minor_of(12), kFirstOfOneKernel = minor_of(19);
  const unsigned capability = input.request.card.capability();
  const Release release = release_of(input.request);
  const VllmClass the_class = vllm_class(input.model);
  if (auto found = rocm_refusal(input, the_class)) return found;
  const bool has_indexers = the_class.keeps_latents && vllm_has_indexers(input, rules);
  if (capability == 0 || (release < kFirst && !the_class.keeps_latents)) return std::nullopt;
  if (!is_in_table(input, the_class, has_indexers)) return std::nullopt;
  Need need;
  need.reads = has_indexers ? kIndexedLatents : the_class.keeps_latents ? kLatents : kHeads;
  need.type = plain_bytes(input.types.key) >= 2 ? "16" : std::string(name(input.types.key));
  need.sinks = need.reads == kHeads && the_class.has_sinks;
  const auto& vision = input.model.vision;
  need.masks = release >= minor_of(13) && vision && vision->both_ways && !input.request.extras.language_model_only;
  std::string asked = lower(input.request.extras.attention_backend);
  const auto is_asked = [&](const AttentionRow& row) { return asked.empty() || lower(row.backend) == asked; };
  if (release < kFirstByName || need.reads != kHeads ||
      std::none_of(std::begin(kAttentionRows), std::end(kAttentionRows), is_asked))
    asked.clear();
  need.has_one_kernel = asked.empty() && release >= kFirstOfOneKernel && the_class.has_heads_of_two_widths;
  for (const LayerCache& cache : input.caches) {
    for (const Term& term : cache.compact) {
      if (term.role != Role::kKey || term.growth != Growth::kToken) continue;
      if (need.reads == kHeads) need.width = term.shape.width;
      const bool starts =
          std::any_of(std::begin(kAttentionRows), std::end(kAttentionRows), [&](const AttentionRow& row) {
            return is_of(row, release) && is_asked(row) && takes(row, need, capability);
          });
      if (!starts) return refuse_backend(need, asked, capability);
    }
  }
  return std::nullopt;
}

std::vector<RuleRow> vllm_attention_rule_rows() {
  std::vector<RuleRow> out;
  for (const AttentionRow& row : kAttentionRows) {
    out.push_back(
        rule_row(row.since, row.until, 1, true, "", "platforms/cuda.py and v1/attention/backends", RuleBasis::kRead));
    out.back().what = std::string(row.backend) + ": supports caches in " +
                      (row.types == "16" ? "16 bits" : std::string(row.types)) + " on compute capability " +
                      std::string(row.cards == kAny ? "any" : row.cards) + " (times ten).";
  }
  return out;
}

}  // namespace kvplan
