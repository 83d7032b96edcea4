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
     kGuardrail,
     "Error: Model loading was stopped due to insufficient system resources. Under the current settings, this model "
     "requires approximately 22.92 GB of memory, and continuing to load it would likely overload your system"},
    {"Model loading was stopped due to insufficient system resources", kHostOutOfMemory,
     "LM Studio's guardrail refused to load it", kGuardrail},
    {"Model loading aborted due to insufficient system resources", kHostOutOfMemory,
     "LM Studio's guardrail refused to load it", kGuardrail,
     "Error: Model loading aborted due to insufficient system resources. Overloading the system will likely cause it "
     "to freeze."},
    {"Model load size estimate with raw num offload layers '{layers:word}' and context length "
     "'{max_model_len:tokens}': "
     "Model: {weights:size} Context: {cache:size} Total: {needed:size}",
     kFitFailed, "LM Studio estimates {needed}: {weights} of weights and {cache} for a context of {max_model_len}",
     kGuardrail,
     "[LM Studio] Model load size estimate with raw num offload layers 'max' and context length '262144': Model: 34.85 "
     "GB "
     "Context: 73.60 GB Total: 108.45 GB"},
    {"Failed to load model", kDied, "LM Studio could not load the model",
     "a shorter context; fewer layers on the GPU (GPU offload); update the runtime | in the settings, under Runtime"},
    {"Failed to load LLM engine from path", kDied, "LM Studio could not load its runtime",
     "update the runtime | in the settings, under Runtime; another runtime (CUDA, Vulkan, CPU)"},
    {"The model has crashed without additional information. (Exit code: {code})", kDied,
     "the runtime crashed while it loaded or ran the model (exit code {code}): usually out of memory",
     "a shorter context; fewer layers on the GPU (GPU offload); flash attention on; update the runtime",
     "The model has crashed without additional information. (Exit code: 18446744072635812000)"},
    {"Error loading model. (Exit code: {code})", kDied,
     "the runtime ended while it loaded the model (exit code {code}): usually out of memory, or a runtime that does "
     "not support it",
     "a shorter context; fewer layers on the GPU (GPU offload); update the runtime",
     "Error loading model. (Exit code: 18446744072635810000). Unknown error. Try a different model and/or config."},
    {"Trying to keep the first {asked:tokens} tokens when context the overflows. However, the model is loaded with "
     "context "
     "length of only {longest:tokens} tokens",
     kRequestTooLong, "", "a context of {asked} or more | in the model's load settings; @shorter_input",
     "Trying to keep the first 12408 tokens when context the overflows. However, the model is loaded with context "
     "length "
     "of only 4096 tokens, which is not enough."},
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
