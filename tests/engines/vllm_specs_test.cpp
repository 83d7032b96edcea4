// A layer's memory in vLLM: pages of states next to attention (platforms/interface.py, models/config.py), modes of
// prefix caching, drafts, widths of values, without the hybrid manager. Figures follow from published configs.
#include "engines/vllm/specs.h"
#include "engines/vllm/vllm.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "engines/requests.h"
#include "engines/vllm/rules.h"
#include "kvplan/error.h"

#include "support/figures.h"

namespace kvplan {
namespace {

Term term_of(std::string_view name, Role role, std::uint64_t units, std::uint64_t width, std::uint64_t window = 0) {
  Term out{.name = name, .role = role};
  out.shape = {.units = units, .vectors = 1, .width = width};
  if (window > 0) out.limit = {LimitKind::kWindow, Tokens(window), Tokens(0)};
  return out;
}

CacheTerms heads(std::uint64_t units, std::uint64_t width, std::uint64_t window = 0, std::uint64_t value = 0) {
  return {term_of("key", Role::kKey, units, width, window),
          term_of("value", Role::kValue, units, value > 0 ? value : width, window)};
}

Term state_of(std::string_view name, std::uint64_t units, std::uint64_t vectors, std::uint64_t width,
              std::uint64_t columns = 0) {
  Term out{.name = name,
           .role = Role::kState,
           .part = name == "ssm state" ? Part::kScan : Part::kPlain,
           .growth = Growth::kSequence,
           .storage = Storage::kModel};
  out.shape = {.units = units, .vectors = vectors, .width = width, .columns = columns};
  return out;
}

EngineInput input_of(const std::string& engine, std::string_view model_type, std::vector<CacheTerms> layers) {
  EngineInput out;
  out.request = request_for(engine, 131072);
  out.model.arch = test_arch(model_type);
  out.model.num_layers = layers.size();
  for (CacheTerms& terms : layers) out.caches.push_back({out.caches.size(), "kind", terms, terms});
  out.types = {Dtype::kBfloat16, Dtype::kBfloat16, Dtype::kBfloat16, Dtype::kBfloat16};
  return out;
}

SpecList specs_of(const EngineInput& input) {
  std::vector<Note> notes;
  return vllm_specs(input, vllm_rules(input.request), notes);
}

std::string refusal(const EngineInput& input) {
  try {
    specs_of(input);
  } catch (const Error& error) {
    CHECK(error.code() == Exit::kBadInput);
    return error.what();
  }
  return {};
}

// Jamba: Mamba-1 of 8192 channels, 16 numbers and a kernel of 4 (311,296 B), beside 8 heads of 128 (4,096 B per token).
EngineInput jamba(const std::string& engine) {
  return input_of(engine, "jamba",
                  {{state_of("conv state", 8192, 1, 1, 4), state_of("ssm state", 8192, 1, 16)}, heads(8, 128)});
}
// Qwen3-Next in bfloat16: a delta rule of 1,097,728 B, beside 2 heads of 256 (2,048 B per token).
EngineInput qwen3_next(const std::string& engine) {
  return input_of(engine, "qwen3_next",
                  {{state_of("conv state of q and k", 16, 2, 128, 4), state_of("conv state of v", 32, 1, 128, 4),
                    state_of("linear state", 32, 128, 128)},
                   heads(2, 256)});
}

TEST_CASE("vllm specs: blocks of attention grow until a state fits") {
  struct Row {
    const char* model;
    EngineInput input;
    std::uint64_t state, block;
  };
  // block = 16 * ceil(state / (16 * token)).
  const Row rows[] = {
      {"Jamba", jamba("vllm@0.26"), 311296, 80},
      {"Qwen3-Next", qwen3_next("vllm@0.26"), 1097728, 544},
      {"MiniMax-Text-01", input_of("vllm@0.26", "minimax", {{state_of("linear state", 64, 128, 128)}, heads(8, 128)}),
       2097152, 512},
      {"LFM2-1.2B", input_of("vllm@0.26", "lfm2", {{state_of("conv state", 2048, 1, 1, 3)}, heads(8, 64)}), 8192, 16},
  };
  for (const Row& row : rows) {
    CAPTURE(row.model);
    const SpecList list = specs_of(row.input);
    REQUIRE(list.specs.size() == 2);
    const VllmSpec& state = list.specs[0];
    const VllmSpec& attention = list.specs[1];
    CHECK(state.is_state());
    CHECK(state.page == Bytes(row.state));
    CHECK(state.block_size == 0);
    CHECK(attention.block_size == row.block);
    CHECK(attention.page == attention.entry * row.block);
    CHECK(state.padded == attention.page);
    CHECK(list.charge.state_slots == 1);
  }
  // A requested block size stays if the state fits in it; otherwise the block becomes a multiple of it.
  EngineInput input = jamba("vllm@0.26");
  input.request.block_size = 96;
  CHECK(specs_of(input).specs[1].block_size == 96);
  input.request.block_size = 32;
  CHECK(specs_of(input).specs[1].block_size == 96);
  CHECK(specs_of(input).specs[0].padded == Bytes(96 * 4096));
  // A prefill's checkpoints are at the end of a block. Since 0.33, with prefix caching, delta rules need a multiple of
  // 64.
  CHECK(specs_of(qwen3_next("vllm@0.30")).specs[1].block_size == 544);
  CHECK(specs_of(qwen3_next("vllm@0.33")).specs[1].block_size == 576);
  EngineInput uncached = qwen3_next("vllm@0.33");
  uncached.request.prefix_caching = false;
  CHECK(specs_of(uncached).specs[1].block_size == 544);
  // MLA has blocks of 16, or of 128 in models with states (Kimi-Linear: 2,170,880 B and 576 * 2 B: 1,920 tokens).
  CacheTerms latent{term_of("latent", Role::kKey, 1, 512), term_of("rope key", Role::kKey, 1, 64)};
  latent[0].part = Part::kLatent;
  latent[1].part = Part::kRope;
  Term kda = state_of("linear state", 32, 128, 128);
  kda.storage = Storage::kFloat32;
  const SpecList kimi = specs_of(input_of(
      "vllm", "kimi_linear",
      {{state_of("conv state of q and k", 32, 2, 128, 4), state_of("conv state of v", 32, 1, 128, 4), kda}, latent}));
  CHECK(kimi.specs[0].page == Bytes(2170880));
  CHECK(kimi.specs[1].block_size == 1920);
}

TEST_CASE("vllm specs: states with prefix caching") {
  // Mode none has one slot; align has two, for a block's end and the running state; all has one for each block. Drafts
  // add slots.
  const auto charge = [](EngineInput input, const char* mode, std::uint64_t drafts) {
    if (*mode != '\0') input.request.vllm.mamba_cache_mode = mode;
    input.request.num_speculative_tokens = drafts;
    return specs_of(input).charge;
  };
  CHECK(charge(jamba("vllm@0.26"), "", 0).state_slots == 1);
  CHECK(charge(jamba("vllm@0.26"), "none", 3).state_slots == 4);
  CHECK(charge(jamba("vllm"), "align", 0).state_slots == 2);
  CHECK(charge(jamba("vllm"), "align", 3).state_slots == 5);
  CHECK(charge(jamba("vllm"), "align", 0).mamba_mode == MambaMode::kAlign);
  CHECK(charge(jamba("vllm@0.30"), "all", 3).mamba_mode == MambaMode::kAll);
  CHECK(charge(jamba("vllm@0.30"), "all", 3).extra_slots == 3);
  CHECK(charge(jamba("vllm@0.22"), "all", 3).extra_slots == 3);
  CHECK(charge(jamba("vllm@0.21"), "all", 3).extra_slots == 0);
  CHECK(refusal([] {
          EngineInput gone = jamba("vllm@0.32");
          gone.request.vllm.mamba_cache_mode = "all";
          return gone;
        }())
            .find("all") != std::string::npos);
  // Since 0.28 prefixes are cached by default in models with states and attention, and mode none becomes mode align
  // (#50991).
  CHECK(charge(jamba("vllm@0.28"), "", 0).state_slots == 2);
  CHECK(charge(jamba("vllm@0.28"), "none", 0).state_slots == 2);
  CHECK(charge(jamba("vllm@0.27"), "", 0).state_slots == 1);
  CHECK(charge(input_of("vllm", "mamba", {{state_of("ssm state", 5120, 1, 16)}}), "", 0).state_slots == 1);
  // A third state is for a checkpoint of the prefill, if the GPU has the kernel: Mamba 2 since 0.32, delta rules since
  // 0.33, FlashKDA from its first release. As executed (specs and plans of testdata/conformance).
  const auto slots = [](EngineInput input, const char* card) {
    if (*card != '\0') input.request.card.gpu = &parse_gpu(card);
    return specs_of(input).charge.state_slots;
  };
  const auto scan = [](const char* engine) {
    return input_of(engine, "nemotron_h", {{state_of("ssm state", 64, 64, 128)}, heads(2, 128)});
  };
  CHECK(slots(scan("vllm@0.31"), "h100-80gb") == 2);
  CHECK(slots(scan("vllm@0.32"), "a100-80gb") == 3);
  CHECK(slots(qwen3_next("vllm@0.32"), "h100-80gb") == 2);
  CHECK(slots(qwen3_next("vllm@0.33"), "h100-80gb") == 3);
  CHECK(slots(qwen3_next("vllm@0.33"), "b200-180gb") == 3);
  CHECK(slots(qwen3_next("vllm@0.33"), "a100-80gb") == 2);
  CHECK(slots(qwen3_next("vllm@0.33"), "rtx-4090") == 2);
  CHECK(slots(qwen3_next("vllm@0.33"), "") == 3);
  const auto kda = [] {
    return input_of("vllm@0.30", "kimi_k3", {{state_of("linear state", 96, 128, 128)}, heads(2, 128)});
  };
  CHECK(slots(kda(), "h100-80gb") == 3);
  CHECK(slots(kda(), "a100-80gb") == 2);
  EngineInput wrong = jamba("vllm");
  wrong.request.vllm.mamba_cache_mode = "some";
  CHECK(refusal(wrong).find("some") != std::string::npos);
  // --enable-prefix-caching: align since 0.27; before, all for the models of selective scans, align for delta rules.
  const auto cached = [](EngineInput input) {
    input.request.prefix_caching = true;
    return specs_of(input).charge.mamba_mode;
  };
  CHECK(cached(jamba("vllm")) == MambaMode::kAlign);
  CHECK(cached(jamba("vllm@0.26")) == MambaMode::kAll);
  CHECK(cached(qwen3_next("vllm@0.26")) == MambaMode::kAlign);
  CHECK(cached(input_of("vllm", "llama", {heads(8, 128)})) == MambaMode::kNone);
  // all: whole chunks of the kernel, 256 of Mamba 2, else 2048: lcm(chunk, 16) * ceil(ceil(state / token) / chunk).
  // Jamba's in 0.26 are executed.
  const auto blocks = [](EngineInput input, const char* mode) {
    input.request.vllm.mamba_cache_mode = mode;
    const SpecList list = specs_of(input);
    return std::pair(list.specs.front().block_size, list.specs.back().block_size);
  };
  using Pair = std::pair<std::uint64_t, std::uint64_t>;
  CHECK(blocks(jamba("vllm@0.30"), "all") == Pair{2048, 2048});  // 76 tokens
  CHECK(blocks(jamba("vllm"), "align") == Pair{80, 80});
  CHECK(blocks(jamba("vllm@0.26"), "none") == Pair{0, 80});
  CHECK(blocks(qwen3_next("vllm@0.30"), "all") == Pair{2048, 2048});  // 536 tokens
  EngineInput odd = jamba("vllm@0.30");
  odd.request.block_size = 48;
  CHECK(blocks(odd, "all") == Pair{6144, 6144});  // lcm(2048, 48)
  // Without attention there is a state for each block of 16, if there is more than one block.
  const EngineInput mamba = input_of("vllm@0.30", "mamba", {{state_of("ssm state", 5120, 1, 16)}});
  CHECK(blocks(mamba, "none") == Pair{0, 0});
  CHECK(blocks(mamba, "all") == Pair{16, 16});
  // Nemotron-H's configs have chunks of 128 (executed, 0.26: Nano with TP 2 2,176).
  const EngineInput nemotron =
      input_of("vllm@0.26", "nemotron_h", {{state_of("ssm state", 64, 64, 128)}, heads(2, 128)});
  CHECK(blocks(nemotron, "all") == Pair{1024, 1024});
}

TEST_CASE("vllm specs: if states are matrices, each draft token adds a column to the convolution's state") {
  // MambaStateShapeCalculator: conv (k - 1 + S) columns for Mamba-2 and delta rules, k - 1 for Mamba-1 and short ones.
  const auto state = [](EngineInput input, std::uint64_t drafts) {
    input.request.num_speculative_tokens = drafts;
    return specs_of(input).specs.front().page;
  };
  CHECK(state(qwen3_next("vllm"), 2) - state(qwen3_next("vllm"), 0) == Bytes(2 * 8192 * 2));
  const EngineInput lfm = input_of("vllm", "lfm2", {{state_of("conv state", 2048, 1, 1, 3)}, heads(8, 64)});
  CHECK(state(lfm, 2) == state(lfm, 0));
  CHECK(state(jamba("vllm"), 2) == state(jamba("vllm"), 0));
  // For a draft without a number kvplan plans three tokens.
  EngineInput guessing = qwen3_next("vllm");
  guessing.draft_method = DraftMethod::kNgram;
  CHECK(specs_of(guessing).specs.front().page - state(qwen3_next("vllm"), 0) == Bytes(3 * 8192 * 2));
  // Mamba-2 whose B and C pass no convolution: still a matrix for each head.
  const EngineInput mamba2 =
      input_of("vllm", "plamo2", {{state_of("conv state", 1024, 1, 1, 4), state_of("ssm state", 8, 64, 128)}});
  CHECK(state(mamba2, 2) - state(mamba2, 0) == Bytes(2 * 1024 * 2));
  // Ranks divide the heads of a state. A number of ranks that does not divide them is refused, and planned for the
  // fullest rank.
  EngineInput two = qwen3_next("vllm");
  two.request.parallel.tensor = 2;
  CHECK(specs_of(two).specs.front().page == Bytes(1097728 / 2));
  two.request.parallel.tensor = 64;
  CHECK(refusal(two).empty());
  CHECK(vllm_refusal(two, {Tokens(1000), 1, Tokens(0)})->id == "state_heads");
}

TEST_CASE("vllm specs: layers whose values are narrower than their keys") {
  // MiMo-V2-Flash: keys of 192, values of 128: one width in all groups until 0.19, in chunks and cross attention until
  // 0.27.
  const auto token = [](const char* engine, CacheTerms terms) {
    return specs_of(input_of(engine, "mimo_v2_flash", {std::move(terms)})).specs.front().entry;
  };
  CHECK(token("vllm@0.20", heads(8, 192, 128, 128)) == Bytes(8 * (192 + 128) * 2));
  CHECK(token("vllm@0.19", heads(8, 192, 128, 128)) == Bytes(8 * (192 + 192) * 2));
  CacheTerms chunks = heads(8, 192, 128, 128);
  for (Term& term : chunks) term.limit.kind = LimitKind::kChunk;
  CHECK(token("vllm@0.27", chunks) == Bytes(8 * (192 + 192) * 2));
  CHECK(token("vllm@0.28", chunks) == Bytes(8 * (192 + 128) * 2));
  CacheTerms cross = heads(8, 192, 0, 128);
  for (Term& term : cross) term.growth = Growth::kSourceToken;
  CHECK(token("vllm@0.27", cross) == Bytes(8 * (192 + 192) * 2));
  CHECK(token("vllm@0.28", cross) == Bytes(8 * (192 + 128) * 2));
  // Latents of a model that is not on vLLM's list are expanded, values as wide as keys (MiniCPM3: 40 heads of 96, 64).
  EngineInput input = input_of("vllm", "minicpm3", {{term_of("latent", Role::kKey, 1, 256)}});
  input.caches[0].compact.own()[0].part = Part::kLatent;
  input.caches[0].expanded = heads(40, 96, 0, 64);
  CHECK(specs_of(input).specs.front().entry == Bytes(40 * (96 + 96) * 2));
  CHECK(specs_of(input).specs.front().type == SpecType::kFull);
  CHECK(specs_of(input).specs.front().block_size == 16);
}

TEST_CASE("vllm specs: the type of a layer's cache") {
  const auto type = [](CacheTerms terms) {
    return specs_of(input_of("vllm", "llama", {std::move(terms)})).specs.front();
  };
  CHECK(type(heads(8, 128)).type == SpecType::kFull);
  CHECK(type(heads(8, 128, 1024)).type == SpecType::kSliding);
  CHECK(type(heads(8, 128, 1024)).window == 1024);
  CacheTerms cross = heads(8, 128);
  for (Term& term : cross) term.growth = Growth::kSourceToken;
  CHECK(type(cross).type == SpecType::kCross);
  CacheTerms chunk = heads(8, 128, 8192);
  for (Term& term : chunk) term.limit.kind = LimitKind::kChunk;
  CHECK(type(chunk).type == SpecType::kChunked);
  // vLLM has no cache that drops the middle of a sequence, so models with sinks keep every token.
  CacheTerms sink = heads(8, 128, 1020);
  for (Term& term : sink) term.limit = {LimitKind::kSink, Tokens(1020), Tokens(4)};
  CHECK(type(sink).type == SpecType::kFull);
  CHECK(type(sink).promoted);
  CHECK_FALSE(type(heads(8, 128)).promoted);
  // A layer with two mixers is two specs; one without a cache has no spec.
  CacheTerms both = heads(8, 128);
  both.push_back(state_of("ssm state", 48, 64, 256));
  CHECK(specs_of(input_of("vllm", "falcon_h1", {both, {}})).specs.size() == 2);
}

TEST_CASE("vllm specs: tokens in flight beside a window") {
  // One batch until 0.25. Since 0.26 (vllm#47728) two, or one for each pipeline stage.
  const auto tokens = [](const char* engine, std::uint64_t stages) {
    EngineInput input = input_of(engine, "gpt_oss", {heads(8, 64), heads(8, 64, 128), heads(8, 64), heads(8, 64)});
    input.request.max_num_batched_tokens = Tokens(1000);
    input.request.parallel.pipeline = stages;
    return specs_of(input).charge.in_flight_tokens;
  };
  CHECK(tokens("vllm@0.25", 1) == 1000);
  CHECK(tokens("vllm@0.25", 3) == 1000);
  CHECK(tokens("vllm@0.26", 1) == 2000);
  CHECK(tokens("vllm@0.26", 2) == 2000);
  CHECK(tokens("vllm@0.26", 3) == 3000);
}

TEST_CASE("vllm specs: without the hybrid manager windows are kept at full length") {
  const auto types = [](EngineInput input, bool manager) {
    input.request.vllm.hybrid_manager = manager;
    std::vector<SpecType> out;
    for (const VllmSpec& spec : specs_of(input).specs) {
      out.push_back(spec.type);
      CHECK(spec.promoted == (!manager && spec.window > 0 && spec.type == SpecType::kFull));
    }
    return out;
  };
  using Types = std::vector<SpecType>;
  const EngineInput mixed = input_of("vllm", "gpt_oss", {heads(8, 64), heads(8, 64, 128)});
  CHECK(types(mixed, true) == Types{SpecType::kFull, SpecType::kSliding});
  CHECK(types(mixed, false) == Types{SpecType::kFull, SpecType::kFull});
  // If all layers are windows, they share one block table unchanged.
  CHECK(types(input_of("vllm", "mistral", {heads(8, 128, 4096)}), false) == Types{SpecType::kSliding});
  // Before 0.10 there was no hybrid manager. Chunks have separate groups since 0.13, but not with a draft.
  const auto promoted = [](const char* engine, LimitKind kind, std::uint64_t drafts) {
    EngineInput input = input_of(engine, "llama4_text", {heads(8, 128), heads(8, 128, 8192)});
    for (Term& term : input.caches[1].compact.own()) term.limit.kind = kind;
    input.request.num_speculative_tokens = drafts;
    return specs_of(input).specs[1].promoted;
  };
  CHECK(promoted("vllm@0.9", LimitKind::kWindow, 0));
  CHECK_FALSE(promoted("vllm@0.10", LimitKind::kWindow, 0));
  CHECK(promoted("vllm@0.13", LimitKind::kChunk, 0));
  CHECK_FALSE(promoted("vllm@0.14", LimitKind::kChunk, 0));
  CHECK(promoted("vllm", LimitKind::kChunk, 1));
  CHECK_FALSE(promoted("vllm", LimitKind::kWindow, 1));
  // States and attention never share a block table.
  EngineInput states = qwen3_next("vllm");
  states.request.vllm.hybrid_manager = false;
  CHECK(refusal(states).find("states and attention") != std::string::npos);
  EngineInput alone = input_of("vllm", "mamba", {{state_of("ssm state", 5120, 1, 16)}});
  alone.request.vllm.hybrid_manager = false;
  CHECK(refusal(alone).empty());
}

TEST_CASE("vllm specs: decode context parallelism") {
  const auto refused = [](std::uint64_t heads_of_kv, std::uint64_t ranks, std::uint64_t context,
                          std::uint64_t window = 0) {
    EngineInput input = input_of("vllm", "llama", {heads(heads_of_kv, 128), heads(heads_of_kv, 128, window)});
    input.request.parallel.tensor = ranks;
    input.request.parallel.decode_context = context;
    return refusal(input);
  };
  // dcp <= tp / KV heads, and it divides tp.
  CHECK(refused(2, 8, 4).empty());
  CHECK(refused(2, 8, 1).empty());
  CHECK(refused(4, 8, 4).find("4 heads") != std::string::npos);
  CHECK(refused(1, 8, 3).find("divides 8") != std::string::npos);
  CHECK(refused(2, 8, 4, 1024).find("windows") != std::string::npos);
  CHECK(refused(2, 8, 1, 1024).empty());
  // Source tokens are not split either: eight heads of cross attention and one of self-attention.
  CacheTerms cross = heads(8, 128);
  for (Term& term : cross) term.growth = Growth::kSourceToken;
  EngineInput encoder = input_of("vllm", "mllama", {heads(1, 128), cross});
  encoder.request.parallel.tensor = encoder.request.parallel.decode_context = 8;
  CHECK(refusal(encoder).empty());
  // Latents have no heads that repeat.
  EngineInput latent = input_of("vllm", "deepseek_v3", {{term_of("latent", Role::kKey, 1, 512)}});
  latent.caches[0].compact.own()[0].part = Part::kLatent;
  latent.request.parallel.tensor = latent.request.parallel.decode_context = 8;
  CHECK(refusal(latent).empty());
  CHECK(specs_of(latent).charge.context_ranks == 8);
}

TEST_CASE("vllm specs: the block sizes that kernels support") {
  const auto on = [](const char* engine, const char* card, Dtype kv, std::string_view type, CacheTerms terms) {
    EngineInput input = input_of(engine, type, {std::move(terms)});
    if (*card != '\0') input.request.card.gpu = &parse_gpu(card);
    input.types.key = input.types.value = kv;
    return specs_of(input).specs.front().block_size;
  };
  const auto block = [&](std::string_view type, CacheTerms terms) {
    return on("vllm", "", Dtype::kBfloat16, type, std::move(terms));
  };
  CacheTerms latent{term_of("latent", Role::kKey, 1, 512)};
  latent[0].part = Part::kLatent;
  CHECK(block("llama", heads(8, 128)) == 16);
  // FlashMLA without a GPU; FLASH_ATTN_MLA, FlashMLA for FP8, FLASHINFER_MLA, Triton; FlashMLA before. As
  // executed (DeepSeek-V3).
  CHECK(block("deepseek_v3", latent) == 64);
  CHECK(on("vllm@0.18", "h100-80gb", Dtype::kBfloat16, "deepseek_v3", latent) == 16);
  CHECK(on("vllm@0.17", "h100-80gb", Dtype::kBfloat16, "deepseek_v3", latent) == 64);
  CHECK(on("vllm", "h100-80gb", Dtype::kFp8E4m3, "deepseek_v3", latent) == 64);
  CHECK(on("vllm", "b200-180gb", Dtype::kBfloat16, "deepseek_v3", latent) == 32);
  CHECK(on("vllm", "b300-288gb", Dtype::kFp8E4m3, "deepseek_v3", latent) == 32);
  // platforms/cuda.py: Triton until 0.10, CUTLASS until 0.14, FlashInfer until 0.17.
  CHECK(on("vllm@0.10", "b200-180gb", Dtype::kBfloat16, "deepseek_v3", latent) == 16);
  CHECK(on("vllm@0.11", "b200-180gb", Dtype::kBfloat16, "deepseek_v3", latent) == 128);
  CHECK(on("vllm@0.14", "b200-180gb", Dtype::kBfloat16, "deepseek_v3", latent) == 128);
  CHECK(on("vllm@0.15", "b200-180gb", Dtype::kBfloat16, "deepseek_v3", latent) == 64);
  CHECK(on("vllm@0.17", "b200-180gb", Dtype::kBfloat16, "deepseek_v3", latent) == 64);
  CHECK(on("vllm@0.18", "b200-180gb", Dtype::kBfloat16, "deepseek_v3", latent) == 32);
  CHECK(on("vllm", "a100-80gb", Dtype::kBfloat16, "deepseek_v3", latent) == 16);
  // FP8 heads of 512 on Hopper since 0.31 (Gemma-4-31B-NVFP4, executed with 0.30 and 0.33).
  CHECK(on("vllm", "h100-80gb", Dtype::kFp8E4m3, "gemma4_text", heads(4, 512)) == 64);
  CHECK(on("vllm@0.31", "h100-80gb", Dtype::kFp8E4m3, "gemma4_text", heads(4, 512)) == 64);
  CHECK(on("vllm@0.30", "h100-80gb", Dtype::kFp8E4m3, "gemma4_text", heads(4, 512)) == 16);
  CHECK(on("vllm", "rtx-4090", Dtype::kFp8E4m3, "gemma4_text", heads(4, 512)) == 16);
  CHECK(on("vllm", "h100-80gb", Dtype::kBfloat16, "gemma4_text", heads(4, 512)) == 16);
  // TRITON_FLASHINFER, if an image's tokens attend to each other: only heads of 256 and 512, on a B200 since 0.30.
  const auto masked = [](const char* engine, const char* card, std::uint64_t head_dim) {
    EngineInput input = input_of(engine, "gemma3_text", {heads(4, head_dim)});
    input.request.card.gpu = &parse_gpu(card);
    input.model.vision = VisionShape{};
    input.model.vision->both_ways = true;
    return specs_of(input).specs.front().block_size;
  };
  for (const std::uint64_t head_dim : {128U, 256U, 512U})
    CHECK(masked("vllm", "b200-180gb", head_dim) == (head_dim == 128 ? 16 : 64));
  CHECK(masked("vllm@0.28", "b200-180gb", 256) == 16);
  CHECK(masked("vllm", "h100-80gb", 256) == 16);
  // MiniMax-M3: an index key with keys and values has blocks of 128. With a latent it has the latent's 64.
  CacheTerms sparse = heads(4, 128);
  sparse.push_back(term_of("index key", Role::kIndex, 1, 128));
  CHECK(block("minimax_m3", sparse) == 128);
  latent.push_back(term_of("index key", Role::kIndex, 1, 128));
  CHECK(block("deepseek_v32", latent) == 64);
  // Entries for two tokens are DeepSeek-V4's: blocks of 256.
  CacheTerms pairs{term_of("latent", Role::kKey, 1, 512)};
  pairs[0].stride = 2;
  CHECK(block("deepseek_v4", pairs) == 256);
  EngineInput asked = input_of("vllm", "llama", {heads(8, 128)});
  asked.request.block_size = 48;
  CHECK(specs_of(asked).specs.front().block_size == 48);
  for (const std::uint64_t bad : {0U, 8U, 24U}) {
    asked.request.block_size = bad;
    CHECK(refusal(asked).find("blocks of 16") != std::string::npos);
  }
}

TEST_CASE("vllm specs: TurboQuant leaves two layers at either end of a dense model in 16 bit") {
  // Llama-3.1-8B: 4,096 B per token and layer in bfloat16; k8v4: 8 heads of (128 + 64 + 4) = 1,568 B.
  EngineInput input = input_of("vllm", "llama", std::vector<CacheTerms>(6, heads(8, 128)));
  input.types.key = input.types.value = Dtype::kTurboquantK8V4;
  std::vector<std::uint64_t> entries;
  for (const VllmSpec& spec : specs_of(input).specs) entries.push_back(spec.entry.count());
  CHECK(entries == std::vector<std::uint64_t>{4096, 4096, 1568, 1568, 4096, 4096});
  input.types.model = Dtype::kFloat32;  // kept in bfloat16
  CHECK(specs_of(input).specs.front().entry == Bytes(4096));
  // In models with states, TurboQuant applies to all layers.
  input.caches.push_back({6, "ssm", {state_of("ssm state", 8, 16, 16)}, {}});
  input.model.num_layers = 7;
  CHECK(specs_of(input).specs.front().entry == Bytes(1568));
}

}  // namespace
}  // namespace kvplan
