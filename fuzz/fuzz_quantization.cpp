// The quantization dialects: any bytes as the quantization_config (or hf_quant_config.json) of a small model of
// experts become weights in every component, or an Error of one line.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "formulas/model.h"
#include "kvplan/error.h"
#include "sources/load.h"
#include "weights/weigh.h"

namespace {

constexpr std::string_view kModel =
    R"({"model_type":"qwen3_moe","architectures":["Qwen3MoeForCausalLM"],"hidden_size":256,"intermediate_size":512,
"moe_intermediate_size":128,"num_experts":8,"num_experts_per_tok":2,"num_hidden_layers":12,"num_attention_heads":4,
"num_key_value_heads":2,"head_dim":64,"vocab_size":1024,"max_position_embeddings":4096,"torch_dtype":"bfloat16")";

void weigh_all(std::string_view config, std::string_view beside) {
  try {
    const kvplan::ModelSpec model = kvplan::read_config(config, beside, "fuzz", {false});
    const kvplan::WeightReport report = kvplan::weigh(model, {});
    if (report.low > report.total || report.total > report.high) __builtin_trap();
    kvplan::WeightRequest rank;
    rank.share.tensor_parallel = 2;
    if (kvplan::weigh(model, rank).total > report.total) __builtin_trap();
  } catch (const kvplan::Error& error) {
    const std::string line = error.line();
    if (line.find('\n') != std::string::npos || !line.starts_with("kvplan: ")) __builtin_trap();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const std::string plain = std::string(kModel) + "}";
  weigh_all(std::string(kModel) + ",\"quantization_config\":" + std::string(text) + "}", "");
  weigh_all(plain, text);
  return 0;
}
