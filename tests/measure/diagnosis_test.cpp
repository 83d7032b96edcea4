// Failing starts: the cause, the figures and the remedies that follow from only the log. The lines are from public
// issue threads; arithmetic is next to its row.
#include "measure/diagnosis.h"

#include <doctest/doctest.h>

#include <string>
#include <string_view>
#include <vector>

#include "engines/engine.h"
#include "measure/log_reader.h"
#include "report/names.h"
#include "report/pages/pages.h"

namespace kvplan {

namespace {

struct Case {
  std::string_view log;
  LogVerdict verdict;
  std::string_view cause;               // the id
  std::vector<std::string_view> says;   // figures in the sentence
  std::vector<std::string_view> cures;  // options, in this order, possibly with others between them
};

std::string options_of(const Diagnosis& found) {
  std::string out;
  for (const LogRemedy& remedy : found.remedies) out += cure_option(remedy) + "\n";
  return out;
}

using enum LogVerdict;

const Case kCases[] = {
    // vLLM, three lines of one message
    {"ValueError: To serve at least one request with the model's max seq len (1048576),\n"
     "22.5 GiB KV cache is needed, which is larger than the available KV cache memory (17.39 GiB).\n"
     "Based on the available memory, the estimated maximum model length is 810208.\n",
     kDidNotStart,
     "cache_too_small",
     {"1048576", "22.5 GiB", "17.39 GiB"},
     {"--max-model-len 810208", "--gpu-memory-utilization", "--kv-cache-dtype fp8", "--tensor-parallel-size 2"}},
    // 8.00 GiB for 32768 tokens are 4 MiB per block of 16. 5.62 GiB are 1,438 blocks: 23,008 tokens
    {"ValueError: To serve at least one request with the models's max seq len (32768), (8.00 GiB KV cache is needed, "
     "which is larger than the available KV cache memory (5.62 GiB). Try increasing `gpu_memory_utilization` or "
     "decreasing `max_model_len` when initializing the engine.\n",
     kDidNotStart,
     "cache_too_small",
     {"32768", "8.00 GiB", "5.62 GiB"},
     {"--max-model-len 23008"}},
    {"ValueError: The model's max seq len (32768) is larger than the maximum number of tokens that can be stored in KV "
     "cache (24320). Try increasing `gpu_memory_utilization`\n",
     kDidNotStart,
     "cache_too_small",
     {"24320", "32768"},
     {"--max-model-len 24320"}},
    // free memory over the total: 3.25 / 23.43 = 0.138
    {"ValueError: Free memory on device cuda:0 (3.25/23.43 GiB) on startup is less than desired GPU memory utilization "
     "(0.96, 22.49 GiB). Decrease GPU memory utilization or reduce GPU memory used by other processes.\n",
     kDidNotStart,
     "free_memory_short",
     {"3.25", "23.43", "22.49"},
     {"stop other programs on the GPU", "--gpu-memory-utilization 0.13"}},
    {"ValueError: Available memory on node 0 (3.86/16.0 GiB) on startup is less than desired CPU memory utilization "
     "(0.92, 14.72 GiB). On the CPU backend, the `--gpu-memory-utilization` flag\n",
     kDidNotStart,
     "free_memory_short",
     {"3.86", "16.0"},
     {"--gpu-memory-utilization 0.24"}},
    // the frame of a model's constructor shows that weights were being allocated
    {"ERROR 10-13 09:46:06 [core.py:708] torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 462.00 MiB. GPU "
     "0 has a total capacity of 79.44 GiB of which 145.19 MiB is free. Including non-PyTorch memory, this process has "
     "79.29 GiB memory in use. Of the allocated memory 78.78 GiB is allocated by PyTorch, and 13.27 MiB is reserved by "
     "PyTorch but unallocated.\n"
     "ERROR 10-13 09:46:06 [core.py:708]   File \"/x/vllm/model_executor/models/qwen2.py\", line 319, in __init__\n",
     kDidNotStart,
     "out_of_memory",
     {"462.00 MiB", "79.44 GiB", "while weights were loaded"},
     {"--tensor-parallel-size 2"}},
    {"INFO [gpu_worker.py:642] Available KV cache memory: 2.97 GiB\n"
     "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 136.00 MiB. GPU 0 has a total capacity of 22.36 "
     "GiB "
     "of which 120.88 MiB is free.\n",
     kDidNotStart,
     "out_of_memory",
     {"136.00 MiB", "120.88 MiB", "graphs"},
     {"--gpu-memory-utilization", "--enforce-eager"}},
    {"(EngineCore pid=2651) torch.OutOfMemoryError: HIP out of memory. Tried to allocate 12.95 GiB. GPU 0 has a total "
     "capacity of 127.00 GiB "
     "of which 18.55 GiB is free. Of the allocated memory 99.37 GiB is allocated by PyTorch, and 121.80 MiB is "
     "reserved "
     "by PyTorch but unallocated.\n",
     kDidNotStart,
     "out_of_memory",
     {"12.95 GiB", "18.55 GiB", "unified memory"},
     {"--gpu-memory-utilization", "--kv-cache-memory-bytes"}},
    {"RuntimeError: NPU out of memory. Tried to allocate 2.57 GiB (NPU 0; 60.96 GiB total capacity; 57.49 GiB already "
     "allocated; 57.49 GiB current active; 1.96 GiB free; 57.62 GiB reserved in total by PyTorch)\n",
     kDidNotStart,
     "out_of_memory",
     {"2.57 GiB", "1.96 GiB"},
     {"--gpu-memory-utilization"}},
    {"ValueError: Bfloat16 is only supported on GPUs with compute capability of at least 8.0. Your Tesla T4 GPU has "
     "compute capability 7.5. You can use float16\n",
     kDidNotStart,
     "no_bfloat16",
     {"Tesla T4", "7.5", "8.0"},
     {"--dtype half"}},
    // 32 heads can be split over 2 ranks, but not over 3
    {"ValueError: Total number of attention heads (32) must be divisible by tensor parallel size (3).\n",
     kDidNotStart,
     "heads_do_not_divide",
     {"32", "3"},
     {"--tensor-parallel-size 2", "--pipeline-parallel-size 3"}},
    {"ValueError: User-specified max_model_len (131072) is greater than the derived max_model_len "
     "(max_position_embeddings=8192 or model_max_length=None in model's config.json).\n",
     kDidNotStart,
     "length_beyond_model",
     {"131072", "8192"},
     {"--max-model-len 8192"}},
    {"ValueError: No valid attention backend found for cuda with AttentionSelectorConfig(head_size=576, use_mla=True). "
     "Reasons: {FLASHMLA: [compute capability not supported]}.\n",
     kDidNotStart,
     "no_attention_backend",
     {"FLASHMLA"},
     {"another GPU, or more GPUs"}},
    {"The Python process exited with exit code 137 (SIGKILL). This may have been cause by OOM error.\n",
     kDidNotStart,
     "exited",
     {"137", "RAM"},
     {"more main memory"}},
    // SGLang: 125.65 / (125.65 + 12.25) = 0.9112 of the GPU are weights
    {"Load weight end. quant=fp8, fmt=e4m3, avail mem=12.25 GB, mem usage=125.65 GB.\n"
     "ValueError: Loaded weights leave no GPU memory for the KV cache under --mem-fraction-static=0.88.\n",
     kDidNotStart,
     "no_cache_memory",
     {"0.88"},
     {"--mem-fraction-static 0.92", "--tp-size 2"}},
    // 64 x 2 = 128: whole blocks with half of the ranks
    {"  File \"/x/sglang/srt/layers/quantization/fp8.py\", line 557, in create_weights\n"
     "ValueError: The output_size of gate's and up's weight = 64 is not divisible by weight quantization block_n = "
     "128.\n",
     kDidNotStart,
     "block_does_not_divide",
     {"64", "128"},
     {"--ep-size", "--tp-size"}},
    {"ROCm0 model buffer size = 17827.35 MiB\n"
     "ggml_backend_cuda_buffer_type_alloc_buffer: allocating 14136.04 MiB on device 0: cudaMalloc failed: out of "
     "memory\n"
     "ggml_gallocr_reserve_n: failed to allocate ROCm0 buffer of size 14822711296\n"
     "graph_reserve: failed to allocate compute buffers\n",
     kDidNotStart,
     "compute_failed",
     {"14136.04 MiB"},
     {"-ub"}},
    {"ggml_vulkan: Requested buffer size exceeds device buffer size limit: ErrorOutOfDeviceMemory\n"
     "ggml_gallocr_reserve_n_impl: failed to allocate Vulkan0 buffer of size 8753520640\n",
     kDidNotStart,
     "buffer_limit",
     {"8753520640"},
     {"-ub"}},
    // it retried with less, and started
    {"ggml_gallocr_reserve_n_impl: failed to allocate CUDA1 buffer of size 54262464512\n"
     "graph_reserve: failed to allocate compute buffers\n"
     "sched_reserve: compute buffer allocation failed, retrying without pipeline parallelism\n"
     "srv    load_model: initializing, n_slots = 1, n_ctx_slot = 50176, kv_unified = 'false'\n",
     kStarted,
     "",
     {},
     {}},
    {"ggml_aligned_malloc: insufficient memory (attempted to allocate 60438.47 MB)\n"
     "ggml_backend_cpu_buffer_type_alloc_buffer: failed to allocate buffer of size 63374323968\n"
     "alloc_tensor_range: failed to allocate CPU buffer of size 63374323968\n"
     "llama_init_from_model: failed to initialize the context: failed to allocate buffer for kv cache\n",
     kDidNotStart,
     "cache_failed",
     {"60438.47 MiB"},
     {"-c"}},
    {"llama_init_from_model: flash_attn is not compatible with Grok - forcing off\n"
     "llama_init_from_model: V cache quantization requires flash_attn\n",
     kDidNotStart,
     "cache_type_needs_flash",
     {"flash attention"},
     {"-ctv f16"}},
    {"RuntimeError: Executor creation failed due to insufficient GPU memory.\n\n"
     "The following component could not be created: Additional executor resources\n"
     "Total GPU memory (GiB): 95.00\n"
     "Free GPU memory before component creation attempt (GiB): 16.95\n",
     kDidNotStart,
     "component_failed",
     {"Additional executor resources", "16.95 GiB", "95.00 GiB"},
     {"--max_num_tokens"}},
    {"This model does not fit on the devices [\"metal[4294969630]\", \"cpu\"], and exceeds total capacity by 7530MB\n",
     kDidNotStart,
     "does_not_fit_devices",
     {"7530"},
     {"--isq 4"}},
    // 65.4 % for 34 requests are 1.92 % each, so 52 fill the cache
    {"Engine 000: Avg prompt throughput: 24000.7 tokens/s, Avg generation throughput: 83.7 tokens/s, Running: 34 reqs, "
     "Waiting: 66 reqs, GPU KV cache usage: 65.4%, Prefix cache hit rate: 0.0%\n",
     kServesWithTrouble,
     "traffic",
     {"66 wait", "65.4 %", "prefill", "1.92 %", "52 fit"},
     {"no memory problem yet"}},
    {"Engine 000: Avg prompt throughput: 0.0 tokens/s, Avg generation throughput: 145.0 tokens/s, Running: 1 reqs, "
     "Waiting: 0 reqs, GPU KV cache usage: 3.7%, Prefix cache hit rate: 18.8%\n",
     kStarted,
     "",
     {},
     {}},
    {"time=x level=WARN source=runner.go:130 msg=\"truncating input prompt\" limit=2048 prompt=91541 keep=5 new=2048\n",
     kServesWithTrouble,
     "request_too_long",
     {"91541", "2048"},
     {"OLLAMA_CONTEXT_LENGTH=91541"}},
    // the size is before the first words that are the same in every release
    {"ValueError: 8.00 GiB KV cache is needed, which is larger than the available KV cache memory (5.62 GiB). Based on "
     "the available memory, the estimated maximum model length is 23008.\n",
     kDidNotStart,
     "cache_too_small",
     {"8.00 GiB", "5.62 GiB"},
     {"--max-model-len 23008"}},
    {"ValueError: max_num_seqs (1024) exceeds available Mamba cache blocks (312). Please lower max_num_seqs.\n",
     kDidNotStart,
     "too_many_sequences",
     {"1024", "312"},
     {"--max-num-seqs 312"}},
    // 23.53 - 0.03 - 1.81 = 21.69 GiB belong to another process
    {"(EngineCore pid=1) torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 100.00 MiB. GPU 0 has a total "
     "capacity of 23.53 GiB of which 30.00 MiB is free. Including non-PyTorch memory, this process has 1.81 GiB memory "
     "in use. Process 5403 has 21.69 GiB memory in use. Of the allocated memory 1.40 GiB is allocated by PyTorch, and "
     "10.00 MiB is reserved by PyTorch but unallocated.\n",
     kDidNotStart,
     "out_of_memory",
     {"100.00 MiB", "30.00 MiB"},
     {"stop other programs on the GPU"}},
    // the root cause, and not the line that refers to it
    {"(EngineCore pid=7) KeyError: 'layers.0.mlp.experts.w2_weight'\n"
     "(APIServer pid=1) RuntimeError: Engine core initialization failed. See root cause above.\n",
     kDidNotStart,
     "raised",
     {"KeyError: 'layers.0.mlp.experts.w2_weight'"},
     {}},
    {"(APIServer pid=1) INFO: Application startup complete.\nvllm-1 exited with exit code 143\n", kStarted, "", {}, {}},
    {"(APIServer pid=1) INFO: Application startup complete.\n\"OOMKilled\": false\n", kStarted, "", {}, {}},
    {"(APIServer pid=1) INFO: Application startup complete.\nReceived request chatcmpl-1: prompt: 'why CUDA out of "
     "memory. Tried to allocate 2.00 GiB',\n",
     kStarted,
     "",
     {},
     {}},
    // a failure after a start belongs to that start
    {"CUDA error: out of memory\nllama runner started in 3.01 seconds\nCUDA error: out of memory\n",
     kDied,
     "out_of_memory",
     {},
     {}},
    {"CUDA error: out of memory\nllama runner started in 3.01 seconds\n", kStarted, "", {}, {}},
    // llama-server v0.5.0, on a port that is in use
    {"0.00.017.738 I srv          init: using 5 threads for HTTP server\n"
     "0.00.061.644 E srv         start: couldn't bind HTTP server socket, hostname: 127.0.0.1, port: 8124\n"
     "0.00.062.971 E srv  llama_server: exiting due to HTTP server error\n",
     kDidNotStart,
     "died",
     {},
     {}},
    {"Engine 000: Avg prompt throughput: 1.0 tokens/s, Avg generation throughput: 5.0 tokens/s, Running: 5 reqs, "
     "Waiting: 1 reqs, GPU KV cache usage: 3.1%, Prefix cache hit rate: 0.0%\n",
     kStarted,
     "",
     {},
     {}},
    {"common_fit_params: failed to fit params to free device memory: n_gpu_layers already set by user to 99, abort\n"
     "llama_kv_cache:      CUDA0 KV buffer size =   100.00 MiB\n",
     kStarted,
     "",
     {},
     {}},
    {"ValueError: Total number of attention heads (97) must be divisible by tensor parallel size "
     "(9999999999999999999).\n",
     kDidNotStart,
     "heads_do_not_divide",
     {"97"},
     {}},
    // vLLM on CPUs, where a larger GPU would not help; 4.38 GiB are rounded up to 5, since the variable takes whole GiB
    {"INFO [__init__.py:216] Automatically detected platform cpu.\nValueError: To serve at least one request with the "
     "model's max seq len (40960), (4.38 GiB KV cache is needed, which is larger than the available KV cache memory "
     "(4.00 GiB). Based on the available memory, the estimated maximum model length is 37440.\n",
     kDidNotStart,
     "cache_too_small",
     {"4.38 GiB", "4.00 GiB"},
     {"--max-model-len 37440", "VLLM_CPU_KVCACHE_SPACE=5"}},
    // slots and requests of ggml-org/llama.cpp#19408: 2 x 32768 cells fit 47 requests of 1,369 tokens
    {"srv    load_model: initializing, n_slots = 2, n_ctx_slot = 32768, kv_unified = 'false'\n"
     "slot launch_slot_: id  0 | task 124 | processing task, is_child = 0\n"
     "slot      release: id  0 | task 124 | stop processing: n_tokens = 1369, truncated = 0\n"
     "slot launch_slot_: id  0 | task 135 | processing task, is_child = 0\n"
     "slot launch_slot_: id  1 | task 136 | processing task, is_child = 0\n"
     "srv  process_sing: no slot is available, defer task, id_task = 140\n",
     kServesWithTrouble,
     "traffic",
     {"2 requests run in 2 slots", "1 wait", "1,369 tokens", "about 47"},
     {"--kv-unified -np 47"}},
    {"Error: model requires more system memory (44.0 GiB) than is available (7.6 GiB)\n",
     kDidNotStart,
     "host_out_of_memory",
     {"44.0 GiB", "7.6 GiB"},
     {"more main memory"}},
    // vllm/v1/worker/gpu_model_runner.py raises the second line after PyTorch's; half of the 1024 is the first remedy
    {"torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 896.00 MiB. GPU 0 has a total capacity of 44.40 "
     "GiB "
     "of which 207.31 MiB is free.\nRuntimeError: CUDA out of memory occurred when warming up sampler with 1024 dummy "
     "requests. Please try lowering `max_num_seqs` or `gpu_memory_utilization` when initializing the engine.\n",
     kDidNotStart,
     "out_of_memory",
     {"896.00 MiB", "207.31 MiB"},
     {"--max-num-seqs 512"}},
    // 400,312 tokens for 61 requests are 6,562 each
    {"[2026-11-20 10:09:00 TP0] Decode batch. #running-req: 61, #token: 400312, token usage: 0.99, cuda graph: True, "
     "gen throughput (token/s): 1802.11, #queue-req: 30,\n",
     kServesWithTrouble,
     "traffic",
     {"61 requests run", "30 wait", "6,562 tokens on average"},
     {"--max-running-requests 62"}},
    // NVIDIA/TensorRT-LLM#542
    {"[TensorRT-LLM][ERROR] maxTokensInPagedKvCache must be large enough to process at least 1 sequence to completion "
     "(i.e. must be larger than beam_width * tokensPerBlock * maxBlocksPerSeq)\n",
     kDidNotStart,
     "cache_too_small",
     {},
     {}},
};

}  // namespace

TEST_CASE("the log alone gives a failing start's cause, figures and remedies") {
  for (const Case& one : kCases) {
    CAPTURE(one.log);
    const Diagnosis found = diagnose(read_log(one.log));
    CHECK(found.verdict == one.verdict);
    CHECK((found.cause ? name(found.cause->id) : "") == one.cause);
    const std::string says = cause_text(found);
    CAPTURE(says);
    for (const std::string_view figure : one.says) CHECK(says.find(figure) != std::string::npos);
    const std::string cures = options_of(found);
    CAPTURE(cures);
    std::size_t at = 0;
    for (const std::string_view cure : one.cures) {
      const std::size_t where = cures.find(cure, at);
      CHECK(where != std::string::npos);
      at = where == std::string::npos ? at : where;
    }
  }
}

TEST_CASE("a remedy that the log's figures exclude is left out") {
  // 16 GiB are needed, and half of it is still more than 5.26. So 8 bits are not enough.
  const Diagnosis half = diagnose(read_log(
      "ValueError: To serve at least one request with the models's max seq len (131072), (16.0 GiB KV cache is "
      "needed, which is larger than the available KV cache memory (5.26 GiB). Based on the available memory, "
      "the estimated maximum model length is 43088.\n"));
  CHECK(options_of(half).find("fp8") == std::string::npos);
  CHECK(options_of(half).find("--max-model-len 43088") != std::string::npos);
  // The weights take 0.80 of the GPU, and 0.85 was not enough. So 0.81 is not a remedy.
  const Diagnosis share = diagnose(
      read_log("server_args=ServerArgs(model_path='Qwen/Qwen3-32B', tp_size=1, mem_fraction_static=0.853)\n"
               "Load weight end. type=Qwen3ForCausalLM, dtype=torch.bfloat16, avail mem=15.21 GB, mem usage=61.04 GB.\n"
               "RuntimeError: Not enough memory. Please try to increase --mem-fraction-static.\n"));
  CHECK(options_of(share).find("0.81") == std::string::npos);
  CHECK(options_of(share).find("--mem-fraction-static") != std::string::npos);
}

TEST_CASE("remedies are options of the engine that wrote the log, even if another one printed the line") {
  const std::string runner = "ggml_vulkan: Requested buffer size exceeds device buffer size limit\n";
  CHECK(options_of(diagnose(read_log("llama_context: n_ubatch = 512\n" + runner))).find("-ub 256") !=
        std::string::npos);
  const std::string of_ollama = options_of(diagnose(read_log("level=INFO source=sched.go:1\n" + runner)));
  CHECK(of_ollama.find("-ub") == std::string::npos);
  CHECK(of_ollama.find("OLLAMA_CONTEXT_LENGTH") != std::string::npos);
}

TEST_CASE("a remedy names the option that it changes") {
  CHECK(name(LogCure::kNothing) == "nothing");
  CHECK(name(LogCure::kShorterLength) == "shorter_length");
  CHECK(name(LogCure::kNoGraphs) == "no_graphs");
  CHECK(name(LogCure::kMoreHostMemory) == "more_host_memory");
}

TEST_CASE("an impossibly large figure is ignored") {
  CHECK(read_log("GPU KV cache size: 18446744073709551615 tokens\n").observations.empty());
  CHECK(read_log("Model loading took 99999999999.0 GiB memory\n").observations.empty());
  CHECK(read_log("GPU KV cache size: 1,043,072 tokens\n").observations.size() == 1);
}

TEST_CASE("templates: numbers, sizes, words and texts, with any blanks between") {
  const LogTemplate source{"buffer of {wanted:size} on {device:word} ({reason:text}), {share:share}%"};
  const LineTemplate pattern(source);
  const auto match = pattern.match(plain_line("x: buffer  of\t1,234.5 MiB on CUDA0, ( no room ), 0.9%"));
  CHECK_FALSE(match);
  const auto good = pattern.match(plain_line("x: buffer  of\t1,234.5 MiB on CUDA0 ( no room ), 0.9%"));
  REQUIRE(good);
  REQUIRE(good->values.size() == 4);
  CHECK(good->values[0].value == doctest::Approx(1234.5));
  CHECK(good->values[0].unit == LogUnit::kMebibytes);
  CHECK(good->values[0].text == "1,234.5");
  CHECK(good->values[1].text == "CUDA0");
  CHECK(good->values[2].text == "no room");
  CHECK(good->values[3].value == doctest::Approx(0.9));
}

TEST_CASE("every template of every engine can be found by its beginning") {
  CHECK_NOTHROW(log_index());
}

TEST_CASE("the last of several starts counts, or an earlier failure if the last one shows none") {
  const std::string failure =
      "ValueError: Total number of attention heads (32) must be divisible by tensor parallel "
      "size (3).\n";
  EventReader events;
  const auto line = [&](const std::string& text, std::size_t number) {
    events.line(text, number, log_index().candidates(text));
  };
  line(plain_line(failure), 1);
  events.restart();
  line("INFO Application startup complete.", 2);
  const auto second = events.finish();
  REQUIRE(second.size() == 1);
  CHECK(second.front().id == LogEventId::kStarted);
  line(plain_line(failure), 1);
  events.restart();
  const auto first = events.finish();
  REQUIRE(first.size() == 1);
  CHECK(first.front().id == LogEventId::kHeadsDoNotDivide);
}

}  // namespace kvplan
