// The command line of mlx-lm. The caches of mlx-lm grow with the requests, so no option sets the context. Source:
// mlx_lm/server.py of 0.32.2.
#include "engines/command_options.h"
#include "engines/launch_words.h"

namespace kvplan {

EngineCommand mlx_command() {
  static constexpr std::string_view kPrograms[] = {"mlx_lm.server",   "mlx_lm.generate",  "mlx_lm server",
                                                   "mlx_lm generate", "-m mlx_lm.server", "-m mlx_lm.generate"};
  EngineCommand out{kPrograms, "", "", mlx_option_lines};
  out.package = "mlx-lm";
  out.takes_beginnings = true;
  return out;
}

Launch mlx_launch(const LaunchInput& input) {
  const Request& request = *input.request;
  const ExtrasRequest& extras = request.extras;
  check_kernel(request);
  if (request.parallel.gpus() > 1)
    no_launch_option("a layout of several GPUs", "mlx.launch starts mlx_lm.server on several machines",
                     "plan one machine");
  if (extras.adapters.size() > 1)
    no_launch_option("--lora", "mlx_lm.server loads one adapter", "name one, or merge them");
  if (request.mlx.max_kv_size)
    no_launch_option("--max-kv-size", "mlx_lm.server has no such option", "use mlx_lm.generate or mlx_lm.chat for it");
  const bool is_quantized = input.types.key == Dtype::kInt8 || input.types.key == Dtype::kInt4;
  if (is_quantized && request.sequences() > 1)
    no_launch_option("--num-seqs " + std::to_string(request.sequences()),
                     "mlx_lm.server serves one request at a time with a quantized cache", "plan one sequence");

  Launch launch = launch_from_checkpoint(input, {});
  Arguments out{"mlx_lm.server", "--model", input.model.name};
  if (request.sequences() > 1) out.add("--decode-concurrency", request.sequences());
  if (request.max_num_batched_tokens) out.add("--prefill-step-size", request.max_num_batched_tokens->count());
  out.add_given("--prompt-cache-size", request.mlx.prompt_caches);
  if (request.mlx.prompt_cache_bytes) out.add("--prompt-cache-bytes", request.mlx.prompt_cache_bytes->count());
  if (is_quantized) {
    out.add("--kv-bits", input.types.key == Dtype::kInt8 ? 8 : 4);
    out.add("--quantized-kv-start", std::uint64_t{0});
  }
  if (input.draft) out.add("--draft-model", input.draft->name);
  if (request.num_speculative_tokens > 0) out.add("--num-draft-tokens", request.num_speculative_tokens);
  for (const AdapterFile& adapter : extras.adapters) out.add("--adapter-path", adapter.source);
  launch.commands.push_back(out.take());
  if (is_beyond(input)) launch.remarks.push_back(beyond_remark(input));
  return launch;
}

}  // namespace kvplan
