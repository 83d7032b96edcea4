// What engines have in common: parts of ranks and stages, sums of terms, largest loads, drafts, types, names and
// versions.
#include <doctest/doctest.h>

#include "engines/capacity.h"
#include "engines/drafts.h"
#include "engines/estimates.h"
#include "engines/layer_buffers.h"
#include "engines/parallel.h"
#include "engines/requests.h"
#include "engines/term_sum.h"
#include "kvplan/error.h"

namespace kvplan {
namespace {

constexpr CacheTypes kPlain{Dtype::kBfloat16, Dtype::kBfloat16, Dtype::kBfloat16, Dtype::kBfloat16};

LayerCache layer_of(std::uint64_t layer, CacheTerms terms) {
  return {layer, "gqa", terms, terms};
}

Term window_of(std::uint64_t units, std::uint64_t width, std::uint64_t tokens) {
  Term out = term_of(Role::kKey, units, width);
  out.limit = {LimitKind::kWindow, Tokens(tokens), Tokens(0)};
  return out;
}

Term state_of(std::uint64_t units, std::uint64_t vectors, std::uint64_t width, std::uint64_t columns = 0) {
  Term out{.name = "state", .role = Role::kState, .growth = Growth::kSequence, .storage = Storage::kState};
  out.shape = {.units = units, .vectors = vectors, .width = width, .columns = columns};
  return out;
}

// A layout that needs `slope` bytes per token in addition to a fixed part.
class Line : public CacheLayout {
 public:
  Line(std::uint64_t fixed, std::uint64_t slope, std::size_t ranks = 1) : fixed_(fixed), slope_(slope), ranks_(ranks) {}
  Bytes reserved(const Load& load) const override {
    return (Bytes(fixed_) + load.max_model_len.count() * Bytes(slope_)) * load.num_seqs;
  }
  std::vector<RankCache> explain(const Load& load) const override {
    RankCache rank;
    rank.logical = rank.reserved = reserved(load);
    rank.lines.push_back(exact_line(Section::kKvCache, "KV", rank.reserved, "", ""));
    rank.lines.push_back(exact_line(Section::kKvCache, "nothing", Bytes(0), "", ""));
    return std::vector<RankCache>(ranks_, rank);
  }
  std::vector<CacheGroup> groups() const override { return {}; }
  std::optional<std::uint64_t> block_size() const override { return 16; }
  Capacity capacity(Bytes budget, const Load& load) const override {
    Capacity out;
    out.kv_cache_memory = budget;
    out.max_model_len = longest_sequence(*this, budget, load);
    out.max_num_seqs = most_sequences(*this, budget, load);
    out.tokens = out.max_model_len * load.num_seqs;
    return out;
  }
  std::vector<LedgerLine> host(const Load&) const override {
    return {exact_line(Section::kKvCache, "host", Bytes(7), "", "")};
  }

 private:
  std::uint64_t fixed_, slope_;
  std::size_t ranks_;
};

TEST_CASE("parts: the heads of a rank") {
  // Heads are divided over ranks, or repeated if there are fewer heads than ranks. Other numbers are refused.
  const auto local = [](std::uint64_t units, std::uint64_t ranks) {
    return local_units(term_of(Role::kKey, units, 64), ranks);
  };
  CHECK(local(8, 1) == 8);
  CHECK(local(8, 4) == 2);
  CHECK(local(8, 8) == 1);
  CHECK(local(8, 16) == 1);
  CHECK(local(1, 8) == 1);
  CHECK_THROWS_AS(local(8, 3), Error);
  CHECK_THROWS_AS(local(8, 12), Error);
  CHECK_THROWS_AS(local(12, 8), Error);
}

TEST_CASE("parts: layers of pipeline stages") {
  // get_pp_indices of vLLM gives the remainder to stages from the second-to-last backwards. SGLang gives it to the last
  // stages.
  using Layers = std::vector<std::uint64_t>;
  const auto pp = [](std::uint64_t stages, Layers given = {}) {
    Parallel out;
    out.pipeline = stages;
    out.layers = std::move(given);
    return out;
  };
  CHECK(stage_layers(32, pp(1), StageSplit::kSpareLast) == Layers{32});
  CHECK(stage_layers(32, pp(4), StageSplit::kSpareLast) == Layers{8, 8, 8, 8});
  CHECK(stage_layers(61, pp(2), StageSplit::kSpareLast) == Layers{31, 30});
  CHECK(stage_layers(62, pp(4), StageSplit::kSpareLast) == Layers{15, 16, 16, 15});
  CHECK(stage_layers(61, pp(4), StageSplit::kSpareLast) == Layers{15, 15, 16, 15});
  CHECK(stage_layers(63, pp(4), StageSplit::kSpareLast) == Layers{16, 16, 16, 15});
  CHECK(stage_layers(62, pp(4), StageSplit::kLastFirst) == Layers{15, 15, 16, 16});
  CHECK(stage_layers(4, pp(4), StageSplit::kLastFirst) == Layers{1, 1, 1, 1});
  CHECK_THROWS_AS(stage_layers(4, pp(5), StageSplit::kLastFirst), Error);
  // VLLM_PP_LAYER_PARTITION and SGLANG_PP_LAYER_PARTITION have one number for each stage, and their sum is the number
  // of layers.
  CHECK(stage_layers(61, pp(2, {20, 41}), StageSplit::kSpareLast) == Layers{20, 41});
  CHECK_THROWS_AS(stage_layers(61, pp(3, {20, 41}), StageSplit::kSpareLast), Error);
  CHECK_THROWS_AS(stage_layers(62, pp(2, {20, 41}), StageSplit::kSpareLast), Error);
  const auto shares = stage_shares(62, pp(4), StageSplit::kLastFirst);
  REQUIRE(shares.size() == 4);
  CHECK(shares[0].has_embedding);
  CHECK_FALSE(shares[1].has_embedding);
  CHECK_FALSE(shares[2].has_head);
  CHECK(shares[3].has_head);
  CHECK(shares[3].first_layer == 46);
  CHECK(shares[3].layers == 16);
  // A stage has the caches of its layers; one layer may have two.
  EngineInput input;
  input.model.num_layers = 5;
  input.request.parallel.pipeline = 2;
  for (const std::uint64_t layer : {0U, 2U, 2U, 3U, 4U})
    input.caches.push_back(layer_of(layer, {term_of(Role::kKey, 1, 64)}));
  const auto stages = split_stages(input, StageSplit::kSpareLast);
  REQUIRE(stages.size() == 2);
  CHECK(stages[0].size() == 3);
  CHECK(stages[1].size() == 2);
  CHECK(stages[1].front().layer == 3);
}

TEST_CASE("parts: a sum of terms is the sum of their entries") {
  // K of 8 heads of 128 in 16 bit: 2,048 B per token; a window of 1,024 tokens has the same; entries for 4 tokens have
  // 512 elements; source tokens have 256 B; a convolution of 4 columns keeps 3 of 100 channels, and a state of 64 x 16.
  Term compressed = term_of(Role::kKey, 1, 256);
  compressed.stride = 4;
  Term source = term_of(Role::kKey, 1, 128);
  source.growth = Growth::kSourceToken;
  const std::vector<LayerCache> caches{layer_of(0, {term_of(Role::kKey, 8, 128)}),
                                       layer_of(1, {window_of(8, 128, 1024)}), layer_of(2, {compressed, source}),
                                       layer_of(3, {state_of(100, 1, 1, 4)}),
                                       layer_of(4, {term_of(Role::kKey, 8, 128), state_of(64, 1, 16)})};
  const TermSum sum(caches, kPlain, 1);
  const auto bytes = [&](std::uint64_t tokens, std::uint64_t seqs, std::uint64_t from) {
    return sum.bytes(Load{Tokens(tokens), seqs, Tokens(from)}).count();
  };
  const std::uint64_t fixed = 3 * 100 * 2 + 64 * 16 * 2;
  CHECK(bytes(0, 1, 0) == fixed);
  CHECK(bytes(10, 1, 0) == 10 * 3 * 2048 + 2 * 512 + fixed);
  CHECK(bytes(11, 1, 3) == 11 * 3 * 2048 + 2 * 512 + 3 * 256 + fixed);
  CHECK(bytes(5000, 3, 7) == 3 * (5000 * 2 * 2048 + 1024 * 2048 + 1250 * 512 + 7 * 256 + fixed));
  CHECK(sum.per_token() == Bytes(2 * 2048 + 512 / 4));
  CHECK(sum.per_token_in_window() == Bytes(3 * 2048 + 512 / 4));
  CHECK(sum.per_sequence() == Bytes(fixed));
  // A pool is shared by its sequences.
  Load pool{Tokens(5000), 5, Tokens(0)};
  pool.pooled = true;
  CHECK(sum.bytes(pool).count() == 5 * (1000 * 3 * 2048 + 250 * 512 + fixed));
  // Four ranks with two heads each. The single head is repeated.
  CHECK(TermSum({caches[0], caches[2]}, kPlain, 4).bytes(Load{Tokens(100), 1, Tokens(0)}) ==
        Bytes(100 * 512 + 25 * 512));
}

TEST_CASE("parts: the largest load that fits a budget, to the token") {
  // 1000 + 7 bytes per token: 142 tokens fit in 2000 bytes, 143 in 2001, and none below 1007.
  const Line line(1000, 7);
  const Load one{Tokens(10), 1, Tokens(0)};
  CHECK(longest_sequence(line, Bytes(1993), one) == 141);
  CHECK(longest_sequence(line, Bytes(1994), one) == 142);
  CHECK(longest_sequence(line, Bytes(1007), one) == 1);
  CHECK(longest_sequence(line, Bytes(1006), one) == 0);
  CHECK(longest_sequence(line, Bytes(1000 + 7 * 128), one) == 128);
  CHECK(most_sequences(line, Bytes(1070 * 5), one) == 5);
  CHECK(most_sequences(line, Bytes(1070 * 5 - 1), one) == 4);
  CHECK(most_sequences(line, Bytes(1069), one) == 0);
  // A cache that does not grow always fits: the answer is 2^40.
  CHECK(longest_sequence(Line(1000, 0), Bytes(1000), one) == std::uint64_t{1} << 40);
  // An overflow is more than any budget.
  CHECK(longest_sequence(Line(0, std::uint64_t{1} << 62), Bytes(~std::uint64_t{0}), one) == 3);
}

TEST_CASE("parts: a layout's results without its own rules") {
  const Line line(1000, 7, 4);
  const Load load{Tokens(100), 2, Tokens(0)};
  // 1700 bytes for each of two sequences.
  CHECK(line.shortfall(Bytes(3400), load).empty());
  CHECK(in_words(line.shortfall(Bytes(3399), load)).find("3.3 KiB") != std::string::npos);
  CHECK(line.buffers(load, 3).size() == 1);
  CHECK(line.buffers(load, 3).front().bytes == Bytes(3400));
  CHECK(line.buffers(load, 4).empty());
  CHECK(line.reserved_by_stage(load, 2) == std::vector<Bytes>{Bytes(3400), Bytes(3400)});
  CHECK(line.reserved_by_stage(load, 4).size() == 4);
  CHECK(Line(0, 0).reserved_by_stage(load, 1) == std::vector<Bytes>{Bytes(0)});
}

TEST_CASE("parts: a draft beside a model") {
  // The model needs 1000 + 7 bytes per token. Its draft needs 100 + 3 per token, for half of the tokens.
  const auto half = [](const Load& load) {
    Load out = load;
    out.max_model_len = Tokens(load.max_model_len.count() / 2);
    return out;
  };
  const auto both = with_draft(std::make_unique<Line>(1000, 7), std::make_unique<Line>(100, 3), half, "draft");
  const Load load{Tokens(100), 2, Tokens(0)};
  CHECK(both->reserved(load) == Bytes(2 * (1700 + 250)));
  const RankCache rank = both->explain(load).front();
  CHECK(rank.logical == Bytes(3400));
  CHECK(rank.reserved == Bytes(3900));
  REQUIRE(rank.gap.size() == 1);
  CHECK(rank.gap.front().bytes == 500);
  CHECK(rank.lines.size() == 4);
  CHECK(both->block_size() == 16);
  CHECK(both->host(load).size() == 2);
  CHECK(in_words(both->host(load).back().what) == "draft: host");
  // A sequence of 100 tokens needs 1950 bytes, so 5 fit in 9750. One sequence of n tokens needs 1100 + 7 n + 3 (n / 2),
  // which is 9750 at 1017.
  const Capacity held = both->capacity(Bytes(9750), Load{Tokens(100), 1, Tokens(0)});
  CHECK(held.max_num_seqs == 5);
  CHECK(held.max_model_len == 1017);
  CHECK(held.tokens == 1017);
  CHECK(held.max_concurrency == doctest::Approx(10.17));
  // Two sequences have 4875 bytes each: 1100 + 7 n + 3 (n / 2) at n = 444. The pool has both.
  const Capacity two = both->capacity(Bytes(9750), load);
  CHECK(two.max_model_len == 444);
  CHECK(two.tokens == 888);
  // Exactly one byte.
  CHECK(with_draft(std::make_unique<Line>(1000, 7), std::make_unique<Line>(1, 0), half, "draft")
            ->explain(Load{Tokens(100), 1, Tokens(0)})
            .front()
            .gap.size() == 1);
  // A draft without a cache leaves no line in the gap.
  const auto none = with_draft(std::make_unique<Line>(1000, 7), std::make_unique<Line>(0, 0), half, "draft");
  CHECK(none->explain(load).front().gap.empty());
}

TEST_CASE("parts: MTP layers are decoder layers of the main kind") {
  EngineInput input;
  input.model.num_layers = 4;
  input.model.num_nextn_layers = 2;
  input.request.mtp = true;
  input.types = kPlain;
  const auto width = [&] {
    const auto layers = draft_layers(input).caches;
    REQUIRE(layers.size() == 2);
    CHECK(layers[0].layer == 4);
    CHECK(layers[1].layer == 5);
    return layers[0].compact.front().shape.width;
  };
  // The last full attention layer of its kind, not a window or a state.
  input.caches = {layer_of(0, {state_of(8, 8, 8)}), layer_of(1, {term_of(Role::kKey, 8, 128)}),
                  layer_of(2, {term_of(Role::kKey, 8, 192)}), layer_of(3, {window_of(8, 64, 128)})};
  CHECK(width() == 192);
  // It has an indexer if the model has one.
  Term index{.name = "index key", .role = Role::kIndex};
  index.shape.width = 128;
  input.caches[1].compact.own().push_back(index);
  CHECK(width() == 128);
  CHECK(draft_layers(input).label == "MTP layers");
  CHECK(in_words(draft_layers(input).line()) == "MTP layers, 2 layers");
  // DeepSeek-V4's MTP layers have only a window of latents.
  Term latent = window_of(1, 448, 128);
  latent.part = Part::kLatent;
  Term entry = term_of(Role::kKey, 1, 512);
  entry.stride = 4;
  Term sums = state_of(1, 4, 512);
  sums.growth = Growth::kToken;
  sums.limit = {LimitKind::kWindow, Tokens(8), Tokens(0)};
  input.caches = {layer_of(0, {latent, entry, sums})};
  CHECK(width() == 448);
  CHECK(draft_layers(input).caches[0].compact.all().size() == 1);
  // Nothing is drafted without attention, or without a request for it.
  input.caches = {layer_of(0, {state_of(8, 8, 8)})};
  CHECK(draft_layers(input).caches.empty());
  input.request.mtp = false;
  CHECK(draft_layers(input).label.empty());
  // Draft tokens: as requested, else the engine's default if there is a draft.
  CHECK(step_draft_tokens(input, 3) == 0);
  input.draft_method = DraftMethod::kNgram;
  CHECK(step_draft_tokens(input, 3) == 3);
  input.request.num_speculative_tokens = 5;
  CHECK(step_draft_tokens(input, 3) == 5);
  input.request.num_speculative_tokens = 1;
  CHECK(step_draft_tokens(input, 3) == 1);
}

TEST_CASE("parts: a draft model's layers come after the model's") {
  auto draft = std::make_shared<EngineInput>();
  draft->types = kPlain;
  draft->caches = {layer_of(0, {term_of(Role::kKey, 2, 64)}), layer_of(1, {})};
  EngineInput input;
  input.model.num_layers = 32;
  input.draft = draft;
  const DraftLayers layers = draft_layers(input);
  REQUIRE(layers.caches.size() == 1);
  CHECK(layers.caches.front().layer == 32);
  CHECK(in_words(layers.line()) == "draft model, 1 layer");
  input.draft_method = DraftMethod::kEagle;
  CHECK(draft_layers(input).label == "EAGLE layers");
  input.draft_method = DraftMethod::kEagle3;
  CHECK(draft_layers(input).label == "EAGLE-3 layers");
}

TEST_CASE("parts: entries of a buffer") {
  LayerBuffer buffer;
  const auto entries = [&](std::uint64_t tokens) { return buffer.entries(Tokens(tokens), Tokens(1500)); };
  CHECK(entries(1000) == 1000);
  buffer.step = 256;  // MLX: 1000 tokens are four steps
  CHECK(entries(1000) == 1024);
  buffer.limit = 1000;  // a window is rounded up to whole steps, or cut
  CHECK(entries(5000) == 1024);
  buffer.limit_after_step = true;
  CHECK(entries(5000) == 1000);
  CHECK(entries(700) == 768);
  buffer = {};
  buffer.stride = 4;
  CHECK(entries(1003) == 250);
  buffer = {};
  buffer.growth = Growth::kSourceToken;
  CHECK(entries(10) == 1500);
  buffer.growth = Growth::kSequence;
  CHECK(entries(10) == 1);
}

// Layers of 8 heads of 128, K and V, in blocks of 16: 4,096 B per token and layer.
EngineInput four_layers() {
  EngineInput input;
  input.model.num_layers = 4;
  input.types = kPlain;
  for (std::uint64_t i = 0; i < 4; ++i)
    input.caches.push_back(layer_of(i, {term_of(Role::kKey, 8, 128), term_of(Role::kValue, 8, 128)}));
  return input;
}

LayerBufferRules rules_of(std::uint64_t block) {
  LayerBufferRules rules;
  rules.block_size = block;
  rules.source = "a test";
  rules.form = [](const LayerCache& cache) -> const CacheTerms& { return cache.compact; };
  rules.hold = [=](const LayerCache&, const Term& term, std::uint64_t units) {
    LayerBuffer out = plain_buffer(term, entry_bytes(term, kPlain, units, 0));
    if (term.growth == Growth::kToken) out.step = std::max<std::uint64_t>(block, 1);
    if (term.growth == Growth::kToken && block > 0) out.reason = "blocks";
    return out;
  };
  return rules;
}

TEST_CASE("parts: a cache of buffers, by stages and ranks") {
  EngineInput input = four_layers();
  input.request.parallel.pipeline = 2;
  input.request.parallel.tensor = 2;
  const auto layout = layer_buffers_layout(input, rules_of(16));
  const Load load{Tokens(100), 3, Tokens(0)};
  // Two layers and four heads on a rank: 4,096 B per token; 112 tokens of a sequence.
  CHECK(layout->reserved(load) == Bytes(3 * 112 * 4096));
  const auto ranks = layout->explain(load);
  REQUIRE(ranks.size() == 4);
  for (const RankCache& rank : ranks) {
    CHECK(rank.logical == Bytes(3 * 100 * 4096));
    CHECK(rank.reserved == Bytes(3 * 112 * 4096));
    REQUIRE(rank.gap.size() == 1);
    CHECK(in_words(rank.gap.front().reason) == "gqa: blocks");
    CHECK(rank.gap.front().bytes == 3 * 12 * 4096);
    CHECK(in_words(rank.lines.front().what) == "gqa, 2 layers");
    CHECK(in_words(rank.lines.front().formula) == "(112 x 4096 B) x 3 sequences");
  }
  CHECK(layout->reserved_by_stage(load, 2) == std::vector<Bytes>{Bytes(3 * 112 * 4096), Bytes(3 * 112 * 4096)});
  REQUIRE(layout->groups().size() == 1);
  CHECK(layout->groups().front().layers == 4);
  CHECK(layout->groups().front().block_size == 16);
  CHECK(layout->groups().front().page_bytes == Bytes(16 * 2048));
  CHECK(layout->buffers(load, 2).size() == 4);
  CHECK(layout->buffers(load, 2).front().name == "layer 2, key");
  CHECK(layout->host(load).empty());
  // 100,000 bytes: one block of 16 tokens is 65,536.
  const Capacity held = layout->capacity(Bytes(200000), load);
  CHECK(held.tokens == 48);
  CHECK(held.num_blocks == 3);
  CHECK(held.max_concurrency == doctest::Approx(200000.0 / (112 * 4096)));
  // Without blocks single tokens are counted.
  input.request.parallel.pipeline = input.request.parallel.tensor = 1;
  const auto loose = layer_buffers_layout(input, rules_of(0));
  CHECK(loose->capacity(Bytes(200000), load).tokens == 12);
  CHECK_FALSE(loose->capacity(Bytes(200000), load).num_blocks);
  CHECK_FALSE(loose->block_size());
  CHECK(loose->explain(load).front().gap.empty());
  CHECK(in_words(loose->explain(Load{Tokens(1), 1, Tokens(0)}).front().lines.front().formula) ==
        "(1 x 16384 B) x 1 sequence");
}

TEST_CASE("parts: caches that grow get the budget that constant ones leave") {
  // A window of 100 tokens of 2,048 B, a state of 2,000 B, beside one layer of 4,096 B per token.
  EngineInput input = four_layers();
  input.caches.resize(1);
  input.caches.push_back(layer_of(1, {window_of(8, 128, 100)}));
  input.caches.push_back(layer_of(2, {state_of(1000, 1, 1)}));
  const auto layout = layer_buffers_layout(input, rules_of(0));
  const Load load{Tokens(500), 2, Tokens(0)};
  CHECK(layout->reserved(load) == Bytes(2 * (500 * 4096 + 100 * 2048 + 2000)));
  CHECK(layout->capacity(Bytes(2 * (100 * 2048 + 2000) + 4096 * 77 + 5), load).tokens == 77);
  CHECK(layout->capacity(Bytes(1000), load).tokens == 0);
  // The draft is on the last stage. It is not part of the architecture's need.
  auto draft = std::make_shared<EngineInput>();
  draft->types = kPlain;
  draft->caches = {layer_of(0, {term_of(Role::kKey, 1, 50)})};
  input.draft = draft;
  input.request.parallel.pipeline = 2;
  const auto with = layer_buffers_layout(input, rules_of(0));
  const auto ranks = with->explain(load);
  REQUIRE(ranks.size() == 2);
  CHECK(ranks[1].reserved - ranks[1].logical == Bytes(2 * 500 * 100));
  CHECK(in_words(ranks[1].gap.back().reason) == "draft model: its own cache");
  CHECK(ranks[0].gap.empty());
}

TEST_CASE("parts: the types that \"auto\" stands for") {
  ModelShape model;
  Request request;
  const auto types = [&] { return resolve_default_types(model, request); };
  model.dtype = Dtype::kFloat16;
  CHECK(types() == CacheTypes{Dtype::kFloat16, Dtype::kFloat16, Dtype::kFloat16, Dtype::kFloat16});
  // A float32 checkpoint is served in 16 bit, but its states stay float32.
  model.dtype = Dtype::kFloat32;
  CHECK(types().key == Dtype::kBfloat16);
  CHECK(types().state == Dtype::kFloat32);
  // The checkpoint declares one type and the request names another. The request wins.
  model.declared_kv_dtype = Dtype::kFp8E4m3;
  model.declared_state_dtype = Dtype::kBfloat16;
  CHECK(types().key == Dtype::kFp8E4m3);
  CHECK(types().value == Dtype::kFp8E4m3);
  CHECK(types().state == Dtype::kBfloat16);
  request.cache_type_k = Dtype::kFloat16;
  request.state_dtype = Dtype::kFloat16;
  CHECK(types().key == Dtype::kFloat16);
  CHECK(types().value == Dtype::kFp8E4m3);
  CHECK(types().state == Dtype::kFloat16);
  request.dtype = Dtype::kInt4;
  CHECK_THROWS_AS(types(), Error);
}

TEST_CASE("parts: engines by name and release") {
  Request request;
  const auto version = [&](const char* text) {
    const Engine& engine = find_engine(text, request);
    return engine_version(engine, request);
  };
  // "0.20" is 20, "5.16" 5016; a patch level changes nothing; a build of llama.cpp is older than every version.
  CHECK(version("vllm@0.20") == 20);
  CHECK(version("vllm@0.20.1") == 20);
  CHECK(version("vllm@0.20.1.2") == 20);
  CHECK(version("transformers@5.16") == 5016);
  CHECK(version("transformers@4.999") == 4999);
  CHECK(version("transformers@5") == 5000);
  CHECK(version("vllm") == 33);
  CHECK(version("llama.cpp@b6900") == 0);
  CHECK(version("hf") == 5024);
  CHECK(request.engine == engine_named("transformers"));
  CHECK(version("trt-llm@1.0") == 1000);
  for (const char* bad : {"vllm@", "vllm@x", "vllm@0.", "vllm@0.20x", "vllm@0.1000", "vllm@0-20", "vllm@1000000.1",
                          "llama.cpp@b", "llama.cpp@b69x", "vllm@0.20.1x", "vlm", ""})
    CHECK_THROWS_AS(version(bad), Error);
  CHECK_THROWS_AS(engine_named("none such"), Error);
  CHECK(engine_of(Request()).is_logical);
  CHECK(version("vllm@100000.1") == 100000001);
}

}  // namespace
}  // namespace kvplan
