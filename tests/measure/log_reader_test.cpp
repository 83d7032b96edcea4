// Lines as engines print them, from public issue threads; the figures are the lines' own.
#include "measure/log_reader.h"

#include <doctest/doctest.h>

#include <string>

using namespace kvplan;

namespace {

struct Row {
  const char* line;
  const char* what;
  double value;
  LogUnit unit;
  const char* device = "";
};

constexpr Row kRows[] = {
    // vllm-project/vllm#10702
    {"(VllmWorkerProcess pid=354) INFO 11-27 02:16:16 model_runner.py:1077] Loading model weights took 16.4605 GB",
     "weights", 16.4605, LogUnit::kGibibytes},
    {"INFO 11-27 02:16:23 distributed_gpu_executor.py:57] # GPU blocks: 175884, # CPU blocks: 6553", "num_blocks",
     175884, LogUnit::kBlocks},
    {"INFO 11-27 02:16:23 distributed_gpu_executor.py:61] Maximum concurrency for 131072 tokens per request: 21.47x",
     "max_concurrency", 21.47, LogUnit::kTimes},
    // vllm-project/vllm#16259, with compose's colour
    {"\x1b[36m(RayWorkerWrapper pid=693)\x1b[0m INFO 04-08 03:58:02 [gpu_model_runner.py:1608] Graph capturing "
     "finished in 196 "
     "secs, took 4.95 GiB",
     "cuda_graphs", 4.95, LogUnit::kGibibytes},
    {"INFO 04-08 03:54:46 [kv_cache_utils.py:578] GPU KV cache size: 132,464 tokens", "kv_tokens", 132464,
     LogUnit::kTokens},
    // vllm-project/vllm#15766
    {"vllm-llm-1  | INFO 03-30 01:59:44 [worker.py:267] model weights take 6.74GiB; non_torch_memory takes 0.11GiB; "
     "PyTorch "
     "activation peak memory takes 1.66GiB; the rest of the memory reserved for KV Cache is 3.88GiB.",
     "activation", 1.66, LogUnit::kGibibytes},
    // noonghunna/club-3090#1087: since 0.26 weights and what is outside PyTorch are one figure
    {"(Worker_TP0 pid=223) INFO 08-22 04:42:13 [gpu_worker.py:789] Free memory on device (30.27/31.4 GiB) on startup. "
     "Desired GPU memory utilization is (0.92, 28.88 GiB). Actual usage is 15.03 GiB for consumed memory (weights + "
     "non-torch), 1.59 GiB for peak activation, and 0.09 GiB for CUDAGraph memory. Replace",
     "consumed", 15.03, LogUnit::kGibibytes},
    {"Free memory on device (30.27/31.4 GiB) on startup. Actual usage is 15.03 GiB for consumed memory (weights + "
     "non-torch), 1.59 GiB for peak activation, and 0.09 GiB for CUDAGraph memory.",
     "activation", 1.59, LogUnit::kGibibytes},
    {"Free memory on device (30.27/31.4 GiB) on startup. Actual usage is 15.03 GiB for consumed memory (weights + "
     "non-torch), 1.59 GiB for peak activation, and 0.09 GiB for CUDAGraph memory.",
     "cuda_graphs", 0.09, LogUnit::kGibibytes},
    // sgl-project/sglang#6001, #4257
    {"[2025-05-04 01:05:36 TP6] KV Cache is allocated. #tokens: 720206, KV size: 47.13 GB", "kv_bytes", 47.13,
     LogUnit::kGibibytes},
    {"[2025-03-10 16:21:31 TP1] Capture cuda graph end. Time elapsed: 9.40 s. avail mem=18.57 GB. mem usage=3.38 GB.",
     "cuda_graphs", 3.38, LogUnit::kGibibytes},
    // ggml-org/llama.cpp#10152, #11635
    {"llama_kv_cache_init:      CUDA0 KV buffer size =  2816.00 MiB", "kv_buffer", 2816, LogUnit::kMebibytes, "CUDA0"},
    {"llm_load_tensors: CUDA2_Split model buffer size =  6273.46 MiB", "weights", 6273.46, LogUnit::kMebibytes,
     "CUDA2_Split"},
    {"llama_init_from_model: KV self size  = 22204.00 MiB, K (q4_0): 6588.00 MiB, V (f16): 15616.00 MiB", "kv_total",
     22204, LogUnit::kMebibytes},
    {"llama_new_context_with_model: n_ctx_per_seq = 16384", "n_ctx_seq", 16384, LogUnit::kTokens},
    {"[TensorRT-LLM][INFO] [MemUsageChange] Allocated 0.56 GiB for max tokens in paged KV cache (8224).", "kv_tokens",
     8224, LogUnit::kTokens},
};

}  // namespace

TEST_CASE("log reader: lines as engines print them") {
  for (const Row& row : kRows) {
    CAPTURE(row.line);
    const LogReading reading = read_log(row.line);
    bool seen = false;
    for (const Observation& o : reading.observations) {
      if (o.what != row.what) continue;
      seen = true;
      CHECK(o.value == doctest::Approx(row.value));
      CHECK(o.unit == row.unit);
      CHECK(o.device == row.device);
      CHECK(o.line_number == 1);
    }
    CHECK(seen);
  }
}

TEST_CASE("log reader: units and separators of a figure") {
  const auto first = [](const std::string& figure) {
    return read_log("Model loading took " + figure + " and 1.0 seconds").observations;
  };
  CHECK(first("1.50 TiB").front().value == 1536);
  CHECK(first("1.50 TiB").front().unit == LogUnit::kGibibytes);
  CHECK(first("512.0 KiB").front().value == 0.5);
  CHECK(first("512.0 KiB").front().unit == LogUnit::kMebibytes);
  CHECK(first("1,234.5 GiB").front().value == 1234.5);
  CHECK(first("12,34 GiB").front().value == 12);
  CHECK(first("12345678901234567890123456 GiB").empty());
}

TEST_CASE("log reader: what is no size is not read as one") {
  CHECK(read_log("INFO 04-10 08:58:01 [loader.py:429] Loading weights took 6.74 seconds").observations.empty());
  CHECK(read_log("Memory pool end. avail mem=").observations.empty());
  CHECK(read_log("").observations.empty());
  CHECK(read_log(std::string(100000, '/')).observations.empty());
}

TEST_CASE("log reader: the options that a log tells") {
  const LogReading reading = read_log(
      "INFO 03-18 08:46:01 [llm_engine.py:241] Initializing a V0 LLM engine (v0.8.0) with config: model='x', "
      "dtype=torch.bfloat16, max_seq_len=4096, tensor_parallel_size=2, quantization=awq, enforce_eager=True, "
      "kv_cache_dtype=auto\n"
      "INFO 03-18 08:50:01 [worker.py:267] the current vLLM instance can use total_gpu_memory (23.98GiB) x "
      "gpu_memory_utilization (0.96) = 23.02GiB\n");
  CHECK(reading.options.engine == "vllm");
  CHECK(reading.options.version == "0.8.0");
  CHECK(reading.options.tensor_parallel == 2);
  CHECK(reading.options.max_model_len == 4096);
  CHECK(reading.options.quantization == "awq");
  CHECK(reading.options.dtype == "bfloat16");
  CHECK(reading.options.enforce_eager == true);
  CHECK(*reading.options.memory_utilization == doctest::Approx(0.96));
}
