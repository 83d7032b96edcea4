// What SGLang makes of a model's name and of the ranks asked for.
#ifndef KVPLAN_ENGINES_SGLANG_MODELS_H_
#define KVPLAN_ENGINES_SGLANG_MODELS_H_

#include <cstdint>
#include <string_view>

#include "kvplan/request.h"

namespace kvplan {

// Its sliding layers get a pool of their own (model_config.py, is_hybrid_swa_model).
bool hybrid_windows(std::string_view model_type);
// DeepSeek-V4 and its copies: compressed entries, windows and compressor sums.
bool compressed_model(std::string_view model_type);
// Ranks that share the heads: with DP attention the data parallel ranks are among the tensor parallel ones.
std::uint64_t attention_ranks(const Request& request);

}  // namespace kvplan

#endif  // KVPLAN_ENGINES_SGLANG_MODELS_H_
