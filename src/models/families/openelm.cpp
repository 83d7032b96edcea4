// Apple's OpenELM: heads and widths grow from layer to layer. Source: its modeling_openelm.py.
#include "kvplan/error.h"
#include "models/blocks/layers.h"
#include "models/family.h"

namespace kvplan {

namespace {

// OpenELM: heads grow from layer to layer.
void read_openelm(Reader& reader) {
  const std::uint64_t layers = reader.num_layers();
  const auto queries = reader.text.counts("num_query_heads");
  const auto keys = reader.text.counts("num_kv_heads");
  const std::uint64_t head_dim = reader.text.count("head_dim");
  if (!queries || !keys || queries->size() < layers || keys->size() < layers)
    fail("\"num_query_heads\" and \"num_kv_heads\" do not name every layer", "give one entry for each layer");
  for (std::uint64_t i = 0; i < layers; ++i) {
    const Heads heads{(*queries)[i], (*keys)[i], head_dim, head_dim};
    check_heads(heads);
    reader.model.layers.push_back({{FullAttention{heads}}});
  }
}

// clang-format off
constexpr Family kRows[] = {
    {.is = {"openelm", "openelm"}, .layers = read_openelm, .tensors = {.qkv_bias = "", .o_bias = "",
     .qk_norm = QkNorm::kHead, .qk_norm_key = "normalize_qk_projections", .fuses_qkv = true, .fuses_gate_up = true,
     .ties_by_default = true}},
};
// clang-format on

}  // namespace

std::span<const Family> openelm_family() {
  return kRows;
}

}  // namespace kvplan
