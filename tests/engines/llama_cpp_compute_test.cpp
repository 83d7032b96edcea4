// llama.cpp's compute buffer at each of its largest moments: computed by hand from the graph of a micro-batch, and
// compared with the bytes that v0.5.0 reserved for the same widths.
#include "engines/llama_cpp/compute.h"

#include <doctest/doctest.h>

#include "engines/llama_cpp/cache.h"
#include "engines/requests.h"

#include "support/figures.h"

namespace kvplan {
namespace {

struct AttentionShape {
  std::uint64_t query, kv, width;
};

LayerCache attention(const AttentionShape& heads, std::uint64_t window = 0) {
  CacheTerms terms{term_of(Role::kKey, heads.kv, heads.width), term_of(Role::kValue, heads.kv, heads.width)};
  for (Term& term : terms)
    if (window > 0) term.limit = {LimitKind::kWindow, Tokens(window), Tokens(0)};
  return {0, "gqa", terms, terms};
}

EngineInput model_of(std::string_view type, std::uint64_t hidden, std::uint64_t mlp, std::uint64_t vocab,
                     const AttentionShape& heads, std::uint64_t window = 0) {
  EngineInput out;
  out.request = request_for("llama.cpp", 4096);
  out.model.arch = test_arch(type);
  out.model.num_layers = 2;
  out.model.hidden_size = hidden;
  out.model.intermediate_size = mlp;
  out.model.vocab_size = vocab;
  out.model.num_heads = heads.query;
  if (heads.kv > 0) out.caches.push_back(attention(heads));
  if (window > 0) out.caches.push_back(attention(heads, window));
  out.types = {Dtype::kFloat16, Dtype::kFloat16, Dtype::kBfloat16, Dtype::kBfloat16};
  return out;
}

EngineInput llama8b() {
  return model_of("llama", 4096, 14336, 128256, {32, 8, 128});
}

LedgerLine compute(const EngineInput& input, std::uint64_t tokens, std::uint64_t seqs = 1, bool pooled = false,
                   std::uint64_t stage = 0, double bits = 16) {
  return llama_cpp_overhead(
             {&input, Load{Tokens(tokens), seqs, Tokens(0), pooled}, stage, Bytes(0), std::nullopt, bits})
      .front();
}

void check_run(const LedgerLine& line, std::uint64_t by_hand, std::uint64_t run, double within) {
  CHECK(line.bytes == Bytes(by_hand));
  CHECK(static_cast<double>(by_hand) == doctest::Approx(static_cast<double>(run)).epsilon(within));
  CHECK(line.low <= Bytes(run));
  CHECK(line.high >= Bytes(run));
}

TEST_CASE("llama.cpp: compute buffers of dense models, by hand and as measured") {
  // ub * 4 B * (3 MLP + 3 hidden) and the mask, ub * cells * 2 B; one slot a sequence.
  const auto mlp = [](std::uint64_t width, std::uint64_t hidden, std::uint64_t cells) {
    return 512 * 4 * 3 * (width + hidden) + 512 * cells * 2;
  };
  check_run(compute(llama8b(), 16384), mlp(14336, 4096, 16384), 130033792, 0.001);
  const EngineInput llama2 = model_of("llama", 4096, 11008, 32000, {32, 32, 128});
  check_run(compute(llama2, 8192, 4, true), mlp(11008, 4096, 8192), 101197952, 0.001);
  const EngineInput qwen = model_of("qwen2", 3584, 18944, 152064, {28, 4, 128});
  check_run(compute(qwen, 16384), mlp(18944, 3584, 16384), 155199616, 0.001);
  // gemma-3-4b, four slots in one pool: the second cache has 4 windows of 1024 and a micro-batch.
  const EngineInput gemma = model_of("gemma3", 2560, 10240, 262208, {8, 4, 256}, 1024);
  check_run(compute(gemma, 8192, 4, true), mlp(10240, 2560, 8192 + 4 * 1024 + 512), 90720384, 0.02);
  // exaone4-32b, window 4096.
  EngineInput exaone = model_of("exaone4", 5120, 27392, 102400, {40, 8, 128}, 4096);
  exaone.model.num_layers = 64;
  check_run(compute(exaone, 16384), mlp(27392, 5120, 16384 + 4096 + 512), 221268096, 0.001);
  // With separate slots the mask is for one stream with one window.
  CHECK(compute(gemma, 8192, 4).bytes == Bytes(mlp(10240, 2560, 8192 + 1024 + 512)));
  EngineInput whole = gemma;
  whole.request.llama_cpp.swa_full = true;
  CHECK(compute(whole, 8192).bytes == Bytes(mlp(10240, 2560, 8192)));
  // A model with only windows has one mask.
  EngineInput windows = gemma;
  windows.caches.erase(windows.caches.begin());
  CHECK(compute(windows, 8192).bytes == Bytes(mlp(10240, 2560, 1024 + 512)));
  // gemma-3n has four residual streams, and its 35 layers have their own embeddings of 256.
  EngineInput gemma3n = model_of("gemma3n", 2048, 16384, 262400, {8, 2, 256}, 512);
  TensorGroup embeddings;
  embeddings.module = "model.embed_tokens_per_layer";
  embeddings.columns = 35 * 256;
  gemma3n.model.tensors = {&embeddings, 1};
  check_run(compute(gemma3n, 16384), 512 * 4 * (3 * 16384 + 9 * 2048 + 8960) + 512 * (16384 + 1024) * 2, 174606464,
            0.001);
}

TEST_CASE("llama.cpp: the range is the one that covers 95 % of runs") {
  const LedgerLine line = compute(llama8b(), 16384);
  // The range is 1.1 times the figure and 32 MiB.
  CHECK(line.high.count() == line.bytes.count() + line.bytes.count() / 10 + 32 * kMiB);
  CHECK(line.low.count() == line.bytes.count() / 20 * 14);  // the estimate allows for fewer tensors at the same time
  // Scores are one tensor, so hardly any memory can be freed early.
  EngineInput off = llama8b();
  off.request.llama_cpp.flash_attention = FlashAttention::kOff;
  const LedgerLine scores = compute(off, 16384);
  CHECK(scores.low.count() == scores.bytes.count() / 20 * 19);
  CHECK(scores.low < scores.bytes);
}

TEST_CASE("llama.cpp: compute without flash attention, as logs print it") {
  // ub * 4 B * (2 hidden + 2 query + K and V), the mask in 4 B, and scores of 4 B for each head.
  struct Row {
    std::uint64_t hidden, mlp, vocab;
    AttentionShape heads;
    std::uint64_t tokens;
    double printed;  // MiB
  };
  const Row rows[] = {
      {4096, 14336, 128256, {32, 8, 128}, 16384, 1092.01},  // a run of v0.5.0 reserved this
      {3072, 8192, 32064, {32, 32, 96}, 131072, 8484.00},   // llama.cpp#9112, Phi-3-mini-128k
      {5120, 13824, 32000, {40, 40, 128}, 40960, 3320.00},  // llama.cpp#5592, Llama-2-13B
  };
  for (const Row& row : rows) {
    CAPTURE(row.printed);
    EngineInput input = model_of("llama", row.hidden, row.mlp, row.vocab, row.heads);
    input.request.llama_cpp.flash_attention = FlashAttention::kOff;
    const std::uint64_t query = row.heads.query * row.heads.width;
    const std::uint64_t kv = 2 * row.heads.kv * row.heads.width;
    const std::uint64_t by_hand =
        512 * 4 * (2 * row.hidden + 2 * query + kv) + 512 * row.tokens * 4 + 512 * row.tokens * row.heads.query * 4;
    check_run(compute(input, row.tokens), by_hand, static_cast<std::uint64_t>(row.printed * kMiB), 0.02);
  }
}

TEST_CASE("llama.cpp: a cache of another type is copied to 16 bit, a layer at a time") {
  // Llama-3.1-8B, q8_0, 131072 tokens: 512 MiB for the copy, 128 for the mask, and 32. A run reserved 672.09 MiB.
  EngineInput input = llama8b();
  input.types.key = input.types.value = Dtype::kQ8_0;
  check_run(compute(input, 131072), (512 + 128 + 32) * kMiB, static_cast<std::uint64_t>(672.09 * kMiB), 0.001);
  // If only K or only V is quantized, half of the copy is needed. All streams of several sequences are copied.
  input.types.key = Dtype::kFloat16;
  CHECK(compute(input, 131072).bytes == Bytes((256 + 128 + 32) * kMiB));
  input.types.key = Dtype::kQ8_0;
  input.types.value = Dtype::kFloat16;
  CHECK(compute(input, 131072).bytes == Bytes((256 + 128 + 32) * kMiB));
  CHECK(compute(input, 131072, 2).bytes == Bytes((512 + 128 + 32) * kMiB));
}

TEST_CASE("llama.cpp: logits of builds that reserve a row for each token") {
  // Llama-3.1-8B: 512 rows of 128256 logits and 4096 states, 258.50 MiB; 2048 rows: 1034.00; the last of two GPUs
  // has four copies of its inputs beside them, masks of 32 bit among them, 354.5 at 8192 tokens; phi-2: 105.00.
  EngineInput input = llama8b();
  input.request.engine_version = "b6900";
  CHECK(compute(input, 16384).bytes == Bytes(2585 * kMiB / 10));
  input.request.llama_cpp.n_ubatch = 2048;
  CHECK(compute(input, 16384).bytes == Bytes(1034 * kMiB));
  input.request.llama_cpp.n_ubatch.reset();
  input.request.parallel.pipeline = 2;
  CHECK(compute(input, 8192, 1, false, 1).bytes == Bytes(3545 * kMiB / 10));
  CHECK(compute(input, 8192, 1, false, 0).bytes == Bytes(212 * kMiB));
  EngineInput phi = model_of("phi2", 2560, 10240, 51200, {32, 32, 80});
  phi.request.engine_version = "b6900";
  CHECK(compute(phi, 512).bytes == Bytes(105 * kMiB));
  // v0.5.0: one row for each slot, plus the tokens of a draft, but at most a micro-batch.
  EngineInput wide = model_of("llama", 64, 64, 1000000, {1, 1, 64});
  CHECK(compute(wide, 256, 3).bytes == Bytes(3 * 1000064 * 4));
  wide.request.mtp = true;
  CHECK(compute(wide, 256, 3).bytes == Bytes(3 * (1 + 3) * 1000064 * 4));
  wide.request.num_speculative_tokens = 5;
  CHECK(compute(wide, 256, 3).bytes == Bytes(3 * (1 + 5) * 1000064 * 4));
  wide.request.mtp = false;
  CHECK(compute(wide, 256, 3).bytes == Bytes(3 * 1000064 * 4));
  wide.draft_method = DraftMethod::kNgram;
  CHECK(compute(wide, 256, 3).bytes == Bytes(3 * (1 + 5) * 1000064 * 4));
  wide.request.llama_cpp.n_ubatch = 7;
  CHECK(compute(wide, 256, 3).bytes == Bytes(7 * 1000064 * 4));
}

TEST_CASE("llama.cpp: several GPUs keep four copies of the inputs if they have all layers") {
  // Runs of Llama-3.1-8B at 8192 tokens: 172.0 MiB, of which 108 are the MLP and 4 * (8 of the mask + 8 of hidden
  // states) the inputs. --fit counts the hidden states of later GPUs twice: 204 MiB.
  EngineInput input = llama8b();
  input.request.parallel.pipeline = 3;
  for (const std::size_t stage : {0U, 1U, 2U}) CHECK(compute(input, 8192, 1, false, stage).bytes == Bytes(172 * kMiB));
  CHECK(compute(input, 8192, 1, false, 1).high - compute(input, 8192, 1, false, 0).high == Bytes(32 * kMiB));
  input.model.vocab_size = 100000000;  // logits that are larger than everything else, and only on the last GPU
  CHECK(compute(input, 8192, 1, false, 1).bytes == Bytes(172 * kMiB));
  CHECK(compute(input, 8192, 1, false, 2).bytes == Bytes(4 * (100000000ULL + 4096) + 64 * kMiB));
}

TEST_CASE("llama.cpp: matrices of layers that stay on the host are copied") {
  // Llama-3.1-8B in f16, 4096 tokens, 16 units on the GPU: a run reserved 196 MiB, of which 112 are the MLP's matrix.
  // With no unit on the GPU, the output's matrix is copied: 1002 MiB.
  EngineInput input = llama8b();
  input.model.num_layers = 32;
  const Bytes alone = compute(input, 4096).bytes;
  CHECK(alone == Bytes((108 + 4) * kMiB));
  input.request.llama_cpp.gpu_layers = 16;
  CHECK(compute(input, 4096).bytes - alone == Bytes(112 * kMiB));
  CHECK(compute(input, 4096).low <= Bytes(196 * kMiB));
  CHECK(compute(input, 4096).high >= Bytes(196 * kMiB));
  CHECK(compute(input, 4096).low - compute(llama8b(), 4096).low == Bytes(56 * kMiB));
  CHECK(compute(input, 4096).high - compute(llama8b(), 4096).high == Bytes(168 * kMiB));
  // In the stored type: 4.5 bits for q4_0, and at most float32.
  CHECK(compute(input, 4096, 1, false, 0, 4.5).bytes - alone == Bytes(112 * kMiB / 32 * 9));
  CHECK(compute(input, 4096, 1, false, 0, 64).bytes - alone == Bytes(224 * kMiB));
  input.request.llama_cpp.gpu_layers = 0;
  CHECK(compute(input, 4096).bytes - alone == Bytes(1002 * kMiB));
  input.request.llama_cpp.gpu_layers = 33;  // all units, including the output
  CHECK(compute(input, 4096).bytes == alone);
  // Batches of fewer than 32 tokens are computed where the weights are.
  input.request.llama_cpp.gpu_layers = 16;
  input.request.llama_cpp.n_ubatch = 31;
  // If one layer's K and V (8 heads of 128) are in host memory, they are copied too.
  const std::uint64_t kept = 4096 * 2 * 8 * 128 * 2;
  CHECK(compute(input, 4096).bytes == Bytes(31 * 4 * 3 * 4096 + 31 * 4096 * 2 + kept));
  input.request.llama_cpp.n_ubatch = 32;
  CHECK(compute(input, 4096).bytes == Bytes(32 * 4 * 3 * 4096 + 32 * 4096 * 2 + kept + 112 * kMiB));
  // Qwen3-30B-A3B in f16: one tensor of 128 experts of 768 x 2048 has 384 MiB, also if only experts are in host memory.
  EngineInput experts = model_of("qwen3moe", 2048, 6144, 151936, {32, 4, 128});
  experts.model.experts = {128, 8, 768, 0};
  const Bytes on_gpu = compute(experts, 4096).bytes;
  experts.request.llama_cpp.gpu_layers = 1;
  CHECK(compute(experts, 4096).bytes - on_gpu == Bytes(384 * kMiB));
  experts.request.llama_cpp.gpu_layers.reset();
  experts.request.llama_cpp.cpu_moe_layers = 1;
  CHECK(compute(experts, 4096).bytes - on_gpu == Bytes(384 * kMiB));
  experts.model.experts = {};
  CHECK(compute(experts, 4096).bytes == Bytes(512 * 4 * 3 * (6144 + 2048) + 512 * 4096 * 2));
}

TEST_CASE("llama.cpp: compute buffers of experts, by hand and as measured") {
  // ub * 4 B * (3 u Fe + 3 E), plus u E if that is more than 2 u Fe, plus the mask.
  EngineInput qwen = model_of("qwen35moe", 2048, 0, 248320, {16, 2, 256});
  qwen.model.experts = {256, 8, 512, 0};
  check_run(compute(qwen, 16384), 512 * 4 * (3 * 8 * 512 + 8 * 2048 + 3 * 2048) + 512 * 16384 * 2, 88097024, 0.001);
  // gpt-oss-20b: 4 of 32 experts, as wide as the model, and a window of 128.
  EngineInput gpt_oss = model_of("gpt_oss", 2880, 2880, 201088, {64, 8, 64}, 128);
  gpt_oss.model.experts = {32, 4, 2880, 0};
  check_run(compute(gpt_oss, 16384), 512 * 4 * (3 * 4 * 2880 + 3 * 2880) + 512 * (16384 + 768) * 2, 108546176, 0.03);
  EngineInput minimax = model_of("minimax_m2", 3072, 1536, 200064, {48, 8, 128});
  minimax.model.experts = {256, 8, 1536, 0};
  check_run(compute(minimax, 16384), 512 * 4 * (3 * 8 * 1536 + 3 * 3072) + 512 * 16384 * 2, 117450880, 0.06);
  // A dense layer among them counts if its MLP is wider.
  EngineInput glm = model_of("glm4moe", 4096, 30000, 151552, {96, 8, 128});
  glm.model.experts = {128, 8, 1408, 0};
  CHECK(compute(glm, 8192).bytes == Bytes(512 * 4 * (3 * 8 * 1408 + 8 * 4096 + 3 * 4096) + 512 * 8192 * 2));
  glm.model.experts.dense_layers = 1;
  CHECK(compute(glm, 8192).bytes == Bytes(512 * 4 * 3 * (30000 + 4096) + 512 * 8192 * 2));
}

TEST_CASE("llama.cpp: compute buffers of recurrences and indexers") {
  // mamba-2.8b, four slots: 4 inner widths, twice the channels of 5120, and the slots' states of 5120 * (16 + 1). A run
  // reserved 64,717,056 B.
  EngineInput mamba = model_of("mamba", 2560, 0, 50280, {0, 0, 0});
  Term conv{.name = "conv state", .role = Role::kState, .growth = Growth::kSequence};
  conv.shape = {.units = 5120, .vectors = 1, .width = 1, .columns = 4};
  Term state{.name = "ssm state", .role = Role::kState, .growth = Growth::kSequence};
  state.shape = {.units = 5120, .vectors = 1, .width = 16};
  mamba.caches.push_back({0, "ssm", {conv, state}, {conv, state}});
  check_run(compute(mamba, 8192, 4, true), 512 * 4 * (4 + 2) * 5120 + 4 * 5120 * (16 + 1) * 4, 64717056, 0.01);
  // Channels in addition to the inner width (B and C of Mamba-2, q and k of delta rules): 8 heads of 64 and 2 groups of
  // 128.
  EngineInput mamba2 = model_of("mamba2", 64, 0, 1000, {0, 0, 0});
  Term heads = conv;
  heads.shape = {.units = 8, .vectors = 1, .width = 64, .columns = 4};
  Term groups = conv;
  groups.shape = {.units = 2, .vectors = 2, .width = 128, .columns = 4};
  Term matrix = state;
  matrix.shape = {.units = 8, .vectors = 64, .width = 128};
  mamba2.caches.push_back({0, "ssm", {heads, groups, matrix}, {heads, groups, matrix}});
  CHECK(compute(mamba2, 8192, 2).bytes ==
        Bytes(512 * 4 * (4 * 512 + 2 * (512 + 512)) + 2 * (8 * 64 * 128 + 512 + 512) * 4));
  // An indexer has, for each cell, a float32 score and a mask: 6 B. With one key for 4 tokens it has a quarter of the
  // cells. The attention has 32 heads over a latent of 512 and 64.
  EngineInput sparse = model_of("deepseek32", 512, 64, 1000, {32, 0, 0});
  Term latent{.name = "latent", .role = Role::kKey, .part = Part::kLatent};
  latent.shape.width = 512;
  Term rope{.name = "rope key", .role = Role::kKey, .part = Part::kRope};
  rope.shape.width = 64;
  Term index{.name = "index key", .role = Role::kIndex};
  index.shape.width = 128;
  sparse.caches.push_back({0, "sparse_mla", {latent, rope}, {latent, rope}});
  const std::uint64_t plain = 512 * 4 * (3 * 512 + 32 * (64 + 2 * 576)) + 512 * 8192 * 2;
  CHECK(compute(sparse, 8192).bytes == Bytes(plain));
  sparse.caches[0].compact.own().push_back(index);
  CHECK(compute(sparse, 8192).bytes == Bytes(plain + 512 * 8192 * 6));
  sparse.caches[0].compact.own()[2].stride = 4;
  CHECK(compute(sparse, 8192).bytes == Bytes(plain + 512 * 2048 * 6));
}

TEST_CASE("llama.cpp: contents of host memory besides layers") {
  // The inputs twice, ub * hidden * 4 B, the masks, and an output buffer of vocabulary x slots.
  const EngineInput input = llama8b();
  const auto host = llama_cpp_host_buffers(input, Load{Tokens(8192), 3, Tokens(0)});
  REQUIRE(host.size() == 2);
  CHECK(host[0].bytes == Bytes(2 * 512 * 4096 * 4 + 512 * 8192 * 2));
  CHECK(host[0].high == host[0].bytes * 2);
  CHECK(host[1].bytes == Bytes(3 * 128256 * 4));
}

TEST_CASE("llama.cpp: micro-batches and padding of a context") {
  struct Row {
    std::uint64_t tokens, seqs;
    bool pooled;
    std::optional<std::uint64_t> batch, ubatch;
    std::uint64_t cells, streams, n_ubatch;
  };
  // llama_context: n_batch = min(n_ctx, n_batch), n_ubatch = min(n_batch, n_ubatch == 0 ? n_batch : n_ubatch), limited
  // by the requested context; cells are padded to 256.
  const Row rows[] = {
      {100, 1, false, {}, {}, 256, 1, 100},        {100, 3, false, {}, {}, 256, 3, 300},
      {100, 3, true, {}, {}, 256, 1, 100},         {5000, 1, false, {}, {}, 5120, 1, 512},
      {5000, 1, false, {}, 4096, 5120, 1, 2048},   {5000, 1, false, 4096, 4096, 5120, 1, 4096},
      {5000, 1, false, 300, 4096, 5120, 1, 300},   {5000, 1, false, {}, 0, 5120, 1, 2048},
      {5000, 2, false, 100000, 0, 5120, 2, 10000},
  };
  for (const Row& row : rows) {
    CAPTURE(row.tokens);
    CAPTURE(row.n_ubatch);
    EngineInput input = llama8b();
    input.request.llama_cpp.n_batch = row.batch;
    input.request.llama_cpp.n_ubatch = row.ubatch;
    const LlamaContext context = llama_context(input, Load{Tokens(row.tokens), row.seqs, Tokens(0), row.pooled});
    CHECK(context.n_ctx_seq == row.cells);
    CHECK(context.streams == row.streams);
    CHECK(context.n_ubatch == row.n_ubatch);
  }
  // Builds before b6980 pad by 32 if flash attention is off.
  EngineInput input = llama8b();
  const auto cells = [&](const char* version, FlashAttention flash) {
    input.request.engine_version = version;
    input.request.llama_cpp.flash_attention = flash;
    return llama_context(input, Load{Tokens(5001), 1, Tokens(0)}).n_ctx_seq;
  };
  CHECK(cells("b6979", FlashAttention::kOff) == 5024);
  CHECK(cells("b6979", FlashAttention::kOn) == 5120);
  CHECK(cells("b6980", FlashAttention::kOff) == 5120);
  CHECK(cells("b1", FlashAttention::kOff) == 5024);
  CHECK(cells("", FlashAttention::kOff) == 5120);
}

TEST_CASE("llama.cpp: flash attention by the sizes of heads that CUDA has kernels for") {
  // ggml_cuda_get_best_fattn_kernel: heads of equal sizes from a list; 192/128 if 8 query heads share a KV head,
  // 320/256 if 32 do, and 512/512 and 576/512 if two do.
  struct Row {
    std::uint64_t key, value, query, kv;
    bool has;
  };
  const Row rows[] = {
      {64, 64, 32, 8, true},    {128, 128, 32, 32, true}, {256, 256, 8, 8, true},   {40, 40, 8, 8, true},
      {72, 72, 8, 8, true},     {80, 80, 32, 32, true},   {96, 96, 32, 32, true},   {112, 112, 8, 8, true},
      {48, 48, 8, 8, false},    {160, 160, 8, 8, false},  {192, 128, 64, 8, true},  {192, 128, 64, 16, false},
      {192, 192, 64, 8, false}, {320, 256, 32, 1, true},  {320, 256, 32, 2, false}, {576, 512, 128, 1, true},
      {576, 512, 2, 1, true},   {576, 512, 1, 1, false},  {512, 512, 8, 2, true},   {512, 512, 8, 8, false},
      {512, 256, 8, 1, false},  {128, 64, 32, 8, false},  {192, 128, 15, 1, false}};
  for (const Row& row : rows) {
    CAPTURE(row.key);
    CAPTURE(row.value);
    CAPTURE(row.kv);
    EngineInput input = model_of("llama", 512, 512, 1000, {row.query, 0, 0});
    CacheTerms terms{term_of(Role::kKey, row.kv, row.key), term_of(Role::kValue, row.kv, row.value)};
    input.caches.push_back({0, "gqa", terms, terms});
    CHECK(llama_flash_attention(input) == row.has);
    input.request.llama_cpp.flash_attention = FlashAttention::kOn;
    CHECK(llama_flash_attention(input));
    input.request.llama_cpp.flash_attention = FlashAttention::kOff;
    CHECK_FALSE(llama_flash_attention(input));
    input.request.llama_cpp.flash_attention = FlashAttention::kAuto;
    input.types.value = Dtype::kQ8_0;  // needs it
    CHECK(llama_flash_attention(input));
    input.model.arch = Arch::kGrok;  // forbidden for it
    CHECK_FALSE(llama_flash_attention(input));
  }
  // A latent of 512 with its rope part of 64 is K of 576 and V of 512. DeepSeek-V4's whole entry of 448 + 64 is V.
  // Other latents of 256 + 64 have a separate kernel.
  EngineInput mla = model_of("deepseek2", 512, 512, 1000, {16, 0, 0});
  Term latent{.name = "latent", .role = Role::kKey, .part = Part::kLatent};
  latent.shape.width = 512;
  Term rope{.name = "rope key", .role = Role::kKey, .part = Part::kRope};
  rope.shape.width = 64;
  mla.caches.push_back({0, "mla", {latent, rope}, {latent, rope}});
  CHECK(llama_flash_attention(mla));
  mla.caches[0].compact.own()[0].shape.width = 448;
  CHECK_FALSE(llama_flash_attention(mla));
  mla.model.arch = Arch::kDeepseekV4;
  CHECK(llama_flash_attention(mla));
  mla.model.arch = Arch::kOther;
  mla.caches[0].compact.own()[0].shape.width = 256;
  CHECK_FALSE(llama_flash_attention(mla));  // for 32 query heads per KV head
  mla.model.num_heads = 32;
  CHECK(llama_flash_attention(mla));
  mla.caches[0].compact.own()[0].shape.width = 256;  // no kernel supports MiniCPM3's 256 + 32
  mla.caches[0].compact.own()[1].shape.width = 32;
  CHECK_FALSE(llama_flash_attention(mla));
  // The CPU has a kernel for every size, so layers on the host do not need CUDA's.
  mla.caches[0].compact.own()[0].shape.width = 448;
  mla.model.num_layers = 1;
  CHECK_FALSE(llama_flash_attention(mla));
  mla.request.llama_cpp.gpu_layers = 1;  // only the output
  CHECK(llama_flash_attention(mla));
  // A layer without attention needs no kernel.
  EngineInput none = model_of("mamba", 512, 512, 1000, {0, 0, 0});
  CHECK(llama_flash_attention(none));
}

}  // namespace
}  // namespace kvplan
