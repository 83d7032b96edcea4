// Lines of LM Studio, its command line tool and llmster; the engines within it print their own. Source: public threads
// of lmstudio-ai/lmstudio-bug-tracker and lmstudio-ai/lms.
#include "engines/log_lines.h"

namespace kvplan {

using enum LogEventId;

constexpr std::string_view kGuardrail =
    "a shorter context | in the model's load settings: less cache; fewer layers on the GPU (GPU offload); turn the "
    "model "
    "loading guardrail off, or relax it | in the settings: its estimate may be too high; @smaller_weights";

constexpr LogTemplate kLmStudioEvents[] = {
    {"Model loading was stopped due to insufficient system resources. {*}requires approximately {needed:size} of "
     "memory",
     kHostOutOfMemory, "LM Studio's guardrail refused to load it: its estimate is {needed} at this context length",
     kGuardrail},
    {"Model loading was stopped due to insufficient system resources", kHostOutOfMemory,
     "LM Studio's guardrail refused to load it", kGuardrail},
    {"Model loading aborted due to insufficient system resources", kHostOutOfMemory,
     "LM Studio's guardrail refused to load it", kGuardrail},
    {"Model load size estimate with raw num offload layers '{layers:word}' and context length "
     "'{max_model_len:tokens}': "
     "Model: {weights:size} Context: {cache:size} Total: {needed:size}",
     kFitFailed, "LM Studio estimates {needed}: {weights} of weights and {cache} for a context of {max_model_len}",
     kGuardrail},
    {"Failed to load model", kDied, "LM Studio could not load the model",
     "a shorter context; fewer layers on the GPU (GPU offload); update the runtime | in the settings, under Runtime"},
    {"Failed to load LLM engine from path", kDied, "LM Studio could not load its runtime",
     "update the runtime | in the settings, under Runtime; another runtime (CUDA, Vulkan, CPU)"},
    {"The model has crashed without additional information. (Exit code: {code})", kDied,
     "the runtime crashed while it loaded or ran the model (exit code {code}): usually out of memory",
     "a shorter context; fewer layers on the GPU (GPU offload); flash attention on; update the runtime"},
    {"Error loading model. (Exit code: {code})", kDied,
     "the runtime ended while it loaded the model (exit code {code}): usually out of memory, or a runtime that does "
     "not support it",
     "a shorter context; fewer layers on the GPU (GPU offload); update the runtime"},
    {"Trying to keep the first {asked:tokens} tokens when context the overflows. However, the model is loaded with "
     "context "
     "length of only {longest:tokens} tokens",
     kRequestTooLong, "", "a context of {asked} or more | in the model's load settings; @shorter_input"},
    {"LM Studio", kMark},
    {"lmstudio", kMark},
    {"LMStudio", kMark},
    {"llmster", kMark},
    {"model loading guardrails", kMark},
};

constexpr RemedyRule kLmStudioRemedies[] = {
    {kBufferFailed, kGuardrail},
    {kComputeFailed, kGuardrail},
    {kCacheFailed, kGuardrail},
    {kWeightsFailed, kGuardrail},
    {kBufferLimit, "flash attention on | the scores are then not stored; a shorter context"},
};

EngineLog lm_studio_log() {
  EngineLog out{.events = kLmStudioEvents};
  out.remedies = kLmStudioRemedies;
  return out;
}

}  // namespace kvplan
