// What engines take besides the cache: by hand from the rules in their sources, and the allowances in the ledger.
#include <doctest/doctest.h>

#include <algorithm>

#include "engines/estimates.h"
#include "engines/requests.h"
#include "engines/sglang/sglang.h"
#include "kvplan/error.h"

#include "support/figures.h"

namespace kvplan {
namespace {

LayerCache layer_of(std::uint64_t layer, std::uint64_t units, std::uint64_t width, std::uint64_t window = 0) {
  CacheTerms terms{term_of(Role::kKey, units, width), term_of(Role::kValue, units, width)};
  for (Term& term : terms)
    if (window > 0) term.limit = {LimitKind::kWindow, Tokens(window), Tokens(0)};
  return {layer, "gqa", terms, terms};
}

// Llama-3.1-8B's widths: 32 layers, hidden 4096, MLP 14336, 32 heads, 8 of KV, 128256 words.
EngineInput llama(const std::string& engine) {
  EngineInput out;
  out.request = request_for(engine, 4096);
  out.model.arch = test_arch("llama");
  out.model.num_layers = 32;
  out.model.hidden_size = 4096;
  out.model.intermediate_size = 14336;
  out.model.num_heads = 32;
  out.model.vocab_size = 128256;
  for (std::uint64_t i = 0; i < 32; ++i) out.caches.push_back(layer_of(i, 8, 128));
  out.types = {Dtype::kBfloat16, Dtype::kBfloat16, Dtype::kBfloat16, Dtype::kBfloat16};
  return out;
}

std::vector<LedgerLine> lines(const EngineInput& input, std::uint64_t tokens, std::uint64_t seqs = 1,
                              std::optional<Bytes> card = std::nullopt) {
  return engine_of(input.request).overhead({&input, Load{Tokens(tokens), seqs, Tokens(0)}, 0, Bytes(0), card});
}

const LedgerLine* find(const std::vector<LedgerLine>& all, std::string_view beginning) {
  const auto found = std::find_if(all.begin(), all.end(),
                                  [&](const LedgerLine& line) { return in_words(line.what).starts_with(beginning); });
  return found == all.end() ? nullptr : &*found;
}

Bytes bytes_of(const std::vector<LedgerLine>& all, std::string_view beginning) {
  const LedgerLine* line = find(all, beginning);
  return line == nullptr ? Bytes(0) : line->bytes;
}

struct Range {
  std::uint64_t low, bytes, high;
  friend bool operator==(const Range&, const Range&) = default;
};
Range range_of(const LedgerLine* line) {
  REQUIRE(line != nullptr);
  return {line->low.count(), line->bytes.count(), line->high.count()};
}
// A line between `low` and `high` times its bytes.
Range spread(std::uint64_t bytes, double low, double high) {
  const auto exact = static_cast<double>(bytes);
  return {static_cast<std::uint64_t>(exact * low), bytes, static_cast<std::uint64_t>(exact * high)};
}

TEST_CASE("overhead: the residual and one layer's MLP, between half and twice the figure") {
  // tokens * (2 * hidden + 3 * MLP of a rank) * 2 B, for the tokens that each engine computes in one step.
  struct Row {
    const char* engine;
    std::uint64_t tokens, seqs, batch, passed;
  };
  const Row rows[] = {
      {"tensorrt-llm", 100, 1, 0, 8192},                              // max_num_tokens, whatever the load (llm_args.py)
      {"tensorrt-llm", 100, 1, 512, 512}, {"mlx", 5000, 1, 0, 2048},  // prefill_step_size
      {"mlx", 500, 3, 0, 1500},           {"mlx", 500, 9, 0, 4000},   // at most 8 prompts at once (prompt_concurrency)
      {"mlx", 5000, 1, 100, 100},         {"mistralrs", 9000, 1, 0, 1024}, {"mistralrs", 400, 2, 0, 800},
      {"mistralrs", 9000, 1, 600, 600},   {"sglang", 9000, 1, 0, 8192},    {"sglang", 900, 3, 0, 2700},
  };
  for (const Row& row : rows) {
    CAPTURE(row.engine);
    CAPTURE(row.passed);
    EngineInput input = llama(row.engine);
    if (row.batch > 0) input.request.max_num_batched_tokens = Tokens(row.batch);
    CHECK(range_of(find(lines(input, row.tokens, row.seqs), "activations of")) ==
          spread(row.passed * (2 * 4096 + 3 * 14336) * 2, 0.5, 2));
    input.request.parallel.tensor = 2;
    CHECK(bytes_of(lines(input, row.tokens, row.seqs), "activations of") ==
          Bytes(row.passed * (2 * 4096 + 3 * 7168) * 2));
    input.model.intermediate_size = 0;  // the head size is not named: as wide as the model
    CHECK(bytes_of(lines(input, row.tokens, row.seqs), "activations of") ==
          Bytes(row.passed * (2 * 4096 + 3 * 2048) * 2));
  }
}

TEST_CASE("overhead: a pass of transformers is a whole prompt, the residual, and the larger of an MLP and scores") {
  EngineInput input = llama("transformers");
  const auto pass = [&](std::uint64_t tokens, std::uint64_t seqs) {
    return bytes_of(lines(input, tokens, seqs), "activations of a prompt");
  };
  CHECK(pass(5000, 3) == Bytes(15000ULL * (4 * 4096 + 3 * 14336) * 2));
  CHECK(range_of(find(lines(input, 5000, 3), "activations of")) ==
        spread(15000ULL * (4 * 4096 + 3 * 14336) * 2, 0.7, 1.3));
  input.request.parallel.tensor = 2;
  CHECK(pass(5000, 3) == Bytes(15000ULL * (4 * 4096 + 3 * 7168) * 2));
  input.request.parallel.tensor = 1;
  input.request.max_num_batched_tokens = Tokens(700);
  CHECK(pass(5000, 3) == Bytes(700ULL * (4 * 4096 + 3 * 14336) * 2));
  input.request.max_num_batched_tokens.reset();
  // Mixtral: gate and up twice. DeepSeek-V3: the weighted outputs.
  input.model.experts = {8, 2, 14336, 0};
  CHECK(pass(1000, 1) == Bytes(1000ULL * (4 * 4096 + 2 * (4096 + 4 * 14336)) * 2));
  input.model.experts = {256, 8, 2048, 0};
  CHECK(pass(1000, 1) == Bytes(1000ULL * (4 * 4096 + 8 * 6 * 4096) * 2));
  input.request.engine_version = "4.57";  // expert by expert
  CHECK(pass(1000, 1) == Bytes(1000ULL * (4 * 4096 + 3 * 14336) * 2));
  // Scores are larger than an MLP from some context on, and the two are never there at once.
  EngineInput eager = llama("transformers");
  eager.request.attention = AttentionKernel::kNaive;
  CHECK(find(lines(eager, 100), "attention scores") == nullptr);
  CHECK(bytes_of(lines(eager, 2000), "activations of") == Bytes(2000ULL * 4 * 4096 * 2));
  // gpt-oss has no sdpa: its scores are eager unless flash_attention_2 is named.
  eager.request.attention = AttentionKernel::kEngine;
  eager.model.arch = Arch::kGptOss;
  CHECK(bytes_of(lines(eager, 2000), "attention scores") == Bytes(2000ULL * 2000 * 32 * 8));
  eager.request.attention = AttentionKernel::kFlash;
  CHECK(find(lines(eager, 2000), "attention scores") == nullptr);
  // Gemma 2 since 5.21.
  eager.request.attention = AttentionKernel::kEngine;
  eager.model.arch = Arch::kGemma2;
  CHECK(find(lines(eager, 2000), "attention scores") != nullptr);
  eager.request.engine_version = "5.20";
  CHECK(find(lines(eager, 2000), "attention scores") == nullptr);
}

TEST_CASE("overhead: logits are float32, a row for each sequence that is sampled") {
  for (const char* engine : {"mlx", "mistralrs"})
    CHECK(range_of(find(lines(llama(engine), 100, 3), "logits")) == spread(3ULL * 128256 * 4, 0.5, 2));
  for (const char* engine : {"sglang", "transformers"})
    CHECK(range_of(find(lines(llama(engine), 100, 3), "logits")) == spread(3ULL * 128256 * 4, 1, 2));
  // TensorRT-LLM samples a batch of 64 by default.
  EngineInput input = llama("tensorrt-llm");
  CHECK(range_of(find(lines(input, 100, 3), "logits")) == spread(64ULL * 128256 * 4, 0.5, 2));
  CHECK(bytes_of(lines(input, 100, 65), "logits") == Bytes(65ULL * 128256 * 4));
  input.request.max_num_seqs = 5;
  CHECK(bytes_of(lines(input, 100, 65), "logits") == Bytes(5ULL * 128256 * 4));
}

TEST_CASE("overhead: the allowances add up to the plan's sum") {
  struct Row {
    const char *engine, *line, *words;
    std::uint64_t low, bytes, high;
  };
  // Observed contexts: 250 MiB to 1 GiB; SGLang's logs 300 to 900 MiB; others are round figures of users.
  const Row rows[] = {
      {"logical", "driver context", "512 MiB", 256 * kMiB, 512 * kMiB, 1024 * kMiB},
      {"transformers", "driver context", "512 MiB", 300 * kMiB, 512 * kMiB, 1024 * kMiB},
      {"sglang", "driver context", "512 MiB", 300 * kMiB, 512 * kMiB, 900 * kMiB},
      {"tensorrt-llm", "driver context", "1 GiB", 512 * kMiB, 1024 * kMiB, 3072 * kMiB},
      {"mistralrs", "driver context", "500 MB", 250000000, 500000000, 1000000000},
      {"mlx", "Metal runtime", "0.65 GB", 300000000, 650000000, 2500000000},
      // Logs and source have 457 MiB (Ollama's MinimumMemory) to 749 MiB (llama.cpp#27953).
      {"llama.cpp", "driver context", "512 MiB", 400 * kMiB, 512 * kMiB, 800 * kMiB},
  };
  for (const Row& row : rows) {
    CAPTURE(row.engine);
    const auto all = lines(llama(row.engine), 4096);
    const LedgerLine* line = find(all, row.line);
    CHECK(range_of(line) == Range{row.low, row.bytes, row.high});
    CHECK(line->part == Section::kRuntime);
    CHECK(in_words(line->formula).find(row.words) != std::string::npos);
  }
}

TEST_CASE("overhead: without an engine, at least one prefill chunk of hidden states") {
  EngineInput input = llama("logical");
  // 8192 tokens of hidden states in 16 bit, and up to four times that.
  CHECK(range_of(find(lines(input, 4096, 3), "activations")) == spread(8192ULL * 4096 * 2, 1, 4));
  CHECK(bytes_of(lines(input, 100, 3), "activations") == Bytes(300ULL * 4096 * 2));
  input.request.max_num_batched_tokens = Tokens(77);
  CHECK(bytes_of(lines(input, 100, 3), "activations") == Bytes(77ULL * 4096 * 2));
  // All sequences share the pool.
  Load pool{Tokens(100), 3, Tokens(0)};
  pool.pooled = true;
  CHECK(prefill_chunk(request_for("llama.cpp", 100), pool) == 100);
  pool.pooled = false;
  CHECK(prefill_chunk(request_for("llama.cpp", 100), pool) == 300);
}

TEST_CASE("overhead: a matrix of scores is chunk x context x heads of a rank") {
  EngineInput input = llama("logical");
  input.request.parallel.tensor = 3;  // 11 of 32 heads, rounded up
  const OverheadInput in{&input, Load{Tokens(20000), 2, Tokens(0)}, 0, Bytes(0), std::nullopt};
  // Float32 scores of a chunk of 8192 tokens against 20,000 tokens.
  CHECK(general_score_matrix(in)->bytes == Bytes(8192ULL * 20000 * 11 * 4));
  CHECK(general_score_matrix(in)->low == Bytes(8192ULL * 20000 * 11 * 2));
  CHECK(general_score_matrix(in)->high == Bytes(8192ULL * 20000 * 11 * 6));
  // eager_attention_forward of transformers has 16, 32 and 16 bit copies for the whole prompt.
  EngineInput eager = llama("transformers");
  CHECK(find(lines(eager, 2000), "attention scores") == nullptr);
  eager.request.attention = AttentionKernel::kNaive;
  CHECK(bytes_of(lines(eager, 2000), "attention scores") == Bytes(2000ULL * 2000 * 32 * 8));
  // A latent counts as a key, without values. Values without keys are not attention.
  EngineInput latent = llama("logical");
  for (LayerCache& cache : latent.caches) cache.compact.own().pop_back();
  const OverheadInput keys{&latent, Load{Tokens(100), 1, Tokens(0)}, 0, Bytes(0), std::nullopt};
  CHECK(general_score_matrix(keys)->bytes == Bytes(100ULL * 100 * 32 * 4));
  for (LayerCache& cache : latent.caches) cache.compact.own().front().role = Role::kValue;
  CHECK_FALSE(general_score_matrix(keys));
  // Without attention there are no scores.
  input.model.num_heads = 0;
  CHECK_FALSE(general_score_matrix(in));
  input.model.num_heads = 32;
  for (LayerCache& cache : input.caches)
    for (Term& term : cache.compact.own()) term.growth = Growth::kSequence;
  CHECK_FALSE(general_score_matrix(in));
}

TEST_CASE("overhead: rotating caches of MLX store a prefill step in addition to the window") {
  // cache.py: window + S - 1. Two windows of 8 heads of 128 and K, V in 16 bit: 8192 B per token.
  EngineInput input = llama("mlx");
  CHECK(find(lines(input, 5000), "prefill step beside") == nullptr);
  input.caches[0] = layer_of(0, 8, 128, 512);
  input.caches[7] = layer_of(7, 8, 128, 512);
  CHECK(range_of(find(lines(input, 5000), "prefill step beside")) == spread(2048ULL * 8192, 0, 1));
  CHECK(bytes_of(lines(input, 300, 2), "prefill step beside") == Bytes(600ULL * 8192));
}

TEST_CASE("overhead: an unchecked model widens the range by a tenth of the cache") {
  for (const char* engine : {"tensorrt-llm", "mlx", "mistralrs"}) {
    CAPTURE(engine);
    EngineInput input = llama(engine);
    CHECK(find(lines(input, 1000, 2), "cache rules not verified") == nullptr);
    Term state{.name = "ssm state", .role = Role::kState, .growth = Growth::kSequence};
    state.storage = Storage::kFloat32;
    state.shape = {.units = 8, .vectors = 64, .width = 128};
    input.caches.push_back({32, "ssm", {state}, {state}});
    // 131,072 B per token and a state of 262,144 B.
    CHECK(range_of(find(lines(input, 1000, 2), "cache rules not verified")) ==
          Range{0, 0, (2 * (1000ULL * 131072 + 262144)) / 10});
  }
  // mistral.rs: windows were not checked there either.
  EngineInput windows = llama("mistralrs");
  windows.caches[0] = layer_of(0, 8, 128, 512);
  CHECK(find(lines(windows, 1000), "cache rules not verified") != nullptr);
  EngineInput trt = llama("tensorrt-llm");
  trt.caches[0] = layer_of(0, 8, 128, 512);
  CHECK(find(lines(trt, 1000), "cache rules not verified") == nullptr);
}

TEST_CASE("overhead: the copies that transformers makes of its cache") {
  // torch.cat of one layer's K, 8 heads of 128 in 16 bit, or of V if that is wider, divided over ranks.
  EngineInput input = llama("transformers");
  CHECK(range_of(find(lines(input, 1000, 3), "concatenation")) == spread(3ULL * 1000 * 2048, 0, 1));
  input.caches[3].compact.own()[1].shape.width = 192;
  CHECK(bytes_of(lines(input, 1000), "concatenation") == Bytes(1000ULL * 8 * 192 * 2));
  input.request.parallel.tensor = 4;
  CHECK(bytes_of(lines(input, 1000), "concatenation") == Bytes(1000ULL * 2 * 192 * 2));
  input.request.parallel.tensor = 1;
  // States are written in place.
  EngineInput states = llama("transformers");
  for (LayerCache& cache : states.caches)
    for (Term& term : cache.expanded.own() = cache.compact) term.growth = Growth::kSequence;
  for (LayerCache& cache : states.caches) cache.compact = cache.expanded;
  CHECK(find(lines(states, 1000), "concatenation") == nullptr);
  // The view of a window keeps the whole prompt until the first token: 4096 B for each token beyond it.
  CHECK(find(lines(input, 1000), "prompt pinned") == nullptr);
  input.caches[5] = layer_of(5, 8, 128, 300);
  CHECK(range_of(find(lines(input, 1000, 2), "prompt pinned")) == Range{0, 0, 2ULL * 700 * 4096});
  CHECK(find(lines(input, 300), "prompt pinned") == nullptr);
  // A quantized cache keeps 128 tokens of a sequence in the model's type, in all 31 full layers of 4096 B and with V of
  // 192.
  input = llama("transformers");
  CHECK(find(lines(input, 1000), "tokens that wait") == nullptr);
  input.types.value = Dtype::kInt4;
  CHECK(range_of(find(lines(input, 1000, 2), "tokens that wait")) == spread(2ULL * 128 * 131072, 0, 1));
  CHECK(bytes_of(lines(input, 100, 2), "tokens that wait") == Bytes(2ULL * 100 * 131072));
  // A StaticCache shifts K and V of one window into a copy.
  input = llama("transformers");
  input.request.transformers.cache_implementation = "static";
  CHECK(find(lines(input, 1000), "a rolled window") == nullptr);
  input.caches[5] = layer_of(5, 8, 128, 300);
  input.caches[6] = layer_of(6, 8, 128, 400);
  CHECK(range_of(find(lines(input, 1000, 2), "a rolled window")) == spread(2ULL * 400 * 4096, 0, 1));
  CHECK(bytes_of(lines(input, 100), "a rolled window") == Bytes(100ULL * 4096));
}

TEST_CASE("SGLang: chunk and captured batches by the GPU (server_args.py)") {
  // Below 20, 35, 60, 90 and 160 GiB, and above: the chunk, the largest batch, and the batch with four ranks or more.
  struct Row {
    std::uint64_t gib, ranks, chunk, batches;
  };
  // 1, 2, 4, 8, 12, 16, then steps of 8, beyond 256 of 16: 4 sizes up to 8, 8 up to 32, 10 up to 48, 24 up to 160, 36
  // up to 256, 52 up to 512 ("52 decode graphs" in a log). GPUs of 20 to 35 GiB have larger ones since 0.5.20
  // (executed). Prefills: 42 sizes up to 2048 tokens, 50, 58 and 74 ("74 prefill graphs" in a log) up to 16,384.
  const Row rows[] = {
      {16, 1, 2048, 4},    {16, 4, 2048, 4},    {20, 1, 4096, 10},   {24, 2, 4096, 10},  {24, 4, 4096, 24},
      {34, 8, 4096, 24},   {35, 1, 4096, 8},    {48, 1, 4096, 8},    {48, 4, 4096, 24},  {60, 1, 8192, 36},
      {80, 1, 8192, 36},   {80, 4, 8192, 52},   {90, 1, 8192, 36},   {141, 8, 8192, 52}, {159, 1, 8192, 36},
      {160, 1, 16384, 52}, {192, 1, 16384, 52}, {288, 8, 16384, 52},
  };
  for (const Row& row : rows) {
    CAPTURE(row.gib);
    CAPTURE(row.ranks);
    EngineInput input = llama("sglang");
    input.request.parallel.tensor = row.ranks;
    input.request.card.memory = Bytes(row.gib * 1024 * kMiB);
    input.model.intermediate_size = 14336 * row.ranks;
    const auto all = lines(input, 100000, 1, Bytes(row.gib * 1024 * kMiB));
    CHECK(bytes_of(all, "activations of") == Bytes(row.chunk * (2 * 4096 + 3 * 14336) * 2));
    const std::uint64_t prefills = row.chunk == 2048 ? 42 : row.chunk == 4096 ? 50 : row.chunk == 8192 ? 58 : 74;
    CHECK(bytes_of(all, "CUDA graphs") ==
          Bytes(64 * kMiB + (row.batches + prefills) * 32 * 310 * 1024 + row.chunk * (4096 + 14336) * 6));
  }
  EngineInput small = llama("sglang@0.5.8");
  small.request.card.memory = Bytes(24ULL * 1024 * kMiB);
  CHECK(bytes_of(lines(small, 100000, 1, *small.request.card.memory), "activations of") ==
        Bytes(2048ULL * (2 * 4096 + 3 * 14336) * 2));
  // Prefills are captured since 0.5.12. Outputs are weak references since 0.5.6.
  CHECK(bytes_of(lines(small, 100000), "CUDA graphs") == Bytes(64 * kMiB + 7ULL * 32 * 310 * 1024));
  CHECK(bytes_of(lines(llama("sglang@0.5.5"), 100000), "CUDA graphs") == Bytes(36ULL * 32 * 1344 * 1024));
  // Until 0.4.8 logs have 2.3 to 3.1 GiB, a part of which is the driver's.
  CHECK(bytes_of(lines(llama("sglang@0.4"), 100000), "CUDA graphs") == Bytes(36ULL * 32 * 2 * kMiB));
  // Without a GPU the values are those of 80 GiB.
  EngineInput input = llama("sglang");
  CHECK(bytes_of(lines(input, 100000), "CUDA graphs") ==
        Bytes(64 * kMiB + (36ULL + 58) * 32 * 310 * 1024 + 8192ULL * (4096 + 14336) * 6));
  input.request.parallel.pipeline = 3;  // 11 layers on the largest stage, and no prefills
  CHECK(bytes_of(lines(input, 100000), "CUDA graphs") == Bytes(64 * kMiB + 36ULL * 11 * 310 * 1024));
  input.request.enforce_eager = true;
  CHECK(find(lines(input, 100000), "CUDA graphs") == nullptr);
  // Logs: Qwen3-8B on a B200 has 0.60 GiB for 52 sizes and 2.32 GiB for 74 sizes of prefills. GB10 has 1.38 GiB for 8
  // sizes of 64 layers, including host allocations during capture.
  const auto in_gib = [](Bytes bytes) { return static_cast<double>(bytes.count()) / (1024.0 * kMiB); };
  const auto of_qwen3 = [&](const char* engine) {
    EngineInput qwen = llama(engine);
    qwen.model.num_layers = 36;
    qwen.model.intermediate_size = 12288;
    qwen.request.card.memory = Bytes(180ULL * 1024 * kMiB);
    return in_gib(bytes_of(lines(qwen, 100000), "CUDA graphs"));
  };
  CHECK(of_qwen3("sglang@0.5.12") == doctest::Approx(2.92).epsilon(0.02));
  CHECK(of_qwen3("sglang@0.5.9") == doctest::Approx(0.60).epsilon(0.05));  // no graphs of prefills
  EngineInput spark = llama("sglang@0.5.15");
  spark.model.num_layers = 64;
  spark.request.parallel.pipeline = 1;
  spark.request.card.gpu = &parse_gpu("dgx-spark-128gb");
  spark.request.max_num_seqs = 32;
  spark.model.vision.emplace();
  spark.model.architecture = "Qwen3_5ForConditionalGeneration";
  CHECK(in_gib(bytes_of(lines(spark, 100000), "CUDA graphs")) == doctest::Approx(1.38).epsilon(0.1));
  // ReqToTokenPool: an int32 for each token of the context and 4 more, 2048 requests and one.
  CHECK(bytes_of(lines(input, 1000), "request-to-token") == Bytes(2049ULL * 1004 * 4));
  CHECK(bytes_of(lines(input, 1000, 3000), "request-to-token") == Bytes(2049ULL * 1004 * 4));  // the rest waits
  input.request.max_num_seqs = 7;
  CHECK(bytes_of(lines(input, 1000, 2), "request-to-token") == Bytes(8ULL * 1004 * 4));
  // With drafts the limit is 48 requests, for DeepSeek-V4 it is 256. The data parallel ranks of attention divide them.
  input.request.max_num_seqs.reset();
  input.draft_method = DraftMethod::kNgram;
  CHECK(bytes_of(lines(input, 1000), "request-to-token") == Bytes(49ULL * 1004 * 4));
  input.model.arch = test_arch("deepseek_v4");
  input.memo.reset();  // it is another model
  CHECK(bytes_of(lines(input, 1000), "request-to-token") == Bytes(257ULL * 1004 * 4));
  input.request.parallel.tensor = input.request.parallel.data = 8;
  input.request.parallel.dp_attention = true;
  CHECK(bytes_of(lines(input, 1000), "request-to-token") == Bytes(33ULL * 1004 * 4));
}

TEST_CASE("SGLang: the static fraction of a GPU (server_args.py)") {
  // MiB that are left free: 512 + 1.5 * max(chunk, 2048) + 2 * batch + tp * pp / 8 * 1024; at least 10 GiB above 60
  // GiB. These are the rules of 0.5.5 to 0.5.11. DP attention: 3 * batch * dp more, and half of that again beyond
  // batches of 300. The fraction has three digits.
  struct Row {
    std::uint64_t gib, tp, pp, dp, chunk;
    bool dp_attention;
    double share;
  };
  const Row rows[] = {
      {24, 1, 1, 1, 0, false, 0.847},     // (24576 - 512 - 3072 - 48 - 128) / 24576
      {16, 1, 1, 1, 0, false, 0.772},     // (16384 - 512 - 3072 - 16 - 128) / 16384
      {24, 1, 1, 1, 1000, false, 0.847},  // the chunk counts as at least 2048
      {24, 1, 1, 1, 4096, false, 0.722},  // 512 + 6144 + 48 + 128
      {80, 1, 1, 1, 0, false, 0.836},     // (81920 - 512 - 12288 - 512 - 128) / 81920
      {80, 1, 1, 1, 2048, false, 0.875},  // 10240 of 81920
      {60, 1, 1, 1, 2048, false, 0.931},  // (61440 - 512 - 3072 - 512 - 128) / 61440
      {80, 8, 1, 1, 0, false, 0.819},     // 512 + 12288 + 1024 + 1024
      {80, 2, 4, 1, 0, false, 0.825},     // 512 + 12288 + 512 + 1024
      {80, 8, 1, 8, 0, true, 0.594},      // + 3 * 512 * 8 + 1.5 * 512 * 8
      {80, 2, 1, 2, 0, true, 0.816},      // 512 + 12288 + 512 + 256 + 3 * 256 * 2
      {80, 8, 1, 8, 0, false, 0.819},
      // Every batch of the table, where two MiB more would move the third digit: 512 + 12000 + 16 + 128 of 16384 ...
      {16, 1, 1, 1, 8000, false, 0.228},
      {16, 4, 1, 1, 8006, false, 0.204},
      {16, 8, 1, 1, 8015, false, 0.171},
      {24, 1, 1, 1, 8003, false, 0.484},
      {24, 4, 1, 1, 8000, false, 0.464},
      {48, 1, 1, 1, 8000, false, 0.742},
      {48, 4, 1, 1, 8000, false, 0.729},
      {80, 1, 1, 1, 8052, false, 0.839},
      {80, 4, 1, 1, 8000, false, 0.829},
      {141, 1, 1, 1, 8039, false, 0.909},
      {141, 4, 1, 1, 8019, false, 0.903},
      {192, 1, 1, 1, 8000, false, 0.931},
      {192, 4, 1, 1, 8006, false, 0.929},
      {2, 1, 1, 1, 0, false, 0.1},  // the fraction is never below a tenth
  };
  for (const Row& row : rows) {
    CAPTURE(row.gib);
    CAPTURE(row.share);
    EngineInput input = llama("sglang@0.5.8");
    input.request.parallel.tensor = row.tp;
    input.request.parallel.pipeline = row.pp;
    input.request.parallel.data = row.dp;
    input.request.parallel.dp_attention = row.dp_attention;
    if (row.chunk > 0) input.request.max_num_batched_tokens = Tokens(row.chunk);
    BudgetInput in;
    in.engine = &input;
    in.gpu_memory = Bytes(row.gib * 1024 * kMiB);
    input.request.card.memory = in.gpu_memory;
    // A fraction of the memory that is free before the weights are loaded: the GPU without the driver's 512 MiB.
    const std::uint64_t free = (row.gib * 1024 - 512) * kMiB;
    const double budget = static_cast<double>(sglang_cache_budget(in).count());
    CHECK(budget / static_cast<double>(free) == doctest::Approx(row.share).epsilon(1e-6));
    in.weights = Bytes(kMiB);
    CHECK(static_cast<double>((sglang_cache_budget(in) + Bytes(kMiB)).count()) ==
          doctest::Approx(budget).epsilon(1e-9));
    in.weights = in.gpu_memory;
    CHECK(sglang_cache_budget(in) == Bytes(0));
  }
  EngineInput input = llama("sglang");
  input.request.memory_utilization = 0.5;
  BudgetInput in;
  in.engine = &input;
  in.gpu_memory = Bytes(1536 * kMiB);
  CHECK(sglang_cache_budget(in) == Bytes(512 * kMiB));
  in.gpu_memory = Bytes(500 * kMiB);  // less than the driver needs
  CHECK(sglang_cache_budget(in) == Bytes(0));
}

TEST_CASE("TensorRT-LLM: the cache has a fraction of the free memory") {
  // free_gpu_memory_fraction is 0.9 of what weights, activations and runtime leave.
  EngineInput input = llama("tensorrt-llm");
  BudgetInput in;
  in.engine = &input;
  in.gpu_memory = Bytes(10000);
  in.weights = Bytes(3000);
  in.activation = Bytes(1500);
  in.runtime = Bytes(500);
  const auto budget = [&] { return engine_of(input.request).cache_budget(in); };
  CHECK(budget() == Bytes(4500));
  input.request.memory_utilization = 0.5;
  CHECK(budget() == Bytes(2500));
  in.weights = Bytes(8000);
  CHECK(budget() == Bytes(0));
  in.weights = Bytes(9000);
  CHECK(budget() == Bytes(0));
}

}  // namespace
}  // namespace kvplan
