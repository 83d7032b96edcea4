// What vLLM takes besides the cache: by hand from the rules derived from its logs, and the figures in those logs.
#include "engines/vllm/vllm.h"

#include <doctest/doctest.h>

#include <functional>
#include <string>

#include "engines/requests.h"
#include "engines/vllm/rules.h"

#include "support/figures.h"

namespace kvplan {
namespace {

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
  return static_cast<double>(bytes.count()) / static_cast<double>(kGiB);
}

TEST_CASE("vllm: the profile run, as \"peak activation\" lines print it") {
  struct Row {
    const char* engine;
    Dims dims;
    std::uint64_t batch, seqs, ranks, bytes;
    double printed;  // GiB
  };
  const Row rows[] = {
      // One layer with the whole batch: tokens * 3 * (hidden + MLP of a rank) * 2 B.
      {"vllm@0.6", kLlama8b, 20000, 256, 1, 20000ULL * 3 * 18432 * 2, 2.07},  // vllm#10517
      {"vllm@0.6", kLlama8b, 29000, 256, 1, 29000ULL * 3 * 18432 * 2, 2.99},
      {"vllm@0.8", {2560, 9728, 36, 151936}, 10000, 1, 1, 10000ULL * 3 * 12288 * 2, 0.74},           // Qwen3-4B
      {"vllm@0.8", {5376, 21504, 62, 262208}, 65536, 1, 4, 65536ULL * 3 * (5376 + 5376) * 2, 3.73},  // Gemma-3-27B
      // Sampled rows need 39 B per element of the logits, in addition to the batch's hidden states.
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
      // Since 0.17 the sampler does not sort everything: 15 B. Logs of Gemma-4-31B, and of Qwen3.8-27B, which prints
      // 2.40 with 1.55 of graphs.
      {"vllm@0.22", {5376, 21504, 60, 262144}, 8192, 1024, 1, 1024ULL * 262144 * 15 + 8192 * 5376 * 2, 3.90},
      {"vllm@0.22", {5120, 17408, 64, 248320}, 2048, 256, 1, 256ULL * 248320 * 15 + 2048 * 5120 * 2, 0.85},
      // The new runner only samples plain logits, so the batch is the peak, and libraries take 32 MiB.
      {"vllm@0.28", {896, 4864, 24, 151936}, 8192, 256, 1, 8192ULL * 3 * 5760 * 2 + 32 * kMiB, 0.31},
  };
  for (const Row& row : rows) {
    CAPTURE(row.engine);
    CAPTURE(row.printed);
    EngineInput input = shaped(row.engine, row.dims);
    input.request.max_num_batched_tokens = Tokens(row.batch);
    input.request.max_num_seqs = row.seqs;
    input.request.parallel.tensor = row.ranks;
    const LedgerLine line = lines(input).front();
    CHECK(line.part == Section::kActivation);
    CHECK(line.bytes == Bytes(row.bytes));
    CHECK(gib(line.bytes) == doctest::Approx(row.printed).epsilon(0.15));
    CHECK(gib(line.low) <= row.printed);
    CHECK(gib(line.high) >= row.printed);
  }
}

TEST_CASE("vllm: workspaces of 16 bit experts stay beside the sampler's rows (logs of llm-d-planner on H100)") {
  struct Row {
    Dims dims;
    std::uint64_t used, width, ranks, row;
    double printed;  // GiB
  };
  const Row rows[] = {
      {{2048, 6144, 48, 151936}, 8, 768, 1, 2048 + 2048, 2.68},     // Qwen3-30B-A3B
      {{2048, 5632, 24, 151936}, 4, 1408, 1, 2048 + 2816, 2.47},    // Qwen1.5-MoE
      {{2048, 10944, 27, 102400}, 6, 1408, 1, 2048 + 2816, 1.93},   // DeepSeek-V2-Lite
      {{4096, 14336, 32, 32000}, 2, 14336, 2, 7168 + 14336, 1.21},  // Mixtral-8x7B
      {{5120, 16384, 48, 202048}, 1, 8192, 4, 5120 + 5120, 3.19},   // Llama-4-Scout
  };
  for (const Row& row : rows) {
    CAPTURE(row.printed);
    EngineInput input = shaped("vllm@0.19", row.dims);
    input.request.card.gpu = &parse_gpu("h100-80gb");
    input.request.max_num_batched_tokens = Tokens(8192);
    input.request.max_num_seqs = 1024;
    input.request.parallel.tensor = row.ranks;
    input.model.experts.used = row.used;
    input.model.experts.width = row.width;
    const std::uint64_t sampled = 1024 * row.dims.vocab * 15 + 8192 * row.dims.hidden * 2;
    const LedgerLine line = lines(input).front();
    CHECK(line.bytes == Bytes(sampled + 8192 * row.used * row.row * 2));
    CHECK(gib(line.bytes) == doctest::Approx(row.printed).epsilon(0.03));
    input.model.quantization.dialect = "mxfp4";  // gpt-oss: 2.87 GiB for 2.92
    CHECK(lines(input).front().bytes == Bytes(sampled));
  }
}

TEST_CASE("vllm: which model runner does the profile run, by release and model (VllmConfig.use_v2_model_runner)") {
  // 1,024 rows of 262,144 logits: 15 B each with the old runner, 2 with the new one, and 10 since it samples twice.
  const auto each = [](const char* engine, const std::function<void(EngineInput&)>& change) {
    EngineInput input = shaped(engine, {64, 64, 2, 262144});
    input.request.max_num_batched_tokens = Tokens(1024);
    input.request.max_num_seqs = 1024;
    change(input);
    return lines(input).front().bytes.count() / (1024ULL * 262144);
  };
  const auto dense = [](EngineInput&) {};
  const auto experts = [](EngineInput& input) { input.model.experts.used = 8; };
  const auto sees = [](EngineInput& input) { input.model.vision = VisionShape{}; };
  const auto with = [](DraftMethod method) { return [method](EngineInput& input) { input.draft_method = method; }; };
  CHECK(each("vllm@0.15", dense) == 39);
  CHECK(each("vllm@0.22", dense) == 15);
  CHECK(each("vllm@0.24", dense) == 15);
  CHECK(each("vllm@0.25", dense) == 2);
  CHECK(each("vllm@0.26", sees) == 2);
  CHECK(each("vllm@0.28", experts) == 15);
  CHECK(each("vllm@0.29", experts) == 2);
  for (const DraftMethod method : {DraftMethod::kNgram, DraftMethod::kMedusa, DraftMethod::kModel})
    CHECK(each("vllm@0.30", with(method)) == 15);  // "Model Runner V2 does not yet support" them
  for (const DraftMethod method : {DraftMethod::kEagle3, DraftMethod::kMtp})
    CHECK(each("vllm@0.30", with(method)) == 2);
  CHECK(each("vllm@0.31", with(DraftMethod::kModel)) == 2);
  CHECK(each("vllm@0.31", with(DraftMethod::kNgram)) == 15);
  CHECK(each("vllm@0.32", with(DraftMethod::kNgram)) == 2);
  CHECK(each("vllm@0.32", with(DraftMethod::kMedusa)) == 15);
  CHECK(each("vllm@0.33", with(DraftMethod::kMedusa)) == 10);
  CHECK(each("vllm@0.32", dense) == 2);
  CHECK(each("vllm@0.33", dense) == 10);
  // Models that 0.22 to 0.28 list, and those for which 0.28 to 0.31 keep the old runner on AMD GPUs.
  const auto listed = [](const char* architecture, bool is_quantized) {
    return [architecture, is_quantized](EngineInput& input) {
      input.model.architecture = architecture;
      if (is_quantized) input.model.quantization.dialect = "fp8";
    };
  };
  CHECK(each("vllm@0.21", listed("Qwen3ForCausalLM", false)) == 15);
  CHECK(each("vllm@0.22", listed("Qwen3ForCausalLM", false)) == 2);
  CHECK(each("vllm@0.22", listed("LlamaForCausalLM", false)) == 15);
  CHECK(each("vllm@0.23", listed("LlamaForCausalLM", false)) == 2);
  CHECK(each("vllm@0.23", listed("LlamaForCausalLM", true)) == 15);
  CHECK(each("vllm@0.24", listed("LlamaForCausalLM", true)) == 2);
  const auto named = [](const char* architecture, const char* card) {
    return [architecture, card](EngineInput& input) {
      input.model.experts.used = 8;
      input.model.architecture = architecture;
      input.request.card.gpu = &parse_gpu(card);
    };
  };
  CHECK(each("vllm@0.26", named("Qwen2MoeForCausalLM", "h100-80gb")) == 2);
  CHECK(each("vllm@0.26", named("Qwen3MoeForCausalLM", "h100-80gb")) == 15);
  CHECK(each("vllm@0.27", named("DeepseekV4ForCausalLM", "h100-80gb")) == 15);
  CHECK(each("vllm@0.28", named("DeepseekV4ForCausalLM", "h100-80gb")) == 2);
  for (const char* release : {"vllm@0.28", "vllm@0.31"})
    CHECK(each(release, named("DeepseekV4ForCausalLM", "mi300x")) == 15);
  CHECK(each("vllm@0.32", named("DeepseekV4ForCausalLM", "mi300x")) == 2);
  CHECK(each("vllm@0.30", named("DeepseekV4ForCausalLM", "h100-80gb")) == 2);
  CHECK(each("vllm@0.33", named("DeepseekV4ForCausalLM", "mi300x")) == 10);
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
      if (in_words(line.what).find("vision encoder") != std::string::npos) out += line.bytes;
    return out + (out > Bytes(0) ? all.front().bytes : Bytes(0));
  };
  // 256 prompts of 6404 patches: 6 times width and MLP, 24 times the width, and the decoder's width, 2 B of it.
  input.request.max_num_seqs = 256;
  CHECK(over_images(6404) == Bytes(256ULL * 6404 * (6 * (1280 + 5120) + 24 * 1280 + 2 * 4096)));
  CHECK(over_images(0) == Bytes(0));
  input.model.vision->width = 0;  // the config does not have it
  CHECK(over_images(6404) == Bytes(0));
}

TEST_CASE("vllm: only the last stage samples rows, at most as many as a batch has tokens") {
  EngineInput input = shaped("vllm", kLlama8b);
  input.request.parallel.pipeline = 2;
  CHECK(lines(input, 0).front().bytes == Bytes(8192ULL * 3 * 18432 * 2 + 32 * kMiB));
  CHECK(lines(input, 1).front().bytes == Bytes(1024ULL * 128256 * 10 + 8192 * 4096 * 2 + 32 * kMiB));
  input.request.max_num_batched_tokens = Tokens(100);
  CHECK(lines(input, 1).front().bytes == Bytes(100ULL * 128256 * 10 + 100 * 4096 * 2 + 32 * kMiB));
  // A config without the MLP's width: four times the hidden size, as in the first transformer.
  EngineInput plain = shaped("vllm", {4096, 0, 32, 0});
  CHECK(lines(plain).front().bytes == Bytes(8192ULL * 3 * (4096 + 4 * 4096) * 2 + 32 * kMiB));
}

TEST_CASE("vllm: memory outside PyTorch, as logs print it") {
  struct Row {
    const char *engine, *card;
    std::uint64_t ranks, stages, mib;
    double least, most;  // GiB, of nine in ten logs
  };
  // PenaltiesState: an int32 and a bit for every token of 1,024 requests, 256 on an A100.
  const std::uint64_t counts = 1024ULL * 128256 * 33 / 8;
  const Row rows[] = {
      {"vllm", "mi300x", 1, 1, 600, 0.46, 0.78},  // ROCm, 6 logs
      {"vllm", "mi300x", 8, 1, 600, 0.46, 0.78},
      {"vllm@0.6", "h100-80gb", 1, 1, 230, 0.12, 0.35},  // with the CUDA context, 4 logs
      {"vllm@0.7", "h100-80gb", 1, 1, 164, 0.16, 0.16},  // V0 on one H100, 4 logs
      {"vllm@0.7", "a100-80gb", 1, 1, 56, 0.01, 0.25},
      {"vllm@0.15", "h100-80gb", 1, 1, 56, 0.00, 0.25},   // 24 logs of one GPU, the median 0.05
      {"vllm@0.22", "h100-80gb", 1, 1, 230, 0.16, 0.31},  // 7 logs
      {"vllm@0.8", "", 4, 1, 300, 0.11, 0.48},            // V0, several ranks: 8 logs, the median 0.30
      {"vllm@0.6", "h100-80gb", 2, 1, 300, 0.11, 0.48},
      {"vllm@0.9", "", 4, 1, 1400, 0.95, 1.74},            // V1 on Hopper and Blackwell: 8 logs, the median 1.4
      {"vllm@0.19", "h100-80gb", 2, 1, 2112, 2.06, 2.21},  // with a second communicator: 13 logs of llm-d-planner
      {"vllm@0.19", "h100-80gb", 1, 2, 56, 0.07, 0.07},    // the first stage has no sampler: 2 logs
      {"vllm@0.11", "l40s", 8, 1, 150, 0.09, 0.21},        // before Hopper
      {"vllm@0.28", "rtx-3090", 2, 1, 300, 0.20, 0.74},
      {"vllm", "dgx-spark-128gb", 1, 1, 2048, 0.13, 5.72},  // GB10, 7 logs
  };
  for (const Row& row : rows) {
    CAPTURE(row.engine);
    CAPTURE(row.card);
    EngineInput input = shaped(row.engine, kLlama8b);
    input.request.parallel.tensor = row.ranks;
    input.request.parallel.pipeline = row.stages;
    if (*row.card != '\0') input.request.card.gpu = &parse_gpu(row.card);
    const LedgerLine line = lines(input).at(1);
    CHECK(line.part == Section::kRuntime);
    CHECK(line.bytes == Bytes(row.mib * kMiB));
    CHECK(gib(line.low) <= row.least + 0.01);  // printed to a hundredth
    CHECK(gib(line.high) >= row.most - 0.01);
  }
  // "consumed" since 0.27, minus the weights: Llama-3.1-8B on an A100 has 0.26, Qwen2.5-0.5B 0.30; and the old runner.
  EngineInput dense = shaped("vllm", kLlama8b);
  CHECK(lines(dense).at(1).bytes == Bytes(144 * kMiB + counts));
  dense.request.max_num_seqs = 256;
  CHECK(gib(lines(dense).at(1).bytes) == doctest::Approx(0.26).epsilon(0.05));
  EngineInput experts = shaped("vllm@0.28", kLlama8b);
  experts.model.experts.used = 8;
  CHECK(lines(experts).at(1).bytes == Bytes(230 * kMiB));
}

TEST_CASE("vllm: CUDA graphs, as capturing prints them") {
  struct Row {
    const char* engine;
    Dims dims;
    std::uint64_t seqs, ranks, experts, bytes;
    double printed;  // GiB; 0 if no log is known
  };
  // V0 captures 1, 2, 4, 8, 16 ... 256: 35 sizes ("35/35") of 1 + 2 + 4 + 8 * (32 * 33 / 2) = 4231 tokens; one layer's
  // activations of each stay, 1.3 times over.
  const auto of_v0 = [](std::uint64_t tokens, std::uint64_t width) { return tokens * 3 * width * 2 / 10 * 13; };
  // V1: 67 piecewise graphs of every layer ("67/67": up to 512 in steps of 8), 215 KiB and 24 for each 1024 of the
  // hidden size; since 0.11 whole ones too: 118 KiB for each piece between the layers' attention and 20 KiB for each
  // layer of a whole one, beside 50 MiB and a pool of 256 MiB for 512 tokens. Since 0.12 51 (steps of 16 beyond 256).
  const auto by_kernels = [](std::uint64_t sizes, std::uint64_t whole, std::uint64_t layers) {
    return 50 * kMiB + (sizes * (layers + 1) * 118 + whole * layers * 20) * 1024;
  };
  const Row rows[] = {
      {"vllm@0.8", {3584, 18944, 28, 152064}, 256, 1, 0, of_v0(4231, 22528), 0.76},
      {"vllm@0.8", {1024, 3072, 28, 151936}, 256, 1, 0, of_v0(4231, 4096), 0.13},
      {"vllm@0.6", {5376, 21504, 62, 262208}, 256, 4, 0, of_v0(4231, 10752), 0.29},
      {"vllm@0.6", kLlama8b, 16, 1, 0, of_v0(1 + 2 + 4 + 8 + 16, 18432), 0},
      {"vllm@0.6", kLlama8b, 3, 1, 0, of_v0(1 + 2, 18432), 0},
      {"vllm@0.10", {5120, 25600, 64, 151936}, 256, 2, 0, 67ULL * 64 * (215 + 119) * 1024, 1.30},  // Qwen3-32B, TP 2
      {"vllm@0.9", {5120, 25600, 64, 151936}, 256, 2, 0, 67ULL * 64 * (215 + 119) * 1024, 1.30},
      {"vllm@0.10", {2048, 6144, 48, 151936}, 1024, 1, 8, 67ULL * 48 * (215 + 47) * 1024, 0.69},  // Qwen3-30B-A3B
      {"vllm@0.11", {2048, 5120, 48, 151936}, 256, 2, 10, 256 * kMiB + (67ULL + 35) * 48 * 230 * 1024, 2.37},
      {"vllm@0.11", {2560, 8192, 40, 100352}, 256, 1, 0, 256 * kMiB + by_kernels(67, 35, 40), 0.72},  // Granite 4.0
      {"vllm@0.11", {5120, 25600, 64, 151936}, 20, 1, 0, 20 * kMiB + by_kernels(8, 5, 64), 0},
      {"vllm@0.12", {1536, 8960, 28, 151936}, 256, 1, 0, 256 * kMiB + by_kernels(51, 35, 28), 0.5},
      {"vllm@0.22", {1536, 8960, 28, 151936}, 1024, 1, 0, 256 * kMiB + by_kernels(51, 51, 28), 0.56},  // Qwen2.5-1.5B
      {"vllm@0.22", {2048, 5472, 48, 151936}, 1024, 1, 8, 256 * kMiB + (51ULL + 51) * 48 * 230 * 1024, 1.76},
      {"vllm@0.22", {2048, 5472, 48, 151936}, 1024, 1, 1, 256 * kMiB + (51ULL + 51) * 48 * 230 * 1024, 0},
      // 200 rows: 1, 2, 4 and 25 steps of 8; 100 rows: 1, 2, 4 and 12 steps. 4 rows: 1, 2, 4, 8 and 1, 2, 4.
      {"vllm@0.22", kLlama8b, 100, 1, 0, 100 * kMiB + by_kernels(28, 15, 32), 0},
      // 264 rows: 256 is the last before steps of 16.
      {"vllm@0.22", kLlama8b, 132, 1, 0, 128 * kMiB + by_kernels(35, 19, 32), 0},
      {"vllm@0.22", kLlama8b, 4, 1, 0, 4 * kMiB + by_kernels(4, 3, 32), 0},
  };
  for (const Row& row : rows) {
    CAPTURE(row.engine);
    CAPTURE(row.seqs);
    CAPTURE(row.printed);
    EngineInput input = shaped(row.engine, row.dims);
    input.request.max_num_seqs = row.seqs;
    input.request.parallel.tensor = row.ranks;
    input.model.experts.used = row.experts;
    const LedgerLine line = lines(input).at(2);
    CHECK(in_words(line.what) == "CUDA graphs");
    CHECK(line.part == Section::kRuntime);
    CHECK(gib(line.bytes) == doctest::Approx(gib(Bytes(row.bytes))).epsilon(1e-6));
    if (row.printed == 0) continue;
    CHECK(gib(line.low) <= row.printed);
    CHECK(gib(line.high) >= row.printed);
  }
  EngineInput input = shaped("vllm", kLlama8b);
  input.request.parallel.pipeline = 2;                                           // 16 layers of 32 on a stage
  CHECK(lines(input).at(2).bytes == Bytes(by_kernels(51, 51, 16) - 50 * kMiB));  // the new runner's
  input.request.enforce_eager = true;
  CHECK(lines(input).size() == 2);
}

TEST_CASE("vllm: until 0.28 the graphs' memory pool is counted") {
  // Qwen3-4B on an RTX 4090: 0.60 GiB printed; Qwen2.5-1.5B 0.48; Qwen2.5-0.5B 0.37 and 0.40. Without it: Qwen3-4B in
  // 0.29 0.23, Llama-3.1-8B in 0.31 0.23.
  struct Row {
    const char* engine;
    Dims dims;
    double printed;
  };
  constexpr Dims kQwen4b{2560, 9728, 36, 151936};
  for (const Row& row : {Row{"vllm@0.26", kQwen4b, 0.60}, Row{"vllm@0.28", {1536, 8960, 28, 151936}, 0.48},
                         Row{"vllm@0.26", {896, 4864, 24, 151936}, 0.40}, Row{"vllm@0.29", kQwen4b, 0.23},
                         Row{"vllm@0.31", kLlama8b, 0.23}}) {
    EngineInput input = shaped(row.engine, row.dims);
    input.request.max_num_seqs = 256;
    CHECK(gib(lines(input).at(2).bytes) == doctest::Approx(row.printed).epsilon(0.16));
  }
}

TEST_CASE("vllm: a first start benchmarks compiled kernels on a copy of the embedding") {
  // Printed by first starts: Qwen3-8B 1.18 GiB, Qwen3-14B 1.46; a later one of Qwen3-8B 0.19.
  struct Row {
    Dims dims;
    double printed;
  };
  for (const Row& row : {Row{{4096, 12288, 36, 151936}, 1.18}, Row{{5120, 17408, 40, 151936}, 1.46}}) {
    EngineInput input = shaped("vllm@0.27", row.dims);
    input.request.max_num_batched_tokens = Tokens(2048);
    input.request.max_num_seqs = 256;
    const LedgerLine line = lines(input).front();
    CHECK(in_words(line.what) == "activation peak (a first start compiles)");
    CHECK(line.bytes == Bytes(row.dims.vocab * row.dims.hidden * 2 + 32 * kMiB));
    CHECK(gib(line.bytes) == doctest::Approx(row.printed).epsilon(0.02));
    CHECK(gib(line.low) <= 0.19);
    // A rank has its part of the rows; the second stage none.
    input.request.parallel.tensor = 2;
    CHECK(lines(input).front().bytes == Bytes(row.dims.vocab / 2 * row.dims.hidden * 2 + 32 * kMiB));
    input.request.parallel = {};
    input.request.parallel.pipeline = 2;
    CHECK(in_words(lines(input, 1).front().what) == "activation peak (batch)");
    // Without the compiler there is nothing to benchmark. Since 0.30 first starts do not take more.
    input.request.enforce_eager = true;
    CHECK(in_words(lines(input).front().what) == "activation peak (batch)");
    input.request.enforce_eager = false;
    input.request.engine_version = "0.30";
    CHECK(in_words(lines(input).front().what) == "activation peak (batch)");
  }
}

TEST_CASE("vllm: the figures that first starts printed are inside the ranges") {
  // Activations and what is outside PyTorch: Qwen2.5-0.5B 1.06, and 0.25 and 0.56; Qwen3-4B 0.80 and 0.34.
  struct Row {
    const char* engine;
    Dims dims;
    std::uint64_t tokens;
    double activation, outside;
  };
  for (const Row& row : {Row{"vllm@0.26", {896, 4864, 24, 151936}, 8192, 1.06, 0.07},
                         Row{"vllm@0.27", {896, 4864, 24, 151936}, 2048, 0.25, 0.56},
                         Row{"vllm@0.27", {2560, 9728, 36, 151936}, 2048, 0.80, 0.34}}) {
    EngineInput input = shaped(row.engine, row.dims);
    input.request.max_num_batched_tokens = Tokens(row.tokens);
    input.request.max_num_seqs = 256;
    const std::vector<LedgerLine> all = lines(input);
    CHECK(gib(all.at(0).high) >= row.activation - 0.005);  // as it is rounded
    CHECK(gib(all.at(1).high) >= row.outside - 0.005);
    CHECK(all.at(0).source.find("a first start") != std::string::npos);
  }
}

TEST_CASE("vllm: memory reserved for graphs beyond their use is subtracted from the budget, since 0.27 with the peak") {
  const auto room = [](const char* engine, std::uint64_t experts) {
    EngineInput input = shaped(engine, kLlama8b);
    input.model.experts.used = experts;
    const std::vector<LedgerLine> all = lines(input);
    return all.size() == 3 ? 0.0 : share(all.at(3).bytes, all.at(2).bytes);
  };
  CHECK(room("vllm@0.26", 8) == 0);
  CHECK(room("vllm@0.28", 8) == doctest::Approx(0.25).epsilon(1e-6));
  // The new runner does not estimate graphs until 0.29, so they are not subtracted from the budget.
  CHECK(room("vllm@0.28", 0) == 0);
  // Since then the second of two whole graphs is the estimate for each other graph: 51 here, with 30 MiB each.
  CHECK(room("vllm@0.29", 0) > 4);
  // Llama-3.1-8B, A100: 1.44 printed with the peak, 0.23 taken.
  EngineInput input = shaped("vllm@0.31", kLlama8b);
  input.request.card.gpu = &parse_gpu("a100-80gb");
  input.request.card.memory = Bytes(80 * kGiB);
  CHECK(gib(lines(input).at(2).bytes) == doctest::Approx(0.23).epsilon(0.05));
  CHECK(gib(lines(input).at(0).bytes + lines(input).at(3).bytes) == doctest::Approx(1.44).epsilon(0.2));
  const auto left = [&](const char* engine) {
    input.request = request_for(engine, 8192);
    input.request.memory_utilization = 0.5;
    return vllm_cache_budget(input, Bytes(80 * kGiB), Bytes(30 * kGiB), Bytes(kGiB));
  };
  CHECK(left("vllm@0.28") == Bytes(11 * kGiB));
  CHECK(left("vllm@0.30") == Bytes(10 * kGiB));
}

TEST_CASE("vllm: memory for an encoder's outputs and its forward pass") {
  // A tower of 1152 and 4304 (SigLIP's widths), 4 patches to a token, images of 256 tokens; a decoder of 2560.
  EngineInput input = shaped("vllm", {2560, 10240, 34, 1000});
  input.request.enforce_eager = true;
  input.model.arch = test_arch("gemma3");
  input.model.vision = VisionShape{1152, 4304, 16, 256, 1};
  const auto encoder = [&](std::size_t at) { return lines(input).at(at); };
  // compute_mm_encoder_budget is the larger of a batch and an item. Whole items are stored.
  REQUIRE(lines(input).size() == 4);
  CHECK(in_words(encoder(2).what) == "encoder cache");
  CHECK(encoder(2).part == Section::kKvCache);
  CHECK(encoder(2).bytes == Bytes(8192ULL * 2560 * 2));
  CHECK(encoder(2).low == Bytes(0));
  input.request.max_num_batched_tokens = Tokens(1000);
  CHECK(encoder(2).bytes == Bytes(768ULL * 2560 * 2));
  CHECK(encoder(2).high == Bytes(1000ULL * 2560 * 2));
  input.request.max_num_batched_tokens = Tokens(100);
  CHECK(encoder(2).bytes == Bytes(256ULL * 2560 * 2));
  // The encoder's own pass counts if it needs more than the batch's peak and its outputs: patches * 3 * (width + MLP) *
  // 2 B.
  const LedgerLine pass = encoder(3);
  CHECK(pass.part == Section::kActivation);
  CHECK(pass.bytes == Bytes(256ULL * 16 * 3 * (1152 + 4304) * 2) - encoder(0).bytes - encoder(2).bytes);
  CHECK(pass.low < pass.bytes);
  CHECK(pass.high > pass.bytes);
  // On two ranks a third of the MLP's part is on each rank.
  input.request.parallel.tensor = 2;
  CHECK(encoder(3).bytes ==
        Bytes(256ULL * 16 * (6 * 1152 + 2 * 4304 + 4 * 2152)) - encoder(0).bytes - encoder(2).bytes);
  input.request.parallel.tensor = 1;
  // Deepstack outputs several widths for a token (Qwen3-VL: 3 in addition to the first).
  input.model.vision->copies = 4;
  CHECK(encoder(2).bytes == Bytes(256ULL * 2560 * 4 * 2));
  input.model.vision->copies = 1;
  // A tower without sizes in the config has no pass. If the config does not size an item, items fill the budget.
  input.model.vision->width = 0;
  CHECK(lines(input).size() == 3);
  input.model.vision->image_tokens = 0;
  CHECK(encoder(2).bytes == Bytes(100ULL * 2560 * 2));
  // Qwen's processors allow images of 16384 tokens: "a budget of 16384 tokens".
  input.model.arch = test_arch("qwen2_5_vl");
  CHECK(encoder(2).bytes == Bytes(16384ULL * 2560 * 2));
  // Qwen2.5-VL's longest video in a context of 128,000 tokens: "a budget of 114688 tokens" since 0.11, 98304 in 0.10.
  const auto outputs = [&](const char* name, const char* release, std::uint64_t context) {
    EngineInput named = input;
    named.model.architecture = name;
    named.request.engine_version = release;
    const Load load{Tokens(context), 1, Tokens(0)};
    return vllm_overhead({&named, load, 0, Bytes(0), std::nullopt}).at(2).bytes.count() / (2560 * 2);
  };
  constexpr const char* kQwen25 = "Qwen2_5_VLForConditionalGeneration";
  CHECK(outputs(kQwen25, "0.11", 128000) == 114688);
  CHECK(outputs(kQwen25, "0.10", 128000) == 98304);
  CHECK(outputs(kQwen25, "0.9", 128000) == 16384);  // its profile has a batch's length
  CHECK(outputs(kQwen25, "0.11", 8192) == 16384);
  CHECK(outputs(kQwen25, "0.33", 32768) == 32768);
  // Qwen3-VL counts 12.5 tokens for each of a video's in 0.11: "a budget of 153600 tokens".
  CHECK(outputs("Qwen3VLForConditionalGeneration", "0.11", 8192) == 153600);
  CHECK(outputs("Qwen3VLForConditionalGeneration", "0.13", 8192) == 16384);
  input.request.extras.mm_limits = {{"image", 1}, {"video", 0}};
  CHECK(outputs(kQwen25, "0.11", 128000) == 16384);
  // A kind that no limit names is allowed, and images and videos may be refused (interfaces.py _mark_tower_model). V0
  // has no encoder cache, and later stages have no encoder.
  for (const char* other : {"audio", "video", "image"}) {
    input.request.extras.mm_limits = {{other, 0}};
    CHECK(lines(input).size() == 3);
  }
  input.request.extras.mm_limits = {{"image", 0}, {"video", 0}};
  CHECK(lines(input).size() == 2);
  input.request.extras.mm_limits = {{"audio", 0}, {"image", 2}};
  CHECK(lines(input).size() == 3);
  input.request.engine_version = "0.8";
  CHECK(lines(input).size() == 2);
  input.request.engine_version = "0.9";
  CHECK(lines(input).size() == 3);
  input.request.parallel.pipeline = 2;
  CHECK(lines(input, 1).size() == 2);
}

TEST_CASE("vllm: swap space of V0") {
  const auto host = [](Request request) { return vllm_host_caches(request, vllm_rules(request)); };
  // EngineArgs.swap_space: 4 GiB per GPU until V0 went.
  Request request = request_for("vllm@0.8", 8192);
  request.parallel.tensor = 2;
  request.parallel.pipeline = 2;
  REQUIRE(host(request).size() == 1);
  CHECK(host(request).front().bytes == Bytes(16 * kGiB));
  CHECK(in_words(host(request).front().formula) == "--swap-space on each of 4 ranks");
  CHECK(in_words(host(request_for("vllm@0.8", 8192)).front().formula) == "--swap-space on each of 1 rank");
  request.vllm.swap_space = Bytes(0);
  CHECK(host(request).empty());
  CHECK(host(request_for("vllm@0.9", 8192)).empty());
  request = request_for("vllm", 8192);
  request.vllm.swap_space = Bytes(kGiB);
  REQUIRE(host(request).size() == 1);
  CHECK(host(request).front().bytes == Bytes(kGiB));
}

TEST_CASE("vllm: no budget is left if weights or graphs use it up") {
  Request request = request_for("vllm@0.19", 8192);
  request.memory_utilization = 0.5;
  EngineInput input;
  input.request = request;
  CHECK(vllm_cache_budget(input, Bytes(80 * kGiB), Bytes(30 * kGiB), Bytes(0)) == Bytes(10 * kGiB));
  CHECK(vllm_cache_budget(input, Bytes(80 * kGiB), Bytes(41 * kGiB), Bytes(0)) == Bytes(0));
  // Graphs used the memory that the utilization leaves free.
  CHECK(vllm_cache_budget(input, Bytes(80 * kGiB), Bytes(30 * kGiB), Bytes(kGiB)) == Bytes(11 * kGiB));
  CHECK(vllm_cache_budget(input, Bytes(80 * kGiB), Bytes(kGiB), Bytes(2 * kGiB)) == Bytes(40 * kGiB));
}

TEST_CASE("vllm: a rule of a patch release does not apply to the first release of that minor version") {
  const auto rules = [](const char* version) { return vllm_rules(request_for(std::string("vllm@") + version, 1)); };
  CHECK_FALSE(rules("0.20").tokens_from_concurrency);
  CHECK_FALSE(rules("0.20.0").tokens_from_concurrency);
  CHECK(rules("0.20.1").tokens_from_concurrency);
  CHECK(rules("0.21").tokens_from_concurrency);
  CHECK(rules("0.31").all_mode);
  CHECK_FALSE(rules("0.32").all_mode);
}

TEST_CASE("vllm: batches and rows by the GPU, as in engine/arg_utils.py") {
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
                      {"vllm@0.8", "h100-80gb", 80, 8192, 1024},  // V1 (vllm-project/vllm#17238)
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
    if (*row.card != '\0') request.card.gpu = find_gpu(row.card);
    if (row.gib > 0) request.card.memory = Bytes(row.gib * kGiB);
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
    EngineInput input;
    input.model.arch = arch;
    input.request = request_for(engine, 8192);
    input.request.card.gpu = &parse_gpu(card);
    return vllm_largest_graph(input, vllm_rules(input.request));
  };
  CHECK(largest("vllm", "b200") == 1024);
  CHECK(largest("vllm@0.28", "gb300") == 1024);
  CHECK(largest("vllm@0.27", "b200") == 512);
  CHECK(largest("vllm", "h200") == 512);
  // "Overriding max cuda graph capture size to 1024": the class of gpt-oss, on every GPU.
  CHECK(largest("vllm@0.12", "h100", Arch::kGptOss) == 1024);
  CHECK(largest("vllm", "h100", Arch::kGptOss) == 1024);
  CHECK(largest("vllm@0.11", "h100", Arch::kGptOss) == 512);
}

}  // namespace
}  // namespace kvplan
