// What vLLM takes beside the cache: by hand from the rules that its logs show, and the figures that those logs print.
#include "engines/vllm/memory.h"

#include <doctest/doctest.h>

#include "engines/requests.h"
#include "engines/vllm/rules.h"

#include "support/figures.h"

namespace kvplan {
namespace {

constexpr std::uint64_t kMib = std::uint64_t{1} << 20;
constexpr std::uint64_t kGib = std::uint64_t{1} << 30;

struct Dims {
  std::uint64_t hidden, mlp, layers, vocab;
};
constexpr Dims kLlama8b{4096, 14336, 32, 128256};

EngineInput shaped(const std::string& engine, const Dims& dims) {
  EngineInput out;
  out.request = request_for(engine, 8192);
  out.model.hidden_size = dims.hidden;
  out.model.intermediate_size = dims.mlp;
  out.model.num_layers = dims.layers;
  out.model.vocab_size = dims.vocab;
  return out;
}

std::vector<LedgerLine> lines(const EngineInput& input, std::uint64_t stage = 0) {
  return vllm_overhead({&input, Load{Tokens(8192), 1, Tokens(0)}, stage, Bytes(0), std::nullopt});
}

double share(Bytes part, Bytes whole) {
  return static_cast<double>(part.count()) / static_cast<double>(whole.count());
}

double gib(Bytes bytes) {
  return static_cast<double>(bytes.count()) / static_cast<double>(kGib);
}

TEST_CASE("vllm: the profile run, as \"peak activation\" lines print it") {
  struct Row {
    const char* engine;
    Dims dims;
    std::uint64_t batch, seqs, ranks, bytes;
    double printed;  // GiB
  };
  const Row rows[] = {
      // A layer over the whole batch: tokens * 3 * (hidden + MLP of a rank) * 2 B.
      {"vllm@0.6", kLlama8b, 20000, 256, 1, 20000ULL * 3 * 18432 * 2, 2.07},  // vllm#10517
      {"vllm@0.6", kLlama8b, 29000, 256, 1, 29000ULL * 3 * 18432 * 2, 2.99},
      {"vllm@0.8", {2560, 9728, 36, 151936}, 10000, 1, 1, 10000ULL * 3 * 12288 * 2, 0.74},           // Qwen3-4B
      {"vllm@0.8", {5376, 21504, 62, 262208}, 65536, 1, 4, 65536ULL * 3 * (5376 + 5376) * 2, 3.73},  // Gemma-3-27B
      // Rows that are sampled: 39 B an element of the logits, beside the batch's hidden states.
      {"vllm@0.6", kLlama8b, 8192, 256, 1, 256ULL * 128256 * 39 + 8192 * 4096 * 2, 1.26},  // vllm#10511
      {"vllm@0.6", kLlama8b, 8192, 256, 2, 256ULL * 128256 * 39 + 8192 * 4096 * 2, 1.26},  // TP 2
      {"vllm@0.8",
       {3584, 18944, 28, 152064},
       6600,
       256,
       1,
       256ULL * 152064 * 39 + 6600 * 3584 * 2,
       1.43},                                                                                          // vllm#15360
      {"vllm@0.8", {768, 3072, 12, 50272}, 2048, 256, 1, 256ULL * 50272 * 39 + 2048 * 768 * 2, 0.47},  // vllm#16348
      {"vllm@0.15", {3584, 18944, 28, 151936}, 2048, 256, 1, 256ULL * 151936 * 39 + 2048 * 3584 * 2, 1.40},
      // Since 0.16 it no longer sorts everything: 13 B.
      {"vllm@0.22", kLlama8b, 8192, 1024, 1, 1024ULL * 128256 * 13 + 8192 * 4096 * 2, 1.44},
      {"vllm@0.16", kLlama8b, 8192, 1024, 1, 1024ULL * 128256 * 13 + 8192 * 4096 * 2, 1.44},
  };
  for (const Row& row : rows) {
    CAPTURE(row.engine);
    CAPTURE(row.printed);
    EngineInput input = shaped(row.engine, row.dims);
    input.request.max_num_batched_tokens = Tokens(row.batch);
    input.request.max_num_seqs = row.seqs;
    input.request.tensor_parallel = row.ranks;
    const LedgerLine line = lines(input).front();
    CHECK(line.part == Section::kActivation);
    CHECK(line.bytes == Bytes(row.bytes));
    CHECK(gib(line.bytes) == doctest::Approx(row.printed).epsilon(0.15));
    CHECK(gib(line.low) <= row.printed);
    CHECK(gib(line.high) >= row.printed);
    // The ranges, as the logs span them: sorted logits 0.9 to 1.15 times the rule, logits of later samplers 0.7 to 2.3,
    // a batch 0.9 to 1.25.
    const bool sampler = line.what.find("sampler") != std::string::npos;
    const bool sorts = vllm_rules(input.request).version < 16;
    CHECK(share(line.low, line.bytes) == doctest::Approx(sampler && !sorts ? 0.7 : 0.9).epsilon(1e-6));
    CHECK(share(line.high, line.bytes) == doctest::Approx(!sampler ? 1.25 : sorts ? 1.15 : 2.3).epsilon(1e-6));
  }
}

TEST_CASE("vllm: experts widen the range of a batch, one to a token as many (Llama 4)") {
  EngineInput input = shaped("vllm@0.8", {5120, 16384, 48, 1000});
  input.request.max_num_batched_tokens = Tokens(65536);
  input.request.max_num_seqs = 1;
  CHECK(share(lines(input).front().high, lines(input).front().bytes) == doctest::Approx(1.25).epsilon(1e-6));
  input.model.experts.used = 1;
  CHECK(share(lines(input).front().low, lines(input).front().bytes) == doctest::Approx(0.7).epsilon(1e-6));
  CHECK(share(lines(input).front().high, lines(input).front().bytes) == doctest::Approx(1.6).epsilon(1e-6));
}

TEST_CASE("vllm: V0 ran the encoder of Llama-3.2-Vision over an image for every prompt of the batch") {
  EngineInput input = shaped("vllm@0.8", {4096, 14336, 40, 128256});
  input.request.enforce_eager = true;
  input.model.arch = test_arch("mllama");
  input.model.vision = VisionShape{1280, 5120, 1, 6404, 1};
  Term key{.name = "key", .role = Role::kKey, .growth = Growth::kSourceToken};
  input.caches = {{3, "cross", {key}, {key}}};
  const auto over_images = [&](std::uint64_t source) {
    const std::vector<LedgerLine> all =
        vllm_overhead({&input, Load{Tokens(8192), 1, Tokens(source)}, 0, Bytes(0), std::nullopt});
    Bytes out;
    for (const LedgerLine& line : all)
      if (line.what.find("vision encoder") != std::string::npos) out += line.bytes;
    return out + (out > Bytes(0) ? all.front().bytes : Bytes(0));
  };
  // 256 prompts of 6404 patches: 6 times width and MLP, 24 times the width, and the decoder's width, 2 B of it.
  input.request.max_num_seqs = 256;
  CHECK(over_images(6404) == Bytes(256ULL * 6404 * (6 * (1280 + 5120) + 24 * 1280 + 2 * 4096)));
  CHECK(over_images(0) == Bytes(0));
  input.model.vision->width = 0;  // the config does not tell
  CHECK(over_images(6404) == Bytes(0));
}

TEST_CASE("vllm: rows are sampled on the last stage alone, no more than a batch has tokens") {
  EngineInput input = shaped("vllm", kLlama8b);
  input.request.pipeline_parallel = 2;
  CHECK(lines(input, 0).front().bytes == Bytes(8192ULL * 3 * 18432 * 2));
  CHECK(lines(input, 1).front().bytes == Bytes(1024ULL * 128256 * 13 + 8192 * 4096 * 2));
  input.request.max_num_batched_tokens = Tokens(100);
  CHECK(lines(input, 1).front().bytes == Bytes(100ULL * 128256 * 13 + 100 * 4096 * 2));
  // A config that does not name the MLP's width: four times the hidden size, as in the first transformer.
  EngineInput plain = shaped("vllm", {4096, 0, 32, 0});
  CHECK(lines(plain).front().bytes == Bytes(8192ULL * 3 * (4096 + 4 * 4096) * 2));
  // Experts are routed unevenly: printed peaks go further from the rule on both sides.
  EngineInput experts = shaped("vllm", {4096, 14336, 32, 0});
  const LedgerLine dense = lines(experts).front();
  experts.model.experts.used = 2;
  const LedgerLine sparse = lines(experts).front();
  CHECK(sparse.bytes == dense.bytes);
  CHECK(share(sparse.low, sparse.bytes) == doctest::Approx(0.7).epsilon(1e-6));
  CHECK(share(sparse.high, sparse.bytes) == doctest::Approx(1.6).epsilon(1e-6));
}

TEST_CASE("vllm: outside PyTorch, as logs print it") {
  struct Row {
    const char *engine, *card;
    std::uint64_t ranks, stages, low, mib, high;  // the logs' own span, rounded outwards
    double least, most;                           // GiB, of the logs
  };
  const Row rows[] = {
      {"vllm", "mi300x", 1, 1, 400, 600, 900, 0.46, 0.73},  // ROCm, 4 logs
      {"vllm", "mi300x", 8, 1, 400, 600, 900, 0.46, 0.73},
      {"vllm@0.6", "h100-80gb", 1, 1, 100, 164, 300, 0.16, 0.16},  // V0 on one H100, 4 logs
      {"vllm@0.6", "a100-80gb", 1, 1, 0, 56, 300, 0.00, 0.25},
      {"vllm", "h100-80gb", 1, 1, 0, 56, 300, 0.00, 0.25},  // 24 logs of one GPU, the median 0.05
      {"vllm", "", 1, 1, 0, 56, 300, 0.00, 0.25},
      {"vllm@0.8", "", 4, 1, 100, 360, 960, 0.11, 0.93},  // V0, several ranks: 7 logs, the median 0.33
      {"vllm@0.6", "h100-80gb", 2, 1, 100, 360, 960, 0.11, 0.93},
      {"vllm@0.9", "", 4, 1, 200, 1400, 2200, 0.21, 2.14},  // V1: 5 logs, the median 1.4
      {"vllm", "", 1, 2, 200, 1400, 2200, 0.21, 2.14},
  };
  for (const Row& row : rows) {
    CAPTURE(row.engine);
    CAPTURE(row.card);
    EngineInput input = shaped(row.engine, kLlama8b);
    input.request.tensor_parallel = row.ranks;
    input.request.pipeline_parallel = row.stages;
    if (*row.card != '\0') input.request.gpu = row.card;
    const LedgerLine line = lines(input).at(1);
    CHECK(line.part == Section::kRuntime);
    CHECK(line.bytes == Bytes(row.mib * kMib));
    CHECK(gib(line.low) <= row.least);
    CHECK(gib(line.high) >= row.most);
    CHECK(line.low == Bytes(row.low * kMib));
    CHECK(line.high == Bytes(row.high * kMib));
  }
}

TEST_CASE("vllm: CUDA graphs, as capturing prints them") {
  struct Row {
    const char* engine;
    Dims dims;
    std::uint64_t seqs, ranks, experts, bytes;
    double printed;  // GiB; 0 where no log is known
  };
  // V0 captures 1, 2, 4, 8, 16 ... 256: 35 sizes ("35/35") of 1 + 2 + 4 + 8 * (32 * 33 / 2) = 4231 tokens; one layer's
  // activations of each stay, 1.3 times over.
  const auto of_v0 = [](std::uint64_t tokens, std::uint64_t width) { return tokens * 3 * width * 2 / 10 * 13; };
  // V1: 67 piecewise graphs of every layer ("67/67": up to 512 in steps of 8), 215 KiB and 24 for each 1024 of the
  // hidden size; since 0.12 51 of them and 51 whole ones (steps of 16 beyond 256), 185 KiB.
  const Row rows[] = {
      {"vllm@0.8", {3584, 18944, 28, 152064}, 256, 1, 0, of_v0(4231, 22528), 0.76},
      {"vllm@0.8", {1024, 3072, 28, 151936}, 256, 1, 0, of_v0(4231, 4096), 0.13},
      {"vllm@0.6", {5376, 21504, 62, 262208}, 256, 4, 0, of_v0(4231, 10752), 0.29},
      {"vllm@0.6", kLlama8b, 16, 1, 0, of_v0(1 + 2 + 4 + 8 + 16, 18432), 0},
      {"vllm@0.6", kLlama8b, 3, 1, 0, of_v0(1 + 2, 18432), 0},
      {"vllm@0.11", {5120, 25600, 64, 151936}, 256, 2, 0, 67ULL * 64 * (215 + 119) * 1024, 1.30},  // Qwen3-32B, TP 2
      {"vllm@0.9", {5120, 25600, 64, 151936}, 256, 2, 0, 67ULL * 64 * (215 + 119) * 1024, 1.30},
      {"vllm@0.11", {2048, 5120, 48, 151936}, 256, 2, 10, 67ULL * 48 * (215 + 47) * 3 * 1024, 2.37},  // Qwen3-Next
      {"vllm@0.11", {5120, 25600, 64, 151936}, 20, 1, 0, (3ULL + 5) * 64 * (215 + 119) * 1024, 0},
      {"vllm@0.12", {1536, 8960, 28, 151936}, 256, 1, 0, (51ULL + 35) * 28 * 185 * 1024, 0.5},
      {"vllm@0.22", {1536, 8960, 28, 151936}, 1024, 1, 0, (51ULL + 51) * 28 * 185 * 1024, 0.56},  // Qwen2.5-1.5B
      {"vllm@0.22", {2048, 5472, 48, 151936}, 1024, 1, 8, (51ULL + 51) * 48 * 370 * 1024, 1.76},
      {"vllm@0.22", {2048, 5472, 48, 151936}, 1024, 1, 1, (51ULL + 51) * 48 * 370 * 1024, 0},
      // 200 rows: 1, 2, 4 and 25 steps of 8; 100 rows: 1, 2, 4 and 12 steps. 4 rows: 1, 2, 4, 8 and 1, 2, 4.
      {"vllm@0.22", kLlama8b, 100, 1, 0, (28ULL + 15) * 32 * 185 * 1024, 0},
      // 264 rows: 256 is the last before steps of 16.
      {"vllm@0.22", kLlama8b, 132, 1, 0, (35ULL + 19) * 32 * 185 * 1024, 0},
      {"vllm@0.22", kLlama8b, 4, 1, 0, (4ULL + 3) * 32 * 185 * 1024, 0},
  };
  for (const Row& row : rows) {
    CAPTURE(row.engine);
    CAPTURE(row.seqs);
    CAPTURE(row.printed);
    EngineInput input = shaped(row.engine, row.dims);
    input.request.max_num_seqs = row.seqs;
    input.request.tensor_parallel = row.ranks;
    input.model.experts.used = row.experts;
    const LedgerLine line = lines(input).at(2);
    CHECK(line.what == "CUDA graphs");
    CHECK(line.part == Section::kRuntime);
    CHECK(gib(line.bytes) == doctest::Approx(gib(Bytes(row.bytes))).epsilon(1e-6));
    // 8 to 19 of 13 in V0, 0.4 to 1.6 since.
    const bool v0 = vllm_rules(input.request).version < 9;
    CHECK(share(line.low, line.bytes) == doctest::Approx(v0 ? 8.0 / 13 : 0.4).epsilon(1e-5));
    CHECK(share(line.high, line.bytes) == doctest::Approx(v0 ? 19.0 / 13 : 1.6).epsilon(1e-5));
    if (row.printed == 0) continue;
    CHECK(gib(line.low) <= row.printed);
    CHECK(gib(line.high) >= row.printed);
  }
  EngineInput input = shaped("vllm", kLlama8b);
  input.request.pipeline_parallel = 2;  // 16 layers of 32 on a stage
  CHECK(lines(input).at(2).bytes == Bytes(102ULL * 16 * 185 * 1024));
  input.request.enforce_eager = true;
  CHECK(lines(input).size() == 2);
}

TEST_CASE("vllm: the encoder's outputs and its pass") {
  // A tower of 1152 and 4304 (SigLIP's widths), 4 patches to a token, images of 256 tokens; a decoder of 2560.
  EngineInput input = shaped("vllm", {2560, 10240, 34, 1000});
  input.request.enforce_eager = true;
  input.model.arch = test_arch("gemma3");
  input.model.vision = VisionShape{1152, 4304, 16, 256, 1};
  const auto encoder = [&](std::size_t at) { return lines(input).at(at); };
  // compute_mm_encoder_budget: the larger of a batch and an item; whole items are held.
  REQUIRE(lines(input).size() == 4);
  CHECK(encoder(2).what == kEncoderCache);
  CHECK(encoder(2).part == Section::kKvCache);
  CHECK(encoder(2).bytes == Bytes(8192ULL * 2560 * 2));
  CHECK(encoder(2).low == Bytes(0));
  input.request.max_num_batched_tokens = Tokens(1000);
  CHECK(encoder(2).bytes == Bytes(768ULL * 2560 * 2));
  CHECK(encoder(2).high == Bytes(1000ULL * 2560 * 2));
  input.request.max_num_batched_tokens = Tokens(100);
  CHECK(encoder(2).bytes == Bytes(256ULL * 2560 * 2));
  // Its own pass: patches * 3 * (width + MLP) * 2 B, where that is more than the batch's peak and what it leaves
  // behind.
  const LedgerLine pass = encoder(3);
  CHECK(pass.part == Section::kActivation);
  CHECK(pass.bytes == Bytes(256ULL * 16 * 3 * (1152 + 4304) * 2) - encoder(0).bytes - encoder(2).bytes);
  CHECK(pass.low == Bytes(0));
  CHECK(pass.high == pass.bytes * 2);
  // Deepstack hands a token's width on more than once (Qwen3-VL: 3 times beside the first).
  input.model.vision->copies = 4;
  CHECK(encoder(2).bytes == Bytes(256ULL * 2560 * 4 * 2));
  input.model.vision->copies = 1;
  // A tower whose size the config does not tell has no pass; one that sizes no item fills the budget.
  input.model.vision->width = 0;
  CHECK(lines(input).size() == 3);
  input.model.vision->image_tokens = 0;
  CHECK(encoder(2).bytes == Bytes(100ULL * 2560 * 2));
  // Qwen's processors allow images of 16384 tokens: "a budget of 16384 tokens".
  input.model.arch = test_arch("qwen2_5_vl");
  CHECK(encoder(2).bytes == Bytes(16384ULL * 2560 * 2));
  // Audio is no item of the tower; images may be refused; V0 has no such cache; later stages have no encoder.
  input.request.extras.mm_limits = {{"audio", 3}};
  CHECK(lines(input).size() == 2);
  input.request.extras.mm_limits = {{"audio", 0}, {"image", 2}};
  CHECK(lines(input).size() == 3);
  input.request.engine_version = "0.8";
  CHECK(lines(input).size() == 2);
  input.request.engine_version = "0.9";
  CHECK(lines(input).size() == 3);
  input.request.pipeline_parallel = 2;
  CHECK(lines(input, 1).size() == 2);
}

TEST_CASE("vllm: swap space of V0 and offloaded caches") {
  const auto host = [](Request request) { return vllm_host_caches(request, vllm_rules(request)); };
  // EngineArgs.swap_space: 4 GiB a GPU until V0 went.
  Request request = request_for("vllm@0.8", 8192);
  request.tensor_parallel = 2;
  request.pipeline_parallel = 2;
  REQUIRE(host(request).size() == 1);
  CHECK(host(request).front().bytes == Bytes(16 * kGib));
  CHECK(host(request).front().formula == "--swap-space on each of 4 ranks");
  CHECK(host(request_for("vllm@0.8", 8192)).front().formula == "--swap-space on each of 1 rank");
  request.swap_space = Bytes(0);
  CHECK(host(request).empty());
  CHECK(host(request_for("vllm@0.9", 8192)).empty());
  request = request_for("vllm", 8192);
  request.swap_space = Bytes(kGib);
  request.host_kv_cache = Bytes(3 * kGib);
  REQUIRE(host(request).size() == 2);
  CHECK(host(request).front().bytes == Bytes(3 * kGib));
  CHECK(host(request).back().bytes == Bytes(kGib));
}

TEST_CASE("vllm: a budget that weights or graphs use up is none") {
  Request request = request_for("vllm@0.19", 8192);
  request.memory_utilization = 0.5;
  EngineInput input;
  input.request = request;
  CHECK(vllm_cache_budget(input, Bytes(80 * kGib), Bytes(30 * kGib), Bytes(0)) == Bytes(10 * kGib));
  CHECK(vllm_cache_budget(input, Bytes(80 * kGib), Bytes(41 * kGib), Bytes(0)) == Bytes(0));
  // Graphs came out of what the budget leaves.
  CHECK(vllm_cache_budget(input, Bytes(80 * kGib), Bytes(30 * kGib), Bytes(kGib)) == Bytes(11 * kGib));
  CHECK(vllm_cache_budget(input, Bytes(80 * kGib), Bytes(kGib), Bytes(2 * kGib)) == Bytes(40 * kGib));
}

TEST_CASE("vllm: rules begin with the release that brought them") {
  const auto rules = [](const char* version) { return vllm_rules(request_for(std::string("vllm@0.") + version, 1)); };
  // V1's hybrid manager and its concurrency by blocks.
  CHECK_FALSE(rules("9").hybrid_manager);
  CHECK(rules("10").hybrid_manager);
  CHECK_FALSE(rules("9").ceil_concurrency);
  CHECK(rules("10").ceil_concurrency);
  // vllm#29627.
  CHECK_FALSE(rules("12").chunked_groups);
  CHECK(rules("13").chunked_groups);
  CHECK(rules("17").group_ratio == 1.25);
  CHECK(rules("18").group_ratio == 1.5);
  // vllm#40691, #43308; VLLM_MEMORY_PROFILER_ESTIMATE_CUDAGRAPHS; gpu_memory_utilization.
  CHECK_FALSE(rules("20").tokens_from_concurrency);
  CHECK(rules("21").tokens_from_concurrency);
  CHECK_FALSE(rules("20").graphs_in_budget);
  CHECK(rules("21").graphs_in_budget);
  CHECK(rules("20").utilization == 0.90);
  CHECK(rules("21").utilization == 0.92);
  CHECK_FALSE(rules("21").window_value_width);
  CHECK(rules("22").window_value_width);
  CHECK_FALSE(rules("21").pad_attention_pages);
  CHECK(rules("22").pad_attention_pages);
  // vllm#47728.
  CHECK_FALSE(rules("25").in_flight_batches);
  CHECK(rules("26").in_flight_batches);
  CHECK_FALSE(rules("26").packed_sum_of_pages);
  CHECK(rules("27").packed_sum_of_pages);
  CHECK(rules("22").packed_block == PackedBlock::kTuples);
  CHECK(rules("23").packed_block == PackedBlock::kSlots);
  CHECK(rules("26").packed_block == PackedBlock::kSlots);
  CHECK(rules("27").packed_block == PackedBlock::kWidestGroup);
  for (const bool VllmRules::*rule :
       {&VllmRules::local_value_width, &VllmRules::all_mode_speculative, &VllmRules::align_by_default}) {
    CHECK_FALSE(rules("26").*rule);
    CHECK(rules("27").*rule);
  }
}

TEST_CASE("vllm: batches and rows by the card, as engine/arg_utils.py has them") {
  // 70 GiB and no A100: 8192 tokens and 1024 sequences; else 2048 and 256.
  struct Row {
    const char *engine, *card;
    std::uint64_t gib, batch, seqs;
  };
  const Row rows[] = {{"vllm", "", 0, 8192, 1024},
                      {"vllm", "", 24, 2048, 256},
                      {"vllm", "h100-80gb", 80, 8192, 1024},
                      {"vllm", "a100-80gb", 80, 2048, 256},
                      {"vllm", "l4", 24, 2048, 256},
                      {"vllm", "made-up", 70, 8192, 1024},
                      {"vllm", "made-up", 69, 2048, 256},
                      {"vllm@0.8", "h100-80gb", 80, 8192, 256},
                      // From 160 GiB on, since 0.28 (vllm-project/vllm#51726).
                      {"vllm", "b200", 179, 16384, 1024},
                      {"vllm@0.27", "b200", 179, 8192, 1024},
                      {"vllm@0.28", "mi300x", 160, 16384, 1024},
                      {"vllm@0.28", "made-up", 159, 8192, 1024},
                      {"vllm", "", 180, 16384, 1024}};
  for (const Row& row : rows) {
    CAPTURE(row.card);
    CAPTURE(row.gib);
    Request request = request_for(row.engine, 8192);
    if (*row.card != '\0') request.gpu = row.card;
    if (row.gib > 0) request.gpu_memory = Bytes(row.gib * kGib);
    EngineInput input;
    input.request = request;
    CHECK(vllm_batched_tokens(input, vllm_rules(request)) == row.batch);
    CHECK(vllm_max_num_seqs(request, vllm_rules(request)) == row.seqs);
    request.max_num_batched_tokens = Tokens(77);
    request.max_num_seqs = 3;
    input.request = request;
    CHECK(vllm_batched_tokens(input, vllm_rules(request)) == 77);
    CHECK(vllm_max_num_seqs(request, vllm_rules(request)) == 3);
  }
}

TEST_CASE("vllm: the largest graph, as config/vllm.py has it") {
  // 512 tokens; 1024 on data centre Blackwells since 0.28 (vllm-project/vllm#49390).
  const auto largest = [](const std::string& engine, const std::string& card, Arch arch = Arch::kLlama) {
    Request request = request_for(engine, 8192);
    request.gpu = card;
    return vllm_largest_graph(request, arch, vllm_rules(request));
  };
  CHECK(largest("vllm", "b200") == 1024);
  CHECK(largest("vllm@0.28", "gb300") == 1024);
  CHECK(largest("vllm@0.27", "b200") == 512);
  CHECK(largest("vllm", "h200") == 512);
  // "Overriding max cuda graph capture size to 1024": the class of gpt-oss, on every card.
  CHECK(largest("vllm@0.26", "h100", Arch::kGptOss) == 1024);
  CHECK(largest("vllm", "h100", Arch::kGptOss) == 1024);
  CHECK(largest("vllm@0.25", "h100", Arch::kGptOss) == 512);
}

}  // namespace
}  // namespace kvplan
