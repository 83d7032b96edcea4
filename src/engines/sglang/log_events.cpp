// Lines of SGLang's log that tell why it did not start, what it refuses and how busy it is. Source:
// srt/model_executor/*configurator.py and model_runner.py, srt/managers/scheduler*.py,
// srt/model_executor/cuda_graph_runner.py, srt/layers/quantization/fp8.py.
#include "engines/log_lines.h"

namespace kvplan {

namespace {

using enum LogEventId;

constexpr LogTemplate kEvents[] = {
    {"Loaded weights leave no GPU memory for the KV cache under --mem-fraction-static={share:share}. Raise "
     "--mem-fraction-static above {least_share:share}",
     kNoCacheMemory},
    {"Loaded weights leave no GPU memory for the KV cache under --mem-fraction-static={share:share}", kNoCacheMemory},
    {"Not enough memory. Please try to increase --mem-fraction-static. Current value: "
     "mem_fraction_static={share:share}",
     kNoCacheMemory},
    {"Not enough memory. Please try to increase --mem-fraction-static", kNoCacheMemory},
    {"The memory capacity is unbalanced. {*}pre_model_load_memory={before:GiB}, local_gpu_memory={here:GiB}",
     kMemoryUnbalanced},
    {"The memory capacity is unbalanced", kMemoryUnbalanced},
    {"Capture cuda graph failed: {reason:text} Possible solutions", kGraphsFailed},
    {"Capture cuda graph failed", kGraphsFailed},
    {"Prefill out of memory. Try to lower your batch size", kOutOfMemory},
    {"Decode out of memory. Try to lower your batch size", kOutOfMemory},
    {"ecode out of memory happened{*}#retracted_reqs: {retracted:seqs}", kPreempted},
    {"User-specified context_length ({max_model_len:tokens}) is greater than the derived context_length "
     "({longest:tokens})",
     kLengthBeyondModel},
    {"memory leak detected", kLeak},
    {"Scheduler hit an exception", kDied},
    {"Received sigquit from a child process", kDied},
    {"The server is fired up and ready to roll", kStarted},
    {"Input length ({asked:tokens} tokens) exceeds the maximum allowed length ({longest:tokens} tokens)",
     kRequestTooLong},
    {"The input ({asked:tokens} tokens) is longer than the model's context length ({longest:tokens} tokens)",
     kRequestTooLong},
    {"exceeds the model's maximum context length of {longest:tokens} tokens. You requested a total of {asked:tokens} "
     "tokens",
     kRequestTooLong},
    {"KV cache pool is full. Retract requests. #retracted_reqs: {retracted:seqs}", kPreempted},
    {"Decode batch{*}#running-req: {running:seqs}, #token: {tokens:tokens}, token usage: {usage:share},{*}#queue-req: "
     "{waiting:seqs}",
     kTraffic},
    {"Decode batch{*}#running-req: {running:seqs}, #full token: {tokens:tokens}, full token usage: {usage:share},{*}"
     "#queue-req: {waiting:seqs}",
     kTraffic},
    // These tell which engine wrote the log.
    {"sglang/srt/", kMark},
    {"server_args=ServerArgs(", kMark},
};

constexpr StageMark kStages[] = {
    {"Load weight begin", StartStage::kProcess},
    {"Load weight end", StartStage::kWeights},
    {"Memory pool end", StartStage::kCache},
    {"Capture cuda graph end", StartStage::kCache},
    {"The server is fired up and ready to roll", StartStage::kServing},
};

}  // namespace

const std::span<const LogTemplate> kSglangLogEvents = kEvents;
const std::span<const StageMark> kSglangStages = kStages;

}  // namespace kvplan
