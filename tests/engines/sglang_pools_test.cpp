// SGLang's pools, rule by rule: arithmetic of model_executor/pool_configurator.py, mem_cache/memory_pool.py and
// server_args.py.
#include "engines/sglang/pools.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "engines/requests.h"
#include "engines/sglang/sglang.h"
#include "kvplan/error.h"
#include "plan/plan.h"
#include "plan/steps.h"
#include "sources/load.h"
#include "support/figures.h"

namespace kvplan {
namespace {

// Layers have 8 heads of 64: 2,048 B per token and layer in 16 bit.

// A state of 1,000,000 B: 62,500 rows of 8 in 16 bit.
CacheTerms state() {
  Term out{.name = "ssm state", .role = Role::kState, .growth = Growth::kSequence, .storage = Storage::kModel};
  out.shape = {.units = 100, .vectors = 625, .width = 8};
  return {out};
}

EngineInput input_of(std::string_view type, std::vector<CacheTerms> layers) {
  EngineInput out;
  out.request = request_for("sglang", 4096);
  out.request.extras.mamba_strategy = "no_buffer";  // three state slots per request
  out.model.arch = test_arch(type);
  out.model.num_layers = layers.size();
  for (CacheTerms& terms : layers) out.caches.push_back({out.caches.size(), "kind", terms, terms});
  out.types = {Dtype::kBfloat16, Dtype::kBfloat16, Dtype::kBfloat16, Dtype::kBfloat16};
  return out;
}

struct Laid {
  std::unique_ptr<CacheLayout> layout;
  std::vector<Note> notes;
};
Laid laid(const EngineInput& input) {
  Laid out;
  out.layout = engine_of(input.request).layout(input, out.notes);
  return out;
}

Load load_for(std::uint64_t tokens, std::uint64_t seqs = 1, std::uint64_t source = 0) {
  return {Tokens(tokens), seqs, Tokens(source)};
}

Bytes line_of(const RankCache& rank, std::string_view beginning) {
  for (const LedgerLine& line : rank.lines)
    if (in_words(line.what).starts_with(beginning)) return line.bytes;
  return Bytes(0);
}
std::int64_t reason(const RankCache& rank, std::string_view text) {
  for (const GapLine& line : rank.gap)
    if (in_words(line.reason) == text) return line.bytes;
  return 0;
}

TEST_CASE("sglang pools: a model with only window layers has one pool") {
  // Two layers, a window of 128, pages of one token: a sequence needs 129 tokens. The pool has more than a window and a
  // page (130), and a dummy page.
  const EngineInput input = input_of("gpt_oss", {heads(8, 64, 128), heads(8, 64, 128)});
  const auto layout = laid(input).layout;
  CHECK(layout->reserved(load_for(4096)) == Bytes((130 + 1) * 4096));
  CHECK(layout->reserved(load_for(4096, 3)) == Bytes((3 * 129 + 1) * 4096));
  CHECK(layout->reserved(load_for(50, 4)) == Bytes((200 + 1) * 4096));
  const RankCache rank = layout->explain(load_for(4096, 3)).front();
  CHECK(line_of(rank, "window pool: 2 layers") == Bytes(3 * 129 * 4096));
  CHECK(line_of(rank, "window pool: dummy page") == Bytes(4096));
  CHECK(rank.logical == Bytes(3 * 128 * 4096));
  // The tokens that fit a budget are those of this pool.
  const Capacity held = layout->capacity(Bytes(1000 * 4096 + 4095), load_for(4096));
  CHECK(held.tokens == 1000);
  CHECK(held.num_blocks == 1000);
  CHECK(held.max_num_seqs == 7);  // 903 tokens
  CHECK(layout->shortfall(Bytes(130 * 4096), load_for(4096)).empty());
  CHECK(in_words(layout->shortfall(Bytes(129 * 4096), load_for(4096))).find("one window and a page (130)") !=
        std::string::npos);
  CHECK(in_words(layout->shortfall(Bytes(130 * 4096), load_for(4096, 5)))
            .find("645 tokens of the pool are needed and 130 fit") != std::string::npos);
  // Five sequences need 645 tokens: 2,641,920 bytes.
  const std::string shortfall = in_words(layout->shortfall(Bytes(600 * 4096), load_for(4096, 5)));
  CHECK(shortfall.find("645 tokens of the pool are needed and 600 fit") != std::string::npos);
  CHECK(shortfall.find("give the KV cache 2.6 MiB") != std::string::npos);
}

TEST_CASE("sglang pools: with pages of several tokens, pools have whole pages") {
  EngineInput input = input_of("llama", {heads(8, 64), heads(8, 64)});
  input.request.block_size = 64;
  const auto layout = laid(input).layout;
  REQUIRE(layout->groups().size() == 1);
  CHECK(layout->groups().front().block_size == 64);
  CHECK(layout->groups().front().page_bytes == Bytes(64 * 2048));
  const Capacity held = layout->capacity(Bytes(4096 * 1000), load_for(100));
  CHECK(held.tokens == 15 * 64);
  CHECK(held.num_blocks == 15);
  // Models without states get no note about state slots.
  input.request.max_num_seqs = 100;
  CHECK(laid(input).notes.empty());
}

TEST_CASE("sglang pools: a window pool is 0.8 of the tokens, in whole pages") {
  // One full layer and one of a window of 128, pages of 64: 4,096 tokens, 0.8 of them are 3,276, 51 pages.
  EngineInput input = input_of("gpt_oss", {heads(8, 64), heads(8, 64, 128)});
  input.request.block_size = 64;
  const auto layout = laid(input).layout;
  const RankCache rank = layout->explain(load_for(4096)).front();
  CHECK(line_of(rank, "KV pool: 1 layers") == Bytes(4096 * 2048));
  CHECK(line_of(rank, "KV pool: dummy page") == Bytes(64 * 2048));
  CHECK(line_of(rank, "window pool: 1 layers") == Bytes(51 * 64 * 2048));
  CHECK(line_of(rank, "window pool: dummy page") == Bytes(64 * 2048));
  CHECK(reason(rank, "dummy page") == 2 * 64 * 2048);
  CHECK(reason(rank, "page rounding") == 0);
  CHECK(reason(laid(input).layout->explain(load_for(4000, 3)).front(), "page rounding") == 3 * 32 * 2048);
  // Short sequences are limited by the windows: 10 sequences of 100 tokens need 10 * 128 tokens of the second pool, so
  // the first has 1,600 instead of 1,280.
  const RankCache many = layout->explain(load_for(100, 10)).front();
  CHECK(line_of(many, "KV pool: 1 layers") == Bytes(1600 * 2048));
  CHECK(line_of(many, "window pool: 1 layers") == Bytes(1280 * 2048));
  CHECK(reason(many, "KV pool required by the window pool's ratio") == 320 * 2048);
  // A budget is divided by full + 0.8 * windows for each token, in whole pages.
  const Capacity held = layout->capacity(Bytes(1000000000), load_for(4096));
  CHECK(held.tokens == 1000000000ULL * 5 / (2048 * 5 + 2048 * 4) / 64 * 64);
  // Layers of models that are not on the hybrid list keep every token.
  const Laid plain = laid(input_of("mistral", {heads(8, 64), heads(8, 64, 128)}));
  CHECK(plain.layout->reserved(load_for(4096)) == Bytes(4097 * 4096));
  CHECK(std::any_of(plain.notes.begin(), plain.notes.end(),
                    [](const Note& note) { return note.code == "windows_kept_whole"; }));
  CHECK(laid(input).notes.empty());
}

TEST_CASE("sglang pools: without a radix cache the number of running requests sets the window pool's size") {
  // SWAChunkCapPoolConfigurator: 127 + 128 + 2 pages of one token for each of four, two chunks of 100 and a page.
  EngineInput input = input_of("gpt_oss", {heads(8, 64), heads(8, 64, 128)});
  input.request.extras.disable_radix_cache = true;
  const Bytes budget((4 * 257 + 201 + 1000) * 2048);
  const auto tokens = [&] { return laid(input).layout->capacity(budget, load_for(100)).tokens; };
  CHECK(tokens() == 2229 * 5 / 9);
  input.request.max_num_seqs = 4;
  input.request.max_num_batched_tokens = Tokens(100);
  CHECK(tokens() == 1000);
  const auto layout = laid(input).layout;
  CHECK(layout->capacity(budget, load_for(100)).max_num_seqs == 10);
  CHECK(layout->reserved(load_for(500, 2)) == Bytes((1001 + 1230) * 2048));
  // Sequences beyond the cap also need windows.
  CHECK(layout->reserved(load_for(500, 20)) == Bytes((10001 + 20 * 129 + 1) * 2048));
  CHECK(layout->capacity(Bytes(1000 * 2048), load_for(100)).tokens == 0);
  const RankCache rank = layout->explain(load_for(500, 2)).front();
  CHECK(line_of(rank, "window pool: 1 layers") == Bytes(1229 * 2048));
  CHECK(reason(rank, "window pool: of all requests that may run") == (1229 - 2 * 128) * 2048);
  // In whole pages: 127 + 128 + 128 for each request, 200 and 64 more are 1796, or 1856 in pages of 64.
  input.request.block_size = 64;
  CHECK(laid(input).layout->reserved(load_for(500, 2)) == Bytes((1024 + 64 + 1856 + 64) * 2048));
  // This does not apply with drafts, nor before 0.5.14.
  input.request.block_size = 1;
  input.draft_method = DraftMethod::kNgram;
  CHECK(tokens() == 2229 * 5 / 9);
  input.request.extras.verify_tokens = 1;  // this turns speculative decoding on
  CHECK(tokens() == 2229 * 5 / 9);
  input.draft_method.reset();
  input.request.engine_version = "0.5.14";
  CHECK(tokens() != 2229 * 5 / 9);
  input.request.engine_version = "0.5.13";
  CHECK(tokens() == 2229 * 5 / 9);
}

TEST_CASE("sglang pools: every stage has the tokens that fit the fullest one") {
  // Three layers on two stages: one, and two on the last stage.
  EngineInput input = input_of("llama", {heads(8, 64), heads(8, 64), heads(8, 64)});
  input.request.parallel.pipeline = 2;
  const auto layout = laid(input).layout;
  CHECK(layout->reserved_by_stage(load_for(1000), 2) == std::vector<Bytes>{Bytes(1001 * 2048), Bytes(1001 * 4096)});
  CHECK(layout->reserved(load_for(1000)) == Bytes(1001 * 4096));
  CHECK(layout->capacity(Bytes(4096 * 500), load_for(100)).tokens == 500);
  CHECK(layout->capacity(Bytes(4096 * 500), load_for(100)).max_concurrency == 5.0);
  CHECK(layout->capacity(Bytes(4096 * 500), load_for(100)).max_num_seqs == 5);
  CHECK(layout->capacity(Bytes(4096 * 500), load_for(100, 2)).max_model_len == 250);
  REQUIRE(layout->groups().size() == 1);
  CHECK(layout->groups().front().layers == 3);
  CHECK(layout->groups().front().page_bytes == Bytes(2048));
  // 2^50 bytes: 2^38 tokens of 4,096 B. An overflow (2^30 source tokens of 2^34 sequences) fits no pool.
  const Bytes large(std::uint64_t{1} << 50);
  CHECK(layout->capacity(large, load_for(1)).max_num_seqs == std::uint64_t{1} << 38);
  CHECK(layout->capacity(large, load_for(1, 1, 1 << 30)).max_num_seqs == (std::uint64_t{1} << 34) - 1);
}

TEST_CASE("sglang pools: how many state slots a budget has") {
  // States of 1,000,000 B and 2,048 B per token. 0.9 / 1.9 of 38,000,000 are 18 slots, one of them padding; a request
  // takes three. The rest is the pool of tokens: 38,000,000 - 18 slots.
  EngineInput input = input_of("falcon_h1", {state(), heads(8, 64)});
  const auto layout = laid(input).layout;
  const Capacity held = layout->capacity(Bytes(38000001), load_for(1000));
  CHECK(held.max_num_seqs == 5);
  CHECK(held.tokens == 20000001 / 2048);
  CHECK(layout->reserved(load_for(1000, 2)) == Bytes((2 * 3 + 1) * 1000000 + 2001 * 2048));
  const RankCache rank = layout->explain(load_for(1000, 2)).front();
  CHECK(reason(rank, "padding slot of the state pool") == 1000000);
  CHECK(reason(rank, "state slots that the radix tree keeps") == 4000000);
  CHECK(layout->shortfall(Bytes(38000001), load_for(1000, 5)).empty());
  CHECK(in_words(layout->shortfall(Bytes(38000001), load_for(1000, 6))).find("18 state slots are needed and 17 fit") !=
        std::string::npos);
  CHECK(in_words(layout->shortfall(Bytes(2000000), load_for(1000))).find("no state slot fits") != std::string::npos);
  CHECK(in_words(layout->shortfall(Bytes(2000000), load_for(1000))).find("takes 1.9 MiB") != std::string::npos);
  // Four slots, of which a request needs three: 0.9 / 1.9 of 8,444,445 B.
  CHECK(layout->shortfall(Bytes(8444445), load_for(1)).empty());
  CHECK(in_words(layout->shortfall(Bytes(8444443), load_for(1))).find("give the KV cache 8.1 MiB") !=
        std::string::npos);
  // --max-num-seqs has no effect, and a note says so.
  CHECK(laid(input).notes.empty());
  input.request.max_num_seqs = 100;
  REQUIRE(laid(input).notes.size() == 1);
  CHECK(laid(input).notes.front().code == "state_slots");
  // Speculative decoding, D tokens verified: slots = (share - slot * (1 + D)) / (slot * (1 + D / 3)); 18,000,000 - 5
  // slots over 2 1/3.
  input.request.max_num_seqs.reset();
  input.draft_method = DraftMethod::kNgram;
  const auto guessing = laid(input).layout;
  CHECK(guessing->capacity(Bytes(38000001), load_for(100)).max_num_seqs == 1);  // 5 slots
  CHECK(guessing->capacity(Bytes(60000000), load_for(100)).max_num_seqs == 3);  // 28,421,052: 10 slots
  CHECK(guessing->capacity(Bytes(10000000), load_for(100)).max_num_seqs == 0);
  CHECK(guessing->reserved(load_for(1000, 2)) == Bytes((2 * 3 + 1 + 3 * 4) * 1000000 + 2001 * 2048));
  // The rest of the budget: 60,000,000 - (10 + 1 + 4 * (10 / 3 + 1)) slots.
  CHECK(guessing->capacity(Bytes(60000000), load_for(100)).tokens == 33000000 / 2048);
  // Only states: no tokens.
  const auto mamba = laid(input_of("mamba", {state()})).layout;
  // A token needs no bytes, so there are as many as the context has (DefaultPoolConfigurator, _zero_kv_max_tokens).
  CHECK(mamba->capacity(Bytes(38000001), load_for(1000)).tokens == 1000);
  CHECK(mamba->capacity(Bytes(38000001), load_for(1000)).max_concurrency == 5.0);
  CHECK(mamba->reserved(load_for(1000)) == Bytes(4 * 1000000));
  // In whole pages.
  EngineInput paged = input_of("mamba", {state()});
  paged.request.block_size = 64;
  CHECK(laid(paged).layout->capacity(Bytes(38000001), load_for(1000)).tokens == 960);
  CHECK(laid(paged).layout->capacity(Bytes(38000001), load_for(1000)).num_blocks == 15);
}

TEST_CASE("sglang pools: states of speculative tokens are stored for the requests that may run") {
  // 48 requests unless --max-running-requests says otherwise (_handle_max_mamba_cache): 0.9 / 1.9 of 3.8 GB are 1800
  // slots. Minus 5 and divided by 2 1/3 they are 769, for 256 requests.
  EngineInput input = input_of("falcon_h1", {state(), heads(8, 64)});
  input.draft_method = DraftMethod::kEagle;
  const Bytes budget(3800000001);
  const auto tokens = [&] { return laid(input).layout->capacity(budget, load_for(1000)).tokens; };
  CHECK(tokens() == (3800000001 - (769 + 1 + (48 + 1) * 4) * 1000000ULL) / 2048);
  CHECK(laid(input).layout->capacity(budget, load_for(1000)).max_num_seqs == 256);
  // Before 0.5.13 the states of 48 requests are taken first: 0.9 / 1.9 of 3.608 GB are 1709 slots.
  input.request.engine_version = "0.5.12";
  CHECK(tokens() == (3800000001 - (1709 + 48 * 4) * 1000000ULL) / 2048);
  input.request.engine_version.clear();
  CHECK(laid(input).layout->reserved(load_for(1000, 2)) == Bytes((2 * 3 + 1 + 3 * 4) * 1000000 + 2001 * 2048));
  CHECK(laid(input).layout->reserved(load_for(1, 100)) == Bytes((100 * 3 + 1 + 49 * 4) * 1000000ULL + 101 * 2048));
  input.request.max_num_seqs = 16;
  CHECK(tokens() == (3800000001 - (769 + 1 + (16 + 1) * 4) * 1000000ULL) / 2048);
  CHECK(laid(input).notes.empty());
  // A data parallel rank of attention runs its part of the requests.
  input.request.parallel.tensor = input.request.parallel.data = 8;
  input.request.parallel.dp_attention = true;
  CHECK(tokens() == (3800000001 - (769 + 1 + (2 + 1) * 4) * 1000000ULL) / 2048);
  input.request.max_num_seqs = 4;
  CHECK(tokens() == (3800000001 - (769 + 1 + (1 + 1) * 4) * 1000000ULL) / 2048);
  // Until 0.5.16 the padding was not part of the budget: 1800 slots divided by 2 1/3 are 771.
  input.request.engine_version = "0.5.16";
  CHECK(tokens() == (3800000001 - (771 + 1 * 4) * 1000000ULL) / 2048);
}

TEST_CASE("sglang pools: until 0.5.16 no budget included the padding slot") {
  // granite-4.0-h-small: 36 layers of 128 * 64 * 128 float32 and 3 * 8448 in 16 bit. A log of 65.608 GiB prints 218
  // slots; since sglang#32184 there are 217.
  Term slot{.name = "ssm state", .role = Role::kState, .growth = Growth::kSequence, .storage = Storage::kModel};
  slot.shape = {.units = 1, .vectors = 36, .width = 2 * 128 * 64 * 128 + 3 * 8448};
  EngineInput input = input_of("granitemoehybrid", {{slot}});
  const Bytes budget(static_cast<std::uint64_t>(65.608 * static_cast<double>(kGiB)));
  const auto told = [&](const char* version) {
    input.request.engine_version = version;
    return in_words(laid(input).layout->shortfall(budget, load_for(1, 1000)));
  };
  for (const char* version : {"0.4", "0.5.9", "0.5.16"}) CHECK(told(version).find("and 218 fit") != std::string::npos);
  for (const char* version : {"0.5.17", "0.5", ""}) CHECK(told(version).find("and 217 fit") != std::string::npos);
}

TEST_CASE("sglang pools: state slots of a request by release and class") {
  // Executed with 0.5.8 and 0.5.23: three and five of Nemotron-H, Qwen3.5 and Falcon-H1, three of Mamba and LFM2; 0.5.8
  // has 512 slots of Kimi Linear, whose radix cache is off, and of any model without one.
  EngineInput input = input_of("falcon_h1", {state(), heads(8, 64)});
  input.request.extras.mamba_strategy.clear();
  const auto slots = [&](std::string_view type, const char* version) {
    input.model.arch = test_arch(type);
    input.request.engine_version = version;
    return sglang_slots(input);
  };
  for (const char* type : {"falcon_h1", "nemotron_h", "qwen3_5_text"}) {
    CHECK(slots(type, "0.5.23") == 5);
    CHECK(slots(type, "0.5.8") == 3);
  }
  for (const char* type : {"mamba", "falcon_mamba", "lfm2"}) CHECK(slots(type, "0.5.23") == 3);
  CHECK(slots("kimi_linear", "0.5.23") == 5);
  CHECK(slots("kimi_linear", "0.5.8") == 1);
  CHECK(laid(input).layout->capacity(Bytes(1000000000), load_for(10)).max_num_seqs == 512);
}

TEST_CASE("sglang pools: sizes from options instead of shares") {
  EngineInput input = input_of("falcon_h1", {state(), heads(8, 64)});
  const Bytes budget(38000001);
  const auto held = [&](std::uint64_t tokens = 1000, std::uint64_t seqs = 1) {
    return laid(input).layout->capacity(budget, load_for(tokens, seqs));
  };
  // --max-mamba-cache-size 7: seven slots and the padding. The rest of the budget is tokens.
  ExtrasRequest& extras = input.request.extras;
  extras.state_slots = 7;
  CHECK(held().tokens == 30000001 / 2048);
  CHECK(held().max_num_seqs == 2);
  CHECK(laid(input).layout->reserved(load_for(1000)) == Bytes(8 * 1000000 + 1001 * 2048));
  CHECK(laid(input).layout->shortfall(budget, load_for(1000, 2)).empty());
  CHECK(in_words(laid(input).layout->shortfall(budget, load_for(1000, 3)))
            .find("9 state slots are needed, and the command sets 7; raise --max-mamba-cache-size") !=
        std::string::npos);
  input.request.parallel.tensor = input.request.parallel.data = 2;
  input.request.parallel.dp_attention = true;
  CHECK(held().tokens == 34000001 / 2048);  // three on each data parallel rank
  input.request.parallel.tensor = input.request.parallel.data = 1;
  input.request.parallel.dp_attention = false;
  // --mamba-full-memory-ratio 0.5: a third of the budget is for slots.
  extras.state_slots.reset();
  extras.state_ratio = 0.5;
  CHECK(held().tokens == 26000001 / 2048);  // 12
  CHECK(held().max_num_seqs == 3);
  // --disable-radix-cache and --max-running-requests 9: nine slots.
  extras.disable_radix_cache = true;
  CHECK(held().tokens == 26000001 / 2048);
  input.request.engine_version = "0.5.9";
  CHECK(held().tokens == 26000001 / 2048);
  input.request.engine_version = "0.5.8";  // 512 slots, more than the budget
  CHECK(held().tokens == 0);
  input.request.engine_version.clear();
  input.request.max_num_seqs = 9;
  CHECK(held().tokens == 28000001 / 2048);
  CHECK(held().max_num_seqs == 9);
  CHECK(laid(input).notes.empty());
  // --max-total-tokens 5000.
  extras.max_total_tokens = 5000;
  CHECK(held().tokens == 5000);
  CHECK(held(2500).max_num_seqs == 2);
  input.request.block_size = 64;
  CHECK(held().tokens == 4992);
  // Without a radix tree the scheduler keeps one page free, so two requests of 2,496 tokens do not run together.
  CHECK(laid(input).layout->fits(budget, load_for(2432, 2)));
  CHECK(laid(input).layout->runs_at_once(budget, load_for(2496, 2), {{Tokens(2496)}, {}}) == 1);
  CHECK_FALSE(laid(input).layout->fits(budget, load_for(2496, 2)));
  CHECK(in_words(laid(input).layout->shortfall(budget, load_for(2497, 2)))
            .find("5120 tokens of the pool are needed and --max-total-tokens allows 5000") != std::string::npos);
  // --swa-full-tokens-ratio 0.25: full + 0.25 * windows for each token.
  EngineInput windows = input_of("gpt_oss", {heads(8, 64), heads(8, 64, 128)});
  windows.request.extras.swa_ratio = 0.25;
  CHECK(laid(windows).layout->capacity(Bytes(2560 * 1000), load_for(100)).tokens == 1000);
  CHECK(laid(windows).layout->capacity(Bytes(2560 * 1000 - 1), load_for(100)).tokens == 999);
  CHECK(laid(windows).layout->reserved(load_for(4096)) == Bytes((4097 + 1025) * 2048));
}

TEST_CASE("sglang pools: the budget counts a draft as layers of the model, but the draft has its own pool") {
  // Two layers of 2,048 B; a draft of one layer of 300 B: the budget counts a token as 1.5 times the model's.
  EngineInput input = input_of("llama", {heads(8, 64), heads(8, 64)});
  auto draft = std::make_shared<EngineInput>();
  draft->types = input.types;
  draft->caches = {{0, "kind", {term_of(Role::kKey, 1, 150)}, {}}};
  input.draft = draft;
  input.draft_method = DraftMethod::kModel;
  const auto layout = laid(input).layout;
  CHECK(layout->capacity(Bytes(6144 * 100), load_for(10)).tokens == 100);
  CHECK(layout->capacity(Bytes(6144 * 100 - 1), load_for(10)).tokens == 99);
  const RankCache rank = layout->explain(load_for(1000, 2)).front();
  CHECK(line_of(rank, "draft model, 1 layer") == Bytes(2001 * 300));
  CHECK(reason(rank, "draft model, 1 layer") == 2001 * 300);
  CHECK(layout->reserved(load_for(1000, 2)) == Bytes(2001 * (4096 + 300)));
  // A draft of two layers counts twice. If the model only has windows, the draft's own bytes count.
  draft->caches.push_back({1, "kind", {term_of(Role::kKey, 1, 150)}, {}});
  CHECK(laid(input).layout->capacity(Bytes(8192 * 100), load_for(10)).tokens == 100);
  EngineInput windows = input_of("gpt_oss", {heads(8, 64, 128)});
  windows.draft = draft;
  CHECK(laid(windows).layout->capacity(Bytes(2648 * 500), load_for(10)).tokens == 500);
  CHECK(laid(windows).layout->reserved(load_for(4096)) == Bytes(131 * (2048 + 600)));
}

TEST_CASE("sglang pools: buffers add up with states, speculative tokens and drafts") {
  EngineInput input = input_of("falcon_h1", {state(), heads(8, 64), heads(8, 64)});
  auto draft = std::make_shared<EngineInput>();
  draft->types = input.types;
  draft->caches = {{0, "kind", {term_of(Role::kKey, 1, 150)}, {}}};
  input.draft = draft;
  input.draft_method = DraftMethod::kModel;
  const auto layout = laid(input).layout;
  const Load load = load_for(1000, 2);
  Bytes sum;
  std::vector<std::string> names;
  for (const CacheBuffer& buffer : layout->buffers(load, 0)) {
    sum += buffer.bytes;
    names.push_back(in_words(buffer.line));
  }
  // States: 6 slots, the padding, and 4 draft states for each of 3 requests. K and V: two layers of 2001 tokens. And
  // the draft's pool.
  CHECK(sum == Bytes(19 * 1000000 + 2001 * (4096 + 300)));
  CHECK(names.size() == 7);
  CHECK(std::count(names.begin(), names.end(), "states of guessed tokens") == 1);
  CHECK(std::count(names.begin(), names.end(), "state pool with its padding slot") == 1);
  CHECK(std::count(names.begin(), names.end(), "draft model, 1 layer") == 1);
}

TEST_CASE("sglang pools: buffers of every rank") {
  // Two stages of two layers with two ranks each: K and V of each pool are separate, and add up to what a rank
  // reserves.
  EngineInput input = input_of("gpt_oss", {heads(8, 64), heads(8, 64, 128), heads(8, 64), heads(8, 64, 128)});
  input.request.parallel.pipeline = input.request.parallel.tensor = 2;
  const auto layout = laid(input).layout;
  for (std::size_t rank = 0; rank < 4; ++rank) {
    const auto buffers = layout->buffers(load_for(1000, 2), rank);
    CHECK(buffers.size() == 4);
    CHECK(buffers.front().name == (rank < 2 ? "layer 0, K" : "layer 2, K"));
    Bytes sum;
    for (const CacheBuffer& buffer : buffers) sum += buffer.bytes;
    CHECK(sum == layout->explain(load_for(1000, 2))[rank].reserved);
  }
  // A latent is one tensor.
  const auto latent = laid(input_of("deepseek_v3", {{term_of(Role::kKey, 1, 512)}})).layout;
  CHECK(latent->buffers(load_for(10), 0).size() == 1);
}

TEST_CASE("sglang pools: encoder tokens have a separate pool") {
  CacheTerms cross = heads(8, 64);
  for (Term& term : cross) term.growth = Growth::kSourceToken;
  const auto layout = laid(input_of("llama", {heads(8, 64), cross})).layout;
  const RankCache rank = layout->explain(load_for(100, 3, 1601)).front();
  CHECK(line_of(rank, "encoder tokens") == Bytes(3 * 1601 * 2048));
  CHECK(rank.reserved == Bytes((301 + 3 * 1601) * 2048));
  CHECK(layout->reserved(load_for(100, 3, 1601)) == rank.reserved);
  CHECK(layout->reserved_by_stage(load_for(100, 3, 1601), 1).front() == rank.reserved);
  Bytes sum;
  for (const CacheBuffer& buffer : layout->buffers(load_for(100, 3, 1601), 0)) sum += buffer.bytes;
  CHECK(sum == rank.reserved);
  CHECK(rank.logical == Bytes((300 + 3 * 1601) * 2048));
  // The requests' sums are subtracted from the budget first.
  CHECK(layout->capacity(Bytes((1601 + 77) * 2048), load_for(10, 1, 1601)).tokens == 77);
  CHECK(layout->capacity(Bytes(1600 * 2048), load_for(10, 1, 1601)).tokens == 0);
  // Keys and values of images are in the token pool: Llama 3.2 Vision has 40 layers there (executed).
  const auto among = laid(input_of("mllama", {heads(8, 64), cross})).layout;
  CHECK(among->reserved(load_for(100, 3, 1601)) == Bytes(301 * 4096));
}

TEST_CASE("sglang pools: DeepSeek-V4's bytes of a token until 0.5.20 (DSV4PoolConfigurator)") {
  // 0.1 * 584 * n + (584 + 132) / 4 * n4 + 584 / 128 * n128 + 0.1 * 8 / 128 * (2 * 2 * 512 + 2 * 2 * 128) * 4 * n4,
  // with 43, 21 and 20 layers: 7705.45 in logs. Rows of 20 * 2 * 512 * 4 B: 128 for each request that may run and one
  // more, 129 beside them, all in whole 128.
  const ModelSpec model = test_model("deepseek-v4-flash");
  const auto tokens = [&](const char* engine, std::uint64_t running, std::uint64_t page, std::uint64_t budget) {
    Request request = request_for(engine, 8192, budget);
    request.block_size = page;
    if (running > 0) request.max_num_seqs = running;
    return make_plan(model, request).capacity->tokens.value();
  };
  const auto gib = [](double count) { return static_cast<std::uint64_t>(count * static_cast<double>(kGiB)); };
  // Logs of August 2026 (pages of 128): "available_bytes=6.16 GB, c128_state_fixed=0.04 GB, full_token=852992" for one
  // request, 11.89 and 0.11 GB for eight, 1.57 and 0.07 GB for four. Each budget is within 0.005 GB.
  struct Printed {
    std::uint64_t running;
    double budget;
    std::uint64_t tokens;
  };
  for (const Printed& row : {Printed{1, 6.16, 852992}, {8, 11.89, 1641472}, {4, 1.57, 209280}}) {
    CHECK(tokens("sglang@0.5.20", row.running, 128, gib(row.budget - 0.005)) <= row.tokens);
    CHECK(tokens("sglang@0.5.20", row.running, 128, gib(row.budget + 0.005)) >= row.tokens);
    CHECK(tokens("sglang@0.5.20", row.running, 128, gib(row.budget + 0.005)) < row.tokens + 1536);
  }
  constexpr std::uint64_t kRow = 20ULL * 2 * 512 * 4;
  CHECK(tokens("sglang@0.5.20", 1, 128, 4 * 128 * kRow + 1280ULL * 770545 + 1) == 128000);
  CHECK(tokens("sglang@0.5.20", 1, 128, 4 * 128 * kRow + 1280ULL * 770545 - 1000) == 127872);
  // 256 requests by default.
  CHECK(tokens("sglang@0.5.20", 0, 256, 259 * 128 * kRow + 256 * 770545 / 100 + 1) == 256);
  CHECK(tokens("sglang@0.5.20", 0, 256, 259 * 128 * kRow + 256 * 770545 / 100 - 1000) == 0);
  // With drafts the rings have 16 and 256 rows, and one more layer is counted: (2 + 2) * 256 + 1 rows, rounded up to
  // 128.
  Request guessing = request_for("sglang@0.5.20", 8192);
  guessing.mtp = true;
  guessing.max_num_seqs = 2;
  const double token = (7705.45 + 0.1 * 8 / 128 * 2560 * 4 * 21) * 44 / 43;
  guessing.kv_cache_memory_bytes = Bytes(1152 * kRow + static_cast<std::uint64_t>(2560 * token) + 1);
  CHECK(make_plan(model, guessing).capacity->tokens == 2560);
  guessing.kv_cache_memory_bytes = Bytes(1152 * kRow + static_cast<std::uint64_t>(2560 * token) - 1000);
  CHECK(make_plan(model, guessing).capacity->tokens == 2304);
  guessing.extras.verify_tokens = 1;  // this turns speculative decoding on
  CHECK(make_plan(model, guessing).capacity->tokens == 2304);
  const auto layout = [&](Request request) {
    const EngineInput input = engine_input(model, request);
    return laid(input).layout->explain(load_of(model, request)).front();
  };
  Request three = request_for("sglang@0.5.20", 8192);
  three.num_seqs = 3;
  three.max_num_seqs = 2;  // the sequences of the load are counted in any case
  CHECK(line_of(layout(three), "rings of compressors") == Bytes(6 * 128 * kRow));
  three.max_num_seqs = 16;
  CHECK(line_of(layout(three), "rings of compressors") == Bytes(19 * 128 * kRow));
  three.parallel.data = three.parallel.tensor = 4;
  three.parallel.dp_attention = true;
  CHECK(line_of(layout(three), "rings of compressors") == Bytes(7 * 128 * kRow));
  // Sums follow the window pool, window by window: 8 entries of (2 * 512 + 2 * 128) * 2 float32 for each 128 tokens of
  // its 768 (a tenth of 8192, in whole pages of 256).
  const RankCache rank = layout(request_for("sglang@0.5.20", 8192));
  CHECK(line_of(rank, "sums of compressors") == Bytes(6ULL * 21 * 8 * 2560 * 4));
  // The window pool's pages are multiples of 128.
  Request odd = request_for("sglang@0.5.20", 8192);
  odd.block_size = 192;
  CHECK_THROWS_AS(make_plan(model, odd), Error);
  odd.block_size = 128;
  CHECK(make_plan(model, odd).kv_cache.block_size == 128);
}

TEST_CASE("sglang pools: DeepSeek-V4 since 0.5.21") {
  // Executed with 0.5.23, Flash on eight ranks of 80 GB: 7086.75 bytes per token, 6,415,104 tokens, and pools of
  // 48,188,004,544 bytes with sums of 256 requests (33,152 rows of 20 layers).
  const ModelSpec model = test_model("deepseek-v4-flash");
  const std::uint64_t tokens = 6415104;
  const std::uint64_t rings = 33152ULL * 2 * 512 * 4 * 20;
  Request request = request_for("sglang@0.5.23", tokens, rings + tokens / 4 * 28347);
  CHECK(make_plan(model, request).capacity->tokens == tokens);
  CHECK(make_plan(model, request).kv_cache.reserved == Bytes(48188004544));
  request.kv_cache_memory_bytes = Bytes(rings + tokens / 4 * 28347 - 7087);
  CHECK(make_plan(model, request).capacity->tokens == tokens - 256);
}

// DeepSeek-V4-Pro: 30 layers of ratio 4 and 31 of ratio 128.
EngineInput v4_pro(const char* engine) {
  static const ModelSpec model = test_model("deepseek-v4-flash");  // the result refers to it
  EngineInput out = engine_input(model, request_for(engine, 8192));
  const LayerCache four = out.caches[2];
  const LayerCache many = out.caches[3];
  out.caches.clear();
  for (std::uint64_t i = 0; i < 61; ++i) {
    out.caches.push_back(i > 1 && i % 2 == 0 ? four : many);
    out.caches.back().layer = i;
  }
  out.model.num_layers = 61;
  return out;
}

TEST_CASE("sglang pools: until 0.5.14 DeepSeek-V4's sums of ratio 128 follow the window pool") {
  // Logs of 2026 with --swa-full-tokens-ratio 0.15, 64 requests a rank: "available_bytes=118.93 GB,
  // c128_state_fixed=1.01 GB, full_token=9217792" of 0.5.15, 105.08 GB and 3441920 tokens of 0.5.13.
  const auto printed = [](const char* engine, double gib) {
    EngineInput input = v4_pro(engine);
    input.request.extras.swa_ratio = 0.15;
    input.request.max_num_seqs = 64;
    const Bytes budget(static_cast<std::uint64_t>(gib * static_cast<double>(kGiB)));
    return laid(input).layout->capacity(budget, load_for(9472)).tokens.value();
  };
  CHECK(printed("sglang@0.5.15", 118.925) <= 9217792);
  CHECK(printed("sglang@0.5.15", 118.935) >= 9217792);
  CHECK(printed("sglang@0.5.15", 118.935) < 9217792 + 1024);
  CHECK(printed("sglang@0.5.13", 105.075) <= 3441920);
  CHECK(printed("sglang@0.5.13", 105.085) >= 3441920);
  CHECK(printed("sglang@0.5.13", 105.085) < 3441920 + 512);
  // 0.1 * (584 * 61 + 8 / 128 * 2560 * 4 * 30) + 716 / 4 * 30 + 584 / 128 * 31, and 0.1 * 2 * 512 * 4 * 31 before.
  const double since = 3562.4 + 1920 + 5370 + 141.4375;
  const auto tokens = [](const char* engine, double token, std::uint64_t fixed) {
    const Bytes budget(fixed + static_cast<std::uint64_t>(25600 * token) + 1);
    return laid(v4_pro(engine)).layout->capacity(budget, load_for(256)).tokens;
  };
  const std::uint64_t rings = 259ULL * 128 * 2 * 512 * 4 * 31;
  CHECK(tokens("sglang@0.5.20", since, rings) == 25600);
  CHECK(tokens("sglang@0.5.15", since, rings) == 25600);
  CHECK(tokens("sglang@0.5.13", since + 12697.6, 0) == 25600);
  CHECK(tokens("sglang@0.5.14", since + 12697.6, 0) == 25600);
  CHECK(tokens("sglang@0.5.13", since + 12690, 0) < 25600);
  // The window pool's part of the sums: 80 windows of 128 tokens.
  const RankCache old = laid(v4_pro("sglang@0.5.13")).layout->explain(load_for(102400)).front();
  CHECK(line_of(old, "rings of compressors") == Bytes(0));
  CHECK(line_of(old, "sums of compressors") == Bytes(80ULL * (30 * 8 * 2560 * 4 + 31 * 128 * 2 * 512 * 4)));
}

TEST_CASE("SGLang: ModelOpt's NVFP4 runs from Ampere on since 0.5.13, before only on Blackwell") {
  const auto refused = [](const char* engine, const char* card) {
    EngineInput input = input_of("llama", {heads(8, 64)});
    input.request = request_for(engine, 8192);
    input.request.card.gpu = &parse_gpu(card);
    input.model.quantization.dialect = "modelopt";
    input.model.quantization.scheme = WeightScheme{};
    input.model.quantization.scheme->type = "nvfp4";
    return engine_of(input.request).refusal(input, load_for(100)).has_value();
  };
  CHECK_FALSE(refused("sglang@0.5.13", "a100-80gb"));
  CHECK(refused("sglang@0.5.13", "t4"));
  CHECK(refused("sglang@0.5.12", "h100-80gb"));
  CHECK_FALSE(refused("sglang@0.5.12", "b200"));
}

TEST_CASE("SGLang refuses GPUs that its kernels do not support") {
  const auto id = [](const char* engine, const char* card, const char* method, const char* type, bool has_experts) {
    EngineInput input = input_of("llama", {heads(8, 64)});
    input.request = request_for(engine, 8192);
    input.request.card.gpu = &parse_gpu(card);
    input.model.quantization.dialect = method;
    input.model.quantization.scheme = WeightScheme{};
    input.model.quantization.scheme->type = type;
    if (has_experts) input.model.experts = {.count = 128, .used = 8, .width = 1536};
    const auto found = sglang_refusal(input, load_for(100));
    return found ? found->id : std::string_view();
  };
  // Qwen3-30B-A3B-FP8 on an A10 (sgl-project/sglang#5871): fp8e4nv.
  CHECK(id("sglang@0.5.23", "a10", "fp8", "fp8", true) == "quantization");
  CHECK(id("sglang@0.5.23", "a10", "fp8", "fp8", false).empty());
  CHECK(id("sglang@0.5.23", "l4", "fp8", "fp8", true).empty());
  CHECK(id("sglang@0.5.23", "t4", "fp8", "fp8", false) == "quantization");
  CHECK(id("sglang@0.5.16", "h100-80gb", "compressed-tensors", "nvfp4", true) == "quantization");
  CHECK(id("sglang@0.5.23", "v100-32gb", "", "", false) == "card");
}

// Executed in 0.5.13 on an H100: "... but got None".
TEST_CASE("SGLang refuses EXAONE-4 without one of three backends until it has a default") {
  const auto id = [](const char* engine, const char* card, const char* backend) {
    EngineInput input = input_of("exaone4", {heads(8, 64, 1024)});
    input.request = request_for(engine, 8192);
    input.request.card.gpu = &parse_gpu(card);
    input.request.extras.attention_backend = backend;
    input.model.architecture = "Exaone4ForCausalLM";
    const auto found = sglang_refusal(input, load_for(100));
    return found ? found->id : std::string_view();
  };
  CHECK(id("sglang@0.5.8", "a100-80gb", "").empty());
  CHECK(id("sglang@0.5.16", "a100-80gb", "") == "attention_backend");
  CHECK(id("sglang@0.5.16", "a100-80gb", "triton").empty());
  CHECK(id("sglang@0.5.16", "h100-80gb", "") == "attention_backend");
  CHECK(id("sglang@0.5.22", "a100-80gb", "").empty());
}

// dsa_backend.py and deepseek_v4_backend.py of the wheels; sgl-project/sglang#29562 saw deep_gemm's message in 0.5.14.
TEST_CASE("SGLang supports DeepSeek's sparse attention on RTX GPUs since 0.5.17, and DeepSeek-V4 since 0.5.13") {
  const auto id = [](const char* type, const char* engine, const char* card) {
    Term index = term_of(Role::kKey, 1, 128);
    index.role = Role::kIndex;
    EngineInput input = input_of(type, {{term_of(Role::kKey, 1, 576), index, term_of(Role::kKey, 1, 512, 128)}});
    input.request = request_for(engine, 8192);
    input.request.card.gpu = &parse_gpu(card);
    input.types.key = input.types.value = Dtype::kFp8E4m3;
    const auto found = sglang_refusal(input, load_for(100));
    return found ? found->id : std::string_view();
  };
  CHECK(id("deepseek_v32", "sglang@0.5.14", "rtx-pro-6000") == "attention_backend");
  CHECK(id("deepseek_v32", "sglang@0.5.17", "rtx-pro-6000").empty());
  CHECK(id("deepseek_v32", "sglang@0.5.14", "h200").empty());
  CHECK(id("deepseek_v4", "sglang@0.5.12", "rtx-pro-6000") == "attention_backend");
  CHECK(id("deepseek_v4", "sglang@0.5.13", "rtx-pro-6000").empty());
}

// create_moe_runner of 0.5.12 to 0.5.18 picks Triton's; sgl-project/sglang#33693 saw it die.
TEST_CASE("SGLang has no default for DeepSeek-V4's MXFP4 experts on Hopper and Blackwell until 0.5.19") {
  const auto id = [](const char* engine, const char* card, const char* runner, const char* experts = "mxfp4") {
    EngineInput input = input_of("deepseek_v4", {{term_of(Role::kKey, 1, 576, 128)}});
    input.request = request_for(engine, 8192);
    input.request.card.gpu = &parse_gpu(card);
    input.request.extras.moe_runner = runner;
    input.types.key = input.types.value = Dtype::kFp8E4m3;
    input.model.quantization.expert_scheme.emplace().type = experts;
    const auto found = sglang_refusal(input, load_for(100));
    return found ? found->id : std::string_view();
  };
  CHECK(id("sglang@0.5.18", "h200", "") == "moe_runner");
  CHECK(id("sglang@0.5.18", "b200", "triton") == "moe_runner");
  CHECK(id("sglang@0.5.18", "h200", "marlin").empty());
  CHECK(id("sglang@0.5.18", "h200", "", "fp8").empty());
  CHECK(id("sglang@0.5.18", "rtx-pro-6000", "").empty());
  CHECK(id("sglang@0.5.19", "h200", "").empty());
}

// The runners are those that the releases' own code resolves for NVIDIA's checkpoints. sgl-project/sglang#39807, #34192
// and #32229 saw the starts die.
TEST_CASE("SGLang: experts in ModelOpt's NVFP4 need a runner on Blackwell") {
  struct Asked {
    std::string_view architecture = "Qwen3MoeForCausalLM", type = "qwen3_moe", runner = {};
    bool is_named = false;
    std::string_view dialect = "modelopt";
  };
  const auto id = [](const char* engine, const char* card, Asked asked) {
    EngineInput input = input_of(asked.type, {heads(8, 128), heads(8, 128, 8192)});
    input.request = request_for(engine, 8192);
    input.request.card.gpu = &parse_gpu(card);
    input.request.extras.moe_runner = asked.runner;
    input.request.command.names_nvfp4 = asked.is_named;
    input.model.architecture = asked.architecture;
    input.model.experts = {.count = 128, .used = 8, .width = 768};
    input.model.quantization.dialect = asked.dialect;
    input.model.quantization.scheme.emplace().type = "nvfp4";
    const auto found = sglang_refusal(input, load_for(100));
    return found ? found->id : std::string_view();
  };
  CHECK(id("sglang@0.5.20", "rtx-pro-6000", {}) == "moe_runner");
  CHECK(id("sglang@0.5.15", "rtx-pro-6000", {}).empty());
  CHECK(id("sglang@0.5.20", "rtx-pro-6000", {.is_named = true}).empty());
  CHECK(id("sglang@0.5.20", "rtx-pro-6000", {.runner = "flashinfer_cutlass"}).empty());
  CHECK(id("sglang@0.5.20", "rtx-pro-6000", {.runner = "auto"}) == "moe_runner");
  CHECK(id("sglang@0.5.20", "b200", {}).empty());
  CHECK(id("sglang@0.5.20", "h200", {}).empty());
  const std::string_view minimax = "MiniMaxM2ForCausalLM";
  CHECK(id("sglang@0.5.17", "b200", {.architecture = minimax, .type = "minimax_m2", .is_named = true}) == "moe_runner");
  CHECK(id("sglang@0.5.18", "b200", {.architecture = minimax, .type = "minimax_m2"}).empty());
  CHECK(id("sglang@0.5.20", "rtx-pro-6000", {.architecture = "NemotronHForCausalLM", .type = "nemotron_h"}).empty());
  const std::string_view llama = "Llama4ForConditionalGeneration";
  CHECK(id("sglang@0.5.16", "rtx-pro-6000", {.architecture = llama, .type = "llama4", .is_named = true}) ==
        "moe_runner");
  // A checkpoint that names its layers one by one, as nvidia/Qwen3.6-35B-A3B-NVFP4 does.
  const ModelSpec mixed = read_config(
      R"({"model_type":"qwen3_moe","hidden_size":2048,"intermediate_size":6144,"num_hidden_layers":1,
          "num_attention_heads":32,"num_key_value_heads":4,"num_experts":128,"num_experts_per_tok":8,
          "moe_intermediate_size":768,"vocab_size":151936,"quantization_config":{"quant_method":"modelopt",
          "quant_algo":"MIXED_PRECISION","quantized_layers":{"model.layers.0.self_attn.q_proj":{"quant_algo":"FP8"},
          "model.layers.0.mlp.experts":{"quant_algo":"W4A16_NVFP4","group_size":16}}}})",
      "", "test", {});
  Request request = request_for("sglang@0.5.20", 8192);
  request.card.gpu = &parse_gpu("rtx-pro-6000");
  const auto found = sglang_refusal(engine_input(mixed, request), load_for(100));
  CHECK((found && found->id == "moe_runner"));
  // Compressed-tensors' NVFP4 came with 0.5.7 (sgl-project/sglang#13639).
  CHECK(id("sglang@0.5.5", "rtx-pro-6000", {.dialect = "compressed-tensors"}) == "quantization");
  CHECK(id("sglang@0.5.7", "rtx-pro-6000", {.dialect = "compressed-tensors"}).empty());
}

TEST_CASE("sglang pools: types of the cache") {
  // server_args.py and model_config.py: sparse MLA is kept in FP8 on Blackwell (576 bytes per token, executed), in 16
  // bit before, whatever the checkpoint declares; DeepSeek-V4 in FP8 everywhere; states are float32 unless the config
  // names a type.
  ModelShape model;
  Request request = request_for("sglang", 8192);
  const auto types = [&] { return sglang_types(model, request); };
  model.arch = test_arch("deepseek_v32");
  CHECK(types().key == Dtype::kBfloat16);
  CHECK(types().state == Dtype::kFloat32);
  for (const char* card : {"b200", "b300"}) {
    request.card.gpu = &parse_gpu(card);
    CHECK(types().key == Dtype::kFp8E4m3);
  }
  request.card.gpu = &parse_gpu("h100-80gb");
  model.declared_kv_dtype = Dtype::kFp8E4m3;
  CHECK(types().key == Dtype::kBfloat16);
  // A string in a flat ModelOpt config is ignored: Qwen3-32B in FP8 has a 16-bit KV cache (executed).
  model.arch = test_arch("qwen3");
  CHECK(types().key == Dtype::kFp8E4m3);
  model.quantization.dialect = "modelopt";
  model.tags_kv_by_word = true;
  CHECK(types().key == Dtype::kBfloat16);
  model = {};
  model.arch = test_arch("deepseek_v3");
  request.card.gpu = &parse_gpu("b200");
  CHECK(types().key == Dtype::kBfloat16);
  request.cache_type_k = request.cache_type_v = Dtype::kFp8E4m3;
  CHECK(types().key == Dtype::kFp8E4m3);
  model.arch = test_arch("glm_moe_dsa");
  CHECK(types().key == Dtype::kFp8E4m3);
  request.card.gpu = &parse_gpu("h100-80gb");
  CHECK(types().key == Dtype::kFp8DsMla);  // FlashMLA's
  request = request_for("sglang", 8192);
  model.arch = test_arch("deepseek_v4");
  CHECK(types().key == Dtype::kFp8DsMla);
  request.cache_type_k = request.cache_type_v = Dtype::kBfloat16;
  CHECK(types().key == Dtype::kBfloat16);
  model.declared_state_dtype = Dtype::kBfloat16;
  CHECK(types().state == Dtype::kBfloat16);
  model.dtype = Dtype::kFloat32;  // convolutions of a float32 checkpoint
  CHECK(types().model == Dtype::kBfloat16);
}

TEST_CASE("SGLang refuses the same models as its own code") {
  // Executed with 0.5.23: experts of 1,536 in blocks of 128 over eight ranks, on Blackwell too, where FlashInfer pads
  // some (ModelRunner.check_quantized_moe_compatibility); a model of two pools whose config has no sliding layer.
  EngineInput input = input_of("qwen3_moe", {heads(8, 128)});
  input.model.quantization.dialect = "fp8";
  input.model.quantization.scheme = WeightScheme{.type = "fp8-block", .block_rows = 128, .block_columns = 128};
  input.model.experts.count = 128;
  input.model.experts.width = 1536;
  input.request.parallel.tensor = 8;
  const auto refused = [&](const char* card, std::string_view architecture) {
    input.request.card.gpu = &parse_gpu(card);
    input.model.architecture = architecture;
    const auto found = sglang_refusal(input, load_for(4096));
    return found ? found->id : std::string_view();
  };
  CHECK(refused("h100-80gb", "Qwen3MoeForCausalLM") == "fp8_blocks");
  CHECK(refused("b200", "Qwen3MoeForCausalLM") == "fp8_blocks");
  CHECK(refused("b200", "MiniMaxM2ForCausalLM") == "fp8_blocks");
  input.request.parallel.expert = true;
  CHECK(refused("h100-80gb", "Qwen3MoeForCausalLM").empty());
  EngineInput windows = input_of("laguna", {heads(8, 128)});
  REQUIRE(sglang_refusal(windows, load_for(4096)));
  CHECK(sglang_refusal(windows, load_for(4096))->id == "windows");
  windows = input_of("laguna", {heads(8, 128), heads(8, 128, 512)});
  CHECK_FALSE(sglang_refusal(windows, load_for(4096)));
}

TEST_CASE("sglang pools: which models have a pool for windows") {
  EngineInput asked = input_of("llama", {});
  const auto has_two = [&](std::string_view type) {
    asked.model.arch = test_arch(type);
    return sglang_hybrid_windows(asked);
  };
  for (const char* type : {"gpt_oss", "gemma4_unified_text", "llama4_text", "granitemoe_swa"}) CHECK(has_two(type));
  for (const char* type : {"gemma3", "gemma", "gemma45", "gpt_os"}) CHECK_FALSE(has_two(type));
  // is_hybrid_swa_model depends on the class (executed).
  asked.model.architecture = "Llama4ForCausalLM";
  CHECK_FALSE(has_two("llama4_text"));
  asked.model.architecture = "BeamForCausalLM";
  CHECK(has_two("beam"));
  // Until 0.5.9: one pool of gpt-oss with TRT-LLM's kernels of Blackwell.
  asked.model.architecture = "GptOssForCausalLM";
  asked.request.card.gpu = &parse_gpu("b200");
  CHECK(has_two("gpt_oss"));
  asked.request.engine_version = "0.5.10";
  CHECK(has_two("gpt_oss"));
  asked.request.engine_version = "0.5.9";
  CHECK_FALSE(has_two("gpt_oss"));
  EngineInput input = input_of("llama", {heads(8, 64)});
  CHECK(sglang_verified(input) == 0);
  input.draft_method = DraftMethod::kEagle;
  CHECK(sglang_verified(input) == 4);  // 3 draft tokens and the last accepted one
  input.request.num_speculative_tokens = 5;
  CHECK(sglang_verified(input) == 6);
  input.request.extras.verify_tokens = 9;
  CHECK(sglang_verified(input) == 9);
}

}  // namespace
}  // namespace kvplan
