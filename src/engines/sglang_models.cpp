#include "engines/sglang_models.h"

#include <algorithm>
#include <array>
#include <string>

#include "kvplan/error.h"

namespace kvplan {

namespace {

constexpr std::array<std::string_view, 19> kHybridWindows{
    "llama4",       "llama4_text", "gpt_oss",      "mimo_v2_flash", "mimo_v2",    "step3p5",      "step3p7",
    "gemma4",       "gemma4_text", "granite_swa",  "laguna",        "mellum",     "muse_glimmer", "inkling",
    "inkling_text", "deepseek_v4", "deepseek_ref", "unlimited_ocr", "mimo_v2_mtp"};

}  // namespace

bool hybrid_windows(std::string_view model_type) {
  // "gemma4_unified_text" and its like belong to the family that their first words name.
  return std::any_of(kHybridWindows.begin(), kHybridWindows.end(), [&](std::string_view known) {
    return model_type == known ||
           (model_type.size() > known.size() && model_type.starts_with(known) && model_type[known.size()] == '_');
  });
}

bool compressed_model(std::string_view model_type) {
  return model_type == "deepseek_v4" || model_type == "deepseek_ref";
}

std::uint64_t attention_ranks(const Request& request) {
  if (!request.dp_attention) return request.tensor_parallel;
  if (request.tensor_parallel % request.data_parallel != 0)
    fail("--enable-dp-attention: --tensor-parallel-size " + std::to_string(request.tensor_parallel) +
             " is not a multiple of --data-parallel-size " + std::to_string(request.data_parallel),
         "with DP attention the data parallel ranks are among the tensor parallel ones");
  return request.tensor_parallel / request.data_parallel;
}

}  // namespace kvplan
