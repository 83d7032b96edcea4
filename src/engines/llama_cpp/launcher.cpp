// How llama-server is started. Source: llama.cpp common/arg.cpp of b11739.
#include <algorithm>

#include "engines/command_options.h"
#include "engines/engine.h"
#include "engines/launch_words.h"
#include "engines/llama_cpp/rules.h"
#include "kvplan/error.h"
#include "kvplan/strings.h"

namespace kvplan {

static std::string_view ggml_name(Dtype type) {
  switch (type) {
    case Dtype::kFloat16: return "f16";
    case Dtype::kBfloat16: return "bf16";
    case Dtype::kFloat32: return "f32";
    default: return name(type);
  }
}

static void add_extras(const LaunchInput& input, Arguments& out) {
  const ExtrasRequest& extras = input.request->extras;
  const bool renamed = llama_rules(*input.request).speculative_names;
  if (input.draft) {
    const bool is_hub = input.draft->is_hub && input.draft->is_gguf;
    out.add(is_hub ? "-hfd" : "-md", input.draft->is_gguf ? input.draft->name : input.draft->name + ".gguf");
  }
  if (input.draft_method) {
    switch (*input.draft_method) {
      case DraftMethod::kMtp: out.add("--spec-type", "draft-mtp"); break;
      case DraftMethod::kEagle3: out.add("--spec-type", "draft-eagle3"); break;
      case DraftMethod::kNgram: out.add("--spec-type", "ngram-mod"); break;
      default: break;  // the options that only -md needs
    }
    if (const std::uint64_t tokens = input.request->num_speculative_tokens; tokens > 0)
      out.add(!renamed                                     ? "--draft-max"
              : *input.draft_method == DraftMethod::kNgram ? "--spec-ngram-mod-n-max"
                                                           : "--spec-draft-n-max",
              tokens);
  }
  if (extras.draft_ctx) {
    if (renamed) no_launch_option("-cd", "llama-server has no such option since v0.5.0", "leave it out");
    out.add("-cd", extras.draft_ctx->count());
  }
  if (extras.draft_cache_type_k) out.add("-ctkd", ggml_name(*extras.draft_cache_type_k));
  if (extras.draft_cache_type_v) out.add("-ctvd", ggml_name(*extras.draft_cache_type_v));
  for (const AdapterFile& adapter : extras.adapters) out.add("--lora", adapter.source);
  if (extras.projector) out.add("--mmproj", extras.projector->source);
  out.add_flag("--no-mmproj-offload", extras.projector_on_host);
}

static void add_model(const LaunchInput& input, Arguments& out, Launch& launch) {
  const LaunchModel& model = input.model;
  if (!model.is_gguf) {
    launch.remarks.push_back("llama.cpp loads a GGUF: " + input.model_name + ".gguf is the converted model");
    launch.local_model = input.model_name + ".gguf";
    out.add("-m", launch.local_model);
  } else {
    out.add(model.is_hub ? "-hf" : "-m", model.name);
    if (!model.is_hub) launch.local_model = model.name;
    if (!model.file.empty()) out.add("-hff", model.file);
  }
}

// llama.cpp limits a slot to the context that the file was trained with, even with scaling. So the command overrides
// the file's key.
static void add_longer_context(const LaunchInput& input, Arguments& out, Launch& launch) {
  if (!is_beyond(input)) return;
  if (input.model.is_gguf)
    out.add("--override-kv",
            input.architecture + ".context_length=int:" + std::to_string(input.load.tokens_of_sequence().count()));
  if (!input.plain_rotation) {
    launch.remarks.push_back(beyond_remark(input));
    return;
  }
  out.add("--rope-scaling", "yarn");
  out.add("--rope-scale", stretch_factor(input));
  out.add("--yarn-orig-ctx", input.max_model_len.count());
}

EngineCommand llama_cpp_command() {
  static constexpr std::string_view kPrograms[] = {"llama-server", "llama-cli",    "llama-mtmd-cli",
                                                   "llama serve",  "llama server", "llama cli"};
  EngineCommand out{kPrograms, "llama.cpp:server llama.cpp", "llama.cpp", llama_cpp_option_lines,
                    llama_cpp_option_releases};
  out.takes_underscores = out.uses_visible_gpus = true;
  out.complete = [](CommandSettings& settings) {
    if (!has_word("llama-server llama", settings.program) && !settings.program.empty()) settings.set("--tool", "cli");
    // --fit off: everything on the GPUs unless -ngl says otherwise.
    const std::string* fit = settings.find("@fit");
    if (fit != nullptr && *fit == "off" && settings.find("--n-gpu-layers") == nullptr)
      settings.set("--n-gpu-layers", "all");
    settings.remove("@fit");
    // --split-mode none ignores --tensor-split.
    if (const std::string* mode = settings.find("--split-mode"); mode != nullptr && *mode == "none")
      settings.remove("--tensor-split");
    // llama.cpp splits the layers over as many GPUs as --tensor-split has numbers.
    const std::string* shares = settings.find("--tensor-split");
    const auto cards = shares == nullptr ? 0 : 1 + std::count_if(shares->begin(), shares->end(), [](char c) {
                                                 return c == ',' || c == '/';
                                               });
    if (cards > 1) settings.set("--pipeline-parallel-size", std::to_string(cards));
  };
  return out;
}

Launch llama_cpp_launch(const LaunchInput& input) {
  const Request& request = *input.request;
  if (request.parallel.data > 1)
    no_launch_option("--data-parallel-size", "llama-server has no copies", "start one server for each of them");
  Launch launch;
  launch.engine = "llama.cpp";
  launch.container = {.image = "ghcr.io/ggml-org/llama.cpp:server-cuda",
                      .port = 8080,
                      .health = "/health",
                      .store = "LLAMA_CACHE",
                      .program = "/app/llama-server",
                      .listens = true};
  launch.gpus_per_node = request.parallel.gpus();
  Arguments out{"llama-server"};
  add_model(input, out, launch);
  // llama.cpp's context is the total over all slots, unless they share one pool.
  const std::uint64_t slots = request.llama_cpp.kv_unified ? 1 : request.sequences();
  out.add("-c", checked_mul(input.load.max_model_len.count(), slots, "the total context"));
  out.add("-np", request.sequences());
  add_longer_context(input, out, launch);
  if (input.types.key != Dtype::kFloat16) out.add("-ctk", ggml_name(input.types.key));
  if (input.types.value != Dtype::kFloat16) out.add("-ctv", ggml_name(input.types.value));
  out.add_given("-b", request.llama_cpp.n_batch);
  out.add_given("-ub", request.llama_cpp.n_ubatch);
  if (request.llama_cpp.gpu_layers == kEveryLayer)
    out.add("-ngl", llama_rules(request).fits ? "all" : "999");
  else
    out.add_given("-ngl", request.llama_cpp.gpu_layers);
  if (request.llama_cpp.flash_attention == FlashAttention::kOn) out.add("-fa", "on");
  if (request.llama_cpp.flash_attention == FlashAttention::kOff) out.add("-fa", "off");
  out.add_flag("--kv-unified", request.llama_cpp.kv_unified);
  out.add_flag("--swa-full", request.llama_cpp.swa_full);
  out.add_flag("--no-kv-offload", request.llama_cpp.no_kv_offload);
  if (request.llama_cpp.only_gpu) {
    out.add("--split-mode", "none");
    if (*request.llama_cpp.only_gpu > 0) out.add("--main-gpu", *request.llama_cpp.only_gpu);
  }
  if (!request.llama_cpp.tensor_split.empty()) out.add_shares("-ts", request.llama_cpp.tensor_split);
  if (request.llama_cpp.cpu_moe_layers == kEveryLayer)
    out.add("--cpu-moe");
  else
    out.add_given("--n-cpu-moe", request.llama_cpp.cpu_moe_layers);
  if (request.llama_cpp.split == LlamaSplit::kRow) out.add("--split-mode", "row");
  if (request.llama_cpp.split == LlamaSplit::kTensor) out.add("--split-mode", "tensor");
  out.add_given("--ctx-checkpoints", request.llama_cpp.checkpoints);
  if (request.llama_cpp.cache_ram) out.add("--cache-ram", request.llama_cpp.cache_ram->count() / kMiB);
  if (const std::vector<Bytes>& kept = request.llama_cpp.fit_target; !kept.empty())
    out.add("--fit-target", join(kept, ",", [](Bytes bytes) { return std::to_string(bytes.count() / kMiB); }));
  add_extras(input, out);
  launch.commands.push_back(out.take());
  return launch;
}

}  // namespace kvplan
