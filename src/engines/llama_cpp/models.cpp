// Source: llama.cpp v0.5.0, src/models/*.cpp (which ones set swa_type), llm_arch_supports_rs_rollback;
// scripts/llama_cpp_classes.py writes the classes.
#include "engines/llama_cpp/models.h"

#include <algorithm>
#include <iterator>
#include <string>

#include "kvplan/strings.h"

namespace kvplan {

namespace {

// Whether classes.txt has "class NAME" or "arch NAME", in any spelling.
bool registers(std::string_view sort, std::string_view name) {
  const std::string wanted = folded(name);
  for (std::string_view line : llama_cpp_class_lines().subspan(1))
    if (line.starts_with(sort) && folded(line.substr(sort.size())) == wanted) return true;
  return false;
}

constexpr std::string_view kClass = "class ";
constexpr std::string_view kArch = "arch ";

constexpr Arch kWindowed[] = {Arch::kGemma2,        Arch::kGemma3,      Arch::kGemma3n,       Arch::kGemma4,
                              Arch::kGemma4Unified, Arch::kGptOss,      Arch::kCohere2,       Arch::kOlmo3,
                              Arch::kExaoneMoe,     Arch::kLlama4,      Arch::kSmallthinker,  Arch::kMimoV2,
                              Arch::kStep3p5,       Arch::kGraniteSwa,  Arch::kGraniteMoeSwa, Arch::kAfmoe,
                              Arch::kMellum,        Arch::kMuseGlimmer, Arch::kPlamo3,        Arch::kLaguna,
                              Arch::kLfm2,          Arch::kSpark2p5,    Arch::kMaple,         Arch::kDots3Note,
                              Arch::kDeepseekV4,    Arch::kDflash};
constexpr Arch kRollsBack[] = {Arch::kKimiK3,    Arch::kQwen3p5, Arch::kQwen4Exp,     Arch::kDeepseekV4,
                               Arch::kNemotronH, Arch::kLfm2,    Arch::kBailingHybrid};

}  // namespace

bool llama_cpp_runs(const ModelShape& model) {
  if (model.is_gguf) return registers(kArch, model.architecture);
  // A class may have several names: then its model_type decides.
  return model.architecture.empty() || registers(kClass, model.architecture) || registers(kArch, model.model_type);
}

bool llama_cpp_keeps_windows(const ModelShape& model) {
  // EXAONE 4: only the 32B has windows, and llama.cpp recognises it by its 64 layers.
  if (model.arch == Arch::kExaone4) return model.num_layers == 64;
  return std::find(std::begin(kWindowed), std::end(kWindowed), model.arch) != std::end(kWindowed);
}

bool llama_cpp_expands_latents(const ModelShape& model) {
  return model.expanded_latents || is_one_of(model.arch, {Arch::kMinicpm3, Arch::kPlm});
}

bool llama_cpp_keeps_empty_layers(const ModelShape& model) {
  return model.arch == Arch::kNemotronNas;
}

bool llama_cpp_index_has_values(const ModelShape& model) {
  return model.arch == Arch::kMinimaxM3;
}

bool llama_cpp_keeps_pooled_keys(const ModelShape& model) {
  return model.arch == Arch::kQwen4Exp;
}

bool llama_cpp_rolls_back(const ModelShape& model) {
  return std::find(std::begin(kRollsBack), std::end(kRollsBack), model.arch) != std::end(kRollsBack);
}

std::uint64_t llama_cpp_residual_streams(const ModelShape& model) {
  return is_one_of(model.arch, {Arch::kGemma3n, Arch::kDeepseekV4}) ? 4 : 1;
}

bool llama_cpp_forbids_flash_attention(const ModelShape& model) {
  return model.arch == Arch::kGrok;
}

}  // namespace kvplan
