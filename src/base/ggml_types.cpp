#include "kvplan/ggml_types.h"

#include <algorithm>
#include <array>

#include "kvplan/error.h"
#include "kvplan/strings.h"

namespace kvplan {

// Sizes as ggml-common.h declares the blocks; ids 130-199 are ik_llama.cpp's.
constexpr std::array kGgmlTypes{
    GgmlType{0, "f32", 1, 4},
    GgmlType{1, "f16", 1, 2},
    GgmlType{2, "q4_0", 32, 18},
    GgmlType{3, "q4_1", 32, 20},
    GgmlType{6, "q5_0", 32, 22},
    GgmlType{7, "q5_1", 32, 24},
    GgmlType{8, "q8_0", 32, 34},
    GgmlType{9, "q8_1", 32, 36},
    GgmlType{10, "q2_k", 256, 84},
    GgmlType{11, "q3_k", 256, 110},
    GgmlType{12, "q4_k", 256, 144},
    GgmlType{13, "q5_k", 256, 176},
    GgmlType{14, "q6_k", 256, 210},
    GgmlType{15, "q8_k", 256, 292},
    GgmlType{16, "iq2_xxs", 256, 66},
    GgmlType{17, "iq2_xs", 256, 74},
    GgmlType{18, "iq3_xxs", 256, 98},
    GgmlType{19, "iq1_s", 256, 50},
    GgmlType{20, "iq4_nl", 32, 18},
    GgmlType{21, "iq3_s", 256, 110},
    GgmlType{22, "iq2_s", 256, 82},
    GgmlType{23, "iq4_xs", 256, 136},
    GgmlType{24, "i8", 1, 1},
    GgmlType{25, "i16", 1, 2},
    GgmlType{26, "i32", 1, 4},
    GgmlType{27, "i64", 1, 8},
    GgmlType{28, "f64", 1, 8},
    GgmlType{29, "iq1_m", 256, 56},
    GgmlType{30, "bf16", 1, 2},
    GgmlType{31, "q4_0_4_4", 32, 18, 0, true},
    GgmlType{32, "q4_0_4_8", 32, 18, 0, true},
    GgmlType{33, "q4_0_8_8", 32, 18, 0, true},
    GgmlType{34, "tq1_0", 256, 54},
    GgmlType{35, "tq2_0", 256, 66},
    GgmlType{36, "iq4_nl_4_4", 32, 18, 0, true},
    GgmlType{37, "iq4_nl_4_8", 32, 18, 0, true},
    GgmlType{38, "iq4_nl_8_8", 32, 18, 0, true},
    GgmlType{39, "mxfp4", 32, 17},
    GgmlType{40, "nvfp4", 64, 36},
    GgmlType{41, "q1_0", 128, 18},
    GgmlType{42, "q2_0", 64, 18},
    GgmlType{133, "q6_0", 32, 26},
    GgmlType{134, "iq1_bn", 64, 13, 2},
    GgmlType{135, "iq2_bn", 64, 16, 4},
    GgmlType{137, "iq2_k", 256, 76},
    GgmlType{138, "iq3_k", 256, 110},
    GgmlType{139, "iq4_k", 256, 144},
    GgmlType{140, "iq5_k", 256, 176},
    GgmlType{141, "iq6_k", 256, 212},
    GgmlType{144, "iq4_ks", 256, 136, 4},
    GgmlType{145, "iq2_ks", 256, 70, 2},
    GgmlType{146, "iq4_kss", 256, 128, 4},
    GgmlType{151, "q8_kv", 32, 32, 8},
    GgmlType{152, "iq5_ks", 256, 168, 4},
    GgmlType{153, "iq2_kt", 256, 68, 4},
    GgmlType{154, "iq3_kt", 256, 100, 4},
    GgmlType{155, "iq4_kt", 256, 128, 4},
    GgmlType{156, "iq3_ks", 256, 102, 2},
    GgmlType{157, "iq2_kl", 256, 86, 2},
    GgmlType{158, "iq1_kt", 256, 56, 4},
    // Interleaved forms with another layout than their plain types.
    GgmlType{219, "iq1_s_r4", 32, 6, 2, false, true},
    GgmlType{229, "iq1_m_r4", 32, 7, 2, false, true},
};

// ik_llama.cpp numbers the interleaved form of a type 200 above the plain one.
constexpr std::uint32_t kInterleaved = 200;

std::span<const GgmlType> ggml_types() {
  return kGgmlTypes;
}

std::optional<GgmlType> find_ggml_type(std::uint32_t id) {
  const auto row_of = [](std::uint32_t wanted) {
    return std::find_if(kGgmlTypes.begin(), kGgmlTypes.end(), [&](const GgmlType& type) { return type.id == wanted; });
  };
  if (const auto* row = row_of(id); row != kGgmlTypes.end()) return *row;
  if (id < kInterleaved) return std::nullopt;
  const auto* row = row_of(id - kInterleaved);
  if (row == kGgmlTypes.end() || row->removed || (row->block == 1 && row->name != "bf16")) return std::nullopt;
  GgmlType out = *row;
  out.id = id;
  out.interleaved = true;
  return out;
}

std::optional<GgmlType> find_ggml_type(std::string_view name) {
  const std::string wanted = lower(name);
  const auto* row =
      std::find_if(kGgmlTypes.begin(), kGgmlTypes.end(), [&](const GgmlType& type) { return type.name == wanted; });
  return row == kGgmlTypes.end() ? std::nullopt : std::optional(*row);
}

Bytes tensor_bytes(const GgmlType& type, std::span<const std::uint64_t> dims) {
  const std::uint64_t columns = dims.empty() ? 1 : dims.front();
  if (columns % type.block != 0)
    fail("a row of " + std::to_string(columns) + " elements is not a whole number of " + std::string(type.name) +
             " blocks of " + std::to_string(type.block),
         "download the file again");
  constexpr std::string_view kWhat = "the bytes of a tensor";
  std::uint64_t bytes = checked_add(checked_mul(columns / type.block, type.bytes, kWhat), type.row_bytes, kWhat);
  for (std::size_t i = 1; i < dims.size(); ++i) bytes = checked_mul(bytes, dims[i], kWhat);
  return Bytes(bytes);
}

}  // namespace kvplan
