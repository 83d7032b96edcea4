// Lines of MLX and of what serves with it: mlx-lm, mlx-engine, vllm-mlx, oMLX, exo. Source:
// mlx/backend/metal/device.cpp, allocator.cpp and eval.cpp, mlx_lm/utils.py, generate.py, server.py; public threads.
#include "engines/log_lines.h"

namespace kvplan {

using enum LogEventId;

constexpr std::string_view kLessPrompt =
    "--prefill-step-size 512 | smaller scores per chunk of a prompt; sudo sysctl iogpu.wired_limit_mb=MIB | "
    "lets Metal use more of the memory; a shorter context, --max-kv-size | less cache; mx.set_cache_limit() | MLX then "
    "returns freed buffers";

constexpr LogTemplate kEvents[] = {
    {"[METAL] Command buffer execution failed: Insufficient Memory", kOutOfMemory,
     "Metal ran out of memory: model, KV cache and the prompt's buffers exceed what the GPU may use", kLessPrompt,
     "libc++abi: terminating due to uncaught exception of type std::runtime_error: [METAL] Command buffer execution "
     "failed: Insufficient Memory (00000008:kIOGPUCommandBufferCallbackErrorOutOfMemory)"},
    {"[METAL] Command buffer execution failed: Caused GPU Timeout Error", kDied,
     "Metal stopped a command that took too long: a prompt's chunk is too large for this GPU",
     "--prefill-step-size 512 | shorter commands; a shorter context | the scores grow with it",
     "RuntimeError: [METAL] Command buffer execution failed: Caused GPU Timeout Error "
     "(00000002:kIOGPUCommandBufferCallbackErrorTimeout)"},
    {"[METAL] Command buffer execution failed: Impacting Interactivity", kDied,
     "macOS stopped a command of the GPU that kept the display waiting",
     "--prefill-step-size 512 | shorter commands; fewer programs that use the display",
     "[METAL] Command buffer execution failed: Impacting Interactivity "
     "(0000000e:kIOGPUCommandBufferCallbackErrorImpactingInteractivity)"},
    {"[METAL] Command buffer execution failed: {reason:text}", kDied, "Metal failed: {reason}",
     "@newer_release; a shorter context or prompt",
     "[METAL] Command buffer execution failed: Discarded (victim of GPU error/recovery) (00000005)"},
    {"[metal::malloc] Attempting to allocate {wanted:B} bytes which is greater than the maximum allowed buffer size of "
     "{limit:B} bytes",
     kBufferLimit,
     "one buffer of {wanted} is more than Metal allocates in one piece ({limit}), no matter how much is free",
     kLessPrompt,
     "RuntimeError: [metal::malloc] Attempting to allocate 77309411328 bytes which is greater than the maximum allowed "
     "buffer size of 28991029248 bytes."},
    {"[metal::malloc] Resource limit ({limit}) exceeded", kOutOfMemory,
     "MLX has more buffers than the system allows ({limit})", kLessPrompt,
     "RuntimeError: [metal::malloc] Resource limit (499000) exceeded."},
    {"[malloc_or_wait] Unable to allocate {wanted:B} bytes", kOutOfMemory, "", kLessPrompt,
     "RuntimeError: [malloc_or_wait] Unable to allocate 2147483648 bytes."},
    {"[metal::malloc] Unable to allocate {wanted:B} bytes", kOutOfMemory, "", kLessPrompt,
     "RuntimeError: [metal::malloc] Unable to allocate 2147483648 bytes."},
    {"[metal::set_wired_limit] Setting a wired limit larger than", kRefused,
     "the wired limit is above what the system allows",
     "sudo sysctl iogpu.wired_limit_mb=MIB | raises what Metal may use",
     "ValueError: [metal::set_wired_limit] Setting a wired limit larger than the maximum working set size is not "
     "allowed."},
    {"No Metal device available", kRefused, "no GPU that Metal can use: a virtual machine, a container or an Intel Mac",
     "run it on the Mac itself, not in a container or VM; another engine (llama.cpp) on this machine",
     "RuntimeError: [metal::load_device] No Metal device available."},
    {"Prefill would require ~{needed:size} peak (current {used:size} + KV+SDPA {wanted:size}) but {what:word} ceiling "
     "is "
     "{available:size}",
     kOutOfMemory, "the prompt's prefill needs {needed} at its peak, and {available} is the limit",
     "sudo sysctl iogpu.wired_limit_mb=MIB | lets Metal use more of the memory; a shorter context or prompt | smaller "
     "scores and cache; a smaller prefill step | smaller scores per chunk",
     "Error: Prefill would require ~70.27 GB peak (current 67.54 GB + KV+SDPA 2.73 GB) but metal_cap ceiling is 69.86 "
     "GB. Raise kernel iogpu.wired_limit_mb in Terminal (currently capped)"},
    {"Memory limit exceeded during prefill", kOutOfMemory, "the memory limit was reached in the prefill of a prompt",
     kLessPrompt, "Memory limit exceeded during prefill: 61.3GB > 60.0GB"},
    {"Model type {architecture:word} not supported", kUnknownArchitecture, "",
     "pip install -U mlx-lm | newer releases know more architectures; a GGUF of it in llama.cpp or ollama",
     "ERROR:root:Model type qwen3_next not supported."},
    {"Received {parameters} parameters not in model", kRefused,
     "the checkpoint has tensors that this release's class of the model does not have",
     "pip install -U mlx-lm mlx-vlm | the class of a newer release; another conversion of the checkpoint",
     "ValueError: Received 153 parameters not in model:"},
    {"Missing {parameters} parameters", kRefused, "the checkpoint lacks tensors that the class of the model needs",
     "pip install -U mlx-lm mlx-vlm | the class of a newer release; download the checkpoint again",
     "ValueError: Missing 12 parameters: lm_head.weight"},
    {"No safetensors found in", kRefused, "the folder has no *.safetensors",
     "download the checkpoint again, or convert it with mlx_lm.convert",
     "FileNotFoundError: No safetensors found in /models/x"},
    {"Generating with a model that requires {weights:MiB} MB which is close to the maximum recommended size of "
     "{available:MiB} MB",
     kMemoryHint, "the model ({weights}) is close to what Metal may use ({available})",
     "sudo sysctl iogpu.wired_limit_mb=MIB | lets Metal use more of the memory",
     "[WARNING] Generating with a model that requires 30021 MB which is close to the maximum recommended size of 27648 "
     "MB. This can be slow."},
    {"Memory pressure level: {before:word} -> hard", kMemoryHint,
     "the server saw memory pressure before: its own limit was reached", "",
     "omlx.process_memory_enforcer - INFO - "
     "Memory pressure level: soft -> hard (current=68.8GB, soft=61.2GB, hard=68.4GB, ceiling=72.0GB)"},
    {"IOGPUMemory.cpp", kDied,
     "macOS panicked in its GPU driver (IOGPUFamily): usually because more memory was wired for the GPU than the "
     "system has",
     kLessPrompt,
     "panic(cpu 12 caller 0xfffffe004ad1f968): \"completeMemory() prepare count underflow\" @IOGPUMemory.cpp:550"},
    {"IOGPUGroupMemory", kDied, "macOS panicked in its GPU driver (IOGPUFamily)", kLessPrompt},
    {"Starting httpd at", kStarted, "", "", "INFO - Starting httpd at 127.0.0.1 on port 8080..."},
    {"generation thread died", kDied, "", "", "RuntimeError: generation thread died"},
    // These tell which program wrote the log.
    {"mlx_lm/", kMark},
    {"mlx_vlm/", kMark},
    {"mlx-engine", kMark},
    {"mlx_engine", kMark},
    {"vllm_mlx", kMark},
    {"omlx.", kMark},
    {"[METAL] Command buffer", kMark},
    {"[metal::", kMark},
    {"IOGPUFamily", kMark},
};

constexpr StageMark kStages[] = {{"Starting httpd at", StartStage::kProcess}};

constexpr RemedyRule kRemedies[] = {{kOutOfMemory, kLessPrompt}};

EngineLog mlx_log() {
  EngineLog out{.events = kEvents, .stages = kStages};
  out.options = {.length = "--max-kv-size", .batch = "--prefill-step-size"};
  out.remedies = kRemedies;
  out.is_library = true;
  return out;
}

}  // namespace kvplan
