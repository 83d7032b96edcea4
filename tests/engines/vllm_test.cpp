// vLLM's engine compared with figures that vLLM printed, with arithmetic from its source, and with an allocator that
// hands out blocks batch by batch.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "engines/capacity.h"
#include "engines/engine.h"
#include "engines/vllm/vllm.h"
#include "kvplan/error.h"
#include "plan/plan.h"
#include "plan/steps.h"
#include "sources/load.h"
#include "support/figures.h"

using namespace kvplan;

namespace {

Request asking(const std::string& engine, std::uint64_t tokens) {
  Request request;
  find_engine(engine, request);
  request.max_model_len = Tokens(tokens);
  return request;
}

Plan planned(const std::string& model, const Request& request) {
  const ModelSpec spec = test_model(model);
  return make_plan(spec, request);
}

struct Laid {
  ModelSpec model;
  std::unique_ptr<CacheLayout> layout;
  Load load;
};

Laid laid(const std::string& model, const Request& request) {
  Laid out{test_model(model), nullptr, {}};
  std::vector<Note> notes;
  out.layout = engine_of(request).layout(engine_input(out.model, request), notes);
  out.load = load_of(out.model, request);
  return out;
}

// Why kvplan has no plan, or why the engine does not start with it.
std::string refusal(const std::string& model, const Request& request) {
  try {
    const Plan plan = planned(model, request);
    if (plan.verdict.refusal) return in_words(plan.verdict.refusal->words);
  } catch (const Error& error) {
    CHECK(error.code() == Exit::kBadInput);
    return error.what();
  }
  return {};
}

// vllm-project/vllm#35695: GLM-4.7-Flash on an RTX 5080 has 380 blocks for 6,080 tokens.
TEST_CASE("vllm: blocks of latents have the size that the GPU's kernel needs") {
  const auto block = [](const char* card) {
    Request request;
    request.engine = engine_named("vllm");
    request.max_model_len = Tokens(4096);
    if (card != nullptr) request.card.gpu = &parse_gpu(card);
    return make_plan(test_model("deepseek-v3"), request).kv_cache.block_size;
  };
  CHECK(block(nullptr) == 64);
  CHECK(block("h200") == 16);
  CHECK(block("b200-180gb") == 32);
  CHECK(block("rtx-5080") == 6080 / 380);
}

}  // namespace

TEST_CASE("vllm: capacities as start-up logs print them") {
  struct Row {
    const char *model, *engine;
    std::uint64_t tokens, budget, ranks, context_ranks;
    const char* kv;
    bool mtp;
    std::uint64_t batch, blocks, printed;
    double concurrency;
    const char* source;
  };
  const Row rows[] = {
      // 4 GiB of swap space over blocks of 16 tokens: "# CPU blocks".
      {"llama-3.1-8b", "vllm@0.6", 20000, 4 * kGiB, 1, 1, "", false, 8192, 2048, 32768, 1.638, "vllm#10517"},
      {"mixtral-8x7b", "vllm@0.6", 32768, 4 * kGiB, 1, 1, "", false, 8192, 2048, 32768, 1.00, "vllm#2621"},
      {"qwen3.5-27b", "vllm@0.19", 32768, 76402393088, 1, 1, "", false, 8192, 1487, 290864, 33.04, "0.19.0, H200"},
      {"qwen3.5-27b", "vllm@0.22", 131072, 18522046464, 1, 1, "", true, 8192, 332, 255975, 1.95, "Qwen3.6-27B, MTP 1"},
      {"gemma-4-26b", "vllm@0.19", 262144, 9617080320, 1, 1, "fp8", false, 16384, 29349, 78256, 2.15, "0.19.1"},
      {"glm-5.2", "vllm@0.24", 131072, 1810000000, 4, 4, "fp8", true, 8192, 516, 132096, 1.01, "TP 4, DCP 4, MTP 1"},
      // Arithmetic on the rules, 40 GiB.
      {"gpt-oss-20b", "vllm@0.22", 131072, 40 * kGiB, 1, 1, "", false, 8192, 109226, 1643116, 12.54, "arithmetic"},
      {"gpt-oss-20b", "vllm@0.20", 131072, 40 * kGiB, 1, 1, "", false, 8192, 109226, 873808, 12.54, "arithmetic"},
      {"gemma-4-26b", "vllm@0.22", 131072, 40 * kGiB, 1, 1, "", false, 8192, 65536, 1230473, 9.39, "arithmetic"},
      {"gemma-4-26b", "vllm@0.20", 131072, 40 * kGiB, 1, 1, "", false, 8192, 65536, 174752, 9.39, "arithmetic"},
      {"llama-4-scout", "vllm@0.22", 131072, 40 * kGiB, 1, 1, "", false, 8192, 54613, 635496, 4.85, "arithmetic"},
      {"deepseek-v3", "vllm@0.22", 131072, 40 * kGiB, 8, 1, "", false, 8192, 9549, 611136, 4.66, "arithmetic"},
      {"deepseek-v3.2", "vllm@0.22", 131072, 40 * kGiB, 8, 1, "", false, 8192, 8568, 548352, 4.18, "arithmetic"},
  };
  for (const Row& row : rows) {
    CAPTURE(row.model);
    CAPTURE(row.source);
    Request request = asking(row.engine, row.tokens);
    request.parallel.tensor = row.ranks;
    request.parallel.decode_context = row.context_ranks;
    request.max_num_batched_tokens = Tokens(row.batch);
    request.mtp = row.mtp;
    if (*row.kv != '\0') request.cache_type_k = request.cache_type_v = parse_dtype(row.kv, "kv");
    request.kv_cache_memory_bytes = Bytes(row.budget);
    const Plan plan = planned(row.model, request);
    REQUIRE(plan.capacity);
    CHECK(plan.capacity->num_blocks == row.blocks);
    CHECK(plan.capacity->tokens == row.printed);
    CHECK(std::abs(plan.capacity->max_concurrency - row.concurrency) < 0.006);
  }
}

TEST_CASE("vllm: bytes of a request, in blocks times the bytes of a block") {
  struct Row {
    const char *model, *engine;
    std::uint64_t tokens, batch, blocks, block_bytes;
  };
  const Row rows[] = {
      // "6.66 GiB KV cache is needed" (vllm#44376): 6,800 blocks of 22 tuples of 37,440 + 8,640 + 1,728 B.
      {"deepseek-v4-flash", "vllm@0.22", 30000, 16384, 6800, 1051776},
      {"gpt-oss-20b", "vllm@0.25", 131072, 8192, 8713, 393216},
      {"gpt-oss-20b", "vllm@0.26", 131072, 8192, 9225, 393216},
      {"gemma-4-26b", "vllm@0.25", 131072, 8192, 6981, 655360},
      {"gemma-4-26b", "vllm@0.26", 131072, 8192, 9541, 655360},
      {"llama-4-scout", "vllm@0.25", 131072, 8192, 11264, 786432},
      {"llama-4-scout", "vllm@0.26", 131072, 8192, 12800, 786432},
      // All 48 layers keep every token, because chunked attention had no separate groups.
      {"llama-4-scout", "vllm@0.11", 131072, 8192, 8192, 48 * 65536},
  };
  for (const Row& row : rows) {
    CAPTURE(row.model);
    CAPTURE(row.engine);
    Request request = asking(row.engine, row.tokens);
    request.max_num_batched_tokens = Tokens(row.batch);
    CHECK(planned(row.model, request).kv_cache.reserved == Bytes(row.blocks * row.block_bytes));
  }
}

TEST_CASE("vllm: block sizes as \"Setting attention block size\" prints them, and the kernels' own") {
  struct Row {
    const char* model;
    const char* kv;
    std::uint64_t ranks, block;
  };
  const Row rows[] = {{"qwen3.5-27b", "bfloat16", 1, 784},     {"qwen3.5-27b", "fp8", 1, 1568},
                      {"kimi-linear-48b", "bfloat16", 4, 512}, {"kimi-linear-48b", "bfloat16", 1, 1920},
                      {"lfm2-1.2b", "bfloat16", 1, 16},        {"deepseek-v3", "bfloat16", 1, 64},
                      {"deepseek-v4-flash", "fp8", 1, 256},    {"minimax-m3", "bfloat16", 1, 128},
                      {"llama-3.1-8b", "bfloat16", 1, 16}};
  for (const Row& row : rows) {
    CAPTURE(row.model);
    Request request = asking("vllm@0.22", 8192);
    request.parallel.tensor = row.ranks;
    request.cache_type_k = request.cache_type_v = parse_dtype(row.kv, "kv");
    CHECK(planned(row.model, request).kv_cache.block_size == row.block);
  }
  Request mtp = asking("vllm@0.30", 8192);
  mtp.mtp = true;
  CHECK(planned("qwen3.5-27b", mtp).kv_cache.block_size ==
        800);  // one more column of the convolution: log of Qwen3.6-27B with MTP
}

// Qwen3.5-27B in blocks of 784 tokens and batches of two blocks: 16 layers attend, 3 x 16 have states.
TEST_CASE(
    "vllm: before 0.30 each sequence but the first keeps the states that no later one follows in the next block") {
  const auto blocks = [](std::uint64_t tokens, std::uint64_t seqs) {
    Request request = asking("vllm@0.26", tokens);
    request.prefix_caching = true;
    request.max_num_batched_tokens = Tokens(2048);
    request.num_seqs = seqs;
    return planned("qwen3.5-27b", request).kv_cache.reserved.count() / (16 * 3211264);
  };
  CHECK(blocks(1000, 1) == 2 + 3 * 2);
  CHECK(blocks(1000, 2) - blocks(1000, 1) == 2 + 3 * 1);
  CHECK(blocks(3000, 2) - blocks(3000, 1) == 4 + 3 * 1);
  CHECK(blocks(5000, 2) - blocks(5000, 1) == 7 + 3 * 2);
}

TEST_CASE("vllm: bytes per token of Llama-3.1-8B in quantized cache types") {
  // kv_cache_interface.py and turboquant/config.py: whole layers, and then the 4 layers that TurboQuant keeps in 16
  // bit.
  struct Row {
    const char* type;
    std::uint64_t per_token;
  };
  const std::uint64_t boundary = 4 * 4096;
  const Row rows[] = {{"bfloat16", 131072},
                      {"fp8", 65536},
                      {"int8", 67584},
                      {"fp8_per_token_head", 67584},
                      {"int4", 34816},
                      {"nvfp4", 36864},
                      {"turboquant_k8v4", 50176 / 32 * 28 + boundary},
                      {"turboquant_4bit_nc", 34304 / 32 * 28 + boundary},
                      {"turboquant_k3v4_nc", 30208 / 32 * 28 + boundary},
                      {"turboquant_3bit_nc", 26112 / 32 * 28 + boundary}};
  for (const Row& row : rows) {
    CAPTURE(row.type);
    Request request = asking("vllm", 16384);
    request.cache_type_k = request.cache_type_v = parse_dtype(row.type, "kv");
    CHECK(planned("llama-3.1-8b", request).kv_cache.reserved == Bytes(row.per_token * 16384));
  }
}

TEST_CASE("vllm: a model with several kinds of layers counts the most blocks that an allocator may give it") {
  // gpt-oss-20b: 12 full layers and 12 with a window of 128; a block of either group is 12 pages of 32 KiB, 16 tokens.
  // A request is prefilled in batches; a block is freed once no later token sees it. The first batch may be short
  // (others share it), so every alignment of the window is tried.
  constexpr std::uint64_t kBlock = 16, kWindow = 128, kBytes = 12 * 32768;
  for (const std::uint64_t tokens : {1U, 16U, 100U, 129U, 1000U, 5000U, 20000U}) {
    for (const std::uint64_t batch : {16U, 100U, 2048U}) {
      CAPTURE(tokens);
      CAPTURE(batch);
      // Each group is charged its largest moment.
      std::uint64_t most_full = 0;
      std::uint64_t most_window = 0;
      for (std::uint64_t first = 1; first <= std::min<std::uint64_t>(kBlock, batch); ++first) {
        std::vector<bool> full(tokens / kBlock + 1), window(tokens / kBlock + 1);
        for (std::uint64_t done = 0; done < tokens;) {
          const std::uint64_t step = std::min(done == 0 ? first : batch, tokens - done);
          for (std::uint64_t t = done; t < done + step; ++t) full[t / kBlock] = window[t / kBlock] = true;
          for (std::uint64_t b = 0; (b + 1) * kBlock + kWindow <= done + 1; ++b) window[b] = false;
          const auto held = [](const std::vector<bool>& blocks) {
            return static_cast<std::uint64_t>(std::count(blocks.begin(), blocks.end(), true));
          };
          most_full = std::max(most_full, held(full));
          most_window = std::max(most_window, held(window));
          done += step;
        }
      }
      const std::uint64_t most = most_full + most_window;
      Request request = asking("vllm@0.25", tokens);
      request.max_num_batched_tokens = Tokens(batch);
      const Laid it = laid("gpt-oss-20b", request);
      const std::uint64_t charged = it.layout->reserved(it.load).count() / kBytes;
      CHECK(most <= charged);
      CHECK(charged <= most + 2);  // the additional block of a window; a last batch that is shorter
    }
  }
}

TEST_CASE("vllm: on every rank, the reserved memory is the sum of its lines, for any request") {
  const char* models[] = {
      "deepseek-v3.2", "deepseek-v4-flash", "falcon-h1-1.5b", "gemma-3n-e4b",       "gemma-4-26b",   "glm-5.2",
      "gpt-oss-20b",   "kimi-linear-48b",   "lfm2-1.2b",      "llama-3.1-8b",       "llama-4-scout", "mamba-2.8b",
      "minimax-m3",    "qwen3.5-27b",       "whisper-medium", "nemotron-super-49b", "rwkv7-2.9b"};
  for (const char* model : models) {
    for (const char* engine : {"vllm", "vllm@0.22", "vllm@0.11", "vllm@0.6"}) {
      for (int variant = 0; variant < 6; ++variant) {
        CAPTURE(model);
        CAPTURE(engine);
        CAPTURE(variant);
        Request request = asking(engine, 5003);
        request.num_seqs = 3;
        request.parallel.pipeline = variant == 1 ? 3 : 1;
        request.parallel.tensor = variant == 2 ? 2 : 1;
        request.mtp = variant == 3;
        request.prefix_caching = variant == 4;
        request.num_speculative_tokens = variant == 5 ? 2 : 0;
        Laid it;
        try {
          it = laid(model, request);
        } catch (const Error& error) {
          CHECK(error.code() == Exit::kBadInput);
          continue;
        }
        Bytes fullest;
        for (const RankCache& rank : it.layout->explain(it.load)) {
          auto sum = static_cast<std::int64_t>(rank.logical.count());
          for (const GapLine& line : rank.gap) sum += line.bytes;
          CHECK(sum == static_cast<std::int64_t>(rank.reserved.count()));
          Bytes lines;
          for (const LedgerLine& line : rank.lines) lines += line.bytes;
          CHECK(lines == rank.reserved);
          fullest = std::max(fullest, rank.reserved);
        }
        CHECK(it.layout->reserved(it.load) == fullest);
        Bytes before;
        for (std::uint64_t tokens = 1; tokens < 40000; tokens += 397) {
          const Bytes now = it.layout->reserved({Tokens(tokens), 1, it.load.source_tokens});
          CHECK(now >= before);
          before = now;
        }
      }
    }
  }
}

TEST_CASE("vllm: refusals have its own wording") {
  Request request = asking("vllm", 8192);
  request.block_size = 24;
  CHECK(refusal("llama-3.1-8b", request).find("multiple of 16") != std::string::npos);
  request.block_size = 16;
  CHECK(refusal("deepseek-v3.2", request).find("64") != std::string::npos);
  CHECK(refusal("deepseek-v4-flash", request).find("256") != std::string::npos);

  request = asking("vllm", 8192);
  request.parallel.tensor = 2;
  request.parallel.decode_context = 2;
  CHECK(refusal("gpt-oss-20b", request).find("sliding windows") != std::string::npos);
  request.parallel.tensor = 8;
  CHECK(refusal("llama-3.1-8b", request).find("8 heads") != std::string::npos);
  request.parallel.tensor = 3;
  request.parallel.decode_context = 1;
  CHECK(refusal("llama-3.1-8b", request).find("32") != std::string::npos);
  CHECK(refusal("qwen3.5-27b", request).empty() == false);

  request = asking("vllm", 8192);
  request.cache_type_k = request.cache_type_v = Dtype::kQ8_0;
  CHECK(refusal("llama-3.1-8b", request).find("q8_0") != std::string::npos);
  request.cache_type_k = request.cache_type_v = Dtype::kFp8DsMla;
  CHECK(refusal("deepseek-v3", request).find("DeepSeek-V3.2") != std::string::npos);
  request = asking("vllm", 8192);
  request.vllm.hybrid_manager = false;
  CHECK(refusal("qwen3.5-27b", request).find("states") != std::string::npos);
  CHECK(refusal("gpt-oss-20b", request).empty());
}

// Start-up logs of Whisper-large-v3: 0.15.1, 10.14 GiB, "33,216 tokens" and 26.62x; 0.17.0 with TP 4, 16.47 GiB,
// 173.01x and 0.83 GiB of weights; about 0.12 on a CPU, 4 GiB in blocks of 128, 12.75x.
TEST_CASE("vllm: since 0.14 an encoder's input counts as a whole batch, and each rank has Whisper's whole embedding") {
  const ModelSpec model = read_config(R"({"model_type": "whisper", "d_model": 1280, "encoder_layers": 32,
      "decoder_layers": 32, "encoder_attention_heads": 20, "decoder_attention_heads": 20, "encoder_ffn_dim": 5120,
      "decoder_ffn_dim": 5120, "vocab_size": 51866, "max_source_positions": 1500, "max_target_positions": 448,
      "num_mel_bins": 128, "torch_dtype": "float16"})",
                                      "", "whisper-large-v3", {});
  const auto plan_of = [&](const std::string& engine, double gib, const std::string& card) {
    Request request = asking(engine, 448);
    request.card.gpu = &parse_gpu(card);
    request.kv_cache_memory_bytes = Bytes(static_cast<std::uint64_t>(gib * static_cast<double>(kGiB)));
    if (card == "l4") request.parallel.tensor = 4;
    if (gib == 4.0) request.block_size = 128;
    return make_plan(model, request);
  };
  const Plan alone = plan_of("vllm@0.15", 10.14, "rtx-4090");
  CHECK(alone.capacity->tokens == 33216);
  CHECK(alone.capacity->max_concurrency == doctest::Approx(26.62).epsilon(0.0002));
  const Plan four = plan_of("vllm@0.17", 16.47, "l4");
  CHECK(four.capacity->max_concurrency == doctest::Approx(173.01).epsilon(0.0005));
  CHECK(static_cast<double>(four.memory[0].weights->count()) / kGiB == doctest::Approx(0.83).epsilon(0.01));
  CHECK(plan_of("vllm@0.12", 4.0, "rtx-4090").capacity->max_concurrency == doctest::Approx(12.75).epsilon(0.0005));
  // V0 runs every prompt's image only for models with vision.
  const Plan old = plan_of("vllm@0.7", 10.14, "rtx-4090");
  for (const LedgerLine& line : old.memory[0].lines) CHECK(in_words(line.what).find("image") == std::string::npos);
}

// Logs of Gemma-4-26B-A4B in 0.25.1 on an L40S: 12.75 GiB are 321,600 tokens, 9.81x; of GLM-5.3-NVFP4, which has
// GLM-5.2's caches, on four Blackwells with an FP8 cache: 33.04 GiB are 743,680 tokens, 1.86x.
TEST_CASE("vllm: a batch fits the largest item if images attend in both directions, unless there are none") {
  ModelSpec model = test_model("gemma-4-26b");
  for (TowerModel& side : model.towers) side.both_ways = true;
  Request request = asking("vllm@0.25", 32768);
  request.card.gpu = &parse_gpu("l40s");
  request.kv_cache_memory_bytes = Bytes(static_cast<std::uint64_t>(12.75 * static_cast<double>(kGiB)));
  const auto times = [&] { return make_plan(model, request).capacity->max_concurrency; };
  CHECK(times() == doctest::Approx(9.81).epsilon(0.0005));
  CHECK(make_plan(model, request).capacity->tokens.value() / 1000 == 321);
  request.max_num_batched_tokens = Tokens(2048);
  const double small = times();
  CHECK(small == doctest::Approx(10.50).epsilon(0.0005));
  request.max_num_batched_tokens.reset();
  request.extras.language_model_only = true;
  CHECK(times() == small);
  request.extras.language_model_only = false;
  request.engine_version = "0.21";
  const double before = times();
  for (TowerModel& side : model.towers) side.both_ways = false;
  CHECK(times() == before);
}

TEST_CASE("vllm: since 0.30, blocks of 64 on data centre Blackwell GPUs if images attend in both directions") {
  // TRITON_FLASHINFER is in the registry of 0.30's source distribution, and not in that of 0.29.
  ModelSpec model = test_model("gemma-4-26b");
  Request request = asking("vllm@0.30", 8192);
  const auto block = [&] { return make_plan(model, request).kv_cache.block_size; };
  request.card.gpu = &parse_gpu("b200");
  CHECK(block() == 32);  // two heads of 256 in the page of one head of 512
  for (TowerModel& side : model.towers) side.both_ways = true;
  CHECK(block() == 128);
  request.engine_version = "0.29";
  CHECK(block() == 32);
  request.engine_version = "0.30";
  request.card.gpu = &parse_gpu("h200");
  CHECK(block() == 32);
}

TEST_CASE("vllm: FP8 latents of a model with an indexer are plain on data centre Blackwell GPUs, packed on others") {
  Request request = asking("vllm", 400000);
  request.parallel.tensor = 4;
  request.cache_type_k = request.cache_type_v = Dtype::kFp8E4m3;
  request.kv_cache_memory_bytes = Bytes(static_cast<std::uint64_t>(33.04 * static_cast<double>(kGiB)));
  request.card.gpu = &parse_gpu("b200");
  CHECK(planned("glm-5.2", request).capacity->tokens == 743680);
  request.card.gpu = &parse_gpu("h200");
  CHECK(planned("glm-5.2", request).types.key == Dtype::kFp8DsMla);
  request.card.gpu = &parse_gpu("b200");
  request.engine_version = "0.17";
  CHECK(planned("glm-5.2", request).types.key == Dtype::kFp8DsMla);
}

TEST_CASE("vllm: towers of images that are not allowed are not loaded") {
  // SupportsMultiModal._mark_tower_model: if the limits of all its modalities are zero.
  const ModelSpec gemma = test_model("gemma-4-26b");
  const auto towers = [](const ModelSpec& model, const Request& request) {
    const Plan plan = make_plan(model, request);
    Bytes out;
    for (const LedgerLine& line : plan.memory[0].lines)
      if (in_words(line.what) == "vision tower" || in_words(line.what) == "projector" ||
          line.id == LineId::kEncoderCache)
        out += line.bytes;
    return out;
  };
  Request request = asking("vllm", 8192);
  CHECK(towers(gemma, request) > Bytes(kGiB / 2));
  request.extras.mm_limits = {{"image", 0}, {"video", 0}};
  CHECK(towers(gemma, request) == Bytes(0));
  request.extras.mm_limits = {{"image", 0}, {"video", 1}};
  CHECK(towers(gemma, request) > Bytes(kGiB / 2));
  request.extras.mm_limits.clear();
  request.extras.language_model_only = true;
  CHECK(towers(gemma, request) == Bytes(0));
  request.engine_version = "0.11";
  CHECK(towers(gemma, request) == Bytes(0));
  request.engine_version = "0.10";
  CHECK(towers(gemma, request) > Bytes(kGiB / 2));
}

TEST_CASE("vllm: a model that it lacks is planned from its architecture alone, with a note") {
  const Plan plan = planned("rwkv7-2.9b", asking("vllm", 8192));
  CHECK(plan.kv_cache.reserved == plan.kv_cache.logical);
  CHECK(std::any_of(plan.notes.begin(), plan.notes.end(),
                    [](const Note& note) { return note.code == "engine_lacks_model"; }));
}

TEST_CASE("vllm: activation peaks and graphs as logs print them, within a fifth") {
  struct Row {
    const char *model, *engine;
    std::uint64_t batch, seqs;
    double gib;
  };
  // vllm#10517: Llama-3.1-8B with prompts of 20,000 and 29,000 tokens; vllm#10511: 8,192 tokens, 256 rows sampled.
  const Row rows[] = {{"llama-3.1-8b", "vllm@0.6", 20000, 256, 2.07},
                      {"llama-3.1-8b", "vllm@0.6", 29000, 256, 2.99},
                      {"llama-3.1-8b", "vllm@0.6", 8192, 256, 1.26}};
  for (const Row& row : rows) {
    Request request = asking(row.engine, row.batch);
    request.max_num_batched_tokens = Tokens(row.batch);
    request.max_num_seqs = row.seqs;
    const ModelSpec model = test_model(row.model);
    const EngineInput input = engine_input(model, request);
    const auto lines = vllm_overhead({&input, load_of(model, request), 0, Bytes(0), std::nullopt});
    REQUIRE(!lines.empty());
    const double gib = static_cast<double>(lines.front().bytes.count()) / static_cast<double>(kGiB);
    CHECK(gib == doctest::Approx(row.gib).epsilon(0.2));
    for (const LedgerLine& line : lines) {
      CHECK(line.low <= line.bytes);
      CHECK(line.bytes <= line.high);
    }
  }
}

TEST_CASE("vllm: the budget leaves graphs out until 0.19") {
  const ModelSpec model = test_model("llama-3.1-8b");
  const Bytes card(80 * kGiB);
  const Bytes beside(20 * kGiB);
  const auto budget = [&](const char* engine, bool eager) {
    Request request = asking(engine, 8192);
    request.enforce_eager = eager;
    return vllm_cache_budget(engine_input(model, request), card, beside, Bytes(eager ? 0 : kGiB));
  };
  // 0.9 and 0.92 of 80 GiB.
  CHECK(budget("vllm@0.19", true) == Bytes(52 * kGiB));
  CHECK(budget("vllm@0.19", false) == Bytes(53 * kGiB));
  CHECK(std::abs(static_cast<double>(budget("vllm@0.30", false).count()) - 53.6 * static_cast<double>(kGiB)) < 2);
}
