// The environment variables of Ollama's server, which are the plan's settings. Each request names its model. Source:
// envconfig/config.go.
#include <algorithm>

#include "engines/command_options.h"
#include "engines/launch_words.h"

namespace kvplan {

EngineCommand ollama_command() {
  static constexpr std::string_view kPrograms[] = {"ollama run", "ollama serve"};
  EngineCommand out{kPrograms, "", "ollama", ollama_option_lines};
  out.server = "ollama serve";
  out.takes_model = out.uses_visible_gpus = true;
  // A name means a model in Ollama's store, unless it is a file or includes its source.
  out.complete = [](CommandSettings& settings) {
    std::string& model = settings.model;
    const bool is_named = model.find(".gguf") == std::string::npos && model.find(".json") == std::string::npos &&
                          !model.starts_with('/') && !model.starts_with('.') && !model.starts_with("ollama:") &&
                          !model.starts_with("hf.co/");
    if (is_named && !model.empty()) model.insert(0, "ollama:");
    if (const std::string* gpu = settings.find("--main-gpu"); gpu != nullptr && *gpu != "0")
      settings.set("--split-mode", "none");
    else
      settings.remove("--main-gpu");
  };
  return out;
}

Launch ollama_launch(const LaunchInput& input) {
  const Request& request = *input.request;
  const ExtrasRequest& extras = request.extras;
  const auto refuse_given = [](bool given, std::string_view option, std::string_view why) {
    if (given) no_launch_option(option, why, "leave it out, or use --engine llama.cpp");
  };
  constexpr std::string_view kOfModel = "Ollama has it in a model's own file or a request";
  refuse_given(request.parallel.data > 1, "--data-parallel-size", "Ollama has no copies");
  refuse_given(request.llama_cpp.n_batch.has_value(), "-b", kOfModel);
  refuse_given(!extras.adapters.empty(), "--lora", kOfModel);
  refuse_given(extras.projector.has_value(), "--mmproj", kOfModel);
  for (const auto& [given, option] : {std::pair(request.llama_cpp.n_ubatch.has_value(), "-ub"),
                                      {request.llama_cpp.kv_unified, "--kv-unified"},
                                      {request.llama_cpp.swa_full, "--swa-full"},
                                      {request.llama_cpp.no_kv_offload, "--no-kv-offload"},
                                      {request.llama_cpp.cpu_moe_layers && !input.places_itself, "--n-cpu-moe"}})
    refuse_given(given, option, "Ollama has no such setting");

  Launch launch;
  launch.engine = "ollama";
  launch.container = {.image = "ollama/ollama:latest",
                      .port = 11434,
                      .health = "/",
                      .store = "OLLAMA_MODELS",
                      .listens = true,
                      .takes_token = false};
  launch.gpus_per_node = request.parallel.gpus();
  // The context of one request; Ollama multiplies it by the number of parallel requests.
  launch.environment.emplace_back("OLLAMA_CONTEXT_LENGTH", std::to_string(input.load.max_model_len.count()));
  const bool is_quantized = input.types.key == Dtype::kQ8_0 || input.types.key == Dtype::kQ4_0;
  if (is_quantized) launch.environment.emplace_back("OLLAMA_KV_CACHE_TYPE", std::string(name(input.types.key)));
  // A quantized cache needs flash attention.
  if (is_quantized || request.llama_cpp.flash_attention == FlashAttention::kOn)
    launch.environment.emplace_back("OLLAMA_FLASH_ATTENTION", "1");
  else if (request.llama_cpp.flash_attention == FlashAttention::kOff)
    launch.environment.emplace_back("OLLAMA_FLASH_ATTENTION", "0");
  if (request.sequences() > 1)
    launch.environment.emplace_back("OLLAMA_NUM_PARALLEL", std::to_string(request.sequences()));
  launch.commands.push_back({"ollama", "serve"});
  if (const auto layers = request.llama_cpp.gpu_layers; layers && (!input.places_itself || layers == kEveryLayer))
    launch.remarks.push_back("num_gpu belongs to the model: put PARAMETER num_gpu " +
                             std::to_string(std::min<std::uint64_t>(*layers, 999)) + " into its Modelfile");
  if (is_beyond(input)) launch.remarks.push_back(beyond_remark(input));
  return launch;
}

}  // namespace kvplan
