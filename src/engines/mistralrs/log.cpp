// Lines of mistral.rs's log. Source: mistralrs-core/src/pipeline/loaders/auto_device_map.rs.
#include "engines/log_lines.h"

namespace kvplan {

using enum LogEventId;

// The figures of mistral.rs's log.
constexpr LogTemplate kFigures[] = {
    log_figure("Allocating {kv_budget:size} for PagedAttention KV cache per GPU"),
    log_figure("PagedAttention KV cache type is {kv_cache_dtype:word}"),
    log_figure("Using PagedAttention with block size {block_size:tokens} and {num_blocks:blocks} GPU blocks: available "
               "context length is {kv_tokens:tokens}"),
};

constexpr LogTemplate kEvents[] = {
    {"This model does not fit on the devices [{devices:text}], and exceeds total capacity by {missing:size}",
     kDoesNotFitDevices},
    {"This model does not fit on the devices [{devices:text}]", kDoesNotFitDevices},
    {"DriverError(CUDA_ERROR_OUT_OF_MEMORY", kOutOfMemory, "",
     "--isq 4 | smaller weights; --pa-gpu-mem-usage 0.8 | a smaller KV cache; @shorter_length"},
    // Lines that show which engine wrote the log.
    {"mistralrs_core", kMark},
};

constexpr RemedyRule kRemedies[] = {
    {kDoesNotFitDevices, "@smaller_weights:--isq 4; @shorter_length"},
};

EngineLog mistralrs_log() {
  EngineLog out{.figures = kFigures, .events = kEvents};
  out.options = {.length = "--max-seq-len", .sequences = "--max-seqs"};
  out.remedies = kRemedies;
  return out;
}

}  // namespace kvplan
