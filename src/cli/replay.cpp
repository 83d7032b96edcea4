#include "cli/many.h"

#include <algorithm>

#include "engines/engine.h"
#include "engines/launch_words.h"
#include "kvplan/strings.h"

namespace kvplan {

// Options that each row adds itself.
constexpr std::string_view kOwn =
    "--engine --max-model-len --ctx-size --num-seqs --weights --kv-cache-dtype --cache-type-k --cache-type-v "
    "--tensor-parallel-size --pipeline-parallel-size --data-parallel-size --decode-context-parallel-size "
    "--enable-expert-parallel --enable-dp-attention --gpu --gpu-memory --gpu-count --reserve "
    "--n-gpu-layers --n-cpu-moe --tensor-split";

// Options that change no plan, or are private.
constexpr std::string_view kLeftOut =
    "--format --json --output --color --token --offline --fail-over --measure --measure-max --device --tolerance "
    "--save-calibration --watch --pid --keep --share";

static void add_types(const Request& planned, OptionValues& out) {
  const auto add = [&](const char* option, const std::optional<Dtype>& type) {
    if (type) out.emplace_back(option, name(*type));
  };
  if (planned.weights) out.emplace_back("--weights", *planned.weights);
  if (planned.cache_type_k == planned.cache_type_v) return add("--kv-cache-dtype", planned.cache_type_k);
  add("--cache-type-k", planned.cache_type_k);
  add("--cache-type-v", planned.cache_type_v);
}

// In the largest unit that keeps every byte.
static std::string size_text(Bytes size) {
  const std::uint64_t bytes = size.count();
  if (bytes % kGiB == 0) return std::to_string(bytes / kGiB) + "GiB";
  return bytes % kMiB == 0 ? std::to_string(bytes / kMiB) + "MiB" : std::to_string(bytes) + "B";
}

static void add_cards(const Request& planned, OptionValues& out) {
  const CardRequest& card = planned.card;
  if (!card.mixed.empty())
    out.emplace_back("--gpu", join(card.mixed_names(), "+"));
  else if (card.gpu)
    out.emplace_back("--gpu", std::string(card.gpu->name));
  if (card.memory) out.emplace_back("--gpu-memory", size_text(*card.memory));
  if (card.mixed.empty() && (card.count_given || card.count > 1))
    out.emplace_back("--gpu-count", std::to_string(std::max(card.count, planned.parallel.gpus())));
}

static void add_layout(const Parallel& parallel, OptionValues& out) {
  const auto add = [&](const char* option, std::uint64_t ranks, bool always = false) {
    if (always || ranks > 1) out.emplace_back(option, std::to_string(ranks));
  };
  add("-tp", parallel.tensor, parallel.given);
  add("-pp", parallel.pipeline);
  add("-dp", parallel.data);
  add("-dcp", parallel.decode_context);
  if (parallel.expert) out.emplace_back("--enable-expert-parallel", "");
  if (parallel.dp_attention) out.emplace_back("--enable-dp-attention", "");
}

// llama.cpp's placement, which -ngl auto may have searched. --cpu-moe stays as typed.
static void add_placement(const Request& planned, const LlamaCppOptions& asked, OptionValues& out) {
  const LlamaCppOptions& placed = planned.llama_cpp;
  if (placed.placement == Placement::kFit) out.emplace_back("--n-gpu-layers", "auto");
  if (placed.gpu_layers)
    out.emplace_back("--n-gpu-layers", *placed.gpu_layers == kEveryLayer ? "all" : std::to_string(*placed.gpu_layers));
  if (placed.cpu_moe_layers && (*placed.cpu_moe_layers < kEveryLayer || placed.cpu_moe_layers != asked.cpu_moe_layers))
    out.emplace_back("--n-cpu-moe", std::to_string(*placed.cpu_moe_layers));
  if (!placed.tensor_split.empty() && (planned.card.mixed.empty() || placed.tensor_split != asked.tensor_split))
    out.emplace_back("--tensor-split", shares_text(placed.tensor_split));
}

OptionValues replay(const Invocation& call, const std::string& source, const Request& planned) {
  OptionValues out{{"kvplan", source}};
  if (call.engine_given)
    out.emplace_back("--engine", std::string(engine_of(planned).name) +
                                     (planned.engine_version.empty() ? "" : "@" + planned.engine_version));
  const Request& asked = call.request;
  for (const auto& [option, value] : call.typed)
    if (!has_word(kOwn, option) && !has_word(kLeftOut, option)) out.emplace_back(option, value);
  if (planned.memory_utilization && !asked.memory_utilization)  // the smallest that will do
    out.emplace_back("--gpu-memory-utilization", shares_text({*planned.memory_utilization}));
  if (planned.max_model_len)
    out.emplace_back("--max-model-len", std::to_string(planned.max_model_len->count()));
  else if (planned.llama_cpp.ctx_size)
    out.emplace_back("--ctx-size", std::to_string(planned.llama_cpp.ctx_size->count()));
  if (planned.num_seqs != 1 || asked.num_seqs != 1 || asked.users)
    out.emplace_back("--num-seqs", std::to_string(planned.num_seqs));
  if (planned.max_num_seqs && planned.max_num_seqs != asked.max_num_seqs)  // lowered to what starts
    out.emplace_back("--max-num-seqs", std::to_string(*planned.max_num_seqs));
  add_types(planned, out);
  add_cards(planned, out);
  add_layout(planned.parallel, out);
  add_placement(planned, asked.llama_cpp, out);
  if (planned.limits.reserve != asked.limits.reserve) {
    out.emplace_back("--reserve", "0%");
  } else if (planned.limits.reserve) {
    for (const auto& [option, value] : call.typed)
      if (option == "--reserve") out.emplace_back(option, value);
  }
  return out;
}

}  // namespace kvplan
