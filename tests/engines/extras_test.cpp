// What a deployment adds, compared with figures from outside: start-up logs, papers, arithmetic from the engines'
// sources.
#include <doctest/doctest.h>

#include <algorithm>

#include "engines/llama_cpp/compute.h"
#include "engines/requests.h"
#include "kvplan/error.h"
#include "plan/plan.h"
#include "sources/load.h"
#include "support/figures.h"

namespace kvplan {
namespace {

// The one layer of yuhuili/EAGLE-LLaMA3-Instruct-8B and EAGLE3-LLaMA3.1-Instruct-8B.
constexpr std::string_view kEagle = R"({"architectures": ["LlamaForCausalLM"], "model_type": "llama",
  "hidden_size": 4096, "intermediate_size": 14336, "num_hidden_layers": 1, "num_attention_heads": 32,
  "num_key_value_heads": 8, "vocab_size": 128256, "max_position_embeddings": 2048, "torch_dtype": "float16"})";
constexpr std::string_view kEagle3 = R"({"architectures": ["LlamaForCausalLMEagle3"], "model_type": "llama",
  "hidden_size": 4096, "intermediate_size": 14336, "num_hidden_layers": 1, "num_attention_heads": 32,
  "num_key_value_heads": 8, "vocab_size": 128256, "draft_vocab_size": 32000, "max_position_embeddings": 2048,
  "torch_dtype": "float16"})";

ModelSpec read_draft(std::string_view config, std::optional<DraftMethod> method = std::nullopt,
                     std::string_view source = "draft") {
  ReadOptions options;
  options.draft = DraftRole{method, 4096, 32000};
  return read_config(config, "", source, options);
}

Request with_draft(Request request, ModelSpec draft) {
  request.extras.draft = std::make_shared<const ModelSpec>(std::move(draft));
  return request;
}

const LedgerLine* find_line(const Plan& plan, std::string_view beginning, std::size_t gpu = 0) {
  const auto& lines = plan.memory.at(gpu).lines;
  const auto found = std::find_if(lines.begin(), lines.end(),
                                  [&](const LedgerLine& line) { return in_words(line.what).starts_with(beginning); });
  return found == lines.end() ? nullptr : &*found;
}

Bytes bytes_of_line(const Plan& plan, std::string_view beginning, std::size_t gpu = 0) {
  const LedgerLine* line = find_line(plan, beginning, gpu);
  return line == nullptr ? Bytes(0) : line->bytes;
}

double parameters_of_head(std::uint64_t hidden, std::uint64_t intermediate, std::uint64_t heads,
                          std::uint64_t kv_heads) {
  const std::string config = R"({"model_type": "llama", "num_hidden_layers": 1, "vocab_size": 32000, "hidden_size": )" +
                             std::to_string(hidden) + R"(, "intermediate_size": )" + std::to_string(intermediate) +
                             R"(, "num_attention_heads": )" + std::to_string(heads) + R"(, "num_key_value_heads": )" +
                             std::to_string(kv_heads) + "}";
  std::uint64_t out = 0;
  for (const TensorGroup& group : read_draft(config, DraftMethod::kEagle).tensors) out += group.stored().count();
  return static_cast<double>(out);
}

TEST_CASE("EAGLE: the trainable parameters that the paper names") {
  // arXiv 2401.15077, section 4: 0.24 B for a 7B, 0.37 B for a 13B, 0.99 B for a 70B model.
  CHECK(parameters_of_head(4096, 11008, 32, 32) / 1e9 == doctest::Approx(0.24).epsilon(0.02));
  CHECK(parameters_of_head(5120, 13824, 40, 40) / 1e9 == doctest::Approx(0.37).epsilon(0.02));
  CHECK(parameters_of_head(8192, 28672, 64, 8) / 1e9 == doctest::Approx(0.99).epsilon(0.01));
}

TEST_CASE("EAGLE-3: the file of a published head") {
  // EAGLE3-LLaMA3.1-Instruct-8B: pytorch_model.bin of 850 MB.
  const ModelSpec head = read_draft(kEagle3);
  CHECK(head.draft_head->method == DraftMethod::kEagle3);
  std::uint64_t bytes = 0;
  for (const TensorGroup& group : head.tensors) bytes += group.stored().count() * (group.is_float32 ? 4 : 2);
  CHECK(static_cast<double>(bytes) == doctest::Approx(850e6).epsilon(0.002));
}

TEST_CASE("DSpark and DFlash: the layers, a projection of hidden states and Markov heads, without an embedding") {
  // RadixArk's draft for Kimi-K3: 2.249 B parameters.
  const std::string shape =
      R"("model_type":"qwen3","hidden_size":7168,"intermediate_size":14336,"num_hidden_layers":5,
         "num_attention_heads":64,"num_key_value_heads":16,"head_dim":64,"vocab_size":163840,"block_size":8,
         "tie_word_embeddings":false,)";
  const std::string states = R"("target_layer_ids":[1,23,46,69,91])";
  const auto parameters = [](const ModelSpec& draft) {
    std::uint64_t out = 0;
    for (const TensorGroup& group : draft.tensors) out += group.stored().count();
    return static_cast<double>(out);
  };
  const ModelSpec dspark = read_draft(R"({"architectures":["DSparkDraftModel"],)" + shape +
                                      R"("markov_rank":256,"dflash_config":{)" + states + "}}");
  CHECK(dspark.draft_head->method == DraftMethod::kDspark);
  CHECK(parameters(dspark) / 1e9 == doctest::Approx(2.249).epsilon(0.0005));
  const ModelSpec dflash = read_draft("{" + shape + R"("dflash_config":{)" + states + "}}");
  CHECK(dflash.draft_head->method == DraftMethod::kDflash);
  CHECK(parameters(dspark) - parameters(dflash) == 2 * 163840 * 256 + 7168 + 256 + 1);
}

TEST_CASE("a draft's cache has the target's type if the engine uses one type for both") {
  // qwen3-0.6b: 28 layers x 8 heads x 128 x 2 = 57,344 elements a token, at 16,384 tokens.
  constexpr std::uint64_t kElements = 57344ULL * 16384;
  const auto draft_cache = [](const ModelSpec& model, const std::string& engine, std::optional<Dtype> asked) {
    Request request = with_draft({}, test_model("qwen3-0.6b"));
    request.engine = engine_named(engine);
    request.max_model_len = Tokens(16384);
    request.num_speculative_tokens = 4;
    request.cache_type_k = request.cache_type_v = asked;
    std::uint64_t out = 0;
    const Plan plan = make_plan(model, request);
    for (const LedgerLine& line : plan.memory.front().lines)
      if (line.id == LineId::kDraftCache) out += line.bytes.count();
    return static_cast<double>(out);
  };
  const ModelSpec plain = test_model("llama-3.1-8b");
  ModelSpec declared = plain;
  declared.declared_kv_dtype = Dtype::kFp8E4m3;
  declared.quantization.names_method = true;
  CHECK(draft_cache(plain, "vllm", std::nullopt) == doctest::Approx(2.0 * kElements).epsilon(0.01));
  CHECK(draft_cache(plain, "vllm", Dtype::kFp8E4m3) == doctest::Approx(1.0 * kElements).epsilon(0.01));
  CHECK(draft_cache(declared, "vllm", std::nullopt) == doctest::Approx(1.0 * kElements).epsilon(0.01));
  // SGLang's draft worker reads its own checkpoint; llama.cpp has -ctkd and -ctvd.
  CHECK(draft_cache(declared, "sglang", std::nullopt) == doctest::Approx(2.0 * kElements).epsilon(0.01));
  CHECK(draft_cache(plain, "llama.cpp", Dtype::kQ8_0) == doctest::Approx(2.0 * kElements).epsilon(0.01));
}

TEST_CASE("a draft's method follows from its name") {
  CHECK(read_draft(kEagle, {}, "yuhuili/EAGLE-LLaMA3-Instruct-8B").draft_head->method == DraftMethod::kEagle);
  CHECK(read_draft(kEagle, {}, "eagle3-heads/config.json").draft_head->method == DraftMethod::kEagle3);
  CHECK_FALSE(read_draft(kEagle, {}, "eagles-nest/small-llama").draft_head);
  CHECK(read_draft(kEagle, DraftMethod::kEagle).draft_head->method == DraftMethod::kEagle);
  CHECK_FALSE(read_draft(kEagle, DraftMethod::kModel, "yuhuili/EAGLE-LLaMA3-Instruct-8B").draft_head);
}

TEST_CASE("Medusa: the heads have the model's widths") {
  // Two heads for a 7B, each with one residual block and an output projection: 2 * (4096^2 + 32000 * 4096).
  const ModelSpec heads = read_draft(R"({"medusa_num_heads": 2, "medusa_num_layers": 1})");
  CHECK(heads.draft_head->method == DraftMethod::kMedusa);
  std::uint64_t elements = 0;
  for (const TensorGroup& group : heads.tensors) elements += group.stored().count();
  CHECK(elements == 2 * (4096ULL * 4096 + 32000ULL * 4096));
  CHECK_THROWS_AS(read_draft(R"({"medusa_num_heads": 100000})"), Error);
  // Medusa heads have no cache, so the plan has only the model's.
  const ModelSpec model = test_model("llama-3.1-8b");
  Request request = request_for("vllm", 4096);
  request.num_speculative_tokens = 2;
  const Plan plan = make_plan(model, with_draft(request, heads));
  CHECK(plan.kv_cache.reserved == make_plan(model, request_for("vllm", 4096)).kv_cache.reserved);
  CHECK(bytes_of_line(plan, "Medusa heads: weights") == Bytes(elements * 2));
}

TEST_CASE("a draft that belongs to another model gives a warning") {
  const auto codes = [](std::string_view draft, std::optional<DraftMethod> method) {
    Request request = request_for("vllm", 4096);
    request.num_speculative_tokens = 2;
    request.extras.draft_method = method;
    std::string out;
    for (const Note& note : make_plan(test_model("llama-3.1-8b"), with_draft(request, read_draft(draft, method))).notes)
      if (note.code.starts_with("draft_")) out += note.code + " ";
    return out;
  };
  CHECK(codes(kEagle3, {}).empty());
  CHECK(codes(kEagle, DraftMethod::kEagle).empty());
  const auto swap = [](std::string_view config, const std::string& from, const std::string& to) {
    std::string out(config);
    for (auto at = out.find(from); at != std::string::npos; at = out.find(from, at + to.size()))
      out.replace(at, from.size(), to);
    return out;
  };
  const std::string of_70b = swap(kEagle3, "\"hidden_size\": 4096", "\"hidden_size\": 8192");
  CHECK(codes(of_70b, {}) == "draft_width ");
  // A head may be narrower than the states that it reads.
  CHECK(
      codes(swap(kEagle3, "\"hidden_size\": 4096", "\"hidden_size\": 2048, \"target_hidden_size\": 4096"), {}).empty());
  CHECK(codes(swap(kEagle3, "128256", "151936"), {}) == "draft_vocabulary ");
  CHECK(codes(swap(kEagle, "128256", "32000"), DraftMethod::kEagle) == "draft_vocabulary ");
  CHECK(codes(R"({"medusa_num_heads": 2, "medusa_num_layers": 1, "hidden_size": 5120, "vocab_size": 128256})", {}) ==
        "draft_width ");
  CHECK(codes(swap(kEagle, "128256", "32000"), DraftMethod::kModel) == "draft_vocabulary ");
}

TEST_CASE("vLLM: a log of Llama-3.1-8B with an EAGLE head") {
  // "Available KV cache memory: 51.63 GiB", "GPU KV cache size: 410,128 tokens", "Maximum concurrency for 131,072
  // tokens per request: 3.13x": 33 layers.
  const ModelSpec model = test_model("llama-3.1-8b");
  for (const char* engine : {"vllm", "vllm@0.19"}) {
    Request request = with_draft(request_for(engine, 131072, static_cast<std::uint64_t>(51.63 * kGiB)),
                                 read_draft(kEagle, DraftMethod::kEagle));
    request.num_speculative_tokens = 2;
    const Plan plan = make_plan(model, request);
    CHECK(plan.capacity->tokens == 410128);
    CHECK(plan.capacity->max_concurrency == doctest::Approx(3.13).epsilon(0.001));
    CHECK(plan.kv_cache.logical == Bytes(131072ULL * 131072));
    CHECK(bytes_of_line(plan, "EAGLE layers, 1 layer") == Bytes(131072ULL * 4096));
    // The embedding and the head belong to the model. The draft has 0.24 GB for a layer and its projection.
    CHECK(static_cast<double>(bytes_of_line(plan, "EAGLE head: weights").count()) / 1e9 ==
          doctest::Approx(0.503).epsilon(0.01));
  }
}

TEST_CASE("SGLang: the budget counts the draft as one more layer") {
  // pool_configurator.py: cell * (1 + draft layers / layers), which is exact for the same geometry.
  const ModelSpec model = test_model("llama-3.1-8b");
  const auto drafted = [](const Request& request) { return with_draft(request, read_draft(kEagle3)); };
  const std::uint64_t budget = 33 * kGiB;
  CHECK(make_plan(model, request_for("sglang", 4096, budget)).capacity->tokens == budget / 131072);
  CHECK(make_plan(model, drafted(request_for("sglang", 4096, budget))).capacity->tokens == budget / (131072 / 32 * 33));
  // One page in addition to the pool, as for the model.
  const Plan plan = make_plan(model, drafted(request_for("sglang", 4096)));
  CHECK(bytes_of_line(plan, "EAGLE-3 layers, 1 layer") == Bytes(4097 * 4096));
}

TEST_CASE("llama.cpp: a draft model has its own context") {
  // ggml-org/llama.cpp#10664: a Qwen2.5-1.5B drafts over n_ctx 8192, "KV self size = 224.00 MiB".
  const ModelSpec draft = read_draft(R"({"architectures": ["Qwen2ForCausalLM"], "model_type": "qwen2",
    "hidden_size": 1536, "intermediate_size": 8960, "num_hidden_layers": 28, "num_attention_heads": 12,
    "num_key_value_heads": 2, "vocab_size": 151936, "max_position_embeddings": 32768, "tie_word_embeddings": true})");
  const ModelSpec model = test_model("llama-3.1-8b");
  Request request = with_draft(request_for("llama.cpp", 8192), draft);
  request.cache_type_k = request.cache_type_v = Dtype::kQ8_0;  // the model's context; the draft stays float16
  CHECK(bytes_of_line(make_plan(model, request), "draft model: KV") == Bytes(224 * kMiB));
  CHECK(find_line(make_plan(model, request), "compute buffer of the draft") != nullptr);
  // In v0.5.0 the draft has as many sequences as the model, in older builds one. The length is -cd.
  request.num_seqs = 4;
  CHECK(bytes_of_line(make_plan(model, request), "draft model: KV") == Bytes(4 * 224 * kMiB));
  request.extras.draft_ctx = Tokens(1024);
  CHECK(bytes_of_line(make_plan(model, request), "draft model: KV") == Bytes(4 * 28 * kMiB));
  Request old = with_draft(request_for("llama.cpp@b6900", 8192), draft);
  old.num_seqs = 4;
  CHECK(bytes_of_line(make_plan(model, old), "draft model: KV") == Bytes(224 * kMiB));
  request.extras.draft_cache_type_k = request.extras.draft_cache_type_v = Dtype::kQ8_0;
  // 34 bytes for 32 elements, and rows that are padded for CUDA.
  CHECK(static_cast<double>(bytes_of_line(make_plan(model, request), "draft model: KV").count()) ==
        doctest::Approx(4 * 28 * kMiB * 17 / 32).epsilon(0.001));
}

TEST_CASE("with a draft, each engine adds the draft's bytes per token") {
  const ModelSpec model = test_model("llama-3.1-8b");
  const auto draft = std::make_shared<const ModelSpec>(test_model("qwen3-0.6b"));
  for (const Engine& engine : engines()) {
    CAPTURE(engine.name);
    const auto asked = [&](bool drafted, std::uint64_t tokens) {
      Request request = request_for(std::string(engine.name), tokens);
      if (drafted) request.extras.draft = draft;
      return request;
    };
    const auto reserved = [&](bool drafted, std::uint64_t tokens) {
      return make_plan(model, asked(drafted, tokens)).kv_cache.reserved.count();
    };
    if (engine.extras.draft_methods.find("draft_model") == std::string_view::npos) {
      CHECK_THROWS_AS(reserved(true, 4096), Error);
      continue;
    }
    // Qwen3-0.6B: 2 * 28 * 8 * 128 * 2 = 114,688 bytes per token.
    const std::uint64_t slope = reserved(true, 8192) - reserved(true, 4096);
    CHECK(slope == reserved(false, 8192) - reserved(false, 4096) + 4096 * 114688);
    const Plan plan = make_plan(model, asked(true, 4096));
    std::int64_t gap = 0;
    for (const GapLine& line : plan.kv_cache.gap) gap += line.bytes;
    CHECK(gap == static_cast<std::int64_t>(plan.kv_cache.reserved.count()) -
                     static_cast<std::int64_t>(plan.kv_cache.logical_per_gpu.count()));
    // 596,049,920 parameters in 16 bit, the tied head counted once; vLLM prints 1.1201 GiB (vllm-project/vllm#24577).
    const Bytes weights = bytes_of_line(plan, "draft model: weights");
    const bool loads = engine.name == "vllm" || engine.name == "sglang";
    CHECK(weights >= Bytes(596049920ULL * 2));
    CHECK(weights - Bytes(596049920ULL * 2) <= Bytes(loads ? std::uint64_t{96} << 20 : 0));
  }
}

TEST_CASE("a draft is on the last stage, and is split like the model") {
  const ModelSpec model = test_model("llama-3.1-8b");
  Request request = with_draft(request_for("vllm", 4096), test_model("qwen3-0.6b"));
  request.parallel.pipeline = 2;
  Plan plan = make_plan(model, request);
  CHECK(find_line(plan, "draft model", 0) == nullptr);
  const Bytes own = bytes_of_line(plan, "draft model: weights", 1);
  CHECK(own >= Bytes(596049920ULL * 2));
  CHECK(own - Bytes(596049920ULL * 2) <= Bytes(std::uint64_t{32} << 20));
  request.parallel.pipeline = 1;
  request.parallel.tensor = 2;
  plan = make_plan(model, request);
  CHECK(bytes_of_line(plan, "draft model, 28 layers") == Bytes(4096 * 114688 / 2));
}

TEST_CASE("SGLang: state slots by strategy") {
  // _calculate_mamba_ratio: 3 slots for a request, 5 and 4 with buffers for tracking, 1 without a radix cache; and one
  // slot of padding.
  const ModelSpec model = test_model("qwen3.5-27b");
  Request request = request_for("sglang", 4096);
  request.num_seqs = 2;
  const auto slots = [&](const std::string& strategy, bool radix = true) {
    request.extras.mamba_strategy = strategy;
    request.extras.disable_radix_cache = !radix;
    return bytes_of_line(make_plan(model, request), "state pool: 48").count();
  };
  const std::uint64_t one = slots("", false) / 2;
  CHECK(slots("") == 10 * one);  // since 0.5.14
  request.engine_version = "0.5.8";
  CHECK(slots("") == 6 * one);
  request.engine_version.clear();
  CHECK(slots("no_buffer") == 6 * one);
  CHECK(slots("extra_buffer") == 10 * one);
  CHECK(slots("extra_buffer_lazy") == 8 * one);
  CHECK_THROWS_AS(slots("other"), Error);
  // Speculative decoding keeps a state for every verified token of every request and of the padding.
  request.extras.mamba_strategy.clear();
  request.num_speculative_tokens = 3;
  request.extras.draft_method = DraftMethod::kNgram;
  CHECK(bytes_of_line(make_plan(model, request), "states of guessed tokens") == Bytes(one * 3 * 4));
}

TEST_CASE("beams and samples count as sequences") {
  const ModelSpec model = test_model("llama-3.1-8b");
  Request request = request_for("transformers", 1024);
  const Bytes one = make_plan(model, request).kv_cache.reserved;
  request.extras.num_beams = 4;
  CHECK(make_plan(model, request).kv_cache.reserved == one * 4);
  CHECK(make_plan(model, request).kv_cache.logical == one * 4);
  request.extras.num_samples = 3;
  CHECK(make_plan(model, request).kv_cache.reserved == one * 12);
  request.engine = engine_named("llama.cpp");
  CHECK_THROWS_AS(make_plan(model, request), Error);
  request.extras.num_beams = 1;
  CHECK(make_plan(model, request).kv_cache.reserved == one * 3);
}

TEST_CASE("vLLM: the encoder cache has a budget of embeddings") {
  // Start-up lines: "a budget of 16384 tokens, and profiled with 1 image items", "32768 tokens ... 2 image items".
  const ModelSpec model = test_model("qwen3.5-27b");
  REQUIRE(model.hidden_size == 5120);
  Request request = request_for("vllm", 4096);
  CHECK(bytes_of_line(make_plan(model, request), "encoder cache") == Bytes(16384ULL * 5120 * 2));
  request.max_num_batched_tokens = Tokens(32768);
  CHECK(bytes_of_line(make_plan(model, request), "encoder cache") == Bytes(32768ULL * 5120 * 2));
  request.extras.mm_limits = {{"image", 0}, {"video", 0}};
  CHECK(find_line(make_plan(model, request), "encoder cache") == nullptr);
  CHECK(find_line(make_plan(test_model("llama-3.1-8b"), request_for("vllm", 4096)), "encoder cache") == nullptr);
  // The encoder cache makes the KV cache smaller. (vLLM loads the tower in any case before 0.11.)
  Request with = request_for("vllm@0.10", 4096);
  with.card.memory = Bytes(80 * kGiB);
  Request without = with;
  without.extras.mm_limits = {{"image", 0}, {"video", 0}};
  CHECK(make_plan(model, without).capacity->kv_cache_memory - make_plan(model, with).capacity->kv_cache_memory ==
        Bytes(16384ULL * 5120 * 2));
}

TEST_CASE("an extra that the engine lacks is an error that names the engines that have it") {
  const ModelSpec model = test_model("llama-3.1-8b");
  const auto message = [&](const std::string& engine, const auto& change) {
    Request request = request_for(engine, 4096);
    change(request.extras);
    try {
      make_plan(model, request);
    } catch (const Error& error) {
      CHECK(error.code() == Exit::kBadInput);
      return error.line();
    }
    return std::string();
  };
  const auto medusa = [](ExtrasRequest& extras) { extras.draft_method = DraftMethod::kMedusa; };
  CHECK(message("sglang", medusa).find("it belongs to vllm, tensorrt-llm") != std::string::npos);
  CHECK(message("vllm", medusa).find("--draft MODEL") != std::string::npos);
  CHECK(message("sglang", [](ExtrasRequest& extras) { extras.num_beams = 2; }).find("transformers") !=
        std::string::npos);
  CHECK(message("ollama", [](ExtrasRequest& extras) {
          extras.draft_method = DraftMethod::kNgram;
        }).find("vllm, sglang, llama.cpp") != std::string::npos);
}

// gpustack/gguf-parser-go#44 and ggml-org/llama.cpp#22673: what llama.cpp reserved for the warm-up image.
TEST_CASE("llama.cpp: compute buffers of image encoders, with and without flash attention") {
  const struct {
    const char* projector;
    std::uint64_t width, intermediate, image, patch;
    double on, off;  // MiB; 0: it was not measured
  } rows[] = {{"gemma3", 1152, 4304, 896, 14, 121, 1132},
              {"qwen3vl_merger", 1152, 4304, 768, 16, 323, 4728},
              {"qwen2vl_merger", 1280, 5120, 560, 14, 267, 4598},
              {"qwen2.5vl_merger", 1280, 3420, 560, 14, 705, 4872},
              {"qwen3vl_merger", 1024, 4096, 768, 16, 223.3, 0}};
  for (const auto& row : rows) {
    CAPTURE(row.projector);
    CAPTURE(row.width);
    ProjectorFile file;
    file.projector = row.projector;
    file.width = row.width;
    file.intermediate = row.intermediate;
    file.heads = 16;
    file.image_size = row.image;
    file.patch_size = row.patch;
    Request request = request_for("llama.cpp", 4096);
    const auto check = [&](double measured) {
      const LedgerLine line = *llama_image_encoder(request, file);
      CHECK(line.low <= Bytes(static_cast<std::uint64_t>(measured * kMiB)));
      CHECK(line.high >= Bytes(static_cast<std::uint64_t>(measured * kMiB)));
    };
    check(row.on);
    request.llama_cpp.flash_attention = FlashAttention::kOff;
    if (row.off > 0) check(row.off);
    // Encoders had no flash attention in b6673.
    request.llama_cpp.flash_attention = FlashAttention::kOn;
    request.engine_version = "b6673";
    if (row.off > 0) check(row.off);
  }
}

TEST_CASE("Ollama: its own models come with their image encoders in 16 bit") {
  const ModelSpec gemma = observed_model("gemma-3-12b");
  Request request = request_for("ollama", 8192);
  request.weights = "q4_k_m";
  // ollama's log of gemma3:12b: "projector.weights=795.9 MiB projector.graph=1.0 GiB"
  const Plan plan = make_plan(gemma, request);
  const LedgerLine* encoder = find_line(plan, "image encoder");
  REQUIRE(encoder != nullptr);
  CHECK(static_cast<double>(encoder->bytes.count()) == doctest::Approx(795.9 * kMiB).epsilon(0.02));
  CHECK(encoder->high >= Bytes(static_cast<std::uint64_t>((795.9 + 1024) * kMiB)));
  // A named file takes its place, llama.cpp has only what is named, and a text model has none.
  request.extras.projector = ProjectorFile{};
  CHECK(find_line(make_plan(gemma, request), "image encoder") == nullptr);
  Request other = request_for("llama.cpp", 8192);
  other.weights = "q4_k_m";
  CHECK(find_line(make_plan(gemma, other), "image encoder") == nullptr);
  CHECK(find_line(make_plan(test_model("qwen3-0.6b"), request_for("ollama", 8192)), "image encoder") == nullptr);
}

}  // namespace
}  // namespace kvplan
