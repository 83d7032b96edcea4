// The figures of mistral.rs's log.
#include "engines/log_lines.h"

namespace kvplan {

namespace {

constexpr LogTemplate kFigures[] = {
    log_figure("Allocating {kv_budget:size} for PagedAttention KV cache per GPU"),
    log_figure("PagedAttention KV cache type is {kv_cache_dtype:word}"),
    log_figure("Using PagedAttention with block size {block_size:tokens} and {num_blocks:blocks} GPU blocks: available "
               "context length is {kv_tokens:tokens}"),
};

}  // namespace

const std::span<const LogTemplate> kMistralrsLogFigures = kFigures;

}  // namespace kvplan
