// The smallest possible model, one head of one element in 8 bit, so that every byte of a plan can be counted.
#include <doctest/doctest.h>

#include "engines/layer_buffers.h"
#include "engines/llama_cpp/cache.h"
#include "engines/llama_cpp/compute.h"
#include "engines/requests.h"

#include "support/figures.h"

namespace kvplan {
namespace {

constexpr CacheTypes kByte{Dtype::kFp8E4m3, Dtype::kFp8E4m3, Dtype::kFp8E4m3, Dtype::kFp8E4m3};

Term byte_of(Role role, std::uint64_t window = 0) {
  Term out{.name = role == Role::kKey ? "key" : "value", .role = role};
  if (window > 0) out.limit = {LimitKind::kWindow, Tokens(window), Tokens(0)};
  return out;
}
Term state_byte() {
  return {.name = "ssm state", .role = Role::kState, .growth = Growth::kSequence, .storage = Storage::kState};
}

EngineInput byte_model(const std::string& engine, std::string_view type, std::vector<CacheTerms> layers) {
  EngineInput out;
  out.request = request_for(engine, 1);
  out.model.arch = test_arch(type);
  out.model.num_layers = layers.size();
  out.model.num_heads = 1;
  for (CacheTerms& terms : layers) out.caches.push_back({out.caches.size(), "kind", terms, terms});
  out.types = kByte;
  return out;
}

Load load_for(std::uint64_t tokens, std::uint64_t seqs = 1) {
  return {Tokens(tokens), seqs, Tokens(0)};
}

Bytes sum(const std::vector<CacheBuffer>& buffers) {
  Bytes out;
  for (const CacheBuffer& buffer : buffers) out += buffer.bytes;
  return out;
}

TEST_CASE("smallest model: buffers add up to the reserved bytes") {
  std::uint64_t entry = 1;
  const auto layout_of = [&](std::uint64_t block, bool pool, std::uint64_t window) {
    LayerBufferRules rules;
    rules.block_size = block;
    rules.one_pool = pool;
    rules.source = "a test";
    rules.form = [](const LayerCache& cache) -> const CacheTerms& { return cache.compact; };
    rules.hold = rules.host = [entry](const LayerCache&, const Term& term, std::uint64_t) {
      return plain_buffer(term, Bytes(entry));
    };
    return layer_buffers_layout(byte_model("logical", "tiny", {{byte_of(Role::kKey, window)}}), rules);
  };
  const auto one = layout_of(1, false, 0);
  CHECK(one->reserved(load_for(1)) == Bytes(1));
  CHECK(one->buffers(load_for(1), 0).size() == 1);
  CHECK(layout_of(1, true, 0)->buffers(load_for(1), 0).size() == 1);
  CHECK(one->buffers(load_for(0), 0).empty());
  CHECK(layout_of(1, true, 0)->buffers(load_for(0), 0).empty());
  REQUIRE(one->host(load_for(1)).size() == 1);
  CHECK(one->host(load_for(1)).front().bytes == Bytes(1));
  CHECK(one->host(load_for(0)).empty());
  CHECK(one->block_size() == 1);
  CHECK(one->groups().front().page_bytes == Bytes(1));
  CHECK(one->capacity(Bytes(7), load_for(1)).tokens == 7);
  CHECK(one->capacity(Bytes(7), load_for(1)).num_blocks == 7);
  CHECK(one->capacity(Bytes(7), load_for(1)).max_concurrency == 7.0);
  CHECK(one->capacity(Bytes(7), load_for(0)).max_concurrency == 0.0);
  CHECK_FALSE(layout_of(0, false, 0)->block_size());
  CHECK_FALSE(layout_of(0, false, 0)->groups().front().block_size);
  CHECK_FALSE(layout_of(0, false, 0)->capacity(Bytes(7), load_for(1)).num_blocks);
  // A window of one token does not grow: no tokens in a budget, no page.
  const auto window = layout_of(1, false, 1);
  CHECK(window->reserved(load_for(5)) == Bytes(1));
  CHECK_FALSE(window->capacity(Bytes(7), load_for(5)).tokens);
  CHECK_FALSE(window->groups().front().block_size);
  entry = 0;
  CHECK_FALSE(layout_of(1, false, 0)->groups().front().block_size);
  CHECK(layout_of(1, false, 0)->explain(load_for(5)).front().gap.front().bytes == -5);
}

TEST_CASE("smallest model: SGLang's pools and state slots") {
  // One token, and a dummy page of one.
  const auto full = layout_of(byte_model("sglang", "llama", {{byte_of(Role::kKey)}}));
  CHECK(full->reserved(load_for(1)) == Bytes(2));
  CHECK(full->explain(load_for(1)).front().lines.size() == 2);
  CHECK(full->explain(load_for(1)).front().gap.size() == 1);
  CHECK(in_words(full->explain(load_for(1)).front().gap.front().reason) == "dummy page");
  CHECK(full->buffers(load_for(1), 0).size() == 1);
  CHECK(sum(full->buffers(load_for(1), 0)) == Bytes(2));
  CHECK(full->capacity(Bytes(5), load_for(1)).tokens == 5);
  CHECK(full->capacity(Bytes(5), load_for(1)).max_num_seqs == 5);
  CHECK(full->reserved(load_for(0)) == Bytes(0));
  CHECK(in_words(full->shortfall(Bytes(0), load_for(1))).find("give the KV cache 0.1 MiB") != std::string::npos);
  // A window of one token: a pool of three tokens, and its dummy page.
  const auto window = layout_of(byte_model("sglang", "gpt_oss", {{byte_of(Role::kKey, 1)}}));
  CHECK(window->reserved(load_for(5)) == Bytes(3 + 1));
  CHECK(window->explain(load_for(5)).front().lines.size() == 2);
  CHECK(sum(window->buffers(load_for(5), 0)) == Bytes(4));
  CHECK(window->capacity(Bytes(9), load_for(5)).tokens == 9);
  // A state of one byte. Without a radix cache there is one slot, and one of padding. Slightly less than half of the
  // budget is for states.
  EngineInput state = byte_model("sglang", "mamba", {{state_byte()}});
  state.request.extras.disable_radix_cache = true;
  const auto slots = layout_of(state);
  CHECK(slots->reserved(load_for(1)) == Bytes(2));
  CHECK(slots->explain(load_for(1)).front().lines.size() == 2);
  CHECK(in_words(slots->explain(load_for(1)).front().gap.front().reason) == "padding slot of the state pool");
  CHECK(slots->buffers(load_for(1), 0).size() == 1);
  CHECK(slots->capacity(Bytes(5), load_for(1)).max_num_seqs == 1);  // 2.4 bytes
  CHECK(slots->capacity(Bytes(4), load_for(1)).max_num_seqs == 0);  // 1.9
  CHECK(slots->capacity(Bytes(2), load_for(1)).max_num_seqs == 0);  // 0.9
  CHECK(in_words(slots->shortfall(Bytes(4), load_for(1))).find("no state slot") != std::string::npos);
  CHECK(slots->capacity(Bytes(5), load_for(1)).tokens == 1);  // as many as the context has
  // One token is verified: a state for the request and the padding.
  state.draft_method = DraftMethod::kNgram;
  state.request.extras.verify_tokens = 1;
  CHECK(layout_of(state)->reserved(load_for(1)) == Bytes(2 + 2));
  CHECK(sum(layout_of(state)->buffers(load_for(1), 0)) == Bytes(4));
  // 0.9 / 1.9 of 13 are 6.2; minus two, divided by two.
  CHECK(layout_of(state)->capacity(Bytes(13), load_for(1)).max_num_seqs == 2);
  // A draft of one byte.
  EngineInput drafted = byte_model("sglang", "llama", {{byte_of(Role::kKey)}});
  auto draft = std::make_shared<EngineInput>();
  draft->types = kByte;
  draft->caches = {{0, "kind", {byte_of(Role::kKey)}, {}}};
  drafted.draft = draft;
  CHECK(layout_of(drafted)->reserved(load_for(1)) == Bytes(2 + 2));
  CHECK(sum(layout_of(drafted)->buffers(load_for(1), 0)) == Bytes(4));
  CHECK(layout_of(drafted)->capacity(Bytes(8), load_for(1)).tokens == 4);
  // A convolution with one column stores nothing, one with two stores a column.
  Term conv = state_byte();
  conv.shape.columns = 2;
  EngineInput columns = byte_model("sglang", "mamba", {{conv, state_byte()}});
  CHECK(layout_of(columns)->reserved(load_for(1)) == Bytes(4 * 2));
}

TEST_CASE("smallest model: blocks of vLLM, none of the logical engine") {
  const auto logical = layout_of(byte_model("logical", "tiny", {{byte_of(Role::kKey)}}));
  CHECK(logical->reserved(load_for(1)) == Bytes(1));
  CHECK(logical->buffers(load_for(1), 0).size() == 1);
  CHECK(logical->buffers(load_for(0), 0).empty());
  CHECK(logical->capacity(Bytes(5), load_for(1)).tokens == 5);
  CHECK(logical->capacity(Bytes(5), load_for(1)).max_concurrency == 5.0);
  CHECK(logical->capacity(Bytes(5), load_for(0)).max_concurrency == 0.0);
  EngineInput drafted = byte_model("logical", "tiny", {{byte_of(Role::kKey)}});
  auto draft = std::make_shared<EngineInput>();
  draft->types = kByte;
  draft->caches = {{0, "kind", {byte_of(Role::kKey)}, {}}};
  drafted.draft = draft;
  CHECK(layout_of(drafted)->explain(load_for(1)).front().gap.size() == 1);
  CHECK(layout_of(drafted)->explain(load_for(0)).front().gap.empty());
  // vLLM: a block of 16 tokens; one block is one request.
  const auto vllm = layout_of(byte_model("vllm", "llama", {{byte_of(Role::kKey)}}));
  CHECK(vllm->reserved(load_for(1)) == Bytes(16));
  CHECK(vllm->capacity(Bytes(33), load_for(16)).num_blocks == 2);
  CHECK(vllm->capacity(Bytes(33), load_for(16)).tokens == 32);
  CHECK(vllm->explain(load_for(16)).front().gap.empty());
  CHECK(vllm->explain(load_for(15)).front().gap.front().bytes == 1);
  // A state of one byte is in a page of 16.
  const auto state = layout_of(byte_model("vllm@0.26", "jamba", {{state_byte()}, {byte_of(Role::kKey)}}));
  CHECK(state->reserved(load_for(16)) == Bytes(2 * 16));
  CHECK(state->explain(load_for(16)).front().gap.size() == 1);
  CHECK(state->explain(load_for(16)).front().gap.front().bytes == 15);
}

TEST_CASE("smallest model: a window of one token") {
  // TensorRT-LLM and mistral.rs have blocks of 32 tokens whatever the window. MLX and transformers only keep the
  // window's token.
  const auto rank = [](const char* engine) {
    EngineInput input = byte_model(engine, "tiny", {{byte_of(Role::kKey, 1)}});
    input.types = {Dtype::kBfloat16, Dtype::kBfloat16, Dtype::kBfloat16, Dtype::kBfloat16};
    return layout_of(input)->explain(load_for(40)).front();
  };
  for (const char* engine : {"tensorrt-llm", "mistralrs"}) {
    CHECK(rank(engine).reserved == Bytes(64 * 2));
    REQUIRE(rank(engine).gap.size() == 1);
    CHECK(in_words(rank(engine).gap.front().reason) == "kind: sliding windows cache every token");
    CHECK(rank(engine).gap.front().bytes == 63 * 2);
  }
  for (const char* engine : {"mlx", "transformers"}) {
    CHECK(rank(engine).reserved == Bytes(2));
    CHECK(rank(engine).gap.empty());
  }
  // A growing layer next to it gets what the window leaves.
  const auto both = layout_of(byte_model("transformers", "tiny", {{byte_of(Role::kKey)}, {byte_of(Role::kKey, 1)}}));
  CHECK(both->capacity(Bytes(10), load_for(5)).tokens == 9);
}

TEST_CASE("smallest model: llama.cpp's cells") {
  const auto layout_bytes = [](const EngineInput& input, std::uint64_t tokens) {
    return LlamaCppLayout(input).reserved(load_for(tokens)).count();
  };
  EngineInput input = byte_model("llama.cpp", "gemma3", {{byte_of(Role::kKey), byte_of(Role::kValue)}});
  input.types = {Dtype::kFloat16, Dtype::kFloat16, Dtype::kFloat16, Dtype::kFloat16};
  CHECK(layout_bytes(input, 1) == 256 * 2 * 2);
  // No kernel supports a head of one element.
  CHECK_FALSE(llama_flash_attention(input));
  // A window of one token and a micro-batch of one: 256 cells.
  EngineInput window = input;
  for (Term& term : window.caches[0].compact.own()) term.limit = {LimitKind::kWindow, Tokens(1), Tokens(0)};
  window.request.llama_cpp.n_ubatch = 1;
  CHECK(layout_bytes(window, 1000) == 256 * 2 * 2);
  // One layer has V of one element, the other none. Without flash attention both store it.
  EngineInput deci = byte_model("llama.cpp", "deci", {{byte_of(Role::kKey), byte_of(Role::kValue)}, {}});
  deci.types = input.types;
  deci.request.llama_cpp.flash_attention = FlashAttention::kOff;
  CHECK(layout_bytes(deci, 256) == 256 * 3 * 2);
  deci.request.llama_cpp.flash_attention = FlashAttention::kOn;
  CHECK(layout_bytes(deci, 256) == 256 * 2 * 2);
  // One draft token needs one more row.
  EngineInput state = byte_model("llama.cpp", "qwen35", {{state_byte()}});
  state.draft_method = DraftMethod::kEagle3;
  state.request.num_speculative_tokens = 1;
  CHECK(layout_bytes(state, 1) == 2 * 4);
  CHECK(in_words(LlamaCppLayout(state).explain(load_for(1)).front().lines.front().formula) ==
        "1 sequence x (1 + 1 rows to roll back)");
  state.draft_method.reset();
  CHECK(in_words(LlamaCppLayout(state).explain(load_for(1)).front().lines.front().formula) == "1 sequence");
  // A state does not grow, so any length fits and there is no number of tokens.
  const LlamaCppLayout fixed(byte_model("llama.cpp", "mamba", {{state_byte()}}));
  CHECK_FALSE(fixed.capacity(Bytes(40), load_for(1)).tokens);
  CHECK(fixed.capacity(Bytes(40), load_for(1)).max_num_seqs == 10);
  CHECK(fixed.capacity(Bytes(40), load_for(1)).max_concurrency == 10.0);
  CHECK(fixed.capacity(Bytes(4000), load_for(1)).max_num_seqs == 1000);  // a plan has a cap
  // The capacity: 256 cells of 4 bytes fit one request of 256 tokens. With one byte less none fits.
  const LlamaCppLayout plain(input);
  CHECK(plain.capacity(Bytes(1024), load_for(1)).max_model_len == 256);
  CHECK(plain.capacity(Bytes(1024), load_for(1)).tokens == 256);
  CHECK(plain.capacity(Bytes(1024), load_for(1)).max_concurrency == 256.0);
  CHECK_FALSE(plain.capacity(Bytes(1023), load_for(1)).tokens);
  CHECK(plain.capacity(Bytes(1023), load_for(1)).max_concurrency == 0.0);
}

TEST_CASE("smallest model: llama.cpp's compute buffer") {
  EngineInput input = byte_model("llama.cpp", "llama", {{byte_of(Role::kKey), byte_of(Role::kValue)}});
  input.types = {Dtype::kFloat16, Dtype::kFloat16, Dtype::kFloat16, Dtype::kFloat16};
  input.request.llama_cpp.flash_attention = FlashAttention::kOn;
  const auto compute = [&] {
    return llama_cpp_overhead({&input, load_for(512), 0, Bytes(0), std::nullopt}).front().bytes.count();
  };
  const std::uint64_t mask = 512 * 512 * 2;
  // One query and one output for each token.
  CHECK(compute() == 512 * 4 * 2 + mask);
  input.request.llama_cpp.flash_attention = FlashAttention::kOff;
  CHECK(compute() == 512 * 4 * (2 + 2) + 2 * mask + 512 * 512 * 4);
  // A recurrence of one channel: 4 inner widths and twice the channels; its state.
  input = byte_model("llama.cpp", "mamba", {{state_byte()}});
  input.model.num_heads = 0;
  CHECK(compute() == 512 * 4 * 6 + 4);
  Term conv = state_byte();
  conv.shape.columns = 1;
  input = byte_model("llama.cpp", "mamba", {{conv, state_byte()}});
  input.model.num_heads = 0;
  CHECK(compute() == 512 * 4 * 6 + 2 * 4);
  // One expert of one: twice its input and one more, or three of its width.
  input.model.hidden_size = 10;
  input.model.experts = {1, 1, 100, 0};
  CHECK(compute() == 512 * 4 * (3 * 100 + 3 * 10));
  input.model.num_layers = 1;
  input.request.llama_cpp.cpu_moe_layers = 1;  // and that one is in host memory
  CHECK(compute() == 512 * 4 * (3 * 100 + 3 * 10) + 10 * 100 * 2);
  input.request.llama_cpp.cpu_moe_layers.reset();
  // The first of two layers is in host memory, and its largest matrix is copied.
  input.model.num_layers = 2;
  input.request.llama_cpp.gpu_layers = 2;
  CHECK(compute() == 512 * 4 * (3 * 100 + 3 * 10) + 10 * 100 * 2);
  // One token and one draft token: two rows of logits.
  input.model.experts = {};
  input.request.llama_cpp.gpu_layers.reset();
  input.request.num_speculative_tokens = 1;
  input.draft_method = DraftMethod::kNgram;
  input.model.vocab_size = 10000000;
  CHECK(compute() == 2 * 10000010 * 4);
}

}  // namespace
}  // namespace kvplan
