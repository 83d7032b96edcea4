// Liquid's LFM2 and LFM3. Source: transformers modeling_lfm2.py, modeling_lfm3.py.
#include "models/blocks/layers.h"
#include "models/family.h"

namespace kvplan {

namespace {

// LFM2: short convolutions between layers of grouped-query attention.
void read_lfm2(Reader& reader) {
  read_hybrid(reader, {}, read_short_conv(reader.text));
}

// clang-format off
constexpr Family kRows[] = {
    {.is = {"lfm2 lfm2_moe", "lfm2", Arch::kLfm2, "executed class"}, .layers = read_lfm2, .tensors = {.qkv_bias = "",
     .o_bias = "", .qk_norm = QkNorm::kHead, .ties_by_default = true}},
    {.is = {"lfm3", "lfm2", Arch::kOther, "executed class"}, .layers = read_lfm2, .tensors = {.qkv_bias = "",
     .o_bias = "", .qk_norm = QkNorm::kHead, .gate = Gate::kHead, .gate_key = "use_attention_gate",
     .ties_by_default = true}},
};
// clang-format on

}  // namespace

std::span<const Family> lfm_family() {
  return kRows;
}

}  // namespace kvplan
