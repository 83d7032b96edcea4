// TensorRT-LLM, MLX and mistral.rs.
#include <doctest/doctest.h>

#include <algorithm>

#include "engines/requests.h"
#include "kvplan/error.h"
#include "plan/plan.h"
#include "sources/load.h"
#include "support/figures.h"

namespace kvplan {
namespace {

constexpr std::string_view kLlama2 = R"({"architectures": ["LlamaForCausalLM"], "model_type": "llama",
  "hidden_size": 4096, "intermediate_size": 11008, "num_hidden_layers": 32, "num_attention_heads": 32,
  "num_key_value_heads": 32, "vocab_size": 32000, "max_position_embeddings": 4096, "torch_dtype": "float16"})";

TEST_CASE("TensorRT-LLM: tokens of the pool, as its log prints them") {
  // NVIDIA/TensorRT-LLM#1400: 132608 tokens in 69524783104 bytes, 64 tokens a block.
  const ModelSpec model = read_config(kLlama2, "", "llama-2-7b", {});
  const Plan old = make_plan(model, request_for("tensorrt-llm@0.9", 4096, 69524783104));
  CHECK(old.capacity->tokens == 132608);
  CHECK(old.capacity->num_blocks == 132608 / 64);
  // A public log of a Qwen3-0.6B: "Allocated 68.69 GiB for max tokens in paged KV cache (643136)".
  const ModelSpec small = test_model("qwen3-0.6b");
  const Plan plan = make_plan(small, request_for("tensorrt-llm", 4096, static_cast<std::uint64_t>(68.69 * kGiB)));
  CHECK(plan.capacity->tokens.value() >= 643055);
  CHECK(plan.capacity->tokens.value() <= 643216);
  CHECK(plan.capacity->tokens.value() % 32 == 0);
  CHECK(make_plan(small, request_for("tensorrt-llm", 33)).kv_cache.reserved == Bytes(64 * 114688));
}

TEST_CASE("TensorRT-LLM: a state that was not checked gives a note and widens the range") {
  const ModelSpec model = test_model("qwen3.5-27b");
  const Plan plan = make_plan(model, request_for("tensorrt-llm", 4096));
  bool said = false;
  for (const Note& note : plan.notes) said = said || note.code == "unverified_cache";
  CHECK(said);
  CHECK(plan.total.high > plan.total.bytes);
}

TEST_CASE("MLX: caches grow in steps of 256, rotating ones up to the window") {
  CHECK(make_plan(test_model("qwen3-0.6b"), request_for("mlx", 1000)).kv_cache.reserved == Bytes(1024 * 114688));
  CHECK(make_plan(test_model("gpt-oss-20b"), request_for("mlx", 4000)).kv_cache.reserved ==
        Bytes(std::uint64_t{12 * 2048} * (4096 + 128)));
}

TEST_CASE("MLX: quantized groups of 64 with a scale and a bias") {
  Request request = request_for("mlx", 1024);
  request.cache_type_k = request.cache_type_v = Dtype::kInt8;
  CHECK(make_plan(test_model("qwen3-0.6b"), request).kv_cache.reserved ==
        Bytes(std::uint64_t{1024} * 28 * 8 * 2 * (128 + 2 * 4)));
  CHECK(make_plan(test_model("gpt-oss-20b"), request).verdict.refusal->id ==
        "rotating_cache");  // a rotating cache cannot be quantized
}

TEST_CASE("mistral.rs: blocks of 8, 16 or 32 tokens, every layer whole") {
  Request request = request_for("mistralrs", 1000);
  CHECK(make_plan(test_model("llama-3.1-8b"), request).kv_cache.reserved == Bytes(1024 * 131072));
  CHECK(make_plan(test_model("gpt-oss-20b"), request).kv_cache.reserved == Bytes(1024 * 49152));
  request.block_size = 64;
  CHECK_THROWS_AS(make_plan(test_model("llama-3.1-8b"), request), Error);
}

TEST_CASE("Ollama: llama.cpp with a context that depends on the GPU, num_ctx for each sequence") {
  const ModelSpec model = test_model("llama-3.1-8b");
  Request request;
  find_engine("ollama", request);
  CHECK(make_plan(model, request).load.max_model_len == Tokens(4096));
  request.card.memory = Bytes(24 * kGiB);
  CHECK(make_plan(model, request).load.max_model_len == Tokens(32768));
  request.card.memory = Bytes(80 * kGiB);
  CHECK(make_plan(model, request).load.max_model_len == Tokens(131072));  // the model's own
  request.llama_cpp.ctx_size = Tokens(8192);
  request.num_seqs = 2;
  CHECK(make_plan(model, request).kv_cache.reserved == Bytes(std::uint64_t{2 * 8192} * 131072));
  request.cache_type_k = Dtype::kQ8_0;
  CHECK_THROWS_AS(make_plan(model, request), Error);  // K and V have one type
}

TEST_CASE("Ollama: its own engine keeps 4096 tokens of gpt-oss's windows, until 0.29") {
  // ollama/ollama#11711: "memory.required.kv=300.0 MiB" for a num_ctx of 8192. 12 layers cache 8192 tokens, and 12
  // cache 4096 and a batch of 512, with 2048 B each. A log of gpt-oss-120b prints 450.0 MiB.
  const ModelSpec model = test_model("gpt-oss-20b");
  const auto reserved = [&](const char* engine, std::uint64_t tokens, std::uint64_t seqs = 1) {
    Request request;
    find_engine(engine, request);
    request.max_model_len = Tokens(tokens);
    request.num_seqs = seqs;
    const Plan plan = make_plan(model, request);
    std::int64_t gap = 0;
    for (const GapLine& line : plan.kv_cache.gap) gap += line.bytes;
    CHECK(static_cast<std::int64_t>(plan.kv_cache.reserved.count() - plan.kv_cache.logical_per_gpu.count()) == gap);
    return plan.kv_cache.reserved;
  };
  constexpr std::uint64_t kLayers = 12 * 2048;
  CHECK(reserved("ollama@0.11", 8192) == Bytes(kLayers * (8192 + 4608)));
  CHECK(reserved("ollama@0.12", 8192) == Bytes(kLayers * (8192 + 4608)));
  CHECK(reserved("ollama@0.12", 8192) == Bytes(300ULL << 20));
  CHECK(reserved("ollama@0.29", 8192) == Bytes(300ULL << 20));
  CHECK(reserved("ollama@0.12", 8192, 2) == Bytes(kLayers * (2 * 8192 + 2 * 4096 + 512)));
  // Up to that length the whole sequence is cached.
  CHECK(reserved("ollama@0.12", 4096) == Bytes(kLayers * 2 * 4096));
  CHECK(reserved("ollama@0.12", 4352) == Bytes(kLayers * (4352 + 4608)));
  // llama-server: a window of 128 and a micro-batch, rounded up to a multiple of 256.
  CHECK(reserved("ollama@0.30", 4096) == Bytes(kLayers * (4096 + 768)));
  CHECK(reserved("ollama@0.30", 8192) == Bytes(kLayers * (8192 + 1280)));
  CHECK(reserved("ollama", 32768) == Bytes(kLayers * (32768 + 1280)));
  CHECK(reserved("ollama", 65536) == Bytes(kLayers * (65536 + 2304)));
}

TEST_CASE("Ollama: since 0.30 a batch is as large as the context allows") {
  // ollama/ollama#16647 (0.30): Gemma 4 26B-A4B at a num_ctx of 32768 prints n_batch = n_ubatch = 1024, and a window of
  // 2,048 cells: 640 MiB for five full layers and 400 for 25 windows.
  const ModelSpec model = test_model("gemma-4-26b");
  Request request;
  find_engine("ollama@0.30", request);
  request.max_model_len = Tokens(32768);
  CHECK(make_plan(model, request).kv_cache.reserved == Bytes(1040ULL << 20));
  request.llama_cpp.n_batch = 512;
  CHECK(make_plan(model, request).kv_cache.reserved == Bytes(940ULL << 20));
}

TEST_CASE("Ollama: caches of its own engine, as its logs print them") {
  // "kv cache" of Qwen3.6-35B-A3B (the geometry of 3.5) at a num_ctx of 4096: 1.6 GiB, which are 80 MiB and 25 times
  // 62.8125; of gpt-oss-120b at 8192: 450.0 MiB.
  const auto reserved = [](const std::string& name, std::uint64_t tokens) {
    const ModelSpec model = read_config(test_file("testdata/observations/models/" + name + ".json"), "", name, {});
    Request request;
    find_engine("ollama@0.20", request);
    request.max_model_len = Tokens(tokens);
    return make_plan(model, request).kv_cache.reserved;
  };
  CHECK(reserved("qwen3.5-35b-a3b", 4096) == Bytes((80ULL << 20) + 25 * 65863680ULL));
  CHECK(reserved("gpt-oss-120b", 8192) == Bytes(450ULL << 20));
}

TEST_CASE("Ollama: the buffers that llama-server lists") {
  // ollama/ollama#16416 (0.30): gpt-oss-120b, a num_ctx of 131072, two sequences, num_batch 1024. "context 9306,
  // compute 796", in whole MiB.
  const ModelSpec model = read_config(test_file("testdata/observations/models/gpt-oss-120b.json"), "", "gpt-oss", {});
  Request request;
  find_engine("ollama@0.30", request);
  request.max_model_len = Tokens(131072);
  request.num_seqs = 2;
  request.llama_cpp.n_batch = request.llama_cpp.n_ubatch = 1024;
  const Plan plan = make_plan(model, request);
  CHECK(plan.kv_cache.reserved == Bytes(9306ULL << 20));
  const auto& lines = plan.memory.front().lines;
  const auto compute = std::find_if(lines.begin(), lines.end(),
                                    [](const LedgerLine& line) { return in_words(line.what) == "compute buffer"; });
  REQUIRE(compute != lines.end());
  CHECK((compute->bytes.count() >> 20) == 796);
}

TEST_CASE("Ollama: its own engine keeps 24 checkpoints of states beside the live ones") {
  // A log of Qwen3.6-35B-A3B prints 1.6 GiB for a num_ctx of 4096: 80 MiB and 25 times 62.81. Qwen3.5-27B's states are
  // 48 layers of 48 * 128 * 128 + 3 * 10240 float32.
  constexpr std::uint64_t kStates = 48ULL * (48 * 128 * 128 + 3 * 10240) * 4;
  constexpr std::uint64_t kTokens = 4096ULL * 16 * 2 * 4 * 256 * 2;
  const ModelSpec model = test_model("qwen3.5-27b");
  const auto cache = [&](const char* engine, std::uint64_t seqs) {
    Request request;
    find_engine(engine, request);
    request.max_model_len = Tokens(4096);
    request.num_seqs = seqs;
    return make_plan(model, request).kv_cache;
  };
  CHECK(cache("ollama@0.17", 1).reserved == Bytes(kTokens + 25 * kStates));
  CHECK(cache("ollama@0.29", 2).reserved == Bytes(2 * (kTokens + 25 * kStates)));
  CHECK(cache("ollama@0.12", 1).reserved == Bytes(kTokens + kStates));
  CHECK(cache("ollama", 1).reserved == Bytes(kTokens + kStates));
  const auto gap = cache("ollama@0.17", 1).gap;
  CHECK(std::any_of(gap.begin(), gap.end(), [](const GapLine& line) {
    return in_words(line.reason) == "checkpoints of states" && line.bytes == static_cast<std::int64_t>(24 * kStates);
  }));
}

TEST_CASE("Ollama: flash attention, cache types and contexts as its releases choose them") {
  const auto plan_of = [](const char* name, const char* engine, std::uint64_t tokens, const auto& change) {
    const ModelSpec model =
        read_config(test_file(std::string("testdata/observations/models/") + name + ".json"), "", name, {});
    Request request;
    find_engine(engine, request);
    request.max_model_len = Tokens(tokens);
    change(request);
    return make_plan(model, request);
  };
  const auto nothing = [](Request&) {};
  const auto quantized = [](Request& request) { request.cache_type_k = request.cache_type_v = Dtype::kQ8_0; };
  const auto has_note = [](const Plan& plan, std::string_view id) {
    return std::any_of(plan.notes.begin(), plan.notes.end(), [&](const Note& note) { return note.code == id; });
  };
  // ollama/ollama#15284: 0.20 ran Gemma 4 with FlashAttention:Disabled, and its scores were 17 GB; 0.20.4 lists it.
  CHECK(plan_of("gemma-4-31b", "ollama@0.20", 262144, nothing).fullest().activation > Bytes(15 * kGiB));
  CHECK(plan_of("gemma-4-31b", "ollama@0.24", 262144, nothing).fullest().activation < Bytes(4 * kGiB));
  CHECK(plan_of("llama-3.1-8b", "ollama@0.12", 65536, nothing).fullest().activation > Bytes(2 * kGiB));
  CHECK(plan_of("llama-3.1-8b", "ollama@0.14", 65536, nothing).fullest().activation < Bytes(kGiB));
  // Before llama-server, a quantized cache without flash attention became float16.
  const Plan dropped = plan_of("llama-3.1-8b", "ollama@0.12", 8192, quantized);
  CHECK(dropped.kv_cache.reserved == Bytes(kGiB));
  CHECK(has_note(dropped, "dropped_cache_type"));
  CHECK(plan_of("llama-3.1-8b", "ollama", 8192, quantized).kv_cache.reserved == Bytes(544 * kMiB));
  CHECK_THROWS_AS(plan_of("llama-3.1-8b", "ollama", 8192,
                          [&](Request& request) {
                            quantized(request);
                            request.llama_cpp.flash_attention = FlashAttention::kOff;
                          }),
                  Error);
  // A num_ctx that is longer than the model's own is reduced to it.
  const Plan cut = plan_of("qwen3-8b", "ollama", 131072, nothing);
  CHECK(cut.load.max_model_len == Tokens(40960));
  CHECK(has_note(cut, "capped_context"));
  CHECK_FALSE(has_note(cut, "beyond_maximum"));
  // ollama/ollama#17482 (llama-server with MTP, num_ctx 105216): KV 6576 MiB with the MTP layer's 411.
  const Plan mtp = plan_of("qwen3.5-27b", "ollama", 105216, [](Request& request) { request.mtp = true; });
  CHECK(
      has_note(plan_of("qwen3.5-27b", "ollama", 8192, [](Request& request) { request.num_seqs = 4; }), "one_sequence"));
  CHECK(has_note(plan_of("qwen3.5-27b", "ollama", 8192, nothing), "mtp_by_itself"));
  CHECK_FALSE(has_note(mtp, "mtp_by_itself"));
  CHECK(mtp.kv_cache.reserved > Bytes(6576 * kMiB));
}

TEST_CASE("The reserved memory of every engine is the sum of its lines") {
  for (const Engine& engine : engines()) {
    for (const std::string name : {"llama-3.1-8b", "gpt-oss-20b", "qwen3.5-27b", "deepseek-v3", "falcon-h1-1.5b"}) {
      CAPTURE(engine.name);
      CAPTURE(name);
      const ModelSpec model = test_model(name);
      const Plan plan = make_plan(model, request_for(std::string(engine.name), 5000));
      const KvCachePlan& kv = plan.kv_cache;
      std::int64_t gap = 0;
      for (const GapLine& line : kv.gap) gap += line.bytes;
      CHECK(gap ==
            static_cast<std::int64_t>(kv.reserved.count()) - static_cast<std::int64_t>(kv.logical_per_gpu.count()));
      Bytes lines;
      for (const LedgerLine& line : plan.memory.front().lines)
        if (line.part == Section::kKvCache && in_words(line.what) != "encoder cache") lines += line.bytes;
      CHECK(lines == kv.reserved);
    }
  }
}

TEST_CASE("meta tokens are stored once for each sequence, not for each token") {
  // Hymba: 128 tokens in each of 17 layers with a cache, 5 heads of 64 + 128 in 16 bit.
  const auto hymba = [](const std::string& more) {
    return read_config(
        R"({"model_type": "hymba", "hidden_size": 1600, "num_hidden_layers": 32, "num_attention_heads": 25,
      "num_key_value_heads": 5, "v_head_dim": 128, "sliding_window": 1024, "global_attn_idx": [0, 15, 31],
      "kv_reuse_group": [[1, 2], [3, 4], [5, 6], [7, 8], [9, 10], [11, 12], [13, 14], [16, 17, 18], [19, 20], [21, 22],
      [23, 24], [25, 26], [27, 28], [29, 30]], "mamba_d_state": 16, "mamba_d_conv": 4, "mamba_expand": 2,
      "max_position_embeddings": 8192, "dtype": "bfloat16")" +
            more + "}",
        "", "hymba", {});
  };
  const ModelSpec with = hymba(", \"num_memory_tokens\": 128");
  const ModelSpec without = hymba("");
  for (const char* engine : {"logical", "transformers", "llama.cpp", "mlx", "mistralrs", "tensorrt-llm"}) {
    CAPTURE(engine);
    Request request = request_for(engine, 4096);
    request.num_seqs = 2;
    CHECK(make_plan(with, request).kv_cache.reserved - make_plan(without, request).kv_cache.reserved ==
          Bytes(2 * 17 * 128 * 5 * (64 + 128) * 2));
  }
}

}  // namespace
}  // namespace kvplan
