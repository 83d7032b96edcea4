// DeepSeek: plain (MoE), latent (V2, V3), sparse (V3.2), compressed (V4). Source: transformers modeling_deepseek*.py,
// vLLM models/deepseek_*.py.
#include "models/blocks/blocks.h"

namespace kvplan {

static void read_deepseek_v4(Reader& reader) {
  const std::uint64_t layers = reader.num_layers();
  const Fields& text = reader.text;
  Compressed window;
  window.num_heads = text.count("num_attention_heads");
  window.head_dim = text.count_or("head_dim", 512);
  window.qk_rope_head_dim = text.count_or("qk_rope_head_dim", 64);
  window.window = Tokens(text.count_or("sliding_window", 128));
  window.q_lora_rank = text.count_or("q_lora_rank", 0);
  window.o_lora_rank = text.count_or("o_lora_rank", 0);
  window.o_groups = text.count_or("o_groups", 1);
  window.index_n_heads = text.count_or("index_n_heads", 64);
  for (const std::string_view key : {"num_key_value_heads", "index_topk", "compress_rope_theta", "compress_rates"})
    text.touch(key);
  const std::uint64_t index_head_dim = text.count_or("index_head_dim", 128);
  auto ratios = text.counts("compress_ratios");
  if (!ratios) {
    // transformers 5 has a type for each layer and a rate for each type.
    const auto types = text.strings("layer_types");
    std::uint64_t sparse = 4;
    std::uint64_t heavy = 128;
    if (const auto rates = text.child("compress_rates")) {
      sparse = rates->count_or("compressed_sparse_attention", sparse);
      heavy = rates->count_or("heavily_compressed_attention", heavy);
    }
    std::vector<std::uint64_t> out;
    for (std::uint64_t i = 0; i < layers; ++i) {
      const std::string type = types && i < types->size() ? (*types)[i] : "";
      if (type == "sliding_attention")
        out.push_back(0);
      else if (type == "compressed_sparse_attention" || (type.empty() && i >= 3 && i % 2 == 1))
        out.push_back(sparse);
      else
        out.push_back(heavy);
    }
    ratios = out;
  }
  if (ratios->size() < layers) fail("\"compress_ratios\" does not name every layer", "give one entry for each layer");
  for (std::uint64_t i = 0; i < layers; ++i) {
    Compressed layer = window;
    layer.compress_ratio = (*ratios)[i];
    if (layer.compress_ratio > 1 && layer.compress_ratio < 32) layer.index_head_dim = index_head_dim;
    if (layer.index_head_dim == 0) layer.index_n_heads = 0;
    reader.add({{layer}});
  }
}

static void write_deepseek_v4(Inventory& out) {
  write_hyper_connections(out, {});
  out.text.find_string("topk_method");
  out.text.find_count("index_topk");
}

// For serving engines: how experts are chosen, which decides on a bias.
static void note_choice(Inventory& out) {
  out.text.find_string("topk_method");
}

// clang-format off
std::span<const Family> deepseek_family() {
  static constexpr Family kRows[] = {
    {.is = {"deepseek deepseek_v1", kExecutedClass, Arch::kDeepseek}},
    {.is = {"unlimited_ocr_text", kExecutedClass, Arch::kUnlimitedOcr}},
    {.is = {"deepseek_ocr2_encoder", kUnchecked, Arch::kDeepseekOcr}, .layers = read_qwen},
    {.is = {"deepseek_v2 deepseek_vl_v2", kExecutedClass, Arch::kDeepseekV3}, .layers = read_mla},
    {.is = {"deepseek_v3 deepseek_mtp", kExecutedClass, Arch::kDeepseekV3}, .layers = read_mla,
     .tensors = {.mtp_repeats_ends = true, .has_router_bias = true}, .extras = note_choice},
    {.is = {"dots_vlm", kExecutedClass}, .layers = read_mla},
    {.is = {"deepseek_ocr2_text", kExecutedClass, Arch::kDeepseekOcr}, .layers = read_mla},
    {.is = {"deepseek_v32", kExecutedClass, Arch::kDeepseekV32}, .layers = read_sparse_mla,
     .tensors = {.mtp_repeats_ends = true, .has_router_bias = true}, .extras = note_choice, .modules = kIndexerModules},
    // Experts chosen by the token's hash, in the first layers.
    {.is = {"deepseek_v4 deepseek_ref", kExecutedClass, Arch::kDeepseekV4}, .layers = read_deepseek_v4,
     .rule = "deepseek_v4", .tensors = {.has_router_bias = true, .moe = "ffn"}, .extras = write_deepseek_v4,
     .mlps = [](const Inventory& inventory, MlpPlan& plan) {
     plan.hashed = inventory.text.count_or("num_hash_layers", 3); }, .modules = "lm_head=head model.embed_tokens=embed "
     "experts.*.gate_proj=experts.*.w1 experts.*.up_proj=experts.*.w3 experts.*.down_proj=experts.*.w2 "
     "shared_experts.gate_proj=shared_experts.w1 shared_experts.up_proj=shared_experts.w3 "
     "shared_experts.down_proj=shared_experts.w2 | attn.wq_a=self_attn.q_a_proj attn.wq_b=self_attn.q_b_proj "
     "attn.wkv=self_attn.kv_proj attn.wo_a=self_attn.o_a_proj attn.wo_b=self_attn.o_b_proj "
     "attn.indexer.wq_b=self_attn.compressor.indexer.q_b_proj "
     "attn.indexer.weights_proj=self_attn.compressor.indexer.scorer.weights_proj "
     "attn.indexer.compressor.wkv=self_attn.compressor.indexer.kv_proj "
     "attn.indexer.compressor.wgate=self_attn.compressor.indexer.gate_proj "
     "attn.compressor.wkv=self_attn.compressor.kv_proj attn.compressor.wgate=self_attn.compressor.gate_proj ffn=mlp"},
  };
  return kRows;
}
// clang-format on

}  // namespace kvplan
