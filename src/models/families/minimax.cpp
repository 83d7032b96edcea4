// MiniMax: lightning attention (01, M1), plain attention (M2), grouped-query attention with index keys (M3). Source:
// transformers modeling_minimax*.py.
#include "models/blocks/blocks.h"

namespace kvplan {

// MiniMax-M3: layers with sparse attention have index keys, by sparse_attention_freq or layer_types.
static void read_minimax_m3(Reader& reader) {
  const std::uint64_t layers = reader.num_layers();
  SparseGqa sparse = std::get<SparseGqa>(sparse_gqa_mixer(reader.text));
  const Heads heads = sparse.heads;
  // The class's own default is full attention in all layers.
  std::vector<bool> reads_sparsely(layers, false);
  const auto settings = reader.text.child("sparse_attention_config");
  const auto types = reader.text.strings("layer_types");
  if (settings) {
    reader.text.touch("sparse_attention_config");
    sparse.index_head_dim = settings->count_or("sparse_index_dim", sparse.index_head_dim);
    sparse.index_n_heads = settings->count_or("sparse_num_index_heads", sparse.index_n_heads);
    if (const auto freq = settings->counts("sparse_attention_freq"))
      for (std::uint64_t i = 0; i < layers && i < freq->size(); ++i) reads_sparsely[i] = (*freq)[i] != 0;
  } else if (types) {
    for (std::uint64_t i = 0; i < layers && i < types->size(); ++i)
      reads_sparsely[i] = parse_label((*types)[i], "layer_types") == Label::kSparse;
  }
  for (const bool sparsely : reads_sparsely) reader.add({{sparsely ? Mixer(sparse) : Mixer(FullAttention{heads})}});
}

// clang-format off
std::span<const Family> minimax_family() {
  static constexpr Family kRows[] = {
    {.is = {"minimax_m2", kExecutedClass}, .tensors = {.qk_norm = QkNorm::kWide, .has_router_bias = true,
     .has_float32_router = true, .moe = "block_sparse_moe"}, .modules = kMixtralModules},
    {.is = {"minimax_m3_vl_text minimax_m3 minimax_m3_text", kExecutedClass, Arch::kMinimaxM3}, .layers = read_minimax_m3,
     .rule = "minimax_m3", .tensors = {.qk_norm = QkNorm::kHead, .mlp_width = "dense_intermediate_size",
     .shared_width = "shared_intermediate_size", .has_router_bias = true, .has_float32_router = true,
     .moe = "block_sparse_moe"},
     .modules = "experts.*.gate_proj=experts.*.w1 experts.*.up_proj=experts.*.w3 experts.*.down_proj=experts.*.w2 | "
     "block_sparse_moe=mlp | block_sparse_moe=mlp shared_experts.gate_proj=shared_experts.gate_up_proj "
     "shared_experts.up_proj=shared_experts.gate_up_proj"},
    {.is = {"minimax", kExecutedClass, Arch::kMinimax}, .layers = read_lightning,
     .tensors = {.moe = "block_sparse_moe"}, .pattern = full_first_of(2, Label::kRecurrent),
     .modules = kMixtralModules},
    {.is = {"minimax_text_01 minimax_m1", kExecutedClass, Arch::kMinimax}, .layers = read_lightning,
     .tensors = {.moe = "block_sparse_moe"}, .pattern = full_every(8, Label::kRecurrent), .modules = kMixtralModules},
  };
  return kRows;
}
// clang-format on

}  // namespace kvplan
