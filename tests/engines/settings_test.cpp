// The engines' default settings, from their own code and documentation.
#include <doctest/doctest.h>

#include "engines/requests.h"
#include "plan/plan.h"
#include "support/figures.h"

namespace kvplan {
namespace {

EngineSettings settings_of(const std::string& model, const Request& request) {
  return make_plan(test_model(model), request).settings;
}

Request on_card(const std::string& engine, const std::string& card) {
  Request request = request_for(engine, 4096);
  request.card.gpu = &parse_gpu(card);
  return request;
}

TEST_CASE("settings: vLLM's batches, graphs and fraction of the GPU") {
  // Executed, release 0.33, H100: 51 sizes up to 512 tokens, each piecewise and of whole decode steps.
  EngineSettings seen = settings_of("llama-3.1-8b", on_card("vllm", "h100-80gb"));
  CHECK(seen.max_num_batched_tokens == 8192);
  CHECK(seen.max_num_seqs == 1024);
  CHECK(seen.memory_fraction == 0.92);
  CHECK(seen.cuda_graph_sizes == 51);
  CHECK(seen.cuda_graphs == 102);
  CHECK(seen.prefix_caching == true);
  CHECK_FALSE(seen.state_slots_per_sequence.has_value());
  // With fewer sequences, sizes go up to twice their number and whole steps up to their number (1, 2, 4, 8, 16 of 24
  // and 48).
  Request few = on_card("vllm", "h100-80gb");
  few.max_num_seqs = 24;
  seen = settings_of("llama-3.1-8b", few);
  CHECK(seen.cuda_graph_sizes == 9);  // 1, 2, 4, 8, 16, 24, 32, 40, 48
  CHECK(seen.cuda_graphs == 9 + 6);   // and 1, 2, 4, 8, 16, 24
  few.engine_version = "0.9";         // up to 512 tokens, whatever runs at once
  CHECK(settings_of("llama-3.1-8b", few).cuda_graph_sizes == 67);
  few.engine_version.clear();
  few.enforce_eager = true;
  CHECK(settings_of("llama-3.1-8b", few).cuda_graph_sizes == 0);
  CHECK(settings_of("llama-3.1-8b", few).cuda_graphs == 0);
  // gpu_memory_utilization was 0.9 until 0.20. V0 does not cache prefixes.
  CHECK(settings_of("llama-3.1-8b", on_card("vllm@0.19", "h100-80gb")).memory_fraction == 0.9);
  CHECK(settings_of("llama-3.1-8b", on_card("vllm@0.6", "h100-80gb")).prefix_caching == false);
  // VLLM_USE_V1=0, which 0.11 no longer reads.
  Request old = on_card("vllm@0.10", "h100-80gb");
  old.command.wants_v0 = true;
  CHECK(settings_of("llama-3.1-8b", old).prefix_caching == false);
  old.engine_version = "0.11";
  CHECK(settings_of("llama-3.1-8b", old).prefix_caching == true);
  // Models with states: by default since the release that caches states, or as requested.
  CHECK(settings_of("falcon-h1-1.5b", on_card("vllm@0.26", "h100-80gb")).prefix_caching == false);
  CHECK(settings_of("falcon-h1-1.5b", on_card("vllm", "h100-80gb")).prefix_caching == true);
  CHECK(settings_of("mamba-2.8b", on_card("vllm", "h100-80gb")).prefix_caching == false);
  CHECK(settings_of("whisper-medium", on_card("vllm", "l40s")).prefix_caching == false);  // executed, 0.33
  Request asked = on_card("vllm", "h100-80gb");
  asked.prefix_caching = false;
  CHECK(settings_of("falcon-h1-1.5b", asked).prefix_caching == false);
}

// BGE-M3's config. Executed, release 0.33, L40S: 8,194 tokens of a batch, prefix caching off, 1,133,826,640 bytes of
// weights, which have a pooler less and the padding and numbers of the table of positions more.
TEST_CASE("settings: vLLM reads an encoder's input in one batch") {
  const ModelSpec model = parse_model(R"({"architectures":["XLMRobertaModel"],"model_type":"xlm-roberta",
      "hidden_size":1024,"intermediate_size":4096,"num_hidden_layers":24,"num_attention_heads":16,"vocab_size":250002,
      "max_position_embeddings":8194,"type_vocab_size":1,"dtype":"float32"})");
  Request request = on_card("vllm", "l40s");
  request.max_model_len.reset();
  const Plan plan = make_plan(model, request);
  CHECK(plan.settings.max_num_batched_tokens == 8194);
  CHECK(plan.settings.prefix_caching == false);
  // Since 0.21 the plan also rounds them to the allocator's blocks.
  Request unrounded = request;
  unrounded.engine_version = "0.20";
  const Plan older = make_plan(model, unrounded);
  Bytes weights;
  for (const LedgerLine& line : older.memory[0].lines)
    if (line.part == Section::kWeights) weights += line.bytes;
  CHECK(weights.count() == doctest::Approx(1133826640).epsilon(1e-6));
  request.max_model_len = Tokens(512);
  CHECK(make_plan(model, request).settings.max_num_batched_tokens == 2048);
  request.max_num_batched_tokens = Tokens(4096);
  CHECK(make_plan(model, request).settings.max_num_batched_tokens == 4096);
}

TEST_CASE("settings: SGLang's chunks, graphs and limits") {
  // Executed, release 0.5.23, Qwen3-0.6B on an H100: chunked_prefill_size 8192, 36 decode graphs up to 256, no maximum
  // of running requests.
  Request request = on_card("sglang", "h100-80gb");
  EngineSettings seen = settings_of("qwen3-0.6b", request);
  CHECK(seen.max_num_batched_tokens == 8192);
  CHECK(seen.cuda_graph_sizes == 36);
  CHECK(seen.cuda_graphs == 36);
  CHECK_FALSE(seen.max_num_seqs.has_value());
  CHECK_FALSE(seen.state_slots_per_sequence.has_value());
  CHECK(seen.prefix_caching == true);
  request.extras.disable_radix_cache = true;
  request.enforce_eager = true;
  request.max_num_seqs = 7;
  seen = settings_of("falcon-h1-1.5b", request);
  CHECK(seen.cuda_graph_sizes == 0);
  CHECK(seen.max_num_seqs == 7);
  CHECK(seen.state_slots_per_sequence == 1);
  CHECK(seen.prefix_caching == false);
}

TEST_CASE("settings: engines without a scheduler's cap or graphs") {
  Request request = request_for("llama.cpp", 8192);
  request.num_seqs = 2;
  EngineSettings seen = settings_of("llama-3.1-8b", request);
  CHECK(seen.max_num_batched_tokens == 2048);  // llama-server --help: -b 2048, -ub 512
  CHECK(seen.n_ubatch == 512);
  CHECK(seen.max_num_seqs == 2);
  CHECK_FALSE(seen.memory_fraction.has_value());
  CHECK_FALSE(seen.cuda_graphs.has_value());
  request.llama_cpp.n_batch = 256;
  CHECK(settings_of("llama-3.1-8b", request).n_ubatch == 256);
  seen = settings_of("llama-3.1-8b", request_for("ollama", 4096));  // num_batch 512, and by the context beyond
  CHECK(seen.max_num_batched_tokens == 512);
  CHECK(seen.n_ubatch == 512);
  CHECK(settings_of("llama-3.1-8b", request_for("ollama", 8192)).n_ubatch == 1024);
  CHECK(settings_of("llama-3.1-8b", request_for("mlx", 8192)).max_num_batched_tokens == 2048);  // prefill_step_size
  seen = settings_of("llama-3.1-8b", request_for("tensorrt-llm", 8192));
  CHECK(seen.max_num_batched_tokens == 8192);  // BuildConfig.max_num_tokens
  CHECK(seen.memory_fraction == 0.9);          // KvCacheConfig.free_gpu_memory_fraction
  CHECK(settings_of("llama-3.1-8b", request_for("mistralrs", 8192)).memory_fraction == 0.9);  // --pa-gpu-mem-usage
  CHECK(settings_of("llama-3.1-8b", request_for("mistralrs", 8192)).max_num_batched_tokens == 1024);
  request = request_for("transformers", 8192);
  CHECK(settings_of("llama-3.1-8b", request).attention_backend == "sdpa");
  request.attention = AttentionKernel::kNaive;
  CHECK(settings_of("llama-3.1-8b", request).attention_backend == "eager");
  request.attention = AttentionKernel::kFlash;
  CHECK(settings_of("llama-3.1-8b", request).attention_backend == "flash_attention_2");
  seen = settings_of("llama-3.1-8b", request_for("logical", 8192));
  CHECK_FALSE(seen.max_num_batched_tokens.has_value());
  CHECK(seen.attention_backend.empty());
}

}  // namespace
}  // namespace kvplan
