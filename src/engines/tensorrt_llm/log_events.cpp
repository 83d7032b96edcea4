// Lines of TensorRT-LLM's log that tell why it did not start and what it refuses. Source:
// tensorrt_llm/_torch/pyexecutor/py_executor_creator.py, cpp/tensorrt_llm/runtime/tllmBuffers.h, tensorrt_llm/executor
// and the Triton backend's checks of a request.
#include "engines/log_lines.h"

namespace kvplan {

namespace {

using enum LogEventId;

constexpr LogTemplate kEvents[] = {
    {"Executor creation failed due to insufficient GPU memory. The following component could not be created: "
     "{component:text} Total GPU memory (GiB): {total:GiB} Free GPU memory before component creation attempt (GiB): "
     "{free:GiB}",
     kComponentFailed},
    {"Executor creation failed due to insufficient GPU memory", kComponentFailed},
    {"mpossible to fit any sequence in kvCache", kCacheTooSmall},
    {"maxTokensInPagedKvCache ({longest:tokens}) must be large enough", kCacheTooSmall},
    {"maxTokensInPagedKvCache must be large enough", kCacheTooSmall},
    {"The sum of prompt length ({asked:tokens}), query length ({*}) should not exceed max_num_tokens "
     "({longest:tokens})",
     kRequestTooLong},
    {"Prompt length ({asked:tokens}) exceeds maximum input length ({longest:tokens})", kRequestTooLong},
    // These tell which engine wrote the log.
    {"[TensorRT-LLM]", kMark},
    {"[TRT-LLM]", kMark},
    {"tensorrt_llm/", kMark},
};

}  // namespace

const std::span<const LogTemplate> kTensorRtLlmLogEvents = kEvents;

}  // namespace kvplan
