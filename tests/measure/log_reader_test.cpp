// Lines that engines print, from public issue threads; the figures are in the lines.
#include "measure/log_reader.h"
#include "kvplan/error.h"

#include <doctest/doctest.h>

#include <sstream>
#include <string>

using namespace kvplan;

namespace {

struct PrintedLine {
  const char* line;
  const char* what;
  double value;
  LogUnit unit;
  const char* device = "";
};

constexpr PrintedLine kRows[] = {
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
    // noonghunna/club-3090#1087: since 0.27 (not in 0.26.0) one figure has weights and memory outside PyTorch
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
  for (const PrintedLine& row : kRows) {
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
  CHECK(first("12,34 GiB").empty());
  CHECK(first("12345678901234567890123456 GiB").empty());
}

TEST_CASE("log reader: text that is not a size is not read as one") {
  CHECK(read_log("INFO 04-10 08:58:01 [loader.py:429] Loading weights took 6.74 seconds").observations.empty());
  CHECK(read_log("Memory pool end. avail mem=").observations.empty());
  CHECK(read_log("").observations.empty());
  CHECK(read_log(std::string(100000, '/')).observations.empty());
}

TEST_CASE("log reader: the options that a log shows") {
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

namespace {

const Observation* figure(const LogReading& reading, std::string_view what) {
  for (const Observation& seen : reading.observations)
    if (seen.what == what) return &seen;
  return nullptr;
}

double value(const LogReading& reading, std::string_view what) {
  const Observation* const seen = figure(reading, what);
  return seen != nullptr ? seen->value : -1;
}

}  // namespace

TEST_CASE("log reader: vLLM's failing start") {
  // kaito-project/kaito#2132
  const LogReading reading = read_log(
      "ValueError: To serve at least one request with the model's max seq len (1048576),\n"
      "22.5 GiB KV cache is needed, which is larger than the available KV cache memory (17.39 GiB).\n"
      "Based on the available memory, the estimated maximum model length is 810208.\n");
  CHECK(reading.options.engine == "vllm");
  CHECK(value(reading, "kv_needed") == 22.5);
  CHECK(value(reading, "kv_budget") == 17.39);
  CHECK(value(reading, "max_model_len") == 1048576);
  CHECK(value(reading, "max_model_len_estimated") == 810208);
}

TEST_CASE("log reader: vLLM's arguments that are not the defaults") {
  const LogReading reading = read_log(
      "(APIServer pid=1) INFO 08-17 03:01:22 [api_utils.py:272] non-default args: {'model': 'Qwen3.8-27B', 'dtype': "
      "'bfloat16', 'max_model_len': 262144, 'tensor_parallel_size': 2, 'kv_cache_dtype': 'fp8', 'max_num_seqs': 256, "
      "'speculative_config': {'method': 'mtp', 'num_speculative_tokens': 1}}\n"
      "INFO Available KV cache memory: 18.53 GiB\n");
  const LogOptions& options = reading.options;
  CHECK(options.has_arguments);
  CHECK(options.tensor_parallel == 2);
  CHECK(options.max_model_len == 262144);
  CHECK(options.max_num_seqs == 256);
  CHECK(options.dtype == "bfloat16");
  CHECK(options.kv_cache_dtype == "fp8");
  CHECK(options.speculative_method == "mtp");
  CHECK(options.num_speculative_tokens == 1);
}

TEST_CASE("log reader: vLLM's profile at DEBUG") {
  const LogReading reading = read_log(
      "DEBUG [gpu_worker.py:250] Initial free memory: 21.85 GiB; Requested memory: 0.90 (util), 19.79 GiB\n"
      "DEBUG [gpu_worker.py:262] Memory profiling takes 3.04 seconds. Total non KV cache memory: 6.43GiB; torch peak "
      "memory increase: 1.06GiB; non-torch forward increase memory: 0.07GiB; weights memory: 0.93GiB.\n");
  CHECK(value(reading, "requested_memory") == 19.79);
  CHECK(value(reading, "activation") == 1.06);
  CHECK(value(reading, "non_torch") == 0.07);
  CHECK(value(reading, "weights") == 0.93);
  CHECK(value(read_log("# CUDA blocks: 1395, # CPU blocks: 2340"), "num_blocks") == 1395);
}

TEST_CASE("log reader: the rank in every form of prefix") {
  struct Prefix {
    const char* text;
    std::uint64_t rank, ranks;
  };
  for (const Prefix& row : {Prefix{"(Worker_TP1 pid=100) INFO", 1, 2}, Prefix{"(VllmWorker rank=3 pid=108) INFO", 3, 4},
                            Prefix{"(VllmWorker TP1 pid=1546) INFO", 1, 2}, Prefix{"(Worker_TP5_EP5 pid=9) INFO", 5, 6},
                            Prefix{"[2026-02-26 16:41:18 TP10] x", 10, 11}, Prefix{"[gpu_id=3] x", 3, 4}}) {
    CAPTURE(row.text);
    const LogReading reading = read_log(std::string(row.text) + " Available KV cache memory: 9.71 GiB");
    CHECK(figure(reading, "kv_budget")->rank == row.rank);
    CHECK(reading.options.ranks == row.ranks);
    CHECK(reading.options.tensor_parallel == row.ranks);
  }
  // A line without a figure also names ranks. Arguments are more reliable than the highest rank of an excerpt.
  CHECK(read_log("(Worker_TP1 pid=9) x\nAvailable KV cache memory: 1 GiB").options.tensor_parallel == 2);
  CHECK(read_log("tensor_parallel_size=16\n[TP10] KV Cache is allocated. #tokens: 5").options.tensor_parallel == 16);
  CHECK(read_log("world_size=2 rank=1 local_rank=1\nAvailable KV cache memory: 1 GiB").options.tensor_parallel == 2);
  CHECK(read_log("(Worker_PP1_TP0 pid=9) Available KV cache memory: 1 GiB").options.pipeline_parallel == 2);
}

TEST_CASE("log reader: a development build counts as the next release") {
  CHECK(release_of("0.18.1rc1.dev147+gabc") == "0.19");
  CHECK(release_of("0.20.2rc1.dev9") == "0.21");
  CHECK(release_of("0.8.0rc3.dev5+g5eeabc2a.d20250318") == "0.8.0");
  CHECK(release_of("0.20.1") == "0.20.1");
  CHECK(release_of("0.6.4.post1") == "0.6.4");
  CHECK(release_of("0.13.0+faa43dbf.nv26.01") == "0.13.0");
  CHECK(release_of("0.11.0rc2") == "0.11.0");
}

TEST_CASE("log reader: releases that match the wording") {
  const LogReading reading = read_log(
      "(EngineCore pid=90) INFO CUDA graph memory profiling is enabled (default since v0.21.0). The current "
      "--gpu-memory-utilization=0.8800 is equivalent to --gpu-memory-utilization=0.8592 without\n"
      "GPU KV cache size: 619,202 tokens\n");
  CHECK(reading.options.version.empty());
  CHECK(reading.options.since == "0.21");
  CHECK(reading.options.until.empty());
  CHECK(reading.options.memory_utilization == 0.88);
  const LogReading old = read_log("# cuda blocks: 1395, # CPU blocks: 2340");
  CHECK(old.options.until == "0.9");
  // The new runner of 0.26 says "GiB and", that of 0.30 "GiB memory and"; one line for cache and concurrency since
  // 0.27.
  const LogReading runner = read_log(
      "(EngineCore pid=77) INFO [model_runner.py:306] Model loading took 15.27 GiB and 3.123456 seconds\n"
      "(EngineCore pid=77) INFO GPU KV cache size: 35,824 tokens, Maximum concurrency for 8,192 tokens per request: "
      "4.37x\n");
  CHECK(runner.options.since == "0.27");
  CHECK(runner.options.until == "0.29");
  const LogReading both = read_log(
      "(EngineCore pid=77) INFO [model_runner.py:429] Model loading took 15.27 GiB memory and 3.123456 seconds\n");
  CHECK(both.options.until.empty());
}

TEST_CASE("log reader: llama.cpp's current settings") {
  const LogReading reading = read_log(
      "0.00.527.786 I llama_context: n_seq_max             = 2\n"
      "0.00.527.786 I llama_context: n_ctx                 = 8192\n"
      "0.00.527.786 I llama_context: kv_unified            = true\n"
      "0.00.527.786 I llama_kv_cache: size = 189.00 MiB ( 16128 cells, 12 layers, 4/1 seqs), K (q8_0): 94.50 MiB, V "
      "(f16): 94.50 MiB\n"
      "0.00.527.786 I llama_memory_recurrent: size = 125.62 MiB (2 cells, 40 layers, 2 seqs 12 rs_seq), R (f32)\n"
      "common_memory_breakdown_print: |   - CUDA0 (RTX 5090)   | 32606 = 30330 + (21832 = 16386 +    4950 +     495) + "
      "-19555 |\n");
  CHECK(reading.options.engine == "llama.cpp");
  CHECK(value(reading, "n_seq_max") == 2);
  CHECK(value(reading, "n_ctx") == 8192);
  CHECK(reading.options.kv_unified == true);
  CHECK(value(reading, "kv_total") == 189);
  CHECK(value(reading, "kv_cells") == 16128);
  CHECK(value(reading, "kv_seqs") == 4);
  CHECK(value(reading, "kv_streams") == 1);
  CHECK(reading.options.cache_type_k == "q8_0");
  CHECK(reading.options.cache_type_v == "f16");
  CHECK(value(reading, "state_total") == 125.62);
  CHECK(reading.options.n_rs_seq == 12);
  CHECK(figure(reading, "context_memory")->device == "CUDA0");
  CHECK(value(reading, "context_memory") == 4950);
  CHECK(reading.options.card == "RTX 5090");
}

TEST_CASE("log reader: ollama's estimate and its runner") {
  const LogReading reading = read_log(
      "time=2025-05-19T10:50:36.626+05:00 level=INFO source=server.go:168 msg=offload library=cuda layers.requested=-1 "
      "layers.model=35 layers.offload=0 layers.split=\"\" memory.required.full=\"2.6 GiB\" memory.required.kv=\"254.0 "
      "MiB\" memory.graph.full=\"517.0 MiB\" memory.graph.partial=\"1.0 GiB\"\n"
      "time=x level=INFO msg=\"starting llama server\" cmd=\"ollama runner --model x --ctx-size 8192 --batch-size 512 "
      "--parallel 2 --port 1\"\n"
      "llama_kv_cache: CUDA0 KV buffer size = 1.00 MiB\n");
  CHECK(reading.options.engine == "ollama");
  CHECK(value(reading, "kv_total") == 254);
  CHECK(value(reading, "graph_full") == 517);
  CHECK(value(reading, "n_ctx") == 8192);
  CHECK(value(reading, "n_seq_max") == 2);
}

TEST_CASE("log reader: SGLang's pools") {
  const LogReading reading = read_log(
      "[12:00:00] Full KV Cache is allocated. dtype: torch.bfloat16, #tokens: 67553, K size: 0.64 GB, V size: 0.64 GB\n"
      "[12:00:00] SWA KV Cache is allocated. dtype: torch.bfloat16, #tokens: 54042, K size: 5.15 GB, V size: 5.15 GB\n"
      "[12:00:00] SWAKVPool mem usage: 11.60 GB, swa size: 54042, full size: 67553\n"
      "[12:00:00] Mamba Cache is allocated. max_mamba_cache_size: 228, conv_state size: 0.31GB, ssm_state size: "
      "16.10GB\n"
      "[12:00:00] Capture target decode CUDA graph end. elapsed=30.54 s, mem usage=1.38 GB, avail mem=19.66 GB.\n");
  CHECK(reading.options.engine == "sglang");
  CHECK(reading.options.since == "0.5.14");
  CHECK(value(reading, "kv_tokens") == 67553);
  CHECK(value(reading, "swa_tokens") == 54042);
  CHECK(figure(reading, "k_bytes") == nullptr);  // neither pool is the whole cache
  CHECK(value(reading, "swa_pool_bytes") == 11.6);
  CHECK(value(reading, "state_slots") == 228);
  CHECK(value(reading, "state_bytes") == 16.1);
  CHECK(value(reading, "cuda_graphs") == 1.38);
}

TEST_CASE("log reader: the pools of TensorRT-LLM and mistral.rs") {
  const LogReading reading = read_log(
      "[TensorRT-LLM][INFO] Memory usage when calculating max tokens in paged kv cache: total: 31.84 GiB, available: "
      "17.83 "
      "GiB\n"
      "[TensorRT-LLM][INFO] [MemUsageChange] Allocated 16.05 GiB for max tokens in paged KV cache (263008)\n");
  CHECK(reading.options.engine == "tensorrt-llm");
  CHECK(value(reading, "gpu_memory") == 31.84);
  CHECK(value(reading, "kv_bytes") == 16.05);
  CHECK(value(reading, "kv_tokens") == 263008);
  const LogReading other = read_log(
      "INFO Using PagedAttention with block size 32 and 512 GPU blocks: available context length is 16384 tokens");
  CHECK(other.options.engine == "mistralrs");
  CHECK(value(other, "num_blocks") == 512);
}

TEST_CASE("log reader: lines with other tools' prefixes") {
  for (const char* const line :
       {"{\"log\":\"INFO [x.py:1] Available KV cache memory: 9.71 GiB\\n\",\"stream\":\"stderr\",\"time\":\"2026\"}",
        "{\"level\": \"info\", \"message\": \"Available KV cache memory: 9.71 GiB\"}",
        "{\"MESSAGE\":\"\\u001b[36mAvailable KV cache\\u001b[0m memory: 9.71 GiB\"}",
        "2026-03-20T10:08:33.1Z stdout F (EngineCore pid=1) Available KV cache memory: 9.71 GiB",
        "Mar 20 10:08:33 host vllm[163]: Available KV cache memory: 9.71 GiB\r",
        "vllm-1  | \x1b[36m(EngineCore pid=1)\x1b[0m Available KV  cache memory: 9.71 GiB",
        "{\"log\":\"Available KV cache memory: 9.71 GiB"}) {
    CAPTURE(line);
    CHECK(value(read_log(line), "kv_budget") == 9.71);
  }
}

TEST_CASE("log reader: the last of several starts counts") {
  const std::string first =
      "INFO vLLM API server version 0.20.1\nInitializing a V1 LLM engine (v0.20.1) with config: model='a', "
      "tensor_parallel_size=2,\nModel loading took 1.50 GiB memory\nAvailable KV cache memory: 2.00 GiB\nGPU KV cache "
      "size: 100 tokens\n";
  std::string second = first;
  second.replace(second.find("1.50"), 4, "2.50");
  LogReading reading = read_log(first + second);
  CHECK(reading.starts == 2);
  CHECK(reading.observations.front().value == 2.5);
  CHECK(reading.observations.front().line_number == 8);
  CHECK(reading.options.version == "0.20.1");
  // A program that creates several engines prints no banner, so the arguments of the last engine count.
  const std::string engine = "Initializing a V1 LLM engine (v0.11.0) with config: model='a', tensor_parallel_size=";
  reading = read_log(engine + "2,\nModel loading took 1.5 GiB\nGPU KV cache size: 9 tokens\n" + engine + "4,\n");
  CHECK(reading.starts == 2);
  CHECK(reading.options.tensor_parallel == 4);
  CHECK(reading.observations.empty());
  // Without a banner, weights after a cache mean a new start (vllm-project/vllm#16348).
  reading =
      read_log("Model loading took 1.5 GiB\n# cuda blocks: 5, # CPU blocks: 6\nModel loading took 0.2393 GiB and\n");
  CHECK(reading.starts == 2);
  CHECK(reading.observations.size() == 1);
  // The weights of a draft are logged before the cache.
  CHECK(read_log("Model loading took 1.5 GiB\nModel loading took 0.2 GiB\nGPU KV cache size: 5 tokens\n").starts == 1);
}

TEST_CASE("log reader: reading in pieces gives the same result") {
  const std::string log = "Model loading took 1.50 GiB memory\n" + std::string(100000, 'x') +
                          " Available KV cache memory: 1.00 GiB\nAvailable KV cache memory: 2.00 GiB";
  LogReader reader;
  for (std::size_t at = 0; at < log.size(); at += 7) reader.piece(std::string_view(log).substr(at, 7));
  const LogReading streamed = reader.finish();
  const LogReading whole = read_log(log);
  CHECK(streamed.lines == 3);
  CHECK(whole.lines == 3);
  REQUIRE(streamed.observations.size() == 2);
  CHECK(whole.observations.size() == 2);
  CHECK(streamed.observations[1].value == 2);
  CHECK(streamed.observations[1].line_number == 3);
}

// A log written by PowerShell's ">".
TEST_CASE("log reader: UTF-16 and UTF-8 with a byte order mark") {
  const std::u16string text = u"\U0001F680 Model loading took 1.50 GiB memory\nGPU KV cache size: 1,024 tokens\n";
  for (const bool is_big : {false, true}) {
    std::string log = is_big ? "\xFE\xFF" : "\xFF\xFE";
    for (const char16_t unit : text) {
      const char low = static_cast<char>(unit & 0xFFU);
      const char high = static_cast<char>(unit >> 8U);
      log += is_big ? high : low;
      log += is_big ? low : high;
    }
    for (const std::size_t size : {std::size_t{1}, std::size_t{3}, log.size()}) {
      LogReader reader;
      for (std::size_t at = 0; at < log.size(); at += size) reader.piece(std::string_view(log).substr(at, size));
      const LogReading reading = reader.finish();
      REQUIRE(reading.observations.size() == 2);
      CHECK(reading.observations[0].value == 1.5);
      CHECK(reading.observations[1].value == 1024);
      CHECK(reading.lines == 2);
    }
  }
  CHECK(read_log("\xEF\xBB\xBFModel loading took 1.50 GiB memory\n").observations.size() == 1);
}

TEST_CASE("log reader: the text of UTF-16, to the byte") {
  LogText text;
  CHECK(text.utf8(std::string("\xFF\xFE\x41\x00\xE9\x00\xAC\x20\x3D\xD8\x80\xDE", 12)) ==
        "A\xC3\xA9\xE2\x82\xAC\xF0\x9F\x9A\x80");
  // Each half without the other.
  LogText broken;
  CHECK(broken.utf8(std::string("\xFF\xFE\x00\xDC\x3D\xD8\x41\x00", 8)) == "\xEF\xBF\xBD\xEF\xBF\xBD\x41");
}

TEST_CASE("log reader: a buffer of weights without the function's name before it") {
  for (const char* line :
       {"load_tensors:        CUDA0 model buffer size =  4403.49 MiB\n", "CUDA0 model buffer size =  4403.49 MiB\n"}) {
    const LogReading reading = read_log(line);
    REQUIRE(reading.observations.size() == 1);
    CHECK(reading.observations[0].value == 4403.49);
    CHECK(reading.observations[0].device == "CUDA0");
  }
}

TEST_CASE("check-log: words from a log contain no hidden characters and no token") {
  const LogReading log = read_log(
      "INFO Initializing an LLM engine (v0.9.1) with config: model='a\xe2\x80\xaex', dtype=\xc2\x9b\n"
      "llama_kv_cache: CUDA\xc2\x9b KV buffer size = 10.00 MiB\n"
      "ValueError: \xe2\x80\xae hf_abcdefghijklmnopqrstuvwxyz \xff ##[add-mask]1\n");
  REQUIRE(log.events.size() == 1);
  const auto is_clean = [](const std::string& text) { return text == one_line(text); };
  CHECK(is_clean(log.events[0].words));
  CHECK(log.events[0].words.find("hf_***") != std::string::npos);
  CHECK(is_clean(log.options.model));
  CHECK(is_clean(log.options.dtype));
  for (const Observation& seen : log.observations) CHECK(is_clean(seen.device));
}
