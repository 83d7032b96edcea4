// KV types and the memory that they really need. Sources: vLLM vllm/v1/kv_cache_interface.py (KVQuantMode:
// per-token-head types add a float32 scale for each head of K and of V; nvfp4 is d/2 + d/16),
// quantization/turboquant/config.py (key ceil(d*kb/8)+2, no extra for the 8-bit key; value ceil(d*vb/8)+4; a slot is
// even), ggml's block types (ggml-common.h), FlashMLA's fp8 layout (512 FP8 + 4 float32 scales + 64 bf16 rope = 656;
// DeepSeek-V4: 448 + 8 scale bytes + 64 bf16 = 584).
#include "kvplan/storage.h"

#include <array>

#include "kvplan/error.h"
#include "kvplan/strings.h"

namespace kvplan {

static constexpr PackRule plain(std::uint64_t bytes) {
  return {1, bytes, 0, false};
}
static constexpr PackRule per_head(std::uint64_t bits, std::uint64_t extra) {
  return {8, bits, extra, false};
}
static constexpr PackRule ggml(std::uint64_t bytes) {
  return {32, bytes, 0, true};
}
constexpr PackRule kNvfp4Rule{16, 9, 0, false};
constexpr PackRule kMxfp8Rule{32, 33, 0, false};

constexpr std::array kTypes{
    DtypeInfo{Dtype::kFloat32, "float32", "fp32 f32 float", plain(4), plain(4), false, ""},
    DtypeInfo{Dtype::kFloat16, "float16", "fp16 f16 half", plain(2), plain(2), false, ""},
    DtypeInfo{Dtype::kBfloat16, "bfloat16", "bf16", plain(2), plain(2), false, ""},
    DtypeInfo{Dtype::kFp8E4m3, "fp8_e4m3", "fp8 e4m3 float8_e4m3fn float8_e4m3", plain(1), plain(1), false,
              "scales per tensor: no bytes in the cache"},
    DtypeInfo{Dtype::kFp8E5m2, "fp8_e5m2", "e5m2 float8_e5m2", plain(1), plain(1), false,
              "scales per tensor: no bytes in the cache"},
    DtypeInfo{Dtype::kFp8PerTokenHead, "fp8_per_token_head", "", per_head(8, 4), per_head(8, 4), true,
              "a float32 scale per token and head, for K and for V"},
    DtypeInfo{Dtype::kFp8DsMla, "fp8_ds_mla", "", plain(1), plain(1), true,
              "MLA only: FP8 latent with scales, rope part in 16 bit (656 B per token; DeepSeek-V4 584 B)"},
    DtypeInfo{Dtype::kInt8, "int8", "int8_per_token_head", per_head(8, 4), per_head(8, 4), true,
              "a float32 scale per token and head, for K and for V"},
    DtypeInfo{Dtype::kInt4, "int4", "int4_per_token_head", per_head(4, 4), per_head(4, 4), true,
              "a float32 scale per token and head, for K and for V"},
    DtypeInfo{Dtype::kNvfp4, "nvfp4", "fp4", kNvfp4Rule, kNvfp4Rule, true, "an FP8 scale for every 16 elements"},
    DtypeInfo{Dtype::kTurboquantK8V4, "turboquant_k8v4", "tq_k8v4", per_head(8, 0), per_head(4, 4), true,
              "K and V together are padded to an even size"},
    DtypeInfo{Dtype::kTurboquant4bit, "turboquant_4bit_nc", "turboquant tq_4bit", per_head(4, 2), per_head(4, 4), true,
              "K and V together are padded to an even size"},
    DtypeInfo{Dtype::kTurboquantK3V4, "turboquant_k3v4_nc", "tq_k3v4", per_head(3, 2), per_head(4, 4), true,
              "K and V together are padded to an even size"},
    DtypeInfo{Dtype::kTurboquant3bit, "turboquant_3bit_nc", "tq_3bit", per_head(3, 2), per_head(3, 4), true,
              "K and V together are padded to an even size"},
    DtypeInfo{Dtype::kQ8_0, "q8_0", "", ggml(34), ggml(34), true, "ggml: a float16 scale for every 32"},
    DtypeInfo{Dtype::kQ5_1, "q5_1", "", ggml(24), ggml(24), true, "ggml: scale and minimum for every 32"},
    DtypeInfo{Dtype::kQ5_0, "q5_0", "", ggml(22), ggml(22), true, "ggml: a float16 scale for every 32"},
    DtypeInfo{Dtype::kQ4_1, "q4_1", "", ggml(20), ggml(20), true, "ggml: scale and minimum for every 32"},
    DtypeInfo{Dtype::kQ4_0, "q4_0", "", ggml(18), ggml(18), true, "ggml: a float16 scale for every 32"},
    DtypeInfo{Dtype::kIq4Nl, "iq4_nl", "", ggml(18), ggml(18), true, "ggml: a float16 scale for every 32"},
    DtypeInfo{Dtype::kMxfp8, "mxfp8", "", kMxfp8Rule, kMxfp8Rule, true, "a scale byte for every 32 elements"},
};

static std::string fold(std::string_view text) {
  std::string out = lower(text);
  if (out.starts_with("torch.")) out.erase(0, 6);
  return out;
}

constexpr std::string_view kWhat = "the bytes of a cache entry";

static std::uint64_t packed(std::uint64_t elements, const PackRule& rule) {
  return ceil_div(checked_mul(elements, rule.block_bytes, kWhat), rule.block);
}

static std::uint64_t vector_bytes(std::uint64_t width, const PackRule& rule) {
  return checked_add(packed(width, rule), rule.extra, kWhat);
}

static bool is_turboquant(Dtype type) {
  return type == Dtype::kTurboquantK8V4 || type == Dtype::kTurboquant4bit || type == Dtype::kTurboquantK3V4 ||
         type == Dtype::kTurboquant3bit;
}

// FlashMLA's packed cell. Its scales are a float32 per 128 latents (V3.2), or a byte per 64 latents, padded to 8 bytes
// (V4).
static std::uint64_t ds_mla_bytes(const Term& term) {
  const std::uint64_t width = term.shape.width;
  switch (term.part) {
    case Part::kLatent: return width + (width % 128 == 0 ? width / 128 * 4 : round_up(ceil_div(width, 64), 8, kWhat));
    case Part::kRope: return checked_mul(width, 2, kWhat);
    case Part::kPlain:
    case Part::kScan: break;
  }
  fail("fp8_ds_mla is a layout for MLA, and this model has other layers", "use --kv-cache-dtype fp8, or auto");
}

std::span<const DtypeInfo> dtypes() {
  return kTypes;
}

const DtypeInfo& info(Dtype type) {
  return kTypes[static_cast<std::size_t>(type)];
}

std::optional<Dtype> find_dtype(std::string_view text) {
  const std::string wanted = fold(text);
  for (const DtypeInfo& row : kTypes)
    if (row.name == wanted || has_word(row.aliases, wanted)) return row.id;
  return std::nullopt;
}

Dtype parse_dtype(std::string_view text, std::string_view option) {
  if (const auto type = find_dtype(text)) return *type;
  std::vector<std::string_view> known;
  known.reserve(kTypes.size());
  for (const DtypeInfo& row : kTypes) known.push_back(row.name);
  fail(std::string(option) + ": unknown type \"" + one_line(text, 40) + "\"", nearest_remedy(text, known));
}

std::uint64_t plain_bytes(Dtype type) {
  const DtypeInfo& row = info(type);
  return row.kv_only ? 0 : row.key.block_bytes;
}

double bytes_per_element(const PackRule& rule, std::uint64_t width) {
  return static_cast<double>(vector_bytes(width, rule)) / static_cast<double>(width);
}

std::string cache_types_name(const CacheTypes& types) {
  std::string out(name(types.key));
  if (types.value != types.key) out += "/" + std::string(name(types.value));
  return out;
}

Dtype term_dtype(const Term& term, const CacheTypes& types) {
  switch (term.storage) {
    case Storage::kKv: return term.role == Role::kValue ? types.value : types.key;
    case Storage::kState: return types.state;
    case Storage::kModel: return types.model;
    case Storage::kFloat32: return Dtype::kFloat32;
    case Storage::kFp8Scaled: return Dtype::kFp8E4m3;
  }
  return types.model;
}

std::string term_dtype_name(const Term& term, const CacheTypes& types) {
  std::string out(name(term_dtype(term, types)));
  if (term.storage == Storage::kFp8Scaled) out += "+float32/128";
  return out;
}

Bytes entry_bytes(const Term& term, const CacheTypes& types, std::uint64_t units, std::uint64_t columns_kept) {
  const Dtype type = term_dtype(term, types);
  const Shape& shape = term.shape;
  std::uint64_t vectors = checked_mul(units, shape.vectors, kWhat);
  if (shape.columns > 0) vectors = checked_mul(vectors, columns_kept, kWhat);
  // The packed layout stores index keys as DeepSeek-V3.2 does.
  const bool packed_index = type == Dtype::kFp8DsMla && term.storage == Storage::kKv && term.role == Role::kIndex;
  if (term.storage == Storage::kFp8Scaled || packed_index)
    return Bytes(checked_mul(vectors, checked_add(shape.width, ceil_div(shape.width, 128) * 4, kWhat), kWhat));
  if (term.storage == Storage::kKv && type == Dtype::kFp8DsMla)
    return Bytes(checked_mul(vectors, ds_mla_bytes(term), kWhat));
  const DtypeInfo& row = info(type);
  const PackRule& rule = term.role == Role::kValue ? row.value : row.key;
  if (rule.over_row) return Bytes(packed(checked_mul(vectors, shape.width, kWhat), rule));
  std::uint64_t bytes = vector_bytes(shape.width, rule);
  if (is_turboquant(type) && term.role == Role::kValue && types.key == type)
    bytes += (bytes + vector_bytes(shape.width, row.key)) % 2;
  return Bytes(checked_mul(vectors, bytes, kWhat));
}

Bytes entry_bytes(const Term& term, const CacheTypes& types) {
  return entry_bytes(term, types, term.shape.units, term.shape.columns > 0 ? term.shape.columns - 1 : 0);
}

}  // namespace kvplan
