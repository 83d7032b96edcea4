#include "weights/types.h"

#include <algorithm>
#include <array>
#include <string>
#include <tuple>
#include <vector>

#include "kvplan/error.h"
#include "kvplan/strings.h"
#include "weights/gguf_mixture.h"
#include "weights/weigh.h"

namespace kvplan {

constexpr std::string_view kFp8Quality = "under 0.5 %";
constexpr std::string_view kInt8Quality = "under 0.5 %";
constexpr std::string_view kInt4Quality = "1 to 3 %";

// Source: the storage of each packer: AutoGPTQ, AutoAWQ, bitsandbytes, HQQ, compressed-tensors, modelopt, gpt-oss's
// checkpoints, mlx.core.quantize, exllamav2/3.
// clang-format off
constexpr std::array kTypes{
    WeightType{.name = "bfloat16", .aliases = "bf16", .scope = Scope::kEverything, .what = "bfloat16"},
    WeightType{.name = "float16", .aliases = "fp16 f16 half", .scope = Scope::kEverything, .what = "float16"},
    WeightType{.name = "float32", .aliases = "fp32 f32 float", .scope = Scope::kEverything, .millibits = 32000, .what = "float32"},
    WeightType{.name = "fp8", .aliases = "fp8_e4m3 fp8-tensor fp8_per_tensor e4m3", .millibits = 8000, .tensor_bits = 64,
               .quality = kFp8Quality, .what = "FP8, one scale per matrix"},
    WeightType{.name = "fp8-channel", .aliases = "fp8_per_channel fp8-dynamic fbgemm_fp8", .millibits = 8000, .row_bits = 16,
               .quality = kFp8Quality, .what = "FP8, a scale for each output"},
    WeightType{.name = "fp8-block-e8m0", .millibits = 8000, .block = 128, .block_bits = 8,
               .what = "FP8, one power of two for each block of 128 x 128 (DeepSeek-V4 in vLLM)"},
    WeightType{.name = "fp8-block", .aliases = "fp8_block fp8-block128", .millibits = 8000, .block = 128, .block_bits = 32,
               .quality = kFp8Quality, .what = "FP8, a float32 scale for each 128 x 128"},
    WeightType{.name = "mxfp8", .aliases = "", .millibits = 8000, .group = 32, .group_bits = 8, .quality = kFp8Quality,
               .what = "FP8, a power of two for each 32"},
    WeightType{.name = "int8", .aliases = "w8a8 w8a16 w8", .millibits = 8000, .row_bits = 16, .quality = kInt8Quality,
               .what = "INT8, a scale for each output"},
    WeightType{.name = "bnb-int8", .aliases = "bitsandbytes-int8 llm.int8 llm_int8 eetq", .millibits = 8000, .row_bits = 32,
               .quality = kInt8Quality, .what = "bitsandbytes INT8"},
    WeightType{.name = "gptq-int8", .aliases = "gptq-8bit gptq8", .millibits = 8000, .group = 128, .group_bits = 16, .zero_bits = 8,
               .column_bits = 32, .quality = kInt8Quality, .what = "GPTQ, 8 bit"},
    WeightType{.name = "int4", .aliases = "w4a16 w4", .millibits = 4000, .group = 128, .group_bits = 16, .quality = kInt4Quality,
               .what = "INT4, a scale for each 128"},
    WeightType{.name = "gptq-int4", .aliases = "gptq gptq-4bit gptq4 gptq_marlin", .millibits = 4000, .group = 128, .group_bits = 16,
               .zero_bits = 4, .column_bits = 32, .quality = kInt4Quality, .what = "GPTQ, 4 bit, groups of 128"},
    WeightType{.name = "gptq-int3", .aliases = "gptq-3bit", .millibits = 3000, .group = 128, .group_bits = 16, .zero_bits = 3,
               .column_bits = 32, .what = "GPTQ, 3 bit"},
    WeightType{.name = "gptq-int2", .aliases = "gptq-2bit", .millibits = 2000, .group = 128, .group_bits = 16, .zero_bits = 2,
               .column_bits = 32, .what = "GPTQ, 2 bit"},
    WeightType{.name = "awq-int4", .aliases = "awq awq-4bit awq4 awq_marlin", .millibits = 4000, .group = 128, .group_bits = 16,
               .zero_bits = 4, .quality = kInt4Quality, .what = "AWQ, 4 bit, groups of 128"},
    WeightType{.name = "bnb-nf4", .aliases = "nf4 bitsandbytes bnb bnb-4bit fp4 bnb-fp4", .millibits = 4000, .flat = 64,
               .flat_bits = 8, .flat_scale_group = 256, .quality = kInt4Quality, .what = "bitsandbytes NF4, double quantization"},
    WeightType{.name = "bnb-nf4-double", .aliases = "nf4-double", .millibits = 4000, .flat = 64,
               .flat_bits = 8, .flat_scale_group = 256, .what = "bitsandbytes NF4, double quantization in every engine"},
    WeightType{.name = "bnb-nf4-single", .aliases = "nf4-single", .millibits = 4000, .flat = 64, .flat_bits = 32,
               .quality = kInt4Quality, .what = "bitsandbytes NF4, float32 scales"},
    WeightType{.name = "hqq-int4", .aliases = "hqq hqq-4bit", .millibits = 4000, .group = 64, .group_bits = 16, .zero_bits = 16,
               .quality = kInt4Quality, .what = "HQQ, 4 bit, groups of 64"},
    WeightType{.name = "nvfp4", .aliases = "modelopt-fp4 modelopt_fp4", .millibits = 4000, .group = 16, .group_bits = 8,
               .tensor_bits = 64, .quality = kInt4Quality, .what = "FP4, an FP8 scale for each 16"},
    WeightType{.name = "mxfp4", .aliases = "mxfp4-experts", .scope = Scope::kExperts, .millibits = 4000, .group = 32, .group_bits = 8,
               .quality = kInt4Quality, .what = "FP4, a power of two for each 32; only the experts if there are any"},
    WeightType{.name = "quanto-int8", .aliases = "quanto", .millibits = 8000, .row_bits = 16, .quality = kInt8Quality, .what = "quanto, 8 bit"},
    WeightType{.name = "quanto-int4", .aliases = "", .millibits = 4000, .group = 128, .group_bits = 16, .zero_bits = 16,
               .quality = kInt4Quality, .what = "quanto, 4 bit"},
    WeightType{.name = "aqlm-2bit", .aliases = "aqlm", .millibits = 2000, .row_bits = 16, .tensor_bits = 8388608, .what = "AQLM, one codebook of 16 bits for 8 weights"},
    WeightType{.name = "bitnet-2bit", .aliases = "bitnet", .millibits = 2000, .tensor_bits = 16, .what = "four ternary weights in a byte"},
    WeightType{.name = "mlx-2bit", .aliases = "mlx2", .scope = Scope::kTables, .millibits = 2000, .group = 64, .group_bits = 16, .zero_bits = 16, .what = "MLX, 2 bit"},
    WeightType{.name = "mlx-3bit", .aliases = "mlx3", .scope = Scope::kTables, .millibits = 3000, .group = 64, .group_bits = 16, .zero_bits = 16, .what = "MLX, 3 bit"},
    WeightType{.name = "mlx-4bit", .aliases = "mlx mlx4 mlx-int4", .scope = Scope::kTables, .millibits = 4000, .group = 64, .group_bits = 16,
               .zero_bits = 16, .quality = kInt4Quality, .what = "MLX, 4 bit, groups of 64; embedding and head too"},
    WeightType{.name = "mlx-5bit", .aliases = "mlx5", .scope = Scope::kTables, .millibits = 5000, .group = 64, .group_bits = 16, .zero_bits = 16, .what = "MLX, 5 bit"},
    WeightType{.name = "mlx-6bit", .aliases = "mlx6", .scope = Scope::kTables, .millibits = 6000, .group = 64, .group_bits = 16, .zero_bits = 16, .what = "MLX, 6 bit"},
    WeightType{.name = "mlx-8bit", .aliases = "mlx8 mlx-int8", .scope = Scope::kTables, .millibits = 8000, .group = 64, .group_bits = 16,
               .zero_bits = 16, .quality = kInt8Quality, .what = "MLX, 8 bit, groups of 64; embedding and head too"},
};
// clang-format on

// Names compare without case, and underscores equal dashes.
static std::string plain(std::string_view name) {
  std::string out = lower(name);
  std::replace(out.begin(), out.end(), '_', '-');
  return out;
}

constexpr std::string_view kMatrix = "the bytes of a matrix";

// ceil(count * bits / 8)
static std::uint64_t bytes_of_bits(std::uint64_t count, std::uint64_t bits) {
  return ceil_div(checked_mul(count, bits, kMatrix), 8);
}

std::span<const WeightType> weight_types() {
  return kTypes;
}

const WeightType* find_weight_type(std::string_view name) {
  const std::string wanted = plain(name);
  for (const WeightType& type : kTypes)
    if (plain(type.name) == wanted || has_word(plain(type.aliases), wanted)) return &type;
  return nullptr;
}

std::optional<WeightType> fractional_type(std::string_view name) {
  for (const std::string_view family : {"exl2", "exl3"}) {
    if (name.size() <= family.size() || lower(name.substr(0, family.size())) != family) continue;
    std::string_view number = name.substr(family.size());
    if (number.front() == '-' || number.front() == '_') number.remove_prefix(1);
    if (number.ends_with("bpw")) number.remove_suffix(3);
    if (number.size() > 6) return std::nullopt;
    double bits = 0;
    const auto [after, error] = parse_real(number, bits, std::chars_format::fixed);
    if (error != std::errc() || after != number.data() + number.size() || !(bits >= 1 && bits <= 16))
      return std::nullopt;
    WeightType type;
    type.name = family;
    type.millibits = static_cast<std::uint32_t>(bits * 1000 + 0.5);
    type.what = "ExLlama, average bits per weight";
    return type;
  }
  return std::nullopt;
}

bool SchemeOrder::operator()(const WeightScheme& a, const WeightScheme& b) const {
  const auto fields = [](const WeightScheme& s) {
    return std::tie(s.type, s.millibits, s.group_size, s.zero_bits, s.tensor_bits, s.block_rows, s.block_columns,
                    s.has_zero_points, s.double_quantized);
  };
  return fields(a) < fields(b);
}

WeightType weight_type_of(const WeightScheme& scheme) {
  WeightType type;
  if (const WeightType* row = find_weight_type(scheme.type)) {
    type = *row;
  } else {
    type.what = "as the checkpoint declares";
    type.name = scheme.type;
  }
  if (scheme.millibits > 0) {
    // A zero point that is packed like the weights is as wide as they are.
    if (type.zero_bits > 0 && type.zero_bits * 1000 == type.millibits)
      type.zero_bits = static_cast<std::uint32_t>(ceil_div(scheme.millibits, 1000));
    type.millibits = static_cast<std::uint32_t>(std::min<std::uint64_t>(scheme.millibits, 64000));
  }
  if (scheme.group_size > 0) {
    type.group = static_cast<std::uint32_t>(std::min<std::uint64_t>(scheme.group_size, 1U << 30));
    if (type.group_bits == 0) type.group_bits = 16;
  }
  if (scheme.block_rows > 0 && type.block > 0)
    type.block = static_cast<std::uint32_t>(std::min<std::uint64_t>(scheme.block_rows, 1U << 20));
  if (!scheme.has_zero_points) type.zero_bits = 0;
  if (scheme.zero_bits > 0) type.zero_bits = static_cast<std::uint32_t>(std::min<std::uint64_t>(scheme.zero_bits, 64));
  if (scheme.tensor_bits > 0)
    type.tensor_bits = static_cast<std::uint32_t>(std::min<std::uint64_t>(scheme.tensor_bits, 1U << 31));
  if (!scheme.double_quantized && type.flat_scale_group > 0) {
    type.flat_bits = 32;
    type.flat_scale_group = 0;
  }
  return type;
}

WeightType with_scales_of(const WeightType& plain, WeightType type) {
  if (plain.millibits != 32000) return type;
  type.group_bits *= 2;
  type.zero_bits *= 2;
  return type;
}

Bytes matrix_bytes(const WeightType& type, std::uint64_t rows, std::uint64_t columns) {
  const std::uint64_t elements = checked_mul(rows, columns, kMatrix);
  std::uint64_t bytes = type.millibits % 8000 == 0 ? checked_mul(elements, type.millibits / 8000, kMatrix)
                                                   : ceil_div(checked_mul(elements, type.millibits, kMatrix), 8000);
  const auto add = [&](std::uint64_t more) { bytes = checked_add(bytes, more, kMatrix); };
  if (type.group > 0) {
    // Engines size a rank's scales by columns // group_size, so a group that ranks cut has none.
    const std::uint64_t groups = checked_mul(rows, std::max<std::uint64_t>(columns / type.group, 1), kMatrix);
    add(bytes_of_bits(groups, type.group_bits));
    add(bytes_of_bits(groups, type.zero_bits));
  }
  if (type.flat > 0) {
    const std::uint64_t scales = ceil_div(elements, type.flat);
    add(bytes_of_bits(scales, type.flat_bits));
    if (type.flat_scale_group > 0) add(bytes_of_bits(ceil_div(scales, type.flat_scale_group), 32));
  }
  if (type.block > 0)
    add(bytes_of_bits(checked_mul(ceil_div(rows, type.block), ceil_div(columns, type.block), kMatrix),
                      type.block_bits));
  add(bytes_of_bits(rows, type.row_bits));
  add(bytes_of_bits(columns, type.column_bits));
  add(bytes_of_bits(1, type.tensor_bits));
  return Bytes(bytes);
}

std::string known_weight_types() {
  return join(kTypes, ", ", &WeightType::name) + ", exl2-4.25, exl3-3.0, " + join(gguf_mixture_names());
}

// Names of weight types: those that --weights takes, and those that reports give a checkpoint's own.

void check_weight_type(std::string_view name, std::string_view option) {
  if (find_weight_type(name) != nullptr || fractional_type(name) || is_gguf_mixture(name)) return;
  if (lower(name).starts_with("ud-"))
    refuse(std::string(option) + ": in files named " + one_line(name, 40) + " each tensor has its own type",
           "name the GGUF file as MODEL, or plan the type without UD-");
  std::vector<std::string_view> known;
  for (const WeightType& type : weight_types()) known.push_back(type.name);
  for (const std::string_view mixture : gguf_mixture_names()) known.push_back(mixture);
  const std::string near = did_you_mean(name, known);
  refuse(std::string(option) + ": \"" + one_line(name, 40) + "\" is not a weight type",
         near.empty() ? "known: " + known_weight_types() : near);
}

std::string declared_weight_type(const WeightModel& model) {
  const QuantDeclaration& declared = model.quantization;
  if (!is_declared(declared)) return std::string(name(model.dtype));
  if (declared.scheme) return declared.scheme->type;
  if (declared.expert_scheme) return declared.expert_scheme->type;
  // If layers are named one by one: their types, each once, in the file's order. The dialect is only a tool's name.
  std::vector<std::string> types;
  for (const SchemeRule& rule : declared.rules)
    if (rule.scheme && std::find(types.begin(), types.end(), rule.scheme->type) == types.end())
      types.push_back(rule.scheme->type);
  if (types.empty()) return declared.dialect;
  std::string out = types.size() > 1 ? "mixed " + types.front() : types.front();
  for (std::size_t i = 1; i < types.size(); ++i) out += "/" + types[i];
  return out;
}

}  // namespace kvplan
