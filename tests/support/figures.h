// Figures from terms, for tests: the bytes of a layer or of a model, computed here independently from the terms only.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "formulas/model.h"
#include "kvplan/storage.h"

namespace kvplan {

inline constexpr CacheTypes k16Bit{Dtype::kBfloat16, Dtype::kBfloat16, Dtype::kBfloat16, Dtype::kBfloat16};
inline constexpr CacheTypes k32Bit{Dtype::kFloat32, Dtype::kFloat32, Dtype::kFloat32, Dtype::kFloat32};
inline constexpr CacheTypes k16BitState32{Dtype::kBfloat16, Dtype::kBfloat16, Dtype::kFloat32, Dtype::kBfloat16};

// Elements of one layer at `tokens` tokens, including the state.
std::uint64_t elements(const Mixer& mixer, std::uint64_t tokens, std::uint64_t source_tokens = 0,
                       Form form = Form::kCompact);
// Bytes of one layer in the same way.
std::uint64_t bytes(const Mixer& mixer, std::uint64_t tokens, const CacheTypes& types = k16Bit,
                    std::uint64_t source_tokens = 0);

struct Figures {
  std::uint64_t per_token = 0;     // what one more token adds beyond every window
  std::uint64_t per_sequence = 0;  // fixed state
  std::uint64_t at_length = 0;     // the whole cache at the requested length
};
Figures figures(const ModelSpec& model, std::uint64_t tokens, const CacheTypes& types);
// The types that a checkpoint declares, else 16 bit for K and V and the model's own for states.
CacheTypes declared_types(const ModelSpec& model);

// Layers of a kind ("gqa", "ssm" ...).
std::uint64_t layers_of(const ModelSpec& model, std::string_view kind);

// The architecture with this name in either vocabulary; kOther if there is none.
Arch test_arch(std::string_view name);

// testdata/configs/NAME.json.
ModelSpec test_model(const std::string& name);
// testdata/observations/models/NAME.json.
ModelSpec observed_model(const std::string& name);
// The model that a config describes; `beside` is an hf_quant_config.json.
ModelSpec parse_model(std::string_view config, const std::string& beside = "");
std::string test_file(const std::string& path);  // the text of a file under the source folder

}  // namespace kvplan
