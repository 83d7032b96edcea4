// Lines of MLX and of the programs that serve with it: mlx-lm, mlx-engine, vllm-mlx, oMLX, exo. Source:
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
     "Metal ran out of memory: model, KV cache and the prompt's buffers exceed what the GPU may use", kLessPrompt},
    {"[METAL] Command buffer execution failed: Caused GPU Timeout Error", kDied,
     "Metal stopped a command that took too long: a prompt's chunk is too large for this GPU",
     "--prefill-step-size 512 | shorter commands; a shorter context | the scores grow with it"},
    {"[METAL] Command buffer execution failed: Impacting Interactivity", kDied,
     "macOS stopped a command of the GPU that kept the display waiting",
     "--prefill-step-size 512 | shorter commands; fewer programs that use the display"},
    {"[METAL] Command buffer execution failed: {reason:text}", kDied, "Metal failed: {reason}",
     "@newer_release; a shorter context or prompt"},
    {"[metal::malloc] Attempting to allocate {wanted:B} bytes which is greater than the maximum allowed buffer size of "
     "{limit:B} bytes",
     kBufferLimit,
     "Metal cannot allocate a buffer of {wanted} in one piece (the limit is {limit}), even if more memory is free",
     kLessPrompt},
    {"[metal::malloc] Resource limit ({limit}) exceeded", kOutOfMemory,
     "MLX has more buffers than the system allows ({limit})", kLessPrompt},
    {"[malloc_or_wait] Unable to allocate {wanted:B} bytes", kOutOfMemory, "", kLessPrompt},
    {"[metal::malloc] Unable to allocate {wanted:B} bytes", kOutOfMemory, "", kLessPrompt},
    {"[metal::set_wired_limit] Setting a wired limit larger than", kRefused,
     "the wired limit is above what the system allows",
     "sudo sysctl iogpu.wired_limit_mb=MIB | raises what Metal may use"},
    {"No Metal device available", kRefused, "no GPU that Metal can use: a virtual machine, a container or an Intel Mac",
     "run it on the Mac itself, not in a container or VM; another engine (llama.cpp) on this machine"},
    {"Prefill would require ~{needed:size} peak (current {used:size} + KV+SDPA {wanted:size}) but {what:word} ceiling "
     "is "
     "{available:size}",
     kOutOfMemory, "the prompt's prefill needs {needed} at its peak, but the limit is {available}",
     "sudo sysctl iogpu.wired_limit_mb=MIB | lets Metal use more of the memory; a shorter context or prompt | smaller "
     "scores and cache; a smaller prefill step | smaller scores per chunk"},
    {"Memory limit exceeded during prefill", kOutOfMemory, "the memory limit was reached in the prefill of a prompt",
     kLessPrompt},
    {"Model type {architecture:word} not supported", kUnknownArchitecture, "",
     "pip install -U mlx-lm | newer releases know more architectures; a GGUF of it in llama.cpp or ollama"},
    {"Received {parameters} parameters not in model", kRefused,
     "the checkpoint has tensors that this release's class of the model does not have",
     "pip install -U mlx-lm mlx-vlm | the class of a newer release; another conversion of the checkpoint"},
    {"Missing {parameters} parameters", kRefused, "the checkpoint lacks tensors that the class of the model needs",
     "pip install -U mlx-lm mlx-vlm | the class of a newer release; download the checkpoint again"},
    {"No safetensors found in", kRefused, "the folder has no *.safetensors",
     "download the checkpoint again, or convert it with mlx_lm.convert"},
    {"Generating with a model that requires {weights:MiB} MB which is close to the maximum recommended size of "
     "{available:MiB} MB",
     kMemoryHint, "the model ({weights}) is close to what Metal may use ({available})",
     "sudo sysctl iogpu.wired_limit_mb=MIB | lets Metal use more of the memory"},
    {"Memory pressure level: {before:word} -> hard", kMemoryHint,
     "the server saw memory pressure before: its own limit was reached"},
    {"IOGPUMemory.cpp", kDied,
     "macOS panicked in its GPU driver (IOGPUFamily): usually because more memory was wired for the GPU than the "
     "system has",
     kLessPrompt},
    {"IOGPUGroupMemory", kDied, "macOS panicked in its GPU driver (IOGPUFamily)", kLessPrompt},
    {"Starting httpd at", kStarted},
    {"generation thread died", kDied},
    // Lines that show which program wrote the log.
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
