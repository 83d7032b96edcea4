// A log compared with the plan: what agrees, what differs, and what cannot be compared.
#include "measure/diagnosis.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "measure/log_reader.h"
#include "support/figures.h"

namespace kvplan {
namespace {

LogCheck checked(const std::string& log) {
  return check_log(test_model("llama-3.1-8b"), Request(), read_log(log));
}

TEST_CASE("check-log: a figure of zero only agrees with zero") {
  // 32 layers of 8 heads of 128 in 16 bit, 131,072 tokens: 16,384 MiB.
  const std::string line =
      "llama_context: n_ctx = 131072\nllama_context: n_ubatch = 512\n, K (f16): 1 MiB, V (f16): 1 MiB\n"
      "llama_kv_cache: CUDA0 KV buffer size = ";
  LogCheck check = checked(line + "16384.00 MiB");
  CHECK(check.compared == 1);
  CHECK(check.disagreements == 0);
  CHECK(check.lines.back().difference() == 0);
  check = checked(line + "0.00 MiB");
  CHECK(check.disagreements == 1);
  CHECK(check.lines.back().difference() == 1);
  check = checked(line + "12288.00 MiB");
  CHECK(check.disagreements == 1);
  CHECK(check.lines.back().difference() == doctest::Approx(1.0 / 3));
}

TEST_CASE("check-log: a negative budget does not agree") {
  const LogCheck check = checked("INFO Available KV cache memory: -12.21 GiB\n");
  CHECK(check.compared == 0);
  REQUIRE(check.remarks.size() == 1);
  CHECK(check.remarks[0].find("no memory left") != std::string::npos);
}

// 131,072 bytes per token in 16 bit.
TEST_CASE("check-log: two caches of one device are compared one by one, or as a sum") {
  // 42 layers, 4 of them global (q8_0: 34 bytes for 32 values): ggml-org/llama.cpp, Gemma-4-E4B.
  const std::string settings = "llama_context: n_ctx = 8192\nllama_context: n_ubatch = 512\n";
  LogCheck check =
      checked(settings +
              "llama_kv_cache: CUDA0 KV buffer size = 512.00 MiB\n"
              "llama_kv_cache: size = 512.00 MiB ( 8192 cells, 16 layers, 1/1 seqs), K (f16): 1 MiB, V (f16): 1 MiB\n"
              "llama_kv_cache: CUDA0 KV buffer size = 512.00 MiB\n"
              "llama_kv_cache: size = 512.00 MiB ( 8192 cells, 16 layers, 1/1 seqs), K (f16): 1 MiB, V (f16): 1 MiB\n");
  CHECK(check.compared == 2);
  CHECK(check.disagreements == 0);
  check = checked(settings +
                  "llama_kv_cache: CUDA0 KV buffer size = 512.00 MiB\n"
                  "llama_kv_cache: CUDA0 KV buffer size = 512.02 MiB\n, K (f16): 1 MiB, V (f16): 1 MiB\n");
  CHECK(check.disagreements == 1);
}

TEST_CASE("check-log: if the split over devices is unknown, the sum is compared") {
  const std::string settings =
      "llama_context: n_ctx = 8192\nllama_context: n_ubatch = 512\n, K (f16): 1 MiB, V (f16): 1 MiB\n";
  LogCheck check = checked(settings +
                           "llama_kv_cache: CUDA0 KV buffer size = 288.00 MiB\n"
                           "llama_kv_cache: CUDA1 KV buffer size = 736.00 MiB\n");
  CHECK(check.plan.memory.size() == 2);
  CHECK(check.compared == 1);
  CHECK(check.disagreements == 0);
  check = checked(settings +
                  "llama_kv_cache: CUDA0 KV buffer size = 288.00 MiB\n"
                  "llama_kv_cache: CUDA1 KV buffer size = 732.00 MiB\n");
  CHECK(check.disagreements == 1);
}

TEST_CASE("check-log: bytes of the printed tokens") {
  // sgl-project/sglang#4760: Llama-3.1-8B, 442,750 tokens of 131,072 bytes.
  const std::string arguments = "server_args=ServerArgs(model_path='x', tp_size=1, kv_cache_dtype='auto')\n";
  LogCheck check = checked(
      arguments + "[16:37:06 TP0] KV Cache is allocated. #tokens: 442750, K size: 27.02 GB, V size: 27.02 GB\n");
  CHECK(check.compared == 2);
  CHECK(check.disagreements == 0);
  check = checked(arguments +
                  "[16:37:06 TP0] KV Cache is allocated. #tokens: 442750, K size: 27.04 GB, V size: 27.02 GB\n");
  CHECK(check.disagreements == 1);
  // Half the bytes of 16 bit mean FP8, if no line names the type.
  check =
      checked("[TensorRT-LLM][INFO] [MemUsageChange] Allocated 16.05 GiB for max tokens in paged KV cache (263008)\n");
  CHECK(check.compared == 1);
  CHECK(check.plan.types.key == Dtype::kFp8E4m3);
}

TEST_CASE("check-log: counts from a printed budget, within its rounding") {
  const std::string engine =
      "Initializing a V1 LLM engine (v0.31.0) with config: model='x', max_seq_len=131072, tensor_parallel_size=1,\n"
      "Available KV cache memory: 56.21 GiB\n";
  // A public log of vLLM 0.31 on an A100: 28,781 blocks of 2 MiB are 56.2129 GiB.
  LogCheck check = checked(
      engine + "GPU KV cache size: 460,496 tokens, Maximum concurrency for 131,072 tokens per request: 3.51x\n");
  CHECK(check.compared == 2);
  CHECK(check.disagreements == 0);
  check = checked(engine + "GPU KV cache size: 460,000 tokens\n");  // 0.1 % less
  CHECK(check.disagreements == 1);
}

TEST_CASE("check-log: tokens that fit the memory fraction") {
  // sgl-project/sglang#1612, a model of 131,072 bytes per token: 9.59 - 23.16 x 0.12 = 6.81 GiB.
  const std::string weights =
      "[16:42:53 TP0] Load weight begin. avail mem=23.16 GB\n"
      "[16:43:14 TP0] Load weight end. type=MistralForCausalLM, dtype=torch.bfloat16, avail mem=9.59 GB\n";
  const std::string end = ", max_prefill_tokens=16384, max_running_requests=2049, context_len=32768\n";
  LogCheck check = checked(weights + "[16:43:22 TP0] max_total_num_tokens=55807" + end);
  CHECK(check.compared == 1);
  CHECK(check.disagreements == 0);
  CHECK(check.read.back() == "--mem-fraction-static 0.88, by the figures");
  // No fraction with two digits leaves memory for these.
  check = checked(weights + "[16:43:22 TP0] max_total_num_tokens=55000" + end);
  CHECK(check.compared == 0);
  CHECK(check.disagreements == 0);
  // Nine tenths of 17.83 GiB, in blocks of 32 tokens in FP8.
  check = checked(
      "[TensorRT-LLM][INFO] Memory usage when calculating max tokens in paged kv cache: total: 31.84 GiB, available: "
      "17.83 GiB\n"
      "[TensorRT-LLM][INFO] Number of blocks in KV cache primary pool: 8219\n"
      "[TensorRT-LLM][INFO] Number of tokens per block: 32.\n"
      "[TensorRT-LLM][INFO] [MemUsageChange] Allocated 16.05 GiB for max tokens in paged KV cache (263008)\n");
  CHECK(check.compared == 3);
  CHECK(check.disagreements == 0);
}

TEST_CASE("check-log: a difference that an assumption may explain is not a disagreement, and has a remark") {
  const LogCheck check = checked("llama_kv_cache: CUDA0 KV buffer size = 12288.00 MiB\n");
  CHECK(check.compared == 0);
  CHECK(check.disagreements == 0);
  REQUIRE(!check.assumed.empty());
  CHECK(check.assumed[0].find("-c") != std::string::npos);
}

TEST_CASE("check-log: the release that is planned") {
  const auto planned = [](const std::string& version) {
    return checked("vLLM API server version " + version + "\nModel loading took 15.0 GiB memory\n").plan.engine_version;
  };
  CHECK(planned("0.8.3") == "0.8");
  CHECK(planned("0.18.1rc1.dev147") == "0.19");
  CHECK(planned("0.20.0") == "0.20");
  CHECK(planned("0.20.2") == "0.20.2");
}

TEST_CASE("check-log: a setting that the log does not name may follow from its figures") {
  // 4 GiB are 65,536 tokens of 65,536 bytes: FP8.
  const LogCheck check = checked(
      "Initializing a V1 LLM engine (v0.31.0)\ntensor_parallel_size=1\nAvailable KV cache memory: 4.0 GiB\n"
      "GPU KV cache size: 65,536 tokens\n");
  CHECK(check.compared == 1);
  CHECK(check.plan.types.key == Dtype::kFp8E4m3);
  CHECK(std::find(check.read.begin(), check.read.end(), "--kv-cache-dtype fp8_e4m3, by the figures") !=
        check.read.end());
  for (const std::string& said : check.assumed) CHECK(said.find("--kv-cache-dtype") == std::string::npos);
}

TEST_CASE("check-log: an excerpt may show only some of the ranks") {
  const LogCheck check =
      checked("[16:41:18 TP6] KV Cache is allocated. #tokens: 442750, K size: 3.38 GB, V size: 3.38 GB\n");
  CHECK(check.plan.request.parallel.tensor == 8);
  CHECK(check.compared == 2);
  CHECK(check.disagreements == 0);
  // The highest rank in an excerpt: 8 heads on 2 ranks, as the bytes show.
  CHECK(
      checked("[16:41:18 TP0] KV Cache is allocated. dtype: torch.bfloat16, #tokens: 442750, K size: 13.51 GB, V size: "
              "13.51 GB\n")
          .plan.request.parallel.tensor == 2);
}

TEST_CASE("check-log: a log is not compared with its own figures") {
  const LogCheck check = checked("Maximum concurrency for 8,192 tokens per request: 3.51x\n");
  CHECK(check.compared == 0);
}

TEST_CASE("check-log: the log's total is the GPU's memory") {
  Request base;
  base.card.gpu = &parse_gpu("h100-80gb");
  const LogCheck check =
      check_log(test_model("llama-3.1-8b"), base, read_log("Free memory on device (39.0/40.0 GiB) on startup.\n"));
  CHECK(check.plan.card == Bytes(40 * kGiB));
}

}  // namespace
}  // namespace kvplan
