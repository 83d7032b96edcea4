// Source: llama.cpp v0.5.0, src/models/*.cpp (which ones set swa_type, and their graphs),
// llm_arch_supports_rs_rollback. scripts/llama_cpp_classes.py writes classes.txt.
#include "engines/llama_cpp/classes.h"

#include <algorithm>
#include <string>

#include "engines/llama_cpp/rules.h"
#include "kvplan/strings.h"

namespace kvplan {

namespace {

struct LlamaRow {
  Arch arch;
  LlamaClass is;
};
constexpr LlamaRow kClasses[] = {
    {Arch::kAfmoe, {.keeps_windows = true}},
    {Arch::kBailingHybrid, {.rolls_back = true}},
    {Arch::kCohere2, {.keeps_windows = true, .adds_residual_first = true}},
    {Arch::kDeepseekV4, {.keeps_windows = true, .rolls_back = true, .whole_values = true, .residual_streams = 4}},
    {Arch::kDflash, {.keeps_windows = true, .whole_values = true}},
    {Arch::kDots3Note, {.keeps_windows = true}},
    {Arch::kExaoneMoe, {.keeps_windows = true}},
    {Arch::kGemma2, {.keeps_windows = true}},
    {Arch::kGemma3, {.keeps_windows = true}},
    {Arch::kGemma3n, {.keeps_windows = true, .residual_streams = 4, .norms_values = true}},
    {Arch::kGemma4, {.keeps_windows = true, .chooses_late = true, .norms_values = true}},
    {Arch::kGemma4Unified, {.keeps_windows = true, .norms_values = true}},
    {Arch::kGlm5Next, {.index_parts = 3}},
    {Arch::kGptOss, {.keeps_windows = true, .chooses_late = true, .chooses_before_norm = true}},
    {Arch::kGraniteMoeSwa, {.keeps_windows = true}},
    {Arch::kGraniteSwa, {.keeps_windows = true}},
    {Arch::kGrok, {.forbids_flash_attention = true}},
    {Arch::kJamba, {.adds_to_residual = true}},
    {Arch::kKimiK3, {.rolls_back = true}},
    {Arch::kLaguna, {.keeps_windows = true}},
    {Arch::kLfm2, {.keeps_windows = true, .rolls_back = true, .adds_to_residual = true}},
    {Arch::kLlama4, {.keeps_windows = true, .weighs_experts_first = true, .scales_unrotated = true}},
    {Arch::kMaple, {.keeps_windows = true}},
    {Arch::kMellum, {.keeps_windows = true}},
    {Arch::kMimoV2, {.keeps_windows = true}},
    {Arch::kMinicpm3, {.expands_latents = true}},
    {Arch::kMinimaxM3, {.index_has_values = true}},
    {Arch::kMuseGlimmer, {.keeps_windows = true}},
    {Arch::kNemotronH, {.rolls_back = true, .chooses_late = true}},
    {Arch::kNemotronNas, {.keeps_empty_layers = true}},
    {Arch::kOlmo3, {.keeps_windows = true}},
    {Arch::kPhi3, {.adds_to_last_residual = true}},
    {Arch::kPlamo3, {.keeps_windows = true}},
    {Arch::kPlm, {.expands_latents = true}},
    {Arch::kQwen3Next, {.chooses_late = true, .fuses_gates = true}},
    {Arch::kQwen3p5, {.rolls_back = true, .chooses_late = true}},
    {Arch::kQwen4Exp, {.keeps_pooled_keys = true, .rolls_back = true}},
    {Arch::kSmallthinker, {.keeps_windows = true}},
    {Arch::kSpark2p5, {.keeps_windows = true}},
    {Arch::kStep3p5, {.keeps_windows = true, .chooses_late = true}},
};

constexpr Arch kWholeTensors[] = {Arch::kGrok,          Arch::kPlamo2,      Arch::kMinicpm3,  Arch::kGemma3n,
                                  Arch::kMamba,         Arch::kJamba,       Arch::kFalconH1,  Arch::kDeepseekV3,
                                  Arch::kHyV4,          Arch::kT5,          Arch::kNemotronH, Arch::kGraniteHybrid,
                                  Arch::kMinimax,       Arch::kMinimaxM3,   Arch::kMistral4,  Arch::kKimiLinear,
                                  Arch::kKimiK2,        Arch::kKimiK3,      Arch::kQwen4Exp,  Arch::kGlmMoeDsa,
                                  Arch::kBailingHybrid, Arch::kDeepseekV32, Arch::kDots3Note, Arch::kGlm4MoeLite};
constexpr std::string_view kWholeTensorNames = "mpt olmo2 olmoe bitnet minimax_m2 minimax-m2 mamba2";

// The line "class NAME" or "arch NAME BUILD" of classes.txt, where NAME may have any spelling; "" if there is none.
std::string_view line_of(std::string_view sort, std::string_view name) {
  const std::string wanted = folded(name);
  for (std::string_view line : llama_cpp_class_lines().subspan(1))
    if (line.starts_with(sort) && folded(line.substr(sort.size(), line.find(' ', sort.size()) - sort.size())) == wanted)
      return line;
  return "";
}
bool registers(std::string_view sort, std::string_view name) {
  return !line_of(sort, name).empty();
}

constexpr std::string_view kClass = "class ";
constexpr std::string_view kArch = "arch ";

}  // namespace

LlamaClass llama_class(const ModelShape& model) {
  LlamaClass out;
  for (const LlamaRow& row : kClasses)
    if (row.arch == model.arch) out = row.is;
  out.whole_tensors =
      std::find(std::begin(kWholeTensors), std::end(kWholeTensors), model.arch) != std::end(kWholeTensors) ||
      has_word(kWholeTensorNames, model.model_type);
  // Only the 32B of EXAONE 4 has windows, and llama.cpp recognises it by its 64 layers.
  if (model.arch == Arch::kExaone4) out.keeps_windows = model.num_layers == 64;
  out.expands_latents = out.expands_latents || model.expanded_latents;
  return out;
}

bool llama_cpp_runs(const ModelShape& model) {
  // b11739 (0.6), which is planned as 0.5, has GLM-5.3-Flash.
  if (model.is_gguf) return registers(kArch, model.architecture) || model.arch == Arch::kGlm5Next;
  // If a class belongs to several architectures, its model_type decides.
  return model.architecture.empty() || registers(kClass, model.architecture) || registers(kArch, model.model_type);
}

std::optional<Refusal> llama_cpp_lacks(const EngineInput& input) {
  const std::string_view name = input.model.is_gguf ? input.model.architecture : input.model.model_type;
  const std::string_view line = line_of(kArch, name);
  const std::size_t build = line.find(' ', kArch.size());
  if (build == std::string_view::npos) return std::nullopt;
  const std::string_view last = line.substr(build + 1);
  if (llama_release(input.request) > llama_release(last)) return std::nullopt;
  return Refusal{"model_class",
                 {"this llama.cpp ends with \"unknown model architecture: '{name}'\": {last} does not have it yet",
                  {{"name", name}, {"last", last}}},
                 {"use a newer llama.cpp than {last}", {{"last", last}}}};
}

}  // namespace kvplan
