// llama.cpp's caches, rule by rule, compared with runs of v0.5.0: latents in old builds, DeepSeek-V4's
// caches, rows to roll back, MTP layers, layers on several devices and on the host.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "engines/llama_cpp/cache.h"
#include "engines/llama_cpp/classes.h"
#include "engines/llama_cpp/rules.h"
#include "engines/requests.h"
#include "kvplan/error.h"
#include "models/family.h"
#include "plan/plan.h"
#include "plan/steps.h"
#include "sources/load.h"
#include "support/figures.h"

namespace kvplan {
namespace {

EngineInput model_of(std::string_view type, std::uint64_t layers, const CacheTerms& terms) {
  EngineInput out;
  out.request = request_for("llama.cpp", 4096);
  out.model.arch = test_arch(type);
  out.model.num_layers = layers;
  out.model.num_heads = 32;
  out.model.hidden_size = 256;
  for (std::uint64_t i = 0; i < layers; ++i) out.caches.push_back({i, "kind", terms, terms});
  out.types = {Dtype::kFloat16, Dtype::kFloat16, Dtype::kBfloat16, Dtype::kBfloat16};
  return out;
}

Load load_for(std::uint64_t tokens, std::uint64_t seqs = 1, bool pooled = false) {
  return {Tokens(tokens), seqs, Tokens(0), pooled};
}

std::int64_t reason(const RankCache& rank, std::string_view text) {
  for (const GapLine& line : rank.gap)
    if (in_words(line.reason) == text) return line.bytes;
  return 0;
}

Bytes line_of(const RankCache& rank, std::string_view what) {
  for (const LedgerLine& line : rank.lines)
    if (in_words(line.what) == what) return line.bytes;
  return Bytes(0);
}

TEST_CASE("llama.cpp: MLA in builds that did not store the latent yet") {
  // DeepSeek-V2-Lite, 27 layers of 16 heads, K of 128 + 64 and V of 128, 8192 tokens: 2160 MiB; 243 with the latent.
  CacheTerms latent{term_of(Role::kKey, 1, 512), term_of(Role::kKey, 1, 64)};
  latent[0].part = Part::kLatent;
  latent[1].part = Part::kRope;
  EngineInput input = model_of("deepseek_v2", 27, latent);
  for (LayerCache& cache : input.caches)
    cache.expanded = {term_of(Role::kKey, 16, 192), term_of(Role::kValue, 16, 128)};
  CHECK(LlamaCppLayout(input).reserved(load_for(8192)) == Bytes(243 * kMiB));
  // From then until January 2026 (#19067) the latent was cached both as K and as V: 27 * 8192 * (576 + 512) * 2 B.
  for (const char* build : {"b5131", "b6900"}) {
    input.request.engine_version = build;
    const LlamaCppLayout twice(input);
    CHECK(twice.reserved(load_for(8192)) == Bytes(459 * kMiB));
    CHECK(reason(twice.explain(load_for(8192)).front(), "latents kept a second time, as values") ==
          static_cast<std::int64_t>(216 * kMiB));
  }
  input.request.engine_version = "b7830";
  CHECK(LlamaCppLayout(input).reserved(load_for(8192)) == Bytes(243 * kMiB));
  input.request.engine_version = "b5130";
  const LlamaCppLayout old(input);
  CHECK(old.reserved(load_for(8192)) == Bytes(2160 * kMiB));
  const RankCache rank = old.explain(load_for(8192)).front();
  CHECK(rank.logical == Bytes(243 * kMiB));
  CHECK(reason(rank, "keys and values in place of the latent") == static_cast<std::int64_t>((2160 - 243) * kMiB));
  // Every build expands MiniCPM3: 40 heads, K of 64 + 32 and V of 64.
  EngineInput mini = model_of("minicpm3", 62, latent);
  for (LayerCache& cache : mini.caches) cache.expanded = {term_of(Role::kKey, 40, 96), term_of(Role::kValue, 40, 64)};
  CHECK(LlamaCppLayout(mini).reserved(load_for(4096)) == Bytes(std::uint64_t{4096} * 62 * 40 * 160 * 2));
  REQUIRE(LlamaCppLayout(mini).groups().size() == 1);
  CHECK(LlamaCppLayout(mini).groups().front().layers == 62);
}

TEST_CASE("llama.cpp: flash attention by release and backend, where -fa does not decide") {
  struct Row {
    const char *build, *backend;
    std::uint64_t head;
    bool has;
  };
  constexpr Row kRows[] = {
      {"b6122", "cuda", 128, false},  {"b6673", "cuda", 128, true},    // #15434
      {"b6673", "cuda", 192, false},  {"b6673", "metal", 192, true},   // ggml-metal-device.m of b6673
      {"b8179", "metal", 512, false}, {"v0.5.0", "metal", 512, true},  // #20902
      {"b8179", "sycl", 128, false},  {"b8352", "sycl", 128, true},    // #20190
      {"b8352", "sycl", 512, false},  {"v0.5.0", "sycl", 512, true},   // #21654
      {"b6673", "vulkan", 136, true}, {"v0.5.0", "vulkan", 100, false},
  };
  for (const Row& row : kRows) {
    EngineInput input = model_of("llama", 2, {term_of(Role::kKey, 8, row.head), term_of(Role::kValue, 8, row.head)});
    input.request.engine_version = std::string_view(row.build) == "v0.5.0" ? "" : row.build;
    using enum LlamaBackend;
    for (const auto& [name, backend] :
         {std::pair{"cuda", kCuda}, {"metal", kMetal}, {"sycl", kSycl}, {"vulkan", kVulkan}})
      if (std::string_view(name) == row.backend) input.request.llama_cpp.backend = backend;
    INFO(row.build, " ", row.backend, " ", row.head);
    CHECK(llama_flash_attention(input) == row.has);
    input.request.llama_cpp.flash_attention = FlashAttention::kOff;
    CHECK_FALSE(llama_flash_attention(input));
    input.request.llama_cpp.flash_attention = FlashAttention::kOn;
    CHECK(llama_flash_attention(input));
  }
  // Metal and SYCL have no kernel for different types of K and V.
  EngineInput mixed = model_of("llama", 2, {term_of(Role::kKey, 8, 128), term_of(Role::kValue, 8, 128)});
  mixed.types.value = Dtype::kFloat32;
  mixed.request.llama_cpp.backend = LlamaBackend::kMetal;
  CHECK_FALSE(llama_flash_attention(mixed));
  mixed.request.llama_cpp.backend = LlamaBackend::kCuda;
  CHECK(llama_flash_attention(mixed));
}

TEST_CASE("llama.cpp: builds without flash attention store scores") {
  // ggml-org/llama.cpp#11044 (December 2024, SYCL, an Arc A770): Llama 3.2 3B with 40,128 cells prints a compute buffer
  // of 1983.38 MiB and a KV buffer of 4389.00; #12369 (ROCm): Qwen2.5 32B with 32,768 cells 2664.00 MiB per GPU.
  const ModelSpec model = read_config(test_file("testdata/observations/models/llama-3.2-3b.json"), "", "llama", {});
  Request request = request_for("llama.cpp", 40128);
  request.engine_version = "b4400";
  const Plan plan = make_plan(model, request);
  const LedgerLine& line =
      *std::find_if(plan.memory.front().lines.begin(), plan.memory.front().lines.end(),
                    [](const LedgerLine& each) { return in_words(each.what) == "compute buffer"; });
  CHECK(plan.kv_cache.reserved == Bytes(4389 * kMiB));
  CHECK(std::abs(static_cast<double>(line.bytes.count()) / static_cast<double>(kMiB) - 1983.38) < 5);
  request.llama_cpp.flash_attention = FlashAttention::kOn;
  CHECK(make_plan(model, request).fullest().activation < Bytes(400 * kMiB));
  // A quantized V cache needs flash attention, which those builds do not choose by themselves.
  request.llama_cpp.flash_attention = FlashAttention::kAuto;
  request.cache_type_k = request.cache_type_v = Dtype::kQ8_0;
  CHECK_THROWS_AS(make_plan(model, request), Error);
}

TEST_CASE("llama.cpp: DeepSeek-V4's caches, as measured in runs") {
  // 43 layers with a window of 128, 21 of ratio 4 with index keys of 128, 20 of ratio 128; entries of 512 in float16.
  // Each sequence has its own stream, even with --kv-unified. States are float32: 8 x 2 x 512, 8 x 2 x 128 and 128 x
  // 512, sums and scores.
  const ModelSpec model = test_model("deepseek-v4-flash");
  Request request = request_for("llama.cpp", 16384);
  const EngineInput input = engine_input(model, request);
  const LlamaCppLayout layout(input);
  const auto by_hand = [](std::uint64_t cells, std::uint64_t windows) {
    const auto padded = [](std::uint64_t n) { return (n + 255) / 256 * 256; };
    return 43 * padded(windows) * 512 * 2 + 21 * padded((cells + 3) / 4) * (512 + 128) * 2 +
           20 * padded((cells + 127) / 128) * 512 * 2 + 21 * 8 * 2 * (512 + 128) * 2 * 4 + 20 * 128 * 512 * 2 * 4;
  };
  CHECK(layout.reserved(load_for(16384)).count() == by_hand(16384, 128 + 512));
  CHECK(layout.reserved(load_for(5000)).count() == by_hand(5120, 640));
  CHECK(layout.reserved(load_for(131072)).count() == by_hand(131072, 640));
  CHECK(layout.reserved(load_for(16384, 3)).count() == 3 * by_hand(16384, 640));
  CHECK(layout.reserved(load_for(16384, 3, true)).count() == 3 * by_hand(16384, 640));
  const RankCache rank = layout.explain(load_for(16384, 3, true)).front();
  CHECK(line_of(rank, "KV of windows") == Bytes(std::uint64_t{3} * 43 * 768 * 512 * 2));
  CHECK(line_of(rank, "KV, one cell for 4 tokens") == Bytes(std::uint64_t{3} * 21 * 4096 * (512 + 128) * 2));
  CHECK(line_of(rank, "KV, one cell for 128 tokens") == Bytes(std::uint64_t{3} * 20 * 256 * 512 * 2));
  // If three sequences shared one pool, each would need a third of it. llama.cpp gives each sequence a whole stream.
  CHECK(reason(rank, "a whole stream for each sequence") > 0);
}

TEST_CASE("llama.cpp: other names of an architecture give the same model") {
  // llama.cpp gives these models the architecture of the original: 0.253 and 4.64 GiB at 32k tokens.
  const auto reserved = [](ModelSpec model, std::string_view name) {
    model.known_as = &find_family(name)->is;
    const EngineInput input = engine_input(model, request_for("llama.cpp", 32768));
    return LlamaCppLayout(input).reserved(load_for(32768));
  };
  const ModelSpec deepseek = test_model("deepseek-v4-flash");
  CHECK(reserved(deepseek, "deepseek_ref") == reserved(deepseek, "deepseek_v4"));
  const ModelSpec minimax = test_model("minimax-m3");
  // 3 layers have keys and values; 57 have index keys and values of 128 in addition, in float16.
  constexpr std::uint64_t kHeads = 2 * 4 * 128 * 2;
  CHECK(reserved(minimax, "minimax_m3_vl_text").count() == 32768 * (60 * kHeads + 57 * 2 * 128 * 2));
}

TEST_CASE("llama.cpp: states keep rows with which rejected drafts are rolled back") {
  // Qwen3.5: 48 states of 3 x 10,240 + 48 x 128 x 128 float32, in 1 + drafts rows if a draft can be rejected. A run of
  // the 9B printed 50.25 MiB, and 251.25 with four more rows.
  const ModelSpec model = test_model("qwen3.5-27b");
  const std::uint64_t states = 48 * (3 * 10240 + 48 * 128 * 128) * 4;
  const auto rank = [&](Request request) {
    const EngineInput input = engine_input(model, request);
    return LlamaCppLayout(input).explain(load_of(model, request)).front();
  };
  Request request = request_for("llama.cpp", 4096);
  CHECK(line_of(rank(request), "recurrent state (R and S)") == Bytes(states));
  CHECK(line_of(rank(request), "MTP layers") == Bytes(0));
  request.mtp = true;
  CHECK(line_of(rank(request), "recurrent state (R and S)") == Bytes(4 * states));  // 3 by default
  CHECK(reason(rank(request), "rows to roll back drafts") == static_cast<std::int64_t>(3 * states));
  // One MTP layer: K and V of 4 heads of 256, 4096 cells.
  CHECK(line_of(rank(request), "MTP layers") == Bytes(4096 * 4 * 256 * 2 * 2));
  CHECK(reason(rank(request), "MTP layers") == 4096 * 4 * 256 * 2 * 2);
  request.num_speculative_tokens = 4;
  CHECK(line_of(rank(request), "recurrent state (R and S)") == Bytes(5 * states));
  request.num_seqs = 2;
  CHECK(line_of(rank(request), "recurrent state (R and S)") == Bytes(10 * states));
  // Other drafts restore a checkpoint, and EAGLE-3 rolls back. Mamba cannot roll back.
  EngineInput input = engine_input(model, request_for("llama.cpp", 4096));
  input.draft_method = DraftMethod::kModel;
  CHECK(line_of(LlamaCppLayout(input).explain(load_for(4096)).front(), "recurrent state (R and S)") == Bytes(states));
  input.draft_method = DraftMethod::kEagle3;
  CHECK(line_of(LlamaCppLayout(input).explain(load_for(4096)).front(), "recurrent state (R and S)") ==
        Bytes(4 * states));
  input.model.arch = Arch::kOther;
  CHECK(line_of(LlamaCppLayout(input).explain(load_for(4096)).front(), "recurrent state (R and S)") == Bytes(states));
}

TEST_CASE("llama.cpp: MTP layers are layers of the model's own attention") {
  // GLM-4.5-Air, 46 layers of 8 heads of 128 at 8192 tokens: 1472 MiB, and 32 MiB for the context of its MTP layer.
  EngineInput input = model_of("glm4_moe", 46, heads(8, 128));
  input.model.num_nextn_layers = 1;
  CHECK(LlamaCppLayout(input).reserved(load_for(8192)) == Bytes(1472 * kMiB));
  input.request.mtp = true;
  CHECK(LlamaCppLayout(input).reserved(load_for(8192)) == Bytes((1472 + 32) * kMiB));
  CHECK(LlamaCppLayout(input).explain(load_for(8192)).front().logical == Bytes(1472 * kMiB));
  // tools/server/server-context.cpp: its cache has the types of -ctkd and -ctvd, 16 bit by default. On an RTX 3090 Ti
  // Qwen3.8-27B with a q4_0 cache took 640 MiB more for 131,072 tokens more of its MTP context: 512 of KV and 128 of
  // the mask (sudoingX/qwen38-mtp#13).
  input.types.key = input.types.value = Dtype::kQ8_0;
  CHECK(LlamaCppLayout(input).reserved(load_for(8192)) == Bytes((782 + 32) * kMiB));
  input.request.extras.draft_cache_type_k = input.request.extras.draft_cache_type_v = Dtype::kQ8_0;
  CHECK(LlamaCppLayout(input).reserved(load_for(8192)) == Bytes((782 + 17) * kMiB));
  input.types.key = input.types.value = Dtype::kFloat16;
  input.request.extras = {};
  input.model.num_nextn_layers = 2;
  CHECK(LlamaCppLayout(input).reserved(load_for(8192)) == Bytes((1472 + 64) * kMiB));
  // It has no index keys, no entries for several tokens and no states.
  Term index{.name = "index key", .role = Role::kIndex};
  index.shape.width = 128;
  input.caches.back().compact.own().push_back(index);
  CHECK(line_of(LlamaCppLayout(input).explain(load_for(8192)).front(), "MTP layers") == Bytes(64 * kMiB));
  CHECK(line_of(LlamaCppLayout(input).explain(load_for(8192)).front(), "index keys") == Bytes(8192 * 128 * 2));
}

TEST_CASE("llama.cpp: a quantized type needs heads of whole blocks") {
  const auto refused = [](std::uint64_t key, std::uint64_t value, Dtype k, Dtype v, FlashAttention flash) {
    EngineInput input = model_of("llama", 2, {term_of(Role::kKey, 8, key), term_of(Role::kValue, 8, value)});
    input.request.llama_cpp.flash_attention = flash;
    input.types.key = k;
    input.types.value = v;
    std::vector<Note> notes;
    try {
      engine_of(input.request).layout(input, notes);
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  constexpr auto kOn = FlashAttention::kOn;
  // With flash attention a head is read as a whole, and 80 is not a multiple of 32. Without it a row of 8 * 80 is read.
  CHECK(refused(80, 128, Dtype::kQ8_0, Dtype::kFloat16, kOn).find("these keys have 80") != std::string::npos);
  CHECK(refused(128, 80, Dtype::kFloat16, Dtype::kQ8_0, kOn).find("these values have 80") != std::string::npos);
  CHECK(refused(80, 80, Dtype::kQ8_0, Dtype::kFloat16, FlashAttention::kOff).empty());
  CHECK(refused(80, 80, Dtype::kFloat16, Dtype::kFloat16, kOn).empty());
  CHECK(refused(96, 64, Dtype::kQ8_0, Dtype::kQ4_0, kOn).empty());
  // Cross attention is not cached. Entries for several tokens have separate rows.
  EngineInput cross = model_of("t5", 1, heads(8, 64));
  CacheTerms source{term_of(Role::kKey, 8, 80), term_of(Role::kValue, 8, 80)};
  for (Term& term : source) term.growth = Growth::kSourceToken;
  Term entry = term_of(Role::kKey, 1, 80);
  entry.stride = 2;
  source.push_back(entry);
  cross.caches.push_back({0, "cross", source, source});
  cross.types.key = cross.types.value = Dtype::kQ8_0;
  cross.request.llama_cpp.flash_attention = kOn;
  std::vector<Note> notes;
  CHECK_NOTHROW(engine_of(cross.request).layout(cross, notes));
  CHECK(refused(81, 128, Dtype::kQ8_0, Dtype::kFloat16, FlashAttention::kOff).find("648") != std::string::npos);
}

TEST_CASE("llama.cpp: entries for two tokens are compressed entries too") {
  // A window of 128 and an entry for every two tokens, 64 elements each: each sequence's stream has pad256(128 + 512)
  // and pad256(n / 2) cells, in a pool or not.
  CacheTerms terms{term_of(Role::kKey, 1, 64), term_of(Role::kKey, 1, 64)};
  terms[0].part = terms[1].part = Part::kLatent;
  terms[0].limit = {LimitKind::kWindow, Tokens(128), Tokens(0)};
  terms[1].stride = 2;
  EngineInput input = model_of("deepseek_v4", 1, terms);
  input.request.llama_cpp.flash_attention = FlashAttention::kOn;
  CHECK(LlamaCppLayout(input).reserved(load_for(16384, 3, true)) == Bytes(3 * (768 + 8192) * 64 * 2));
  CHECK(LlamaCppLayout(input).reserved(load_for(16384, 3)) == Bytes(3 * (768 + 8192) * 64 * 2));
  // Its MTP layer only has the window.
  input.request.mtp = true;
  input.model.num_nextn_layers = 1;
  CHECK(line_of(LlamaCppLayout(input).explain(load_for(16384)).front(), "MTP layers") == Bytes(768 * 64 * 2));
  // The head sizes are those of the window. With entries for two tokens in addition, 512 has a kernel.
  input = model_of("deepseek_v4", 1, terms);
  input.caches[0].compact.own()[0].shape.width = 512;
  CHECK(llama_flash_attention(input));
}

TEST_CASE("llama.cpp: a batch or a micro-batch of zero") {
  const auto refused = [](std::optional<std::uint64_t> batch, std::optional<std::uint64_t> ubatch) {
    EngineInput input = model_of("llama", 2, heads(8, 128));
    input.request.llama_cpp.n_batch = batch;
    input.request.llama_cpp.n_ubatch = ubatch;
    std::vector<Note> notes;
    try {
      engine_of(input.request).layout(input, notes);
    } catch (const Error&) {
      return true;
    }
    return false;
  };
  CHECK(refused(0, 0));
  CHECK_FALSE(refused({}, 0));  // n_ubatch 0 means n_batch
  CHECK_FALSE(refused(512, 0));
  CHECK_FALSE(refused(0, 512));
}

TEST_CASE("llama.cpp: layers and the output are distributed over devices") {
  // 32 layers and the output are 33 units: 11 on each of three GPUs, 17 and 16 on two (runs: 17, and 15 with the
  // output).
  struct Row {
    std::uint64_t gpus;
    std::optional<std::uint64_t> on_gpu;
    std::vector<std::uint64_t> first, layers;
  };
  const Row rows[] = {
      {1, {}, {0}, {32}},      {2, {}, {0, 17}, {17, 15}}, {3, {}, {0, 11, 22}, {11, 11, 10}},
      {1, 11, {22}, {10}},     {2, 10, {23, 28}, {5, 4}},  {1, 1, {0}, {0}},
      {2, 2, {31, 0}, {1, 0}}, {1, 99, {0}, {32}},         {1, 0, {0}, {0}},
  };
  for (const Row& row : rows) {
    CAPTURE(row.gpus);
    Request request = request_for("llama.cpp", 4096);
    request.parallel.pipeline = row.gpus;
    request.llama_cpp.gpu_layers = row.on_gpu;
    const auto shares = llama_cpp_stages(32, request);
    REQUIRE(shares.size() == row.gpus);
    for (std::size_t i = 0; i < row.gpus; ++i) {
      CAPTURE(i);
      CHECK(shares[i].layers == row.layers[i]);
      CHECK(shares[i].first_layer == row.first[i]);
      CHECK(shares[i].has_embedding == (i == 0));
      CHECK(shares[i].has_head == (i + 1 == row.gpus && row.on_gpu != 0U));
    }
  }
}

TEST_CASE("llama.cpp: parts that are not on a GPU are in host memory") {
  EngineInput input = model_of("llama", 32, heads(8, 128));
  input.model.vocab_size = 1000;
  const auto host = [&] {
    Bytes out;
    for (const LedgerLine& line : LlamaCppLayout(input).host(load_for(16384)))
      if (line.part == Section::kKvCache) out += line.bytes;
    return out;
  };
  const auto gpus = [&] { return LlamaCppLayout(input).reserved_by_stage(load_for(16384), 2); };
  CHECK(host() == Bytes(0));
  input.request.llama_cpp.gpu_layers = 11;
  CHECK(host() == Bytes(22 * 64 * kMiB));
  CHECK(gpus() == std::vector<Bytes>{Bytes(10 * 64 * kMiB)});
  input.request.parallel.pipeline = 2;
  CHECK(gpus() == std::vector<Bytes>{Bytes(6 * 64 * kMiB), Bytes(4 * 64 * kMiB)});
  CHECK(LlamaCppLayout(input).reserved(load_for(16384)) == Bytes(6 * 64 * kMiB));
  input.request.llama_cpp.no_kv_offload = true;
  CHECK(host() == Bytes(32 * 64 * kMiB));
}

TEST_CASE("llama.cpp: index keys are rows of K, with a V beside them in MiniMax-M3") {
  CacheTerms terms = heads(4, 128);
  Term index{.name = "index key", .role = Role::kIndex, .storage = Storage::kModel};
  index.shape.width = 64;
  terms.push_back(index);
  // One head of 64 in the type of K, whatever the model's type, and one unused head of V with 128.
  EngineInput plain = model_of("deepseek_v32", 1, terms);
  CHECK(LlamaCppLayout(plain).reserved(load_for(4096)) == Bytes(4096 * (4 * 128 * 2 + 64) * 2));
  EngineInput minimax = model_of("minimax_m3", 1, terms);
  CHECK(LlamaCppLayout(minimax).reserved(load_for(4096)) == Bytes(4096 * (4 * 128 * 2 + 64 + 128) * 2));
  const RankCache rank = LlamaCppLayout(minimax).explain(load_for(4096)).front();
  CHECK(reason(rank, "values beside the index keys") == 4096 * 128 * 2);
  // 34 B for 32 elements. The last row of values is padded from 128 to 512 elements, 408 B, at a multiple of 128.
  minimax.types.key = minimax.types.value = Dtype::kQ8_0;
  minimax.caches[0].compact.own()[2].shape.width = 512;
  CHECK(LlamaCppLayout(minimax).reserved(load_for(4096)) ==
        Bytes(std::uint64_t{4096} * (1024 + 512 + 128) / 32 * 34 + 512));
  // Rows in host memory are not padded.
  const auto on_host = [](EngineInput input) {
    input.request.llama_cpp.no_kv_offload = true;
    Bytes out;
    for (const LedgerLine& line : LlamaCppLayout(input).host(load_for(4096)))
      if (line.part == Section::kKvCache) out += line.bytes;
    return out;
  };
  CHECK(on_host(minimax) == Bytes(std::uint64_t{4096} * (1024 + 512 + 128) / 32 * 34));
  // Pooled keys double the row of index keys: 2 * 64 elements are padded to 512.
  EngineInput pooled = model_of("qwen4_exp_text", 1, terms);
  pooled.types.key = pooled.types.value = Dtype::kQ8_0;
  CHECK(LlamaCppLayout(pooled).reserved(load_for(4096)) == on_host(pooled) + Bytes(512));
}

TEST_CASE("llama.cpp: the models that it runs, by class, name and spelling") {
  const auto shape = [](std::string_view architecture, std::string_view type, bool is_gguf = false) {
    ModelShape out;
    out.architecture = architecture;
    out.model_type = type;
    out.arch = test_arch(type);
    out.is_gguf = is_gguf;
    out.num_layers = 64;
    return out;
  };
  CHECK(llama_cpp_runs(shape("LlamaForCausalLM", "llama")));
  CHECK(llama_cpp_runs(shape("", "anything")));
  CHECK(llama_cpp_runs(shape("SomeNewName", "qwen3moe")));
  CHECK_FALSE(llama_cpp_runs(shape("SomeNewName", "some_new_name")));
  CHECK_FALSE(llama_cpp_runs(shape("LlamaForCausal", "some_new_name")));
  CHECK_FALSE(llama_cpp_runs(shape("LlamaForCausalLMs", "some_new_name")));
  CHECK(llama_cpp_runs(shape("qwen3moe", "", true)));
  CHECK(llama_cpp_runs(shape("gpt-oss", "", true)));
  CHECK_FALSE(llama_cpp_runs(shape("LlamaForCausalLM", "some-new-name", true)));
  // Only the 32B of EXAONE 4, which has 64 layers, keeps windows.
  CHECK(llama_class(shape("", "exaone4")).keeps_windows);
  ModelShape small = shape("", "exaone4");
  small.num_layers = 30;
  CHECK_FALSE(llama_class(small).keeps_windows);
  CHECK(llama_class(shape("", "gemma3_text")).keeps_windows);
  CHECK(llama_class(shape("", "gpt-oss", true)).keeps_windows);
  CHECK_FALSE(llama_class(shape("", "phi3")).keeps_windows);
  CHECK(llama_class(shape("", "gemma3n")).residual_streams == 4);
  CHECK(llama_class(shape("", "gemma3")).residual_streams == 1);
}

TEST_CASE("llama.cpp: a build has the rules of the version that was released from it") {
  const auto rules = [](const std::string& release) { return llama_rules(request_for("llama.cpp@" + release, 8192)); };
  CHECK_FALSE(rules("b5130").caches_latents);
  CHECK(rules("b5131").caches_latents);
  CHECK_FALSE(rules("b9399").limits_outputs);
  CHECK(rules("b11000").limits_outputs);
  CHECK(rules("v0.5.0").speculative_names);
  CHECK_FALSE(rules("b11433").mixes_batches);
  CHECK_FALSE(rules("0.5").mixes_batches);
  for (const char* release : {"b11434", "b11739", "0.6", "1.0"}) {
    CHECK(rules(release).mixes_batches);
    CHECK(rules(release).speculative_names);
  }
  const std::vector<RuleRow> rows = llama_rule_rows();
  CHECK(rows.front().since == "b5131");
  CHECK(rows.back().since == "0.6");
}

}  // namespace
}  // namespace kvplan
