#include <doctest/doctest.h>

#include "engines/capacity.h"
#include "engines/llama_cpp/cache.h"
#include "engines/llama_cpp/classes.h"
#include "engines/llama_cpp/compute.h"
#include "engines/requests.h"
#include "kvplan/error.h"
#include "kvplan/gpus.h"
#include "plan/plan.h"
#include "plan/steps.h"
#include "sources/load.h"
#include "support/figures.h"

namespace kvplan {
namespace {

Request llama_request(std::uint64_t tokens, std::uint64_t num_seqs = 1) {
  Request request;
  request.engine = engine_named("llama.cpp");
  request.max_model_len = Tokens(tokens);
  request.num_seqs = num_seqs;
  return request;
}

double reserved_mib(const std::string& config, const Request& request) {
  const ModelSpec model = test_model(config);
  const EngineInput input = engine_input(model, request);
  std::vector<Note> notes;
  const auto layout = engine_of(request).layout(input, notes);
  return static_cast<double>(layout->reserved(load_of(model, request)).count()) / kMiB;
}

std::string refusal(const std::string& config, const Request& request) {
  try {
    reserved_mib(config, request);
  } catch (const Error& error) {
    CHECK(error.code() == Exit::kBadInput);
    return error.what();
  }
  return "";
}

// A layer of `units` heads of `width`, for rules that no bundled model shows.
LayerCache heads_cache(std::uint64_t layer, std::uint64_t units, std::uint64_t width, std::uint64_t window = 0) {
  Term key{.name = "key", .role = Role::kKey};
  key.shape = {.units = units, .vectors = 1, .width = width};
  if (window > 0) key.limit = {LimitKind::kWindow, Tokens(window), Tokens(0)};
  Term value = key;
  value.name = "value";
  value.role = Role::kValue;
  return {layer, "gqa", {key, value}, {key, value}};
}

EngineInput made_input(std::string_view model_type, std::vector<LayerCache> caches, std::uint64_t num_layers) {
  EngineInput input;
  input.model.arch = test_arch(model_type);
  input.model.num_layers = num_layers;
  input.model.num_heads = 8;
  input.model.hidden_size = 256;
  input.caches = std::move(caches);
  input.request.engine = engine_named("llama.cpp");
  input.types = {Dtype::kFloat16, Dtype::kFloat16, Dtype::kBfloat16, Dtype::kBfloat16};
  return input;
}

TEST_CASE("llama.cpp: buffers that runs and logs of llama.cpp printed") {
  struct Row {
    const char* config;
    std::uint64_t tokens, num_seqs;
    double mib, rounding;
  };
  // Runs of v0.5.0; the recurrent ones are "RS buffer size" lines.
  const Row rows[] = {
      {"llama-3.1-8b", 16384, 1, 2048, 0}, {"llama-3.1-8b", 5000, 1, 640, 0},     {"llama-3.1-8b", 5461, 3, 2112, 0},
      {"llama-3.1-8b", 100, 3, 96, 0},     {"deepseek-v3", 16384, 1, 1098, 0},    {"gemma-3n-e4b", 4096, 1, 64, 0},
      {"gemma-3n-e4b", 16384, 1, 160, 0},  {"gpt-oss-20b", 16384, 1, 402, 0},     {"mamba-2.8b", 4096, 1, 23.75, 0.005},
      {"mamba-2.8b", 4096, 4, 95, 0.005},  {"rwkv7-2.9b", 4096, 1, 20.62, 0.006},
  };
  for (const Row& row : rows) {
    CAPTURE(row.config);
    CAPTURE(row.tokens);
    const double mib = reserved_mib(row.config, llama_request(row.tokens, row.num_seqs));
    CHECK(mib == doctest::Approx(row.mib).epsilon(1e-9 + row.rounding / row.mib));
  }
}

TEST_CASE("llama.cpp: K and V of different types") {
  Request request = llama_request(8192);
  request.cache_type_v = Dtype::kQ8_0;
  CHECK(reserved_mib("llama-3.1-8b", request) == 784);  // a run: 822,083,584 B
  request.cache_type_k = request.cache_type_v = Dtype::kQ4_1;
  CHECK(reserved_mib("llama-3.1-8b", request) == 320);
  request.llama_cpp.flash_attention = FlashAttention::kOff;
  CHECK(refusal("llama-3.1-8b", request).find("flash attention") != std::string::npos);
  request.llama_cpp.flash_attention = FlashAttention::kAuto;
  request.cache_type_k = Dtype::kFp8E4m3;
  CHECK(refusal("llama-3.1-8b", request).find("no cache of type fp8_e4m3") != std::string::npos);
  request.cache_type_k = Dtype::kQ8_0;
  CHECK(refusal("deepseek-v3", request).find("differ") != std::string::npos);
}

TEST_CASE("llama.cpp: refusals of layouts") {
  Request request = llama_request(4096);
  request.parallel.tensor = 2;
  CHECK(refusal("llama-3.1-8b", request).find("by layers") != std::string::npos);
  request = llama_request(4096, 257);
  CHECK(refusal("llama-3.1-8b", request).find("256 sequences") != std::string::npos);
  request = llama_request(4096);
  request.parallel.pipeline = 33;
  CHECK(refusal("llama-3.1-8b", request).find("32 layers") != std::string::npos);
}

TEST_CASE("llama.cpp: cells of windows follow the micro-batch and the slots of a pool") {
  // gpt-oss, window 128: 768 cells; with four slots in one pool 128 * 4 + 512. gemma-3, window 1024: 1536, or 3072 with
  // -ub 2048.
  struct Row {
    std::uint64_t window, seqs, ubatch;
    bool unified, swa_full;
    std::uint64_t tokens, cells;
  };
  const Row rows[] = {
      {128, 1, 512, false, false, 16384, 768},   {128, 4, 512, true, false, 16384, 1024},
      {1024, 1, 512, false, false, 16384, 1536}, {1024, 1, 2048, false, false, 16384, 3072},
      {1024, 1, 512, false, true, 16384, 16384}, {4096, 1, 512, false, false, 4096, 4096},
      {4096, 1, 512, false, false, 5000, 4608},  {128, 2, 512, false, false, 16384, 2 * 768},
      {128, 1, 4096, false, false, 16384, 2304},  // n_batch 2048 limits n_ubatch
  };
  for (const Row& row : rows) {
    CAPTURE(row.window);
    CAPTURE(row.cells);
    EngineInput input = made_input("gemma3", {heads_cache(0, 4, 64, row.window)}, 1);
    input.request.llama_cpp.n_ubatch = row.ubatch;
    input.request.llama_cpp.swa_full = row.swa_full;
    const LlamaCppLayout layout(input);
    const Load load{Tokens(row.tokens), row.seqs, Tokens(0), row.unified};
    CHECK(layout.reserved(load) == Bytes(row.cells * 2 * 4 * 64 * 2));
  }
  // Architectures without a second cache read the window from the config but cache every token.
  const LlamaCppLayout mistral(made_input("mistral", {heads_cache(0, 4, 64, 128)}, 1));
  CHECK(mistral.reserved({Tokens(16384), 1, Tokens(0)}) == Bytes(16384 * 2 * 4 * 64 * 2));
}

TEST_CASE("llama.cpp: V is as wide as the widest layer's without flash attention") {
  // A run of deci: 8 layers of 8 0 8 4 2 0 8 1 KV heads of 128, 4096 cells: 99,614,720 B. The two layers without heads
  // also get a V.
  const std::uint64_t heads[] = {8, 0, 8, 4, 2, 0, 8, 1};
  std::vector<LayerCache> caches;
  for (std::uint64_t layer = 0; layer < 8; ++layer)
    if (heads[layer] > 0) caches.push_back(heads_cache(layer, heads[layer], 128));
  EngineInput input = made_input("deci", caches, 8);
  const Load load{Tokens(4096), 1, Tokens(0)};
  CHECK(LlamaCppLayout(input).reserved(load) == Bytes(62 << 20));
  input.request.llama_cpp.flash_attention = FlashAttention::kOff;
  const LlamaCppLayout off(input);
  CHECK(off.reserved(load) == Bytes(99614720));
  CHECK(in_words(off.explain(load).front().gap.back().reason) == "V padded to the widest layer");
  CHECK(off.explain(load).front().gap.back().bytes == 99614720 - (62 << 20));
}

TEST_CASE("llama.cpp: CUDA pads the last row of quantized tensors") {
  // gemma-3-1b: 26 layers of one head of 256, q8_0. The buffers of a run had 19,968 B more than its cells.
  std::vector<LayerCache> caches;
  for (std::uint64_t layer = 0; layer < 26; ++layer) caches.push_back(heads_cache(layer, 1, 256));
  EngineInput input = made_input("llama", caches, 26);
  input.types.key = input.types.value = Dtype::kQ8_0;
  const LlamaCppLayout layout(input);
  const Bytes held(26 * 2 * 4096 * 272 + 19968);
  CHECK(layout.reserved({Tokens(4096), 1, Tokens(0)}) == held);
  const RankCache rank = layout.explain({Tokens(4096), 1, Tokens(0)}).front();
  Bytes told;
  for (const LedgerLine& line : rank.lines) told += line.bytes;
  CHECK(told == held);
  CHECK(rank.reserved == held);
  REQUIRE(!rank.gap.empty());
  CHECK(in_words(rank.gap.back().reason) == "quantized rows padded for CUDA");
  CHECK(rank.gap.back().bytes == 19968);
}

TEST_CASE("llama.cpp: layers and the output are units that GPUs share") {
  // A run: 33 units on two equal GPUs are 17 layers on the first and 15 with the output on the second.
  Request request = llama_request(16384);
  request.parallel.pipeline = 2;
  const ModelSpec model = test_model("llama-3.1-8b");
  const Plan plan = make_plan(model, request);
  REQUIRE(plan.memory.size() == 2);
  CHECK(plan.memory[0].kv_cache == Bytes(std::uint64_t{17 * 64} << 20));
  CHECK(plan.memory[1].kv_cache == Bytes(std::uint64_t{15 * 64} << 20));

  request.parallel.pipeline = 1;
  request.llama_cpp.gpu_layers = 1;  // only the output
  CHECK(reserved_mib("llama-3.1-8b", request) == 0);
  request.llama_cpp.gpu_layers = 11;
  CHECK(reserved_mib("llama-3.1-8b", request) == 10 * 64);
  request.llama_cpp.gpu_layers = 999;
  CHECK(reserved_mib("llama-3.1-8b", request) == 2048);
  request.llama_cpp.no_kv_offload = true;
  CHECK(reserved_mib("llama-3.1-8b", request) == 0);
}

TEST_CASE("llama.cpp: --ctx-size is the total of all slots") {
  Request request;
  request.engine = engine_named("llama.cpp");
  request.llama_cpp.ctx_size = Tokens(16384);
  request.num_seqs = 3;
  const ModelSpec model = test_model("llama-3.1-8b");
  CHECK(load_of(model, request).max_model_len == Tokens(5632));
  request.llama_cpp.ctx_size = Tokens(300);
  CHECK(load_of(model, request).max_model_len == Tokens(256));
  request.llama_cpp.kv_unified = true;
  CHECK(load_of(model, request).max_model_len == Tokens(300));
  CHECK(load_of(model, request).pooled);
  request.engine = engine_named("logical");
  CHECK(load_of(model, request).max_model_len == Tokens(300));
  CHECK_FALSE(load_of(model, request).pooled);
}

TEST_CASE("llama.cpp: the compute buffer") {
  struct Row {
    FlashAttention flash_attention;
    std::optional<Dtype> type;
    std::uint64_t tokens, gpus;
    double first, last;
  };
  // Runs of v0.5.0 on Llama-3.1-8B with logits for one slot. Two GPUs: as a context allocates them (--fit counts 204
  // MiB on the second).
  const Row rows[] = {
      {FlashAttention::kOn, std::nullopt, 16384, 1, 124.01, 124.01},
      {FlashAttention::kOff, std::nullopt, 16384, 1, 1092.01, 1092.01},
      {FlashAttention::kOn, Dtype::kQ8_0, 131072, 1, 672.09, 672.09},
      {FlashAttention::kOn, std::nullopt, 8192, 2, 172.04, 172.04},
  };
  const ModelSpec model = test_model("llama-3.1-8b");
  for (const Row& row : rows) {
    CAPTURE(row.tokens);
    Request request = llama_request(row.tokens);
    request.llama_cpp.flash_attention = row.flash_attention;
    request.cache_type_k = request.cache_type_v = row.type;
    request.parallel.pipeline = row.gpus;
    const Plan plan = make_plan(model, request);
    const auto mib = [](const GpuMemory& gpu) { return static_cast<double>(gpu.activation->count()) / kMiB; };
    CHECK(mib(plan.memory.front()) == doctest::Approx(row.first).epsilon(0.001));
    CHECK(mib(plan.memory.back()) == doctest::Approx(row.last).epsilon(0.001));
  }
}

// HilbertraumAI/HilbertRaum#391: Qwen3.8-27B, 32,768 tokens, -ub 2048: "[spec] estimated memory usage of MTP context is
// 648.06 MiB", of which 128 MiB are its cache.
TEST_CASE("llama.cpp: MTP layers have a context of their own") {
  const ModelSpec model = read_config(test_file("testdata/observations/models/qwen3.8-27b.json"), "", "test", {});
  Request request = llama_request(32768);
  request.mtp = true;
  request.num_speculative_tokens = 2;
  request.llama_cpp.n_batch = request.llama_cpp.n_ubatch = 2048;
  double cache = 0;
  bool inside = false;
  const Plan plan = make_plan(model, request);
  for (const LedgerLine& line : plan.memory.front().lines) {
    if (in_words(line.what).find("MTP layers") != std::string::npos)
      cache += static_cast<double>(line.bytes.count()) / kMiB;
    if (in_words(line.what).find("MTP context") == std::string::npos) continue;
    inside = static_cast<double>(line.low.count()) / kMiB <= 520.06 &&
             static_cast<double>(line.high.count()) / kMiB >= 520.06;
  }
  CHECK(cache == 128);
  CHECK(inside);
}

TEST_CASE("llama.cpp: capacity is cells of the main cache") {
  Request request = llama_request(16384);
  request.kv_cache_memory_bytes = Bytes(std::uint64_t{4} << 30);
  const Plan plan = make_plan(test_model("llama-3.1-8b"), request);
  REQUIRE(plan.capacity);
  CHECK(plan.capacity->tokens == 32768);
  CHECK(plan.capacity->max_model_len == 32768);
  CHECK(plan.capacity->max_num_seqs == 2);
  CHECK(plan.capacity->max_concurrency == 2.0);
}

TEST_CASE("llama.cpp: a model that it cannot run is planned from its architecture alone, with a note") {
  const auto runs = [](std::string_view architecture, bool is_gguf = false) {
    ModelShape shape;
    shape.architecture = architecture;
    shape.model_type = architecture;
    shape.is_gguf = is_gguf;
    return llama_cpp_runs(shape);
  };
  CHECK(runs("LlamaForCausalLM"));
  CHECK(runs("gpt-oss", true));
  CHECK_FALSE(runs("RecurrentGemmaForCausalLM"));
  CHECK_FALSE(runs("Zamba2ForCausalLM"));
}

TEST_CASE("llama.cpp: the reserved memory is the sum of its lines, and never falls with the load") {
  for (const char* config : {"llama-3.1-8b", "gpt-oss-20b", "deepseek-v3.2", "qwen3.5-27b", "deepseek-v4-flash",
                             "mamba-2.8b", "gemma-4-26b", "minimax-m3", "t5-large"}) {
    CAPTURE(config);
    const ModelSpec model = test_model(config);
    for (const bool unified : {false, true}) {
      Request request = llama_request(4096, 3);
      request.llama_cpp.kv_unified = unified;
      const EngineInput input = engine_input(model, request);
      std::vector<Note> notes;
      const auto layout = engine_of(request).layout(input, notes);
      Bytes before;
      for (std::uint64_t tokens = 1; tokens < 70000; tokens = tokens * 5 / 4 + 7) {
        const Load load{Tokens(tokens), 3, Tokens(0), unified};
        const Bytes reserved = layout->reserved(load);
        CHECK(reserved >= before);
        before = reserved;
        const RankCache rank = layout->explain(load).front();
        CHECK(rank.reserved == reserved);
        auto sum = static_cast<std::int64_t>(rank.logical.count());
        for (const GapLine& line : rank.gap) sum += line.bytes;
        CHECK(sum == static_cast<std::int64_t>(reserved.count()));
        Bytes lines;
        for (const LedgerLine& line : rank.lines) lines += line.bytes;
        CHECK(lines == reserved);
      }
    }
  }
}

// A second way to the same number: llama.cpp's buffers cell by cell, tensor by tensor, without closed forms.
std::uint64_t cell_by_cell(const std::vector<LayerCache>& caches, bool windows, std::uint64_t n_ctx_seq,
                           std::uint64_t seqs, bool unified, std::uint64_t ubatch) {
  std::uint64_t bytes = 0;
  for (const LayerCache& cache : caches) {
    for (const Term& term : cache.compact) {
      std::uint64_t cells = 0;
      const std::uint64_t window = term.limit.tokens.count();
      const std::uint64_t wanted =
          windows && window > 0 ? std::min(n_ctx_seq, window * (unified ? seqs : 1) + ubatch) : n_ctx_seq;
      while (cells < wanted || cells % 256 != 0) ++cells;
      for (std::uint64_t stream = 0; stream < (unified ? 1 : seqs); ++stream)
        for (std::uint64_t cell = 0; cell < cells; ++cell) bytes += term.shape.units * term.shape.width * 2;
    }
  }
  return bytes;
}

TEST_CASE("llama.cpp: the formula equals a count of cells one by one") {
  std::uint64_t state = 12345;
  const auto random = [&state](std::uint64_t below) {
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    return (state >> 33) % below;
  };
  for (int round = 0; round < 60; ++round) {
    const bool windows = random(2) == 0;
    const bool unified = random(2) == 0;
    const std::uint64_t seqs = 1 + random(5);
    std::vector<LayerCache> caches;
    for (std::uint64_t layer = 0; layer < 1 + random(4); ++layer)
      caches.push_back(heads_cache(layer, 1 + random(8), 32 * (1 + random(4)), random(2) * (1 + random(3000))));
    EngineInput input = made_input(windows ? "gemma3" : "qwen3", caches, 4);
    input.request.llama_cpp.flash_attention = FlashAttention::kOn;
    const std::uint64_t ubatch = 1 + random(2000);
    input.request.llama_cpp.n_ubatch = ubatch;
    const std::uint64_t tokens = 1 + random(9000);
    const std::uint64_t padded = (tokens + 255) / 256 * 256;
    const std::uint64_t asked = tokens * (unified ? 1 : seqs);
    const std::uint64_t held = std::min(std::min<std::uint64_t>(ubatch, 2048), asked);
    CAPTURE(round);
    CHECK(LlamaCppLayout(input).reserved({Tokens(tokens), seqs, Tokens(0), unified}).count() ==
          cell_by_cell(caches, windows, padded, seqs, unified, held));
  }
}

// ggml-org/llama.cpp#15009: a compute buffer of 4,757,131,264 B on Strix Halo, where Vulkan allocates at most 4 GiB in
// one piece.
TEST_CASE("llama.cpp: no buffer is larger than Vulkan and SYCL allocate in one piece") {
  const ModelSpec model = observed_model("qwen3-30b-a3b");
  Request request = request_for("llama.cpp@b6000", 70000);
  request.weights = "q8_0";
  request.llama_cpp.flash_attention = FlashAttention::kOff;
  const auto refused = [&] { return make_plan(model, request).verdict.refusal.has_value(); };
  CHECK_FALSE(refused());
  request.card.gpu = &request.card.known().parse("strix-halo");
  CHECK(refused());
  request.engine_version.clear();
  CHECK(refused());  // newer builds split the buffer, but not the scores
  // ggml-org/llama.cpp#18160: Mesa's limit is 4 bytes below the 4 GiB of these scores. 32,768 tokens start.
  for (const std::uint64_t tokens : {65536U, 32768U}) {
    Request exact = request_for("llama.cpp@b7444", tokens);
    exact.weights = "q8_0";
    exact.llama_cpp.flash_attention = FlashAttention::kOff;
    exact.card.gpu = request.card.gpu;
    CHECK(make_plan(model, exact).verdict.refusal.has_value() == (tokens == 65536));
  }
  request.llama_cpp.backend = LlamaBackend::kRocm;
  CHECK_FALSE(refused());
  request.card.gpu = &request.card.known().parse("h100-80gb");
  request.llama_cpp.backend = LlamaBackend::kVulkan;
  CHECK(refused());
  request.llama_cpp.n_ubatch = 256;
  CHECK_FALSE(refused());
  request.llama_cpp.n_ubatch.reset();
  request.llama_cpp.flash_attention = FlashAttention::kOn;
  CHECK_FALSE(refused());
}

// A mask in 32 bit and its 16 bit copy: ggml-org/llama.cpp#22546, 808.02 and 528.02 MiB; koboldcpp of
// ggml-org/llama.cpp #16748, four copies of it, 12.412 GiB.
TEST_CASE("llama.cpp: builds before the end of May 2026 have two masks with flash attention") {
  Request request = request_for("llama.cpp@b9000", 262144);
  request.weights = "q4_k_m";
  const Plan plan = make_plan(observed_model("qwen3.5-9b"), request);
  const LedgerLine buffer = line_of(plan, LineId::kComputeBuffer);
  CHECK(buffer.low <= Bytes(808 * kMiB));
  CHECK(static_cast<double>(buffer.bytes.count()) == doctest::Approx(808.02 * kMiB).epsilon(0.08));
  const auto host = std::find_if(plan.host.begin(), plan.host.end(),
                                 [](const LedgerLine& line) { return line.id == LineId::kComputeBuffer; });
  REQUIRE(host != plan.host.end());
  CHECK(host->bytes == Bytes(528 * kMiB));

  request = request_for("llama.cpp@b7300", 150272);
  request.weights = "q4_k_m";
  request.parallel.pipeline = 2;
  request.parallel.given = true;
  request.llama_cpp.n_batch = request.llama_cpp.n_ubatch = 4096;
  CHECK(static_cast<double>(
            line_of(make_plan(observed_model("mistral-small-24b"), request), LineId::kComputeBuffer).bytes.count()) ==
        doctest::Approx(12.412 * kGiB).epsilon(0.05));
}

}  // namespace
}  // namespace kvplan
