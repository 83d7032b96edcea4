// DeepSeek: plain (MoE), latent (V2, V3), sparse (V3.2), compressed (V4). Source: transformers modeling_deepseek*.py,
// vLLM models/deepseek_*.py.
#include "models/blocks/blocks.h"

namespace kvplan {

static Compressed read_compressed(const Fields& text) {
  Compressed out;
  out.num_heads = text.count("num_attention_heads");
  out.head_dim = text.count_or("head_dim", 512);
  out.qk_rope_head_dim = text.count_or("qk_rope_head_dim", 64);
  out.window = Tokens(text.count_or("sliding_window", 128));
  out.q_lora_rank = text.count_or("q_lora_rank", 0);
  out.o_lora_rank = text.count_or("o_lora_rank", 0);
  out.o_groups = text.count_or("o_groups", 1);
  return out;
}

static void read_deepseek_v4(Reader& reader) {
  const std::uint64_t layers = reader.num_layers();
  const Fields& text = reader.text;
  Compressed window = read_compressed(text);
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

// DeepSeek-V4.1: some layers own entries that later layers read, and some have an indexer. Source: vLLM
// models/deepseek_v41.
static void read_deepseek_v41(Reader& reader) {
  const Fields& text = reader.text;
  const std::uint64_t layers = reader.num_layers();
  const auto ratios = text.counts("compress_ratios");
  if (!ratios || ratios->size() < layers)
    fail("\"compress_ratios\" does not name every layer", "give one entry for each layer");
  const std::vector<bool> sources = listed_layers(text, "kv_source_layer_ids", layers);
  const std::vector<bool> indexers = listed_layers(text, "index_source_layer_ids", layers);
  Compressed layer = read_compressed(text);
  const std::uint64_t index_heads = text.count_or("index_n_heads", 32);
  layer.index_head_dim = text.count_or("index_head_dim", 128);
  layer.by_source = true;
  for (std::uint64_t i = 0; i < layers; ++i) {
    layer.compress_ratio = (*ratios)[i];
    layer.is_source = i < sources.size() && sources[i] && layer.compress_ratio > 0;
    layer.index_n_heads = i < indexers.size() && indexers[i] ? index_heads : 0;
    reader.add({{layer}});
  }
  for (const std::string_view key : {"num_key_value_heads", "index_topk", "compress_rope_theta",
                                     "candidate_source_layer_id", "candidate_topk_blocks", "candidate_block_size",
                                     "dspark_block_size", "dspark_markov_rank", "engram_max_ngram_size"})
    text.touch(key);
}

// Tables of n-grams in some layers: rows of 8 bits with a scale per 32. A token looks up one row.
static void write_engrams(Inventory& out) {
  const Fields& text = out.text;
  const auto layers = text.counts("engram_layer_ids");
  const auto rows = text.counts("engram_num_embeddings");
  if (!layers || !rows) return;
  const std::uint64_t width = text.count_or("engram_head_dim", 256);
  const std::uint64_t sizes = text.count_or("engram_max_ngram_size", 4) - 1;
  const std::uint64_t columns = times(times(sizes, text.count_or("engram_n_heads", 8)), width);
  const std::uint64_t streams = text.count_or("hc_mult", 4);
  for (std::size_t i = 0; i < layers->size() && i < rows->size(); ++i) {
    if ((*layers)[i] >= num_stored_layers(out)) continue;
    out.in_layers({{(*layers)[i], 1, 1}});
    TensorGroup& table = out.linear(Component::kOther, "engram.embed", (*rows)[i], width, Split::kVocab);
    table.used = 0;
    out.plain(Component::kOther, "engram.embed.scale", times((*rows)[i], width / 64), Split::kRows).is_derived = true;
    out.linear(Component::kOther, "engram.wkv", times(streams + 1, out.hidden), columns, Split::kRows);
    out.plain(Component::kOther, "engram.q_weight, k_weight", times(2, times(streams, out.hidden)));
  }
  out.reader.inform("ngram_tables",
                    "vLLM keeps the n-gram tables in host memory; plans of other engines count them on the GPUs");
}

static void write_deepseek_v41(Inventory& out) {
  write_hyper_connections(out, {});
  write_engrams(out);
  out.text.find_string("topk_method");
}

static void write_deepseek_v4(Inventory& out) {
  write_hyper_connections(out, {});
  out.text.find_string("topk_method");
  out.text.find_count("index_topk");
}

// For serving engines: how experts are chosen. It decides whether there is a bias.
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
    {.is = {"deepseek_v41_text deepseek_v41", kUnchecked, Arch::kDeepseekV41}, .layers = read_deepseek_v41,
     .rule = "deepseek_v41", .tensors = {.has_router_bias = true, .moe = "ffn"}, .extras = write_deepseek_v41},
  };
  return kRows;
}
// clang-format on

}  // namespace kvplan
