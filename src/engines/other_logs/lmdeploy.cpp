// Lines of lmdeploy: TurboMind (src/turbomind) and its PyTorch engine (lmdeploy/pytorch). Source:
// turbomind/utils/cuda_utils.h, models/llama/BlockManager.cc, LlamaBatch.cc, lmdeploy/messages.py, pytorch/engine.
#include "engines/log_lines.h"

namespace kvplan {

using enum LogEventId;

constexpr std::string_view kLessCache =
    "--cache-max-entry-count 0.4 | a smaller fraction of the free memory for the KV cache (0.8 by default); "
    "--session-len "
    "lower | a shorter context; --tp 2 | splits weights and cache over 2 GPUs; --quant-policy 8 | 8-bit KV cache";

constexpr LogTemplate kLmdeployEvents[] = {
    {"[TM][ERROR] CUDA runtime error: out of memory", kOutOfMemory, "TurboMind ran out of memory on the GPU",
     kLessCache},
    {"[TM][ERROR] CUDA runtime error: {reason:text}", kDied, "TurboMind failed: {reason}",
     "@newer_release; @other_build"},
    {"[TM][ERROR] {reason:text}", kRaised, "TurboMind: {reason}"},
    {"[TM][FATAL] {reason:text}", kDied, "TurboMind: {reason}"},
    {"[BlockManager] out of memory", kOutOfMemory, "there is no memory for a block of the KV cache", kLessCache},
    {"No enough blocks for `session_len`", kCacheTooSmall,
     "the KV cache is smaller than one sequence of the session length",
     "--session-len lower | a shorter context; --cache-max-entry-count higher | a larger fraction of the free memory; "
     "--tp 2"},
    {"No enough gpu memory for runtime", kOutOfMemory, "nothing is left for the run after the KV cache", kLessCache},
    {"[TM][INFO] enter mainloop", kStarted},
    {"HINT: Please open http", kStarted},
    {"[TM][", kMark},
    {"turbomind", kMark},
    {"lmdeploy", kMark},
};

constexpr RemedyRule kLmdeployRemedies[] = {{kOutOfMemory, kLessCache}};

EngineLog lmdeploy_log() {
  EngineLog out{.events = kLmdeployEvents};
  out.options = {
      .length = "--session-len", .share = "--cache-max-entry-count", .ranks = "--tp", .sequences = "--max-batch-size"};
  out.remedies = kLmdeployRemedies;
  return out;
}

}  // namespace kvplan
