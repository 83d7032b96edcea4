// Failures that no table knows, programs that are not engines of kvplan, pages of metrics. The lines are those of
// public threads and of the engines' sources.

#include <doctest/doctest.h>

#include <string>
#include <string_view>

#include "measure/diagnosis.h"
#include "measure/log_reader.h"
#include "report/pages/pages.h"
#include "support/words.h"

namespace kvplan {

namespace {

Diagnosis diagnosis_of(const std::string& log) {
  return diagnose(read_log(log));
}

std::string cures_of(const Diagnosis& found) {
  std::string out;
  for (const LogRemedy& remedy : found.remedies) out += cure_option(remedy) + "\n";
  return out;
}

}  // namespace

TEST_CASE("log failures: loggers' prefixes are not part of a message") {
  for (const std::string_view line :
       {"ValueError: boom", "(EngineCore_DP0 pid=60) ERROR 10-08 09:19:31 [v1/engine/core.py:708] ValueError: boom",
        "vllm | (Worker_TP0 pid=73) ERROR 10-08 09:19:30 [x.py:671] ValueError: boom", "[rank0]: ValueError: boom",
        "2026-05-08 11:47:02.257 [Error] (Process) (EngineCore pid=2651) ValueError: boom",
        "May 13 15:18:12 host ollama[7644]: ValueError: boom", "2025-10-14T23:59:25.595130753Z ValueError: boom"}) {
    CAPTURE(line);
    CHECK(message_of(line) == "ValueError: boom");
    const auto raised = raised_error(line);
    REQUIRE(raised);
    CHECK(raised->kind == "ValueError");
    CHECK(raised->reason == "boom");
  }
  CHECK(raised_error("AsyncLLMEngine failed: torch.OutOfMemoryError: full")->kind == "torch.OutOfMemoryError");
  CHECK_FALSE(raised_error("WARNING 08-27 [x.py:15] failed with ImportError: no such module"));
  CHECK_FALSE(raised_error("Error in preprocessing prompt inputs"));
  CHECK_FALSE(raised_error("no error here"));
}

TEST_CASE("log failures: the advice in a message becomes remedies") {
  const auto only = [](std::string_view message) {
    const auto all = advice_in(message);
    return all.empty() ? "" : all.front();
  };
  CHECK(only("Not enough space for mamba ping pong idx, try to increase --mamba-full-memory-ratio.") ==
        "try to increase --mamba-full-memory-ratio");
  CHECK(only("Too long. Please increase max_num_batched_tokens or decrease max_model_len.") ==
        "Please increase max_num_batched_tokens or decrease max_model_len");
  CHECK(only("Mitigations: use a smaller model").empty() == false);
  CHECK(only("please check the stack trace above for the root cause").empty());
  CHECK(only("The kernel does not support the current device.").empty());
}

TEST_CASE("log failures: an exception without a row is the cause if no start follows") {
  const std::string trace =
      "Traceback (most recent call last):\n"
      "  File \"/x/vllm/v1/worker/gpu_worker.py\", line 5, in init_device\n"
      "    frobnicate()\n"
      "FrobnicationError: the frobnicator is too small. Try setting VLLM_FROB=2.\n";
  const Diagnosis found = diagnosis_of(trace);
  CHECK(found.verdict == LogVerdict::kDidNotStart);
  CHECK(has(cause_text(found), "FrobnicationError: the frobnicator is too small"));
  CHECK(has(cures_of(found), "Try setting VLLM_FROB=2"));
  CHECK(diagnosis_of(trace + "INFO Application startup complete.\n").verdict == LogVerdict::kStarted);
  CHECK(diagnosis_of("INFO Application startup complete.\n" + trace).verdict == LogVerdict::kStarted);
  // Only the type of the exception: the line of code tells more.
  const Diagnosis bare = diagnosis_of(
      "  File \"/x/sglang/srt/mem_cache/pool.py\", line 117, in create_buffer\n    assert self.width == 7\n"
      "AssertionError\n");
  CHECK(bare.verdict == LogVerdict::kDidNotStart);
  CHECK(has(cause_text(bare), "assert self.width == 7"));
}

TEST_CASE("log failures: an exception that another process's exception caused is not the cause") {
  const Diagnosis found = diagnosis_of(
      "(EngineCore pid=7) AssertionError: Sinks are only supported in FlashAttention 3\n"
      "(APIServer pid=1) RuntimeError: Engine core initialization failed. See root cause above.\n");
  CHECK(has(cause_text(found), "Sinks are only supported"));
  CHECK(has(cures_of(found), "--attention-backend"));
}

TEST_CASE("log failures: the topic of a failure gives remedies if its line has none") {
  const Diagnosis found = diagnosis_of(
      "  File \"/x/python/sglang/srt/distributed/device_communicators/custom_all_reduce.py\", line 307, in "
      "register_graph_buffers\nRuntimeError: invalid argument\nException: Capture cuda graph failed: invalid "
      "argument\n");
  CHECK(has(cures_of(found), "--disable-custom-all-reduce"));
  CHECK_FALSE(has(cures_of(found), "--mem-fraction-static"));
}

TEST_CASE("log failures: only a program's own lines identify it") {
  const auto program_of = [](std::string_view log) { return engine_of_log(read_log(log)); };
  CHECK(program_of("Welcome to KoboldCpp - Version 1.92\nllama_model_load: error loading model: x\n") == "koboldcpp");
  CHECK(program_of("what():  [TM][ERROR] CUDA runtime error: out of memory /lmdeploy/x.h:231\n") == "lmdeploy");
  CHECK(program_of("2024-05-01T10:00:01Z ERROR text_generation_launcher: Shard 0 failed to start\n") == "tgi");
  CHECK(
      program_of("CUDA out of memory. Tried to allocate 26.00 MiB (GPU 0; 15.99 GiB total capacity; 15.09 GiB already "
                 "allocated; 0 bytes free; 15.14 GiB reserved in total by PyTorch)\n")
          .empty());
  CHECK(program_of("File \"/x/transformers/modeling_utils.py\", line 1, in f\nFile \"/x/vllm/v1/engine/core.py\"\n") ==
        "vllm");
}

TEST_CASE("log failures: a lack of memory is explained by an earlier line") {
  const Diagnosis found = diagnosis_of(
      "MXFP4 quantization requires triton >= 3.4.0 and kernels installed, we will default to dequantizing the model to "
      "bf16\ntorch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.98 GiB. GPU 0 has a total capacity of "
      "23.52 "
      "GiB of which 1.30 GiB is free.\n");
  REQUIRE(found.hints.size() == 1);
  CHECK(has(event_text(found.hints.front()), "dequantized to bfloat16"));
  CHECK(has(cures_of(found), "pip install -U kernels triton"));
}

TEST_CASE("log failures: a projector without memory does not stop the server, but is a problem") {
  const Diagnosis found = diagnosis_of(
      "warmup: warmup with image size = 1472 x 1472\n"
      "ggml_backend_cuda_buffer_type_alloc_buffer: allocating 372.08 MiB on device 0: cudaMalloc failed: out of "
      "memory\n"
      "ggml_gallocr_reserve_n_impl: failed to allocate CUDA0 buffer of size 390156544\n"
      "main: server is listening on http://0.0.0.0:8081\n");
  CHECK(found.verdict == LogVerdict::kServesWithTrouble);
  CHECK(has(cause_text(found), "projector"));
  CHECK(has(cures_of(found), "--no-mmproj-offload"));
}

TEST_CASE("log metrics: a Prometheus page tells what limits a server") {
  // 300,000 of 1,200,000 are 25 %; 61 sequences hold 98.71 % of the cache.
  const Diagnosis full = diagnosis_of(
      "# HELP vllm:num_requests_running Number of requests\n"
      "vllm:num_requests_running{engine=\"0\",model_name=\"x/y\"} 31.0\n"
      "vllm:num_requests_running{engine=\"1\",model_name=\"x/y\"} 30.0\n"
      "vllm:num_requests_waiting{engine=\"0\",model_name=\"x/y\"} 30.0\n"
      "vllm:kv_cache_usage_perc{engine=\"0\",model_name=\"x/y\"} 0.9871\n"
      "vllm:prefix_cache_queries_total{engine=\"0\",model_name=\"x/y\"} 1.2e+06\n"
      "vllm:prefix_cache_hits_total{engine=\"0\",model_name=\"x/y\"} 300000.0\n");
  CHECK(full.verdict == LogVerdict::kServesWithTrouble);
  CHECK(has(cause_text(full), "61 requests run, 30 wait, 98.7 % of the KV cache is used, prefix hits 25.0 %"));
  const Diagnosis calm = diagnosis_of(
      "sglang:num_running_reqs{model_name=\"x\"} 5.0\nsglang:num_queue_reqs{model_name=\"x\"} 0.0\n"
      "sglang:token_usage{model_name=\"x\"} 0.28\n");
  CHECK(calm.verdict == LogVerdict::kStarted);
  const Diagnosis slots = diagnosis_of("llamacpp:requests_processing 4\nllamacpp:requests_deferred 7\n");
  CHECK(slots.verdict == LogVerdict::kServesWithTrouble);
  CHECK(cause_text(slots) == "4 requests run, 7 wait");
  CHECK(has(cures_of(slots), "--kv-unified -np 11"));
  // The page does not have the scheduler's cap, so more requests may run than it allows.
  const Diagnosis capped =
      diagnosis_of("vllm:num_requests_running 16.0\nvllm:num_requests_waiting 41.0\nvllm:kv_cache_usage_perc 0.41\n");
  CHECK(has(cures_of(capped), "--max-num-seqs 39"));
  CHECK(diagnosis_of("vllm:num_requests_running_by_kind{x=\"0\"} 31.0\n").verdict == LogVerdict::kCannotTell);
}

TEST_CASE("log failures: below a traceback any exception counts") {
  const Diagnosis found = diagnosis_of(
      "Traceback (most recent call last):\n"
      "  File \"/opt/app/core.py\", line 91, in start\n"
      "    raise PoolExhausted(\"no slots left\")\n"
      "    ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^\n"
      "core.PoolExhausted: no slots left for model weights, increase --pool-slots\n");
  CHECK(found.verdict == LogVerdict::kDidNotStart);
  CHECK(has(cause_text(found), "core.PoolExhausted: no slots left"));
  CHECK(has(cures_of(found), "--pool-slots"));
  // Such a line in another place, or from a server that keeps running, is not an exception.
  CHECK(diagnosis_of("Finished: all slots are free\n").verdict == LogVerdict::kCannotTell);
  CHECK(diagnosis_of("INFO: Application startup complete.\nTraceback (most recent call last):\n"
                     "  File \"/x.py\", line 1, in f\n    g()\nstarlette.ClientDisconnect\n")
            .verdict == LogVerdict::kStarted);
}

TEST_CASE("log failures: the system's killer and a capture that runs out of memory") {
  // ollama/ollama#9322: loading timed out because the kernel had killed the process.
  const Diagnosis killed = diagnosis_of(
      "time=2025-02-24T11:16:31.470-08:00 level=ERROR source=sched.go:455 msg=\"error loading llama server\" "
      "error=\"timed out waiting for llama runner to start: context canceled\"\n"
      "systemd[1]: ollama.service: A process of this unit has been killed by the OOM killer.\n");
  CHECK(has(cause_text(killed), "ran out of main memory"));
  const Diagnosis capture = diagnosis_of(
      "Capturing CUDA graphs (mixed prefill-decode, PIECEWISE):  88%|####   | 45/51 [00:04<00:00,  9.30it/s]\n"
      "(EngineCore pid=77) ERROR 05-29 22:57:00 [core.py:1136] torch.AcceleratorError: CUDA error: out of memory\n");
  CHECK(capture.phase == LogPhase::kGraphs);
  CHECK(has(cures_of(capture), "--enforce-eager"));
}

}  // namespace kvplan
