// The logical engine, and the facts in the table of engines, from the engines' documentation.
#include <doctest/doctest.h>

#include <algorithm>
#include <map>

#include "engines/requests.h"

namespace kvplan {
namespace {

EngineInput five_layers() {
  EngineInput input;
  input.request = request_for("logical", 4096);
  input.model.num_layers = 5;
  input.types = {Dtype::kBfloat16, Dtype::kBfloat16, Dtype::kBfloat16, Dtype::kBfloat16};
  const auto add = [&](std::uint64_t layer, std::string_view kind, const CacheTerms& terms) {
    input.caches.push_back({layer, kind, terms, terms});
  };
  add(0, "gqa", heads(8, 128));
  add(1, "gqa", heads(8, 128));
  add(2, "sliding_window", heads(8, 128, 100));
  add(3, "none", {});
  add(4, "gqa", heads(8, 128));
  return input;
}

TEST_CASE("logical: only the memory that the architecture needs") {
  const auto layout = layout_of(five_layers());
  const Load load{Tokens(1000), 3, Tokens(0)};
  CHECK(layout->reserved(load) == Bytes(3 * (3 * 1000 + 100) * 4096));
  const RankCache rank = layout->explain(load).front();
  CHECK(rank.logical == rank.reserved);
  CHECK(rank.gap.empty());
  REQUIRE(rank.lines.size() == 2);
  CHECK(in_words(rank.lines[0].what) == "gqa, 3 layers");
  CHECK(rank.lines[0].bytes == Bytes(3 * 3 * 1000 * 4096));
  CHECK(in_words(rank.lines[1].what) == "sliding_window, 1 layers");
  REQUIRE(layout->groups().size() == 2);
  CHECK(layout->groups()[0].layers == 3);
  CHECK(layout->groups()[1].layers == 1);
  // One tensor for each term: 4 layers, K and V.
  const auto buffers = layout->buffers(load, 0);
  REQUIRE(buffers.size() == 8);
  CHECK(buffers[0].name == "layer 0, key");
  CHECK(in_words(buffers[0].line) == "gqa, 3 layers");
  CHECK(buffers[0].bytes == Bytes(3 * 1000 * 2048));
  // Tokens at the bytes per token beyond the window: three layers.
  const Capacity held = layout->capacity(Bytes(12288 * 700 + 12287), load);
  CHECK(held.tokens == 700);
  CHECK(held.max_concurrency == doctest::Approx((12288.0 * 700 + 12287) / (3100.0 * 4096)));
  CHECK_FALSE(layout->block_size());
}

TEST_CASE("logical: stages and ranks") {
  // Five layers on two stages are three and two. Each of two ranks has four heads.
  EngineInput input = five_layers();
  input.request.parallel.pipeline = input.request.parallel.tensor = 2;
  const auto layout = layout_of(input);
  const Load load{Tokens(1000), 1, Tokens(0)};
  CHECK(layout->reserved_by_stage(load, 2) == std::vector<Bytes>{Bytes(2100 * 2048), Bytes(1000 * 2048)});
  CHECK(layout->reserved(load) == Bytes(2100 * 2048));
  REQUIRE(layout->explain(load).size() == 4);
  CHECK(layout->explain(load)[1].reserved == Bytes(2100 * 2048));
  CHECK(layout->explain(load)[2].reserved == Bytes(1000 * 2048));
  CHECK(layout->buffers(load, 2).size() == 2);
  // The bytes per token of the fullest stage: two layers.
  CHECK(layout->capacity(Bytes(4096 * 55), load).tokens == 55);
}

TEST_CASE("logical: a draft is on the last stage") {
  EngineInput input = five_layers();
  auto draft = std::make_shared<EngineInput>();
  draft->types = input.types;
  draft->caches = {{0, "gqa", {term_of(Role::kKey, 1, 100)}, {}}};
  input.draft = draft;
  input.request.parallel.pipeline = 2;
  const auto layout = layout_of(input);
  const Load load{Tokens(1000), 2, Tokens(0)};
  CHECK(layout->reserved_by_stage(load, 2) ==
        std::vector<Bytes>{Bytes(2 * 2100 * 4096), Bytes(2 * 1000 * (4096 + 200))});
  const auto ranks = layout->explain(load);
  CHECK(ranks[0].gap.empty());
  CHECK(ranks[0].lines.size() == 2);
  REQUIRE(ranks[1].gap.size() == 1);
  CHECK(in_words(ranks[1].gap[0].reason) == "draft model, 1 layer");
  CHECK(ranks[1].gap[0].bytes == 2 * 1000 * 200);
  CHECK(ranks[1].logical == Bytes(2 * 1000 * 4096));
  CHECK(in_words(ranks[1].lines.back().formula) == "2 sequences of 1000 tokens x 200 B per token of the draft");
  // 8,192 B per token on the first stage, 4,296 on the last; on one stage 12,288 and 200.
  CHECK(layout->capacity(Bytes(8192 * 50), load).tokens == 50);
  input.request.parallel.pipeline = 1;
  CHECK(layout_of(input)->capacity(Bytes(12488 * 50), load).tokens == 50);
  CHECK(layout_of(input)->capacity(Bytes(12488 * 50 - 1), load).tokens == 49);
}

TEST_CASE("logical: caches that do not grow have no number of tokens") {
  EngineInput input = five_layers();
  input.caches.erase(input.caches.begin() + 3, input.caches.end());
  input.caches.erase(input.caches.begin(), input.caches.begin() + 2);
  CHECK_FALSE(layout_of(input)->capacity(Bytes(1000000), Load{Tokens(1000), 1, Tokens(0)}).tokens);
  input.caches.clear();
  CHECK(layout_of(input)->capacity(Bytes(1000000), Load{Tokens(1000), 1, Tokens(0)}).max_concurrency == 0);
}

TEST_CASE("engines: features as in each engine's documentation") {
  struct Row {
    const char* engine;
    double share;  // of a GPU, by default
    bool shared_experts, expert_parallel, beams, projectors, host_embedding, scores, deals_draft, ctx_size;
    LoraStorage lora;
    bool drafts, cache_budget, cuts_towers;
  };
  // Fractions: vLLM's gpu_memory_utilization, SGLang's mem_fraction_static if no GPU is known, the wired limit of
  // macOS, and 0.9 of mistral.rs. Experts of data parallel copies: vLLM's docs on expert parallel deployment ("DP x
  // TP"). Beams: vLLM, TensorRT-LLM, transformers. Image projectors (mmproj) and --ctx-size over all slots: llama.cpp.
  // llama.cpp keeps token_embd on the host ("always keep the input layer on the CPU"). Scores are stored by naive
  // attention in llama.cpp, eager attention in transformers, and MLX without a fused kernel. Adapters: slots of
  // --max-loras, or files; PEFT loads them in float32. vLLM (mm_encoder_tp_mode "weights") and SGLang split vision
  // towers like the decoder.
  const Row rows[] = {
      {"logical", 1.0, false, false, true, false, false, false, false, false, LoraStorage::kSlotsOrFiles, true, false,
       false},
      {"vllm", 0.92, true, true, true, false, false, false, false, false, LoraStorage::kSlots, true, true, true},
      {"sglang", 0.88, false, true, false, false, false, false, false, false, LoraStorage::kSlots, true, true, true},
      {"llama.cpp", 1.0, false, false, false, true, true, true, true, true, LoraStorage::kFiles, true, false, false},
      {"transformers", 1.0, false, false, true, false, false, true, false, false, LoraStorage::kFloat32Files, true,
       false, false},
      {"tensorrt-llm", 1.0, false, true, true, false, false, false, false, false, LoraStorage::kSlots, true, true,
       false},
      {"mlx", 0.75, false, false, false, false, false, true, false, false, LoraStorage::kFiles, true, false, false},
      {"mistralrs", 0.9, false, false, false, false, false, false, false, false, LoraStorage::kFiles, true, false,
       false},
      {"ollama", 1.0, false, false, false, true, true, true, false, false, LoraStorage::kFiles, true, false, false},
  };
  CHECK(engines().size() == std::size(rows));
  for (const Row& row : rows) {
    CAPTURE(row.engine);
    Request request;
    const Engine& engine = find_engine(row.engine, request);
    CHECK(engine.memory_utilization == row.share);
    CHECK(engine.parallel.data_ranks_share_experts == row.shared_experts);
    CHECK(engine.parallel.expert == row.expert_parallel);
    CHECK(engine.extras.has_beams == row.beams);
    CHECK((engine.extras.image_buffer != nullptr) == row.projectors);
    CHECK(engine.loading.embedding_on_host == row.host_embedding);
    CHECK(engine.has_scores == row.scores);
    CHECK(engine.parallel.deals_draft == row.deals_draft);
    CHECK((engine.slot_tokens != nullptr) == row.ctx_size);
    CHECK(engine.extras.lora == row.lora);
    CHECK(engine.extras.draft_methods.empty() != row.drafts);
    CHECK((engine.cache_budget != nullptr) == row.cache_budget);
    CHECK(engine.parallel.cuts_towers == row.cuts_towers);
  }
}

TEST_CASE("engines: slots of llama.cpp's --ctx-size") {
  // llama-server pads n_ctx to 256, divides it by the slots, and pads what each slot has.
  Request request = request_for("llama.cpp", 1);
  const auto slot = [&](std::uint64_t ctx, std::uint64_t slots, bool unified) {
    request.num_seqs = slots;
    request.llama_cpp.kv_unified = unified;
    return engine_of(request).slot_tokens(Tokens(ctx), request).count();
  };
  CHECK(slot(16384, 1, false) == 16384);
  CHECK(slot(300, 1, false) == 300);
  CHECK(slot(16384, 3, false) == 5632);  // 5461 of them
  CHECK(slot(16384, 4, false) == 4096);
  CHECK(slot(16384, 4, true) == 16384);
  CHECK(slot(300, 2, false) == 256);
  CHECK(slot(1025, 2, false) == 768);  // 1280 / 2
  CHECK(slot(10, 100, false) == 256);
}

}  // namespace
}  // namespace kvplan
