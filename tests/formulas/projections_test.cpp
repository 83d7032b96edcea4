// The projections that a kind declares: parameters of one layer, compared with published counts and papers.
#include <doctest/doctest.h>

#include "formulas/model.h"
#include "formulas/projections.h"

namespace kvplan {
namespace {

// A Llama's kind, without biases, gates or norms.
struct Plain : Projections {
  using Projections::Projections;
  AttentionProjections attention_of(const Heads&, bool) const override { return attention; }
  LatentProjections latent_projections() const override { return latent; }
  SsmProjections ssm_projections(const Ssm&) const override { return ssm; }
  LinearProjections linear_projections(const Linear&) const override { return linear; }
  bool has_short_conv_bias() const override { return false; }

  AttentionProjections attention;
  LatentProjections latent;
  SsmProjections ssm;
  LinearProjections linear;
};

std::uint64_t parameters(const Mixer& mixer, std::uint64_t hidden_size, const Plain& family) {
  ModelSpec model;
  Plain out(model, hidden_size);
  out.attention = family.attention;
  out.latent = family.latent;
  out.ssm = family.ssm;
  out.linear = family.linear;
  out.in_layers({{0, 1, 1}});
  project(mixer, out);
  Elements all;
  for (const TensorGroup& group : model.tensors)
    if (!group.is_derived) all += group.stored();
  return all.count();
}

std::uint64_t parameters(const Mixer& mixer, std::uint64_t hidden_size) {
  ModelSpec none;
  return parameters(mixer, hidden_size, Plain(none, hidden_size));
}

}  // namespace

TEST_CASE("projections: heads, with what a family adds to a Llama's") {
  // Llama 3.1 8B: 4096 x 4096 twice, 1024 x 4096 twice.
  const FullAttention llama{{.num_heads = 32, .num_kv_heads = 8, .head_dim = 128, .v_head_dim = 128}};
  CHECK(parameters(llama, 4096) == 41943040);
  CHECK(parameters(SlidingWindow{llama.heads, Tokens(4096)}, 4096) == 41943040);
  CHECK(parameters(Cross{llama.heads}, 4096) == 41943040);
  // A layer that reads another layer's cache only projects queries and outputs.
  CHECK(parameters(Shared{0, llama.heads, Tokens(0)}, 4096) == 33554432);
  ModelSpec none;
  Plain family(none, 0);
  // Qwen2 7B: 28 heads on 4, biases of 3584 + 2 * 512.
  family.attention.qkv_bias = true;
  const FullAttention qwen2{{.num_heads = 28, .num_kv_heads = 4, .head_dim = 128, .v_head_dim = 128}};
  CHECK(parameters(qwen2, 3584, family) == 29364736);
  // Qwen3-Next: q_proj is twice as wide, norms of 256 each.
  family.attention = {.gate = Gate::kDoubledQuery, .qk_norm = QkNorm::kHead};
  const FullAttention next{{.num_heads = 16, .num_kv_heads = 2, .head_dim = 256, .v_head_dim = 256}};
  CHECK(parameters(next, 2048, family) == 2048 * 8192 + 2 * 2048 * 512 + 4096 * 2048 + 512);
  // gpt-oss 20B: 64 heads of 64 on 8, biases everywhere, a sink for each head.
  family.attention = {.qkv_bias = true, .o_bias = true, .has_sinks = true};
  const FullAttention oss{{.num_heads = 64, .num_kv_heads = 8, .head_dim = 64, .v_head_dim = 64}};
  CHECK(parameters(oss, 2880, family) == 2 * 4096 * 2880 + 2 * 512 * 2880 + 4096 + 2 * 512 + 2880 + 64);
}

TEST_CASE("projections: latents") {
  // DeepSeek-V3 (arXiv 2412.19437, section 4.2): 187,107,328 with the two norms of a layer.
  const Latent latent{.num_heads = 128,
                      .kv_lora_rank = 512,
                      .qk_rope_head_dim = 64,
                      .qk_nope_head_dim = 128,
                      .v_head_dim = 128,
                      .q_lora_rank = 1536};
  CHECK(parameters(Mla{latent}, 7168) == 187107328);
  // DeepSeek-V3.2's indexer: 64 heads of 128 from the query's rank, a key of 128 with its norm, and the weights of the
  // heads.
  CHECK(parameters(SparseMla{latent, 128, 64, 2048}, 7168) ==
        187107328 + 8192 * 1536 + 128 * 7168 + 2 * 128 + 64 * 7168);
  CHECK(parameters(SparseMla{latent, 0, 0, 0}, 7168) == 187107328);  // a shared indexer has no parameters
  CHECK(parameters(SparseMla{latent, 1, 1, 1}, 7168) == 187107328 + 1536 + 7168 + 2 + 7168);
}

TEST_CASE("projections: MiniMax-M3's indexer beside grouped heads") {
  // 64 heads of 128 on 4; 4 index queries of 128 and one key, a norm for each of the two.
  const Heads heads{64, 4, 128, 128};
  const std::uint64_t attention = 2 * 8192 * 6144 + 2 * 512 * 6144;
  CHECK(parameters(SparseGqa{heads, 128, 4}, 6144) == attention + 512 * 6144 + 128 * 6144 + 2 * 128);
  CHECK(parameters(SparseGqa{heads, 1, 4}, 6144) == attention + 4 * 6144 + 6144 + 2);
  CHECK(parameters(SparseGqa{heads, 0, 0}, 6144) == attention);
}

TEST_CASE("projections: states") {
  // Mamba 130M (arXiv 2312.00752): 24 layers of 3,770,112 without the norm make 90.5 of its 129.1 million.
  const Ssm mamba{.version = Ssm::Version::kMamba1, .d_inner = 1536, .d_state = 16, .conv_kernel = 4, .dt_rank = 48};
  CHECK(parameters(mamba, 768) ==
        2 * 1536 * 768 + 1536 * 4 + 1536 + 80 * 1536 + 1536 * 48 + 1536 + 1536 * 16 + 1536 + 768 * 1536);
  // Mamba 2 130M: d_inner 1536, one group, 24 heads of 64.
  const Ssm second{.d_inner = 1536, .d_state = 128, .conv_kernel = 4, .num_heads = 24, .head_dim = 64, .n_groups = 1};
  CHECK(parameters(second, 768) == (2 * 1536 + 256 + 24) * 768 + 1792 * 4 + 1792 + 3 * 24 + 1536 + 768 * 1536);
  // LFM2 1.2B: three gates of 2048, a kernel of 3.
  CHECK(parameters(ShortConv{2048, 3}, 2048) == 4 * 2048 * 2048 + 3 * 2048);
  CHECK(parameters(None{}, 2048) == 0);
}

TEST_CASE("projections: Kimi-K3's convolution and norm are kept twice, the second time in float32") {
  // vLLM models/kimi_k3: decode_conv1d of 3 * 96 * 128 rows of 4 and decode_norm of 128, which no checkpoint has.
  const Linear kda{Linear::Rule::kKda, 96, 128, 96, 128, 4};
  ModelSpec model;
  Plain family(model, 7168);
  family.linear.repeats_conv = true;
  CHECK(parameters(kda, 7168, family) == parameters(kda, 7168));
  family.in_layers({{0, 1, 1}});
  project(kda, family);
  Elements repeated;
  for (const TensorGroup& group : model.tensors)
    if (group.is_derived) {
      CAPTURE(group.module);
      CHECK(group.is_float32);
      repeated += group.elements_of_one();
    }
  CHECK(repeated.count() == 3 * 96 * 128 * 4 + 128);
}

TEST_CASE("projections: layers without a known list of tensors give a range") {
  ModelSpec model;
  Plain out(model, 2048);
  out.in_layers({{0, 24, 1}});
  project(Rwkv{.version = 6, .hidden_size = 2048, .head_dim = 64}, out);
  CHECK(model.tensors.empty());
  REQUIRE(model.unknown_tensors.size() == 1);
  CHECK(model.unknown_tensors.front().low < model.unknown_tensors.front().high);
}

}  // namespace kvplan
