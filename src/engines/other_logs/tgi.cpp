// Lines of text-generation-inference. Source: launcher/src/main.rs, server/text_generation_server/models, router/src.
#include "engines/log_lines.h"

namespace kvplan {

using enum LogEventId;

constexpr std::string_view kLessPrefill =
    "--max-batch-prefill-tokens lower | a smaller warm-up batch; --max-input-tokens lower | a shorter prompt; "
    "--cuda-memory-fraction 0.95 | or what is free, if other programs use the GPU; --num-shard 2 | splits weights and "
    "cache; "
    "--quantize bitsandbytes-nf4 | smaller weights";

constexpr LogTemplate kTgiEvents[] = {
    {"Not enough memory to handle {batch:tokens} prefill tokens", kOutOfMemory,
     "the warm-up had no memory for a prefill batch of {batch}", kLessPrefill},
    {"Not enough memory to handle `max_batch_total_tokens={tokens:tokens}", kOutOfMemory,
     "a KV cache of {tokens} does not fit", "--max-batch-total-tokens lower | a smaller KV cache; --num-shard 2"},
    {"`max_batch_prefill_tokens` must be >= `max_input_", kRefused, "one prompt has to fit the prefill batch",
     "--max-batch-prefill-tokens as large as --max-input-tokens; --max-input-tokens lower"},
    {"ArgumentValidation(\"{reason:text}", kRefused, "the launcher refuses its arguments: {reason}"},
    {"NotEnoughCUDADevices(\"{reason:text}", kTooFewCards, "more shards than GPUs: {reason}",
     "--num-shard lower; --gpus all | if docker shows too few"},
    {"inputs` tokens + `max_new_tokens` must be <= {longest:tokens}. Given: {asked:tokens} `inputs", kRequestTooLong,
     "", "--max-total-tokens {asked} or more | if memory allows; @shorter_input"},
    {"`inputs` must have less than {longest:tokens} tokens. Given: {asked:tokens}", kRequestTooLong, "",
     "--max-input-tokens {asked} or more | if memory allows; @shorter_input"},
    {"Error: ShardCannotStart", kDied, "a shard did not start; see the lines above", ""},
    {"Error: ShardFailed", kDied, "a shard died; see the lines above", ""},
    {"Shard {rank} failed to start", kDied},
    {"Shard process was signaled to shutdown with signal {signal}", kHostOutOfMemory,
     "a shard was killed (signal {signal}): most likely the system ran out of memory (RAM), or /dev/shm was too small",
     "--shm-size 1g | in docker with several GPUs; @more_host_memory"},
    {"main.rs:{line}: Connected", kStarted},
    {"Invalid hostname, defaulting to 0.0.0.0", kStarted},
    {"text_generation_launcher", kMark},
    {"text_generation_router", kMark},
    {"text_generation_server", kMark},
    {"text-generation-launcher", kMark},
};

constexpr RemedyRule kTgiRemedies[] = {{kOutOfMemory, kLessPrefill}};

EngineLog tgi_log() {
  EngineLog out{.events = kTgiEvents};
  out.options = {.length = "--max-total-tokens",
                 .share = "--cuda-memory-fraction",
                 .ranks = "--num-shard",
                 .batch = "--max-batch-prefill-tokens"};
  out.remedies = kTgiRemedies;
  return out;
}

}  // namespace kvplan
