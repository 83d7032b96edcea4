// The architecture of a model. It is determined once, when the model is read; later code compares no names.
#pragma once

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <string_view>

#include "kvplan/traits.h"

namespace kvplan {

// Architectures that an engine, or a GGUF mixture of types, treats specially. All others are kOther: their layers and
// tensors say enough.
enum class Arch : std::uint8_t {
  kOther,
  kAfmoe,
  kAxk1,
  kBailingHybrid,
  kBailingLinear,
  kBamba,
  kCohere2,
  kCpmant,
  kDeepseek,
  kDeepseekOcr,
  kDeepseekV3,
  kDeepseekV32,
  kDeepseekV4,
  kDeepseekV41,
  kDflash,
  kDots3Note,
  kExaone,
  kExaone4,
  kExaoneMoe,
  kFalconH1,
  kGemma,
  kGemma2,
  kGemma3,
  kGemma3n,
  kGemma4,
  kGemma4Unified,
  kGlm4,
  kGlm4MoeLite,
  kGlm5Next,
  kGlmMoeDsa,
  kGptNeo,
  kGptOss,
  kGranite,
  kGraniteHybrid,
  kGraniteMoeSwa,
  kGraniteSwa,
  kGrok,
  kHyV4,
  kInkling,
  kInkling2,
  kJamba,
  kKimiK2,
  kKimiK3,
  kKimiLinear,
  kLaguna,
  kLfm2,
  kLlama,
  kLlama4,
  kLongcat,
  kMamba,
  kMaple,
  kMarian,
  kMellum,
  kMimoV2,
  kMinicpm,
  kMinicpm3,
  kMinimax,
  kMinimaxM3,
  kMinistral,
  kMistral,
  kMistral3,
  kMistral4,
  kMistralLarge4,
  kMixtral,
  kMllama,
  kMuseGlimmer,
  kNemotron,
  kNemotronH,
  kNemotronNas,
  kOlmo3,
  kOpenaiGpt,
  kPanguUltraMoe,
  kPhi3,
  kPhi3V,
  kPlamo2,
  kPlamo3,
  kPlm,
  kQwen,
  kQwen3Next,
  kQwen3p5,
  kQwen4Exp,
  kRecurrentGemma,
  kRwkv,
  kSarvamMla,
  kSmallthinker,
  kSolar,
  kSpark2p5,
  kStep3p5,
  kT5,
  kT5Gemma,
  kUnlimitedOcr,
  kXlstm,
  kZaya,
};

inline bool is_one_of(Arch arch, std::initializer_list<Arch> some) {
  return std::find(some.begin(), some.end(), arch) != some.end();
}

// What an architecture's weights were compared with. If they were compared with nothing, the plan says so.
inline constexpr std::string_view kExecutedClass = "executed class", kPublishedTotal = "published total", kUnchecked{};

// Architectures that are read in the same way share one value. The functions that read them are in src/models/family.h.
struct Architecture {
  std::string_view names;  // Hugging Face's model_types, separated by spaces
  std::string_view checked{};
  Arch id = Arch::kOther;
  ModelTraits traits{};
};

// The architecture of a model that no family names.
inline constexpr Architecture kNoArchitecture{""};

}  // namespace kvplan
