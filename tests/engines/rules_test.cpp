// Engine rules that no config in testdata needs: types, blocks, states, groups, by hand from the engines' sources.
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "engines/lora_slots.h"
#include "engines/requests.h"
#include "engines/sglang/class_table.h"
#include "engines/sglang/rules.h"
#include "engines/sglang/sglang.h"
#include "engines/vllm/class_table.h"
#include "engines/vllm/rules.h"
#include "engines/vllm/vllm.h"
#include "formulas/compressed.h"
#include "kvplan/error.h"
#include "plan/plan.h"
#include "plan/questions.h"
#include "plan/steps.h"
#include "support/figures.h"

namespace kvplan {
namespace {

// Channels with a kernel of 4, in the model's type, and a state of 64 x 128 for each of 8 heads in float32.
CacheTerms recurrence() {
  Term conv{.name = "conv state", .role = Role::kState, .growth = Growth::kSequence, .storage = Storage::kModel};
  conv.shape = {.units = 1024, .vectors = 1, .width = 1, .columns = 4};
  Term state{.name = "ssm state", .role = Role::kState, .growth = Growth::kSequence, .storage = Storage::kFloat32};
  state.shape = {.units = 8, .vectors = 64, .width = 128};
  return {conv, state};
}

EngineInput input_of(const std::string& engine, std::string_view type, std::vector<CacheTerms> layers) {
  EngineInput out;
  out.request = request_for(engine, 4096);
  out.model.arch = test_arch(type);
  out.model.num_layers = layers.size();
  for (CacheTerms& terms : layers) out.caches.push_back({out.caches.size(), "kind", terms, terms});
  out.types = {Dtype::kBfloat16, Dtype::kBfloat16, Dtype::kBfloat16, Dtype::kBfloat16};
  return out;
}

std::uint64_t reserved(const EngineInput& input, std::uint64_t tokens, std::uint64_t seqs = 1) {
  std::vector<Note> notes;
  return engine_of(input.request).layout(input, notes)->reserved({Tokens(tokens), seqs, Tokens(0)}).count();
}

std::vector<std::string> codes(const EngineInput& input) {
  std::vector<Note> notes;
  engine_of(input.request).layout(input, notes);
  std::vector<std::string> out;
  for (const Note& note : notes) out.emplace_back(note.code);
  return out;
}

// Why kvplan has no layout, or why the engine does not start with it.
std::string refusal(const EngineInput& input) {
  std::vector<Note> notes;
  const Engine& engine = engine_of(input.request);
  try {
    engine.layout(input, notes);
  } catch (const Error& error) {
    CHECK(error.code() == Exit::kBadInput);
    return error.what();
  }
  if (engine.refusal == nullptr) return {};
  const std::optional<Refusal> found = engine.refusal(input, {Tokens(1000), 1, Tokens(0)});
  return found ? in_words(found->words) : std::string();
}

CacheTypes types_of(const std::string& engine, const ModelShape& model, std::optional<Dtype> asked = {}) {
  Request request = request_for(engine, 4096);
  request.cache_type_k = request.cache_type_v = asked;
  return engine_of(request).resolve_types(model, request);
}

TEST_CASE("rules: a layer with a compression ratio of 1 only has a window") {
  // compress_ratios is 0 or 1 for a layer that only has its window.
  Compressed kind;
  kind.num_heads = 64;
  kind.head_dim = 512;
  kind.qk_rope_head_dim = 64;
  kind.window = Tokens(128);
  for (const std::uint64_t ratio : {0U, 1U}) {
    kind.compress_ratio = ratio;
    CHECK(kind.variant() == "window");
    CHECK(elements(kind, 100000) == 128 * 512);
  }
  // An index key of even one element is an index key with its own compressor state.
  kind.compress_ratio = 4;
  kind.index_head_dim = 1;
  CHECK(kind.variant() == "csa");
  CHECK(kind.terms(Form::kCompact).size() == 7);
  kind.index_head_dim = 0;
  kind.compress_ratio = 2;
  CHECK(kind.variant() == "hca");
  CHECK(elements(kind, 100000) == 128 * 512 + 50000 * 512 + 2 * 2 * 512);
}

TEST_CASE("rules: MLX's cache of every kind of layer") {
  // QuantizedKVCache: 4 or 8 bits an element and 4 B of scale and bias for each 64; a row of 128: 64 + 8 or 128 + 8 B.
  EngineInput input = input_of("mlx", "llama", {heads(8, 128)});
  const auto with = [&](Dtype type) {
    input.types.key = input.types.value = type;
    return reserved(input, 1000);
  };
  CHECK(with(Dtype::kBfloat16) == 1024 * 4096);
  CHECK(with(Dtype::kInt8) == 1024 * 2 * 8 * 136);
  CHECK(with(Dtype::kInt4) == 1024 * 2 * 8 * 72);
  input.caches[0].compact.own()[0].shape.width = 96;
  CHECK(refusal(input).find("groups of 64") != std::string::npos);
  // This type is only for K.
  input = input_of("mlx", "llama", {heads(8, 128)});
  input.types.key = Dtype::kInt8;
  CHECK(reserved(input, 256) == 256 * (8 * 136 + 8 * 256));
  // RotatingKVCache: a prompt of 100 and 255 tokens of room, up to the window. ArraysCache: three columns of the
  // convolution, and the state.
  EngineInput windows = input_of("mlx", "gemma3", {heads(8, 128, 500), recurrence()});
  windows.model.root_type = "gemma3";
  CHECK(reserved(windows, 100, 2) == 2 * (355 * 4096 + 3 * 1024 * 2 + 8 * 64 * 128 * 4));
  CHECK(reserved(windows, 4000) == 500 * 4096 + 3 * 1024 * 2 + 8 * 64 * 128 * 4);
  CHECK(codes(windows).empty());
  windows.types.value = Dtype::kInt4;
  CHECK(refusal(windows).find("sliding layers") != std::string::npos);
  // mlx-lm does not read what a checkpoint declares for other engines. float32 stays float32.
  ModelShape model;
  model.declared_kv_dtype = Dtype::kFp8E4m3;
  model.dtype = Dtype::kFloat32;
  CHECK(types_of("mlx", model).key == Dtype::kFloat32);
  CHECK(types_of("mlx", model).value == Dtype::kFloat32);
  CHECK(types_of("mlx", model, Dtype::kInt4).key == Dtype::kInt4);
  CHECK_THROWS_AS(types_of("mlx", model, Dtype::kQ8_0), Error);
}

TEST_CASE("rules: mistral.rs' blocks and states") {
  // PagedAttention: every token of every layer in blocks of 32; states as the model has them.
  EngineInput input = input_of("mistralrs", "gemma3", {heads(8, 128, 500), heads(8, 128), recurrence()});
  CHECK(reserved(input, 1000, 2) == 2 * (2 * 1024 * 4096 + 3 * 1024 * 2 + 8 * 64 * 128 * 4));
  CHECK(codes(input) == std::vector<std::string>{"unverified_cache", "unverified_cache"});
  CHECK(codes(input_of("mistralrs", "llama", {heads(8, 128)})).empty());
  for (const std::uint64_t block : {8U, 16U, 32U}) {
    input.request.block_size = block;
    CHECK(reserved(input, 1) == 2 * block * 4096 + 3 * 1024 * 2 + 8 * 64 * 128 * 4);
  }
  for (const std::uint64_t block : {0U, 4U, 24U, 64U}) {
    input.request.block_size = block;
    CHECK(refusal(input).find("8, 16 and 32") != std::string::npos);
  }
  // The source tokens are not part of the blocks.
  CacheTerms source = heads(8, 128);
  for (Term& term : source) term.growth = Growth::kSourceToken;
  std::vector<Note> notes;
  const EngineInput crossed = input_of("mistralrs", "mllama", {heads(8, 128), source});
  CHECK(engine_of(crossed.request).layout(crossed, notes)->reserved({Tokens(33), 1, Tokens(100)}) ==
        Bytes(64 * 4096 + 100 * 4096));
  ModelShape model;
  model.declared_kv_dtype = Dtype::kFp8E4m3;
  CHECK(types_of("mistralrs", model).key == Dtype::kBfloat16);
  CHECK(types_of("mistralrs", model).value == Dtype::kBfloat16);
  CHECK(types_of("mistralrs", model, Dtype::kFp8E4m3).value == Dtype::kFp8E4m3);
}

TEST_CASE("rules: slots of LoRA adapters") {
  // config/lora.py of vLLM: ranks of 1, 8, 16, 32, 64, 128, 256, 320 and 512, vocabularies up to 258,048 tokens if the
  // head is wrapped; server_args.py of SGLang: --max-lora-rank covers every adapter's.
  std::vector<Note> notes;
  LoraQuestion asked{Arch::kLlama, 128256, 20, {"q_proj"}};
  Request request = request_for("vllm", 4096);
  CHECK(vllm_lora_slots(asked, request, notes).rank == 32);
  CHECK(notes.size() == 1);
  asked.largest_rank = 512;
  CHECK(vllm_lora_slots(asked, request, notes).rank == 512);
  asked.largest_rank = 513;
  CHECK_THROWS_AS(vllm_lora_slots(asked, request, notes), Error);
  asked.largest_rank = 16;
  CHECK(vllm_lora_slots(asked, request, notes).rank == 16);
  CHECK(vllm_lora_slots(asked, request, notes).with_head);
  asked.vocab_size = 258048;
  CHECK(vllm_lora_slots(asked, request, notes).with_head);
  asked.vocab_size = 258049;
  CHECK_THROWS_AS(vllm_lora_slots(asked, request, notes), Error);
  asked.arch = Arch::kQwen;  // the head is not wrapped
  CHECK_FALSE(vllm_lora_slots(asked, request, notes).with_head);
  request = request_for("sglang", 4096);
  CHECK(sglang_lora_slots(asked, request, notes).rank == 16);
  CHECK(sglang_lora_slots(asked, request, notes).targets == std::vector<std::string>{"q_proj"});
  request.extras.max_lora_rank = 16;
  CHECK(sglang_lora_slots(asked, request, notes).rank == 16);
  request.extras.max_lora_rank = 15;
  CHECK_THROWS_AS(sglang_lora_slots(asked, request, notes), Error);
  asked.largest_rank = 0;
  request.extras.max_lora_rank.reset();
  CHECK_THROWS_AS(sglang_lora_slots(asked, request, notes), Error);
}

TEST_CASE("rules: TensorRT-LLM's blocks and types") {
  // tokens_per_block: 64 before 0.20, 32 since; a power of two. Windows keep every token.
  const auto one = [](const char* engine, std::optional<std::uint64_t> block) {
    EngineInput input = input_of(engine, "llama", {heads(8, 128, 500), heads(8, 128)});
    input.request.block_size = block;
    return reserved(input, 1) / 8192;
  };
  CHECK(one("tensorrt-llm@0.19", {}) == 64);
  CHECK(one("tensorrt-llm@0.20", {}) == 32);
  CHECK(one("tensorrt-llm", {}) == 32);
  CHECK(one("tensorrt-llm", 128) == 128);
  EngineInput input = input_of("tensorrt-llm", "llama", {heads(8, 128, 500), recurrence()});
  CHECK(reserved(input, 1000, 2) == 2 * (1024 * 4096 + 3 * 1024 * 2 + 8 * 64 * 128 * 4));
  CHECK(codes(input) == std::vector<std::string>{"windows_kept_whole", "unverified_cache"});
  // The last block of a budget counts as a whole: the bytes of 100 tokens are four blocks of 32.
  EngineInput plain = input_of("tensorrt-llm", "llama", {heads(8, 128), heads(8, 128)});
  std::vector<Note> none;
  const Capacity held =
      engine_of(plain.request).layout(plain, none)->capacity(Bytes(100 * 8192), {Tokens(32), 1, Tokens(0)});
  CHECK(held.tokens == 128);
  CHECK(held.num_blocks == 4);
  input.request.block_size = 48;
  CHECK(refusal(input).find("power of two") != std::string::npos);
}

TEST_CASE("rules: transformers' cache of every kind of layer") {
  const auto one = [](std::string_view type, const CacheTerms& terms, std::uint64_t tokens = 1) {
    return reserved(input_of("transformers", type, {terms}), tokens);
  };
  const std::uint64_t state = 8 * 64 * 128 * 4;
  // Every kernel column of a convolution, except for two families that keep k - 1.
  CHECK(one("mamba", recurrence()) == 4 * 1024 * 2 + state);
  CHECK(one("zaya", recurrence()) == 3 * 1024 * 2 + state);
  CHECK(one("recurrent_gemma", recurrence()) == 3 * 1024 * 2 + state);
  // A kernel with one column needs no past inputs.
  CacheTerms single = recurrence();
  single[0].shape.columns = 1;
  CHECK(one("mamba", single) == 1024 * 2 + state);
  CHECK(one("zaya", single) == state);
  std::vector<Note> none;
  const EngineInput column = input_of("transformers", "mamba", {single});
  CHECK(in_words(engine_of(column.request)
                     .layout(column, none)
                     ->explain({Tokens(1), 1, Tokens(0)})
                     .front()
                     .gap.front()
                     .reason) == "kind: convolution states keep every kernel column");
  // gpt_neo's config gives the cache no window.
  CHECK(one("mistral", heads(8, 128, 100), 5000) == 100 * 4096);
  CHECK(one("gpt_neo", heads(8, 128, 100), 5000) == 5000 * 4096);
  // QuantizedCache: groups of 64 of a whole tensor, 4 B each; windows and incomplete groups keep the model's type or
  // take a group.
  EngineInput input = input_of("transformers", "llama", {heads(8, 128), heads(8, 128, 100)});
  input.types.key = input.types.value = Dtype::kInt8;
  CHECK(reserved(input, 1000) == 1000 * 2 * (1024 + 16 * 4) + 100 * 4096);
  input.types.value = Dtype::kInt4;
  CHECK(reserved(input, 1000) == 1000 * (1024 + 64 + 512 + 64) + 100 * 4096);
  EngineInput odd = input_of("transformers", "llama", {{term_of(Role::kKey, 3, 33)}});
  odd.types.key = Dtype::kInt4;
  CHECK(reserved(odd, 10) == 10 * (50 + 2 * 4));  // 99 elements
  // States are float32 unless the model's code (lightning attention) or the user says otherwise.
  ModelShape model;
  CHECK(types_of("transformers", model).state == Dtype::kFloat32);
  for (const char* type : {"minimax", "bailing_moe_linear", "bailing_hybrid"}) {
    model.arch = test_arch(type);
    CHECK(types_of("transformers", model).state == Dtype::kBfloat16);
  }
  model.declared_kv_dtype = Dtype::kFp8E4m3;
  CHECK(types_of("transformers", model).key == Dtype::kBfloat16);
  CHECK(types_of("transformers", model).value == Dtype::kBfloat16);
  // With a draft there is one sequence at a time.
  EngineInput assisted = input_of("transformers", "llama", {heads(8, 128)});
  assisted.request.num_seqs = 2;
  CHECK(codes(assisted).empty());
  assisted.draft_method = DraftMethod::kNgram;
  CHECK(codes(assisted) == std::vector<std::string>{"one_sequence"});
  assisted.request.num_seqs = 1;
  CHECK(codes(assisted).empty());
  // 4.57 did not cache the latent.
  EngineInput latent = input_of("transformers@4.57", "deepseek_v3", {{term_of(Role::kKey, 1, 512)}});
  latent.caches[0].expanded = {term_of(Role::kKey, 16, 192), term_of(Role::kValue, 16, 128)};
  CHECK(reserved(latent, 10) == 10 * 16 * 320 * 2);
  CHECK(codes(latent) == std::vector<std::string>{"mla_expanded"});
  std::vector<Note> notes;
  const auto gap = engine_of(latent.request).layout(latent, notes)->explain({Tokens(10), 1, Tokens(0)}).front().gap;
  REQUIRE(gap.size() == 1);
  CHECK(in_words(gap.front().reason) == "kind: K and V expanded");
  latent.request.engine_version = "5.0";
  CHECK(reserved(latent, 10) == 10 * 512 * 2);
  CHECK(codes(latent).empty());
}

TEST_CASE("rules: an offloaded cache of transformers") {
  // Four full layers, a window and a state. Two full layers, the window and the state stay on the GPU. The host stores
  // only the full layers.
  EngineInput input =
      input_of("transformers", "llama",
               {heads(8, 128), heads(8, 128), heads(8, 128, 100), heads(8, 128), recurrence(), heads(8, 128)});
  input.request.transformers.cache_implementation = "offloaded";
  std::vector<Note> notes;
  const auto layout = engine_of(input.request).layout(input, notes);
  const Load load{Tokens(1000), 2, Tokens(0)};
  const std::uint64_t stays = 100 * 4096 + 4 * 1024 * 2 + 8 * 64 * 128 * 4;
  CHECK(layout->reserved(load) == Bytes(2 * (2 * 1000 * 4096 + stays)));
  REQUIRE(layout->host(load).size() == 1);
  CHECK(layout->host(load).front().bytes == Bytes(2 * 4 * 1000 * 4096));
  input.request.parallel.tensor = 2;
  const auto two = engine_of(input.request).layout(input, notes);
  CHECK(two->host(load).front().bytes == Bytes(2 * 4 * 1000 * 4096));  // of both ranks
  CHECK(two->reserved(load) == Bytes((2 * 2 * 1000 * 4096 + 2 * stays) / 2));
}

TEST_CASE("rules: Ollama's context depends on the GPU") {
  // server/routes.go since 0.15.5 has limits of 47 and 23 GiB for the sum of all GPUs. An RTX 4090 has 23.5 and a pair
  // of them 47.04 GiB.
  Request request;
  const Engine& ollama = find_engine("ollama", request);
  const auto context = [&](std::optional<Bytes> card, std::uint64_t count = 1) {
    request.card.count = count;
    return ollama.default_context(request, card);
  };
  CHECK(context(std::nullopt) == Tokens(4096));
  CHECK(context(Bytes(23 * kGiB - 1)) == Tokens(4096));
  CHECK(context(Bytes(23 * kGiB)) == Tokens(32768));
  CHECK(context(Bytes(47 * kGiB - 1)) == Tokens(32768));
  CHECK(context(Bytes(47 * kGiB)) == Tokens(262144));
  CHECK(context(Bytes(16 * kGiB), 2) == Tokens(32768));
  CHECK(context(built_in_catalogue().parse("rtx-4090").budget()) == Tokens(32768));
  CHECK(context(built_in_catalogue().parse("rtx-4090").budget(), 2) == Tokens(262144));
  request.card.mixed = {&built_in_catalogue().parse("rtx-3060"), &built_in_catalogue().parse("rtx-4090")};
  CHECK(context(std::nullopt) == Tokens(32768));
  request.card.mixed.clear();
  find_engine("ollama@0.12", request);
  CHECK(context(Bytes(80 * kGiB)) == Tokens(4096));
  // num_batch 512: one pass of 512 tokens where llama.cpp takes n_batch 2048 in micro-batches of 512; with windows of
  // 1024 the second cache is 1536 cells in both.
  EngineInput input = input_of("ollama", "gemma3", {heads(8, 128, 1024)});
  input.types = {Dtype::kFloat16, Dtype::kFloat16, Dtype::kBfloat16, Dtype::kBfloat16};
  input.request.llama_cpp.n_ubatch = 2048;
  CHECK(reserved(input, 16384) == 1536 * 4096);
  input.request.llama_cpp.n_batch = 2048;
  CHECK(reserved(input, 16384) == 3072 * 4096);
}

TEST_CASE("rules: vLLM's types and shares") {
  ModelShape model;
  Request mixed = request_for("vllm", 4096);
  mixed.cache_type_k = Dtype::kFp8E4m3;
  CHECK_THROWS_AS(engine_of(mixed).resolve_types(model, mixed), Error);
  // A float32 checkpoint is served in bfloat16. --dtype float32 applies to everything except the cache.
  model.dtype = Dtype::kFloat32;
  CHECK(types_of("vllm", model).model == Dtype::kBfloat16);
  CHECK(types_of("vllm", model).state == Dtype::kBfloat16);
  Request wide = request_for("vllm", 4096);
  wide.dtype = Dtype::kFloat32;
  CHECK(engine_of(wide).resolve_types(model, wide).model == Dtype::kFloat32);
  // NemotronHForCausalLMConfig: float32 by default.
  model.dtype = Dtype::kBfloat16;
  model.arch = test_arch("nemotron_h");
  CHECK(types_of("vllm", model).state == Dtype::kFloat32);
  model.declared_state_dtype = Dtype::kBfloat16;
  CHECK(types_of("vllm", model).state == Dtype::kBfloat16);
  // DeepSeek-V3.2: FP8 is fp8_ds_mla, 16 bit stays; DeepSeek-V4 has only fp8_ds_mla.
  model = {};
  model.arch = test_arch("deepseek_v32");
  CHECK(types_of("vllm", model).key == Dtype::kBfloat16);
  CHECK(types_of("vllm", model, Dtype::kFp8E4m3).key == Dtype::kFp8DsMla);
  CHECK(types_of("vllm", model, Dtype::kFp8E5m2).value == Dtype::kFp8DsMla);
  CHECK(types_of("vllm", model, Dtype::kFp8DsMla).value == Dtype::kFp8DsMla);
  model.arch = test_arch("deepseek_v4");
  CHECK(types_of("vllm", model).key == Dtype::kFp8DsMla);
  CHECK(types_of("vllm", model, Dtype::kBfloat16).key == Dtype::kBfloat16);
  model.arch = test_arch("deepseek_v3");
  CHECK(types_of("vllm", model, Dtype::kFp8E4m3).key == Dtype::kFp8E4m3);
  // MLA kernels support 16 bit and FP8. VllmConfig refuses NVFP4 (launch-vllm.jsonl).
  CacheTerms latent{term_of(Role::kKey, 1, 512)};
  latent[0].part = Part::kLatent;
  EngineInput input = input_of("vllm", "deepseek_v3", {latent});
  input.types.key = input.types.value = Dtype::kInt4;
  CHECK(refusal(input).find("no latents in int4") != std::string::npos);
  input.types.key = input.types.value = Dtype::kFp8E4m3;
  CHECK(refusal(input).empty());
  // Entries for a number of tokens that does not divide a block of 256.
  CacheTerms packed = latent;
  packed[0].stride = 3;
  CHECK(refusal(input_of("vllm", "deepseek_v4", {packed})).find("do not divide") != std::string::npos);
  // 0.90 of the GPU until 0.19, 0.92 since then. A fraction that the user gives comes first.
  EngineInput shared = input_of("vllm@0.19", "llama", {});
  CHECK(usable_share(engine_of(shared.request), shared) == 0.90);
  shared.request.engine_version = "0.20";
  CHECK(usable_share(engine_of(shared.request), shared) == 0.92);
  shared.request.memory_utilization = 0.5;
  CHECK(usable_share(engine_of(shared.request), shared) == 0.5);
}

TEST_CASE("rules: vLLM's kernels pad MXFP4 experts") {
  // As stored without a GPU and on AMD; padded for Triton on Hopper, FlashInfer on Blackwell and Marlin on other GPUs.
  using Sides = Mxfp4Layout;
  Request request = request_for("vllm", 4096);
  CHECK(vllm_mxfp4_layout(request) == Sides{1, 1});
  request.card.gpu = &parse_gpu("mi300x");
  CHECK(vllm_mxfp4_layout(request) == Sides{1, 1});
  for (const char* card : {"h100-80gb", "h200"}) {
    request.card.gpu = &parse_gpu(card);
    CHECK(vllm_mxfp4_layout(request) == Sides{64, 1});
  }
  for (const char* card : {"b200", "a100-80gb"}) {
    request.card.gpu = &parse_gpu(card);
    CHECK(vllm_mxfp4_layout(request) == Sides{128, 256});
  }
  request.engine_version = "0.26";
  request.card.gpu = &parse_gpu("b200");
  CHECK(vllm_mxfp4_layout(request) == Sides{256, 256});
  // Until #46549 vLLM kept the checkpoint's scales in addition to Triton's.
  request.card.gpu = &parse_gpu("h100-80gb");
  CHECK(vllm_mxfp4_layout(request) == Sides{64, 1});
  request.engine_version = "0.24";
  CHECK(vllm_mxfp4_layout(request) == Sides{64, 1, 256});
  request.engine_version = "0.11";
  CHECK(vllm_mxfp4_layout(request) == Sides{64, 1, 256});
  request.engine_version = "0.10";
  CHECK(vllm_mxfp4_layout(request) == Sides{});
}

TEST_CASE("rules: the length that an engine assumes if the config names none") {
  // Executed: vLLM's max_model_len of Mamba, config/model.py default_max_len; SGLang's get_context_length.
  const ModelSpec model = test_model("mamba-2.8b");
  const auto planned = [&](const char* engine, std::optional<Tokens> asked = std::nullopt) {
    Request request;
    find_engine(engine, request);
    request.max_model_len = asked;
    return make_plan(model, request);
  };
  for (const char* engine : {"vllm", "vllm@0.26", "sglang"}) {
    CHECK(planned(engine).load.max_model_len == Tokens(2048));
    CHECK(planned(engine).model->max_model_len == Tokens(2048));
    CHECK(planned(engine, Tokens(100)).load.max_model_len == Tokens(100));
  }
  CHECK(planned("transformers").load.max_model_len == Tokens(kDefaultContext));
  CHECK(planned("transformers").model->max_model_len == Tokens(0));
}

TEST_CASE("rules: vLLM gives every layer an indexer if only indexer_types say which layers have one") {
  // models/deepseek_v2.py reads index_topk_pattern and index_topk_freq. GLM-5.2's own config has the latter (executed).
  using Facts = std::vector<ConfigFact>;
  const ConfigFact types{"indexer_types", R"(["full","shared"])"};
  const auto every = [](Arch arch, const Facts& facts, const std::string& engine = "vllm") {
    return vllm_indexes_every_layer(arch, facts, vllm_rules(request_for(engine, 4096)));
  };
  CHECK(every(Arch::kGlmMoeDsa, {types}));
  CHECK(every(Arch::kDeepseekV32, {{"text_config.indexer_types", R"(["full"])"}}));
  CHECK(every(Arch::kGlmMoeDsa, {types, {"index_topk_freq", "1"}}));
  CHECK(every(Arch::kGlmMoeDsa, {types, {"index_topk_pattern", "null"}}));
  CHECK_FALSE(every(Arch::kGlmMoeDsa, {types, {"index_topk_freq", "4"}}));
  CHECK_FALSE(every(Arch::kGlmMoeDsa, {types, {"index_topk_pattern", R"("FSSS")"}}));
  CHECK_FALSE(every(Arch::kGlmMoeDsa, {}));
  CHECK_FALSE(every(Arch::kGlmMoeDsa, {{"indexer_types", R"(["full"])", Origin::kClassDefault}}));
  CHECK_FALSE(every(Arch::kDeepseekV3, {types}));
  // 0.23 builds indexers and skips them at run time.
  CHECK(every(Arch::kGlmMoeDsa, {types, {"index_topk_freq", "4"}}, "vllm@0.23"));
  CHECK_FALSE(every(Arch::kGlmMoeDsa, {types, {"index_topk_freq", "4"}}, "vllm@0.24"));
}

TEST_CASE("rules: a draft model's first layer has the draft's types") {
  // A float32 draft with a 16-bit model: its entries are twice as wide.
  const auto pages = [](Dtype dtype) {
    EngineInput input = input_of("vllm", "llama", {heads(8, 128)});
    auto draft = std::make_shared<EngineInput>(input_of("vllm", "llama", {heads(8, 128)}));
    draft->types.key = draft->types.value = dtype;
    input.draft = draft;
    return reserved(input, 4096);
  };
  CHECK(pages(Dtype::kBfloat16) == 4096ULL * 2 * 4096);
  CHECK(pages(Dtype::kFloat32) == 4096ULL * (4096 + 8192));
}

TEST_CASE("rules: a release number has at most as many digits as a date") {
  Request request;
  CHECK_NOTHROW(find_engine("vllm@100000", request));
  CHECK_THROWS_AS(find_engine("vllm@100001", request), Error);
  CHECK_NOTHROW(find_engine("llama.cpp@b18446744073709551615", request));
  CHECK_THROWS_AS(find_engine("llama.cpp@b18446744073709551616", request), Error);
}

TEST_CASE("rules: a release may be written with or without its tag's v") {
  for (const char* named : {"llama.cpp@v0.5.0", "llama.cpp@0.5.0"}) {
    Request request;
    find_engine(named, request);
    CHECK(request.engine_version == "0.5.0");
  }
  Request request;
  for (const char* none : {"llama.cpp@v", "llama.cpp@vb11739", "llama.cpp@vv0.5", "vllm@v0.x"})
    CHECK_THROWS_AS(find_engine(none, request), Error);
}

TEST_CASE("rules: vLLM's states, drafts and the reasons for them") {
  // Two states of 1,000,000 B beside two layers of 4,096 B per token: blocks of 16 * ceil(1000000 / 65536) = 256
  // tokens, pages of 1,048,576 B, two groups of two. 1,000 tokens need four blocks of attention and one of states.
  constexpr std::uint64_t kPage = 1048576;
  Term state{.name = "linear state", .role = Role::kState, .growth = Growth::kSequence, .storage = Storage::kModel};
  state.shape = {.units = 100, .vectors = 625, .width = 8};
  EngineInput input = input_of("vllm@0.26", "qwen3_next", {{state}, heads(8, 128), {state}, heads(8, 128)});
  std::vector<Note> notes;
  const auto rank = [&] {
    return engine_of(input.request).layout(input, notes)->explain({Tokens(1000), 1, Tokens(0)}).front();
  };
  const auto reason = [&](std::string_view text) {
    const RankCache all = rank();
    for (const GapLine& line : all.gap)
      if (in_words(line.reason) == text) return line.bytes;
    return std::int64_t{0};
  };
  CHECK(rank().logical == Bytes(2 * 1000 * 4096 + 2 * 1000000));
  CHECK(rank().reserved == Bytes(5 * 2 * kPage));
  CHECK(rank().gap.size() == 2);
  CHECK(reason("page rounding") == 2 * 24 * 4096);
  CHECK(reason("state page alignment") == 2 * (kPage - 1000000));
  REQUIRE(rank().lines.size() == 2);
  CHECK(in_words(rank().lines[0].formula) == "1 sequence x 1 block x 2097152 B per block");
  const auto groups = engine_of(input.request).layout(input, notes)->groups();
  REQUIRE(groups.size() == 2);
  CHECK_FALSE(groups[0].block_size);
  CHECK(groups[1].block_size == 256);
  CHECK(engine_of(input.request).layout(input, notes)->block_size() == 256);
  // One draft token is requested, instead of the three in vLLM's examples.
  input.draft_method = DraftMethod::kNgram;
  CHECK(vllm_speculative_tokens(input) == 3);
  input.request.num_speculative_tokens = 1;
  CHECK(vllm_speculative_tokens(input) == 1);
  input.draft_method.reset();
  // Two draft tokens need two more states.
  input.request.num_speculative_tokens = 2;
  CHECK(rank().reserved == Bytes(7 * 2 * kPage));
  CHECK(reason("more states of a sequence") == 2 * 2 * 1000000);
  CHECK(reason("state page alignment") == 3 * 2 * (kPage - 1000000));
  // One MTP layer: three layers of attention form two groups of two slots, one of which is empty; and two states.
  input.request.num_speculative_tokens = 0;
  input.request.mtp = true;
  input.model.num_nextn_layers = 1;
  CHECK(rank().reserved == Bytes((2 * 4 + 2) * 2 * kPage));
  CHECK(reason("draft layers") == 1000 * 4096);
  CHECK(reason("page rounding") == 3 * 24 * 4096);
  CHECK(reason("padding layers") == 4 * kPage);
  CHECK(reason("more states of a sequence") == 2 * 1000000);
  REQUIRE(rank().lines.size() == 4);
  CHECK(in_words(rank().lines[1].what) == "kind, 1 layers");
  CHECK(rank().lines[1].bytes == Bytes(4 * kPage));
  CHECK(in_words(rank().lines[2].what) == "MTP layers, 1 layer");
  CHECK(rank().lines[2].bytes == Bytes(4 * kPage));
  CHECK(rank().lines[3].bytes == Bytes(8 * kPage));
  input.model.num_nextn_layers = 0;
  notes.clear();
  CHECK(rank().reserved == Bytes(5 * 2 * kPage));
  REQUIRE(notes.size() == 1);
  CHECK(notes.front().code == "no_mtp_layers");
  // A draft with other heads is a separate group, without an extra line.
  EngineInput drafted = input_of("vllm", "llama", {heads(8, 128)});
  auto draft = std::make_shared<EngineInput>();
  draft->types = drafted.types;
  draft->caches = {{0, "kind", {term_of(Role::kKey, 4, 128), term_of(Role::kValue, 4, 128)}, {}}};
  drafted.draft = draft;
  const auto beside = engine_of(drafted.request).layout(drafted, notes)->explain({Tokens(1000), 1, Tokens(0)}).front();
  REQUIRE(beside.lines.size() == 2);
  CHECK(in_words(beside.lines[1].what) == "draft model, 1 layer");
  // Only states: as many requests as pages, and the number of tokens is unlimited.
  EngineInput alone = input_of("vllm", "mamba", {{state}, {state}});
  const auto mamba = engine_of(alone.request).layout(alone, notes);
  const Capacity held = mamba->capacity(Bytes(20000000), {Tokens(1000), 1, Tokens(0)});
  CHECK(held.num_blocks == 10);
  CHECK(held.max_concurrency == 10.0);
  CHECK(mamba->block_size() == alone.request.max_model_len->count());  // one state for the whole length
  // No cache at all.
  EngineInput none = input_of("vllm", "llama", {{}, {}});
  const auto empty = engine_of(none.request).layout(none, notes);
  CHECK(empty->reserved({Tokens(1000), 1, Tokens(0)}) == Bytes(0));
  CHECK_FALSE(empty->capacity(Bytes(1000), {Tokens(1000), 1, Tokens(0)}).tokens);
  CHECK(empty->buffers({Tokens(1000), 1, Tokens(0)}, 0).empty());
}

TEST_CASE("rules: vLLM's concurrency of packed groups") {
  // DeepSeek-V4-Flash, 30,000 tokens, batches of 16,384: 118 + 2 * 259 + 4,099 + 2,065 = 6,800 blocks (vllm#44376).
  // Until 0.25 the log divided the bytes of all groups by the first one's: 118 * 1,002,240 + 259 * (823,680 + 786,240)
  // + 4,099 * 967,680 + 2,065 * 748,800 B are 6,035 of them. 10,000 blocks of 1,039,680 B: 30,000 * 10,000 / 6,035
  // tokens.
  const ModelSpec model = test_model("deepseek-v4-flash");
  Request request = request_for("vllm@0.25", 30000, 10000ULL * 1039680);
  request.max_num_batched_tokens = Tokens(16384);
  const Plan plan = make_plan(model, request);
  CHECK(plan.capacity->num_blocks == 10000);
  CHECK(plan.capacity->tokens == 49710);
  CHECK(plan.capacity->max_concurrency == doctest::Approx(10000.0 / 6035));
}

TEST_CASE("rules: vLLM's blocks of DeepSeek-V4-Flash by release, as logs print them") {
  // Bytes of a block: 22 slots of every page until 0.22, as many pages as any group has until 0.26 (#44454), the widest
  // group's since 0.27 (#48993). Printed: 2,497,693 tokens (0.22.1), 150,992 (0.26, vllm#51041), 923,492 and 1,728,531.
  struct Row {
    const char* engine;
    std::uint64_t ranks, length, batch, blocks, bytes, tokens;
    bool mtp = false;
  };
  const Row rows[] = {
      {"vllm@0.22", 8, 256000, 8192, 38724, 1051776, 2497693},
      {"vllm@0.26", 2, 121344, 8192, 7965, 1039680, 150992, true},
      {"vllm@0.27", 4, 262144, 2048, 9561, 1002240, 923492},
      {"vllm@0.30", 8, 262144, 8192, 50812, 1002240, 1728531},
  };
  const ModelSpec model = test_model("deepseek-v4-flash");
  for (const Row& row : rows) {
    CAPTURE(row.engine);
    Request request = request_for(row.engine, row.length, row.blocks * row.bytes);
    request.max_num_batched_tokens = Tokens(row.batch);
    request.parallel.tensor = row.ranks;
    request.mtp = row.mtp;
    const Plan plan = make_plan(model, request);
    CHECK(plan.capacity->num_blocks == row.blocks);
    CHECK(plan.capacity->tokens == row.tokens);
  }
}

TEST_CASE("rules: vLLM's blocks of one rank, their reasons and their tensors") {
  // Two full layers and two windows of 128, 4,096 B per token: two groups of two; blocks of 16 tokens, 131,072 B of
  // them. 1,000 tokens: 63 blocks; 127 + 600 of a window's reach: 46 and one more for the request that is admitted, 8
  // and one more for the two that run.
  EngineInput input =
      input_of("vllm@0.25", "gpt_oss", {heads(8, 128), heads(8, 128, 128), heads(8, 128), heads(8, 128, 128)});
  input.request.max_num_batched_tokens = Tokens(600);
  std::vector<Note> notes;
  const auto layout = engine_of(input.request).layout(input, notes);
  const Load load{Tokens(1000), 3, Tokens(0)};
  const RankCache rank = layout->explain(load).front();
  CHECK(rank.logical == Bytes(3 * (2 * 1000 + 2 * 128) * 4096));
  CHECK(rank.reserved == Bytes((3 * 63 + 47 + 2 * 9) * 131072));
  REQUIRE(rank.gap.size() == 2);
  CHECK(in_words(rank.gap[0].reason) == "page rounding");
  CHECK(rank.gap[0].bytes == 3 * 2 * 8 * 4096);
  CHECK(in_words(rank.gap[1].reason) == "window reserve");
  CHECK(rank.gap[1].bytes == (47 + 2 * 9 - 3 * 8) * 131072);
  REQUIRE(rank.lines.size() == 2);
  CHECK(in_words(rank.lines[0].what) == "kind, 2 layers");
  CHECK(in_words(rank.lines[0].formula) == "3 sequences x 63 blocks of 16 tokens x 131072 B per block");
  CHECK(rank.lines[1].bytes == Bytes((47 + 2 * 9) * 131072));
  CHECK(in_words(rank.lines[1].formula) == "(1 sequence x 47 blocks + 2 x 9 of 16 tokens) x 131072 B per block");
  CHECK(layout->block_size() == 16);
  const auto buffers = layout->buffers(load, 0);
  REQUIRE(buffers.size() == 2);
  CHECK(buffers[1].name == "slot 2 of 2");
  CHECK(buffers[1].bytes == Bytes(254 * 65536));
  REQUIRE(layout->groups().size() == 2);
  CHECK(layout->groups()[1].layers == 2);
  CHECK(layout->groups()[1].page_bytes == Bytes(65536));
  // A budget of 1,000 blocks and a remainder: 1000 / 110 requests of 1,000 tokens.
  const Capacity held = layout->capacity(Bytes(1000 * 131072 + 131071), load);
  CHECK(held.num_blocks == 1000);
  CHECK(held.max_concurrency == doctest::Approx(1000.0 / 110));
  CHECK(held.tokens == 9090);
  // Until 0.20 the log printed blocks / groups * the shortest block.
  input.request.engine_version = "0.20";
  const auto old = engine_of(input.request).layout(input, notes);
  CHECK(old->capacity(Bytes(1000 * 131072), load).tokens == 1000 / 2 * 16);
  CHECK(old->capacity(Bytes(1000 * 131072), load).max_concurrency == doctest::Approx(1000.0 / 110));
  // Before 0.10 there is one block table, and the concurrency is tokens / length.
  input.request.engine_version = "0.9";
  const auto oldest = engine_of(input.request).layout(input, notes);
  CHECK(oldest->capacity(Bytes(1000 * 131072), load).tokens == 1000 / 2 * 16);
  CHECK(oldest->capacity(Bytes(1000 * 131072), load).max_concurrency == doctest::Approx(8.0));
  CHECK(in_words(oldest->explain(load).front().gap.back().reason) == "windows at full length");
  CHECK(oldest->explain(load).front().gap.back().bytes == 3 * 2 * (1008 - 128) * 4096);
  // Two stages with one layer of each kind: a block is half as large.
  input.request.engine_version = "0.25";
  input.request.parallel.pipeline = 2;
  const auto stages = engine_of(input.request).layout(input, notes);
  CHECK(stages->reserved(load) == Bytes(254 * 65536));
  REQUIRE(stages->explain(load).size() == 2);
  for (const RankCache& half : stages->explain(load)) {
    CHECK(in_words(half.lines[0].what) == "kind, 1 layers");
    CHECK(half.gap[0].bytes == 3 * 8 * 4096);
  }
  CHECK(stages->explain(load)[1].logical == Bytes(3 * (1000 + 128) * 4096));
  CHECK(stages->capacity(Bytes(1000 * 65536), load).num_blocks == 1000);
}

// The release that a file of executed figures names. Build b11739 of llama.cpp is of 0.6.
Release executed_release(const Engine& engine, const std::string& text) {
  if (text == "b11739") return {0, 6};
  Request request;
  find_engine(std::string(engine.name) + "@" + text, request);
  return release_of(request);
}

TEST_CASE("rules: for an executed row, the releases on both sides of the change were executed") {
  for (const Engine& engine : engines()) {
    if (engine.rules == nullptr) continue;
    std::vector<Release> executed;
    const std::string beginning = std::string(engine.name) + "-";
    for (const auto& file : std::filesystem::directory_iterator(KVPLAN_SOURCE_DIR "/testdata/conformance"))
      if (const std::string name = file.path().filename().string();
          name.starts_with(beginning) && name.find_first_of("0123456789") <= beginning.size() + 1)
        executed.push_back(executed_release(engine, name.substr(beginning.size(), name.rfind('.') - beginning.size())));
    for (const RuleRow& row : engine.rules()) {
      INFO(engine.name << ": " << row.what);
      CHECK_FALSE(row.what.empty());
      if (row.basis != RuleBasis::kExecuted) continue;
      for (const std::string& text : {row.since, row.until}) {
        if (text.empty()) continue;
        const auto is_before = [&](Release release) { return release < parse_release(text); };
        CHECK(std::any_of(executed.begin(), executed.end(), is_before));
        CHECK_FALSE(std::all_of(executed.begin(), executed.end(), is_before));
      }
    }
  }
}

TEST_CASE("rules: a bracketed row has its change in the bracket, and planning its other side turns only that row") {
  std::size_t bracketed = 0;
  for (const Engine& engine : engines()) {
    if (engine.rules == nullptr) continue;
    std::set<std::string> turned;
    for (const RuleRow& row : engine.rules()) {
      INFO(engine.name << ": " << row.what);
      if (row.between.by == Release{}) continue;
      ++bracketed;
      const Release change = parse_release(row.since.empty() ? row.until : row.since);
      CHECK(row.between.after < change);
      CHECK(change <= row.between.by);
      CHECK(row.basis == RuleBasis::kRead);
      CHECK(turned.insert(row.what).second);
      CHECK(date_basis(row) ==
            "between " + format_release(row.between.after) + " and " + format_release(row.between.by));
    }
  }
  CHECK(bracketed > 10);
}

TEST_CASE("rules: a planted row of unknown date is on or off in its bracket, and certain outside of it") {
  struct Planted {
    bool on = false, other = false;
    std::uint64_t size = 16;
  };
  constexpr Rule<Planted> kPlanted[] = {
      {&Planted::on, 1, {0, 15}, kNoEnd, "planted", "a log", RuleBasis::kRead, {{0, 13}, {0, 15}}},
      {&Planted::other, 1, {0, 15}, kNoEnd, "other", "source"},
      {&Planted::size, 64, {0, 15}, kNoEnd, "size", "a log", RuleBasis::kRead, {{0, 13}, {0, 15}}},
  };
  const Release inside{0, 14};
  CHECK_FALSE(resolve_rules(kPlanted, inside).on);
  CHECK(resolve_rules(kPlanted, inside, "planted").on);
  CHECK_FALSE(resolve_rules(kPlanted, inside, "planted").other);
  CHECK(resolve_rules(kPlanted, inside, "planted").size == 16);
  CHECK(resolve_rules(kPlanted, inside, "size").size == 64);
  CHECK_FALSE(resolve_rules(kPlanted, {0, 15}, "planted").on);
  const std::vector<RuleRow> rows = rule_rows(kPlanted);
  CHECK(rows.front().between.has(inside));
  CHECK_FALSE(rows.front().between.has({0, 13}));
  CHECK_FALSE(rows.front().between.has({0, 15}));
  CHECK(date_basis(rows.front()) == "between 0.13 and 0.15");
  CHECK(date_basis(rows[1]) == "source");
}

// For every row of unknown date, a plan in its bracket has both numbers exactly if they differ.
TEST_CASE("rules: a plan at a release in a bracket has both numbers if they differ") {
  std::size_t told = 0;
  for (const Engine& engine : engines()) {
    if (engine.rules == nullptr) continue;
    for (const RuleRow& row : engine.rules()) {
      if (row.between.by == Release{}) continue;
      Release inside = row.between.after;
      ++inside.patch;
      for (const char* name : {"llama-3.1-8b", "deepseek-v3", "gpt-oss-20b"}) {
        INFO(engine.name << " " << format_release(inside) << " " << name << ": " << row.what);
        const ModelSpec model = test_model(name);
        Request request = request_for(std::string(engine.name) + "@" + format_release(inside), 8192);
        request.card.gpu = &parse_gpu("h200");
        Plan plan = make_plan(model, request);
        request.turned_rule = row.what;
        request.parallel.given = true;
        const Plan other = make_plan(model, request);
        complete(model, {}, plan);
        const bool has_note = std::any_of(plan.notes.begin(), plan.notes.end(), [&](const Note& note) {
          return note.code == "date_not_known" && in_words(note.message).ends_with(row.what);
        });
        REQUIRE(plan.capacity);
        REQUIRE(other.capacity);
        const bool differs = plan.fullest().total != other.fullest().total ||
                             plan.capacity->tokens != other.capacity->tokens ||
                             plan.verdict.starts != other.verdict.starts;
        CHECK(has_note == differs);
        told += has_note ? 1 : 0;
      }
    }
  }
  CHECK(told > 0);
}

TEST_CASE("rules: SGLang 0.4 means most of its releases, 0.5 its newest") {
  const auto rules = [](const std::string& engine) { return sglang_rules(request_for(engine, 4096)); };
  CHECK_FALSE(rules("sglang@0.4").sizes_by_card);
  CHECK_FALSE(rules("sglang@0.4.7").sizes_by_card);
  CHECK(rules("sglang@0.4.8").sizes_by_card);
  CHECK_FALSE(rules("sglang@0.5.22").tokenspeed_is_cutedsl);
  for (const char* newest : {"sglang", "sglang@0.5", "sglang@0.5.23", "sglang@0.6"})
    CHECK(rules(newest).tokenspeed_is_cutedsl);
  CHECK(rules("sglang@0.3.3").share_of_eight_ranks == doctest::Approx(0.83));
}

// The first release whose wheel has the class in srt/models.
TEST_CASE("rules: SGLang runs transformers' class until it has its own") {
  const auto library = [](const std::string& engine, const std::string& architecture) {
    EngineInput input;
    input.model.architecture = architecture;
    input.request = request_for(engine, 4096);
    return sglang_library_class(input);
  };
  CHECK(library("sglang@0.5.8", "Lfm2ForCausalLM") == true);
  CHECK_FALSE(library("sglang@0.5.9", "Lfm2ForCausalLM"));
  CHECK(library("sglang@0.5.12", "Cohere2VisionForConditionalGeneration") == true);
  CHECK_FALSE(library("sglang@0.5.13", "Cohere2VisionForConditionalGeneration"));
  CHECK(library("sglang@0.5.13", "RecurrentGemmaForCausalLM") == false);  // executed
  CHECK(library("sglang@0.5.23", "RecurrentGemmaForCausalLM") == true);
}

}  // namespace
}  // namespace kvplan
