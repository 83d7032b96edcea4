// The command line of TensorRT-LLM. Source: tensorrt_llm/commands/serve.py.
#include "engines/command_options.h"
#include "engines/launch_words.h"

namespace kvplan {

EngineCommand tensorrt_llm_command() {
  static constexpr std::string_view kPrograms[] = {"trtllm-serve serve", "trtllm-serve"};
  EngineCommand out{kPrograms, "", "tensorrt-llm", tensorrt_llm_option_lines};
  out.package = "tensorrt-llm";
  out.takes_model = true;
  return out;
}

Launch tensorrt_llm_launch(const LaunchInput& input) {
  const Request& request = *input.request;
  check_kernel(request);
  const auto refuse_given = [](bool given, std::string_view option) {
    if (given)
      no_launch_option(option, "trtllm-serve has it only in the file of --extra_llm_api_options",
                       "leave it out, and write it there");
  };
  refuse_given(kv_chosen(request) && input.types.key != input.types.model, "--kv-cache-dtype");
  refuse_given(request.kv_cache_memory_bytes.has_value(), "--kv-cache-memory-bytes");
  refuse_given(request.block_size.has_value(), "--block-size");
  refuse_given(request.dtype.has_value(), "--dtype");
  refuse_given(request.parallel.data > 1, "--data-parallel-size");
  refuse_given(input.draft_method.has_value(), "--draft");
  refuse_given(request.extras.wants_lora() || !request.extras.adapters.empty(), "--enable-lora");
  const Nodes nodes = nodes_of(request.parallel.gpus());
  if (nodes.count > 1)
    no_launch_option("a layout over " + std::to_string(nodes.count) + " nodes",
                     "mpirun or srun starts trtllm-serve on several, with the site's options",
                     "name a layout of 8 GPUs at most");

  Launch launch = launch_from_checkpoint(
      input,
      {.image = "nvcr.io/nvidia/tensorrt-llm/release:latest", .port = 8000, .health = "/health", .store = "HF_HOME"});
  launch.gpus_per_node = nodes.gpus_each;
  Arguments out{"trtllm-serve", input.model.name};
  out.add_revision(input);
  out.add("--max_seq_len", input.load.max_model_len.count());
  if (request.max_num_seqs || request.sequences() > 1)
    out.add("--max_batch_size", request.max_num_seqs.value_or(request.sequences()));
  if (request.max_num_batched_tokens) out.add("--max_num_tokens", request.max_num_batched_tokens->count());
  out.add_ranks("--tp_size", request.parallel.tensor);
  out.add_ranks("--pp_size", request.parallel.pipeline);
  if (request.parallel.expert) out.add("--ep_size", request.parallel.tensor);
  if (request.memory_utilization) out.add_share("--kv_cache_free_gpu_memory_fraction", *request.memory_utilization);
  out.add_ranks("--max_beam_width", request.extras.num_beams);
  launch.commands.push_back(out.take());
  if (is_beyond(input)) launch.remarks.push_back(beyond_remark(input));
  return launch;
}

}  // namespace kvplan
