// How a checkpoint says that its weights are quantized: what every dialect boils down to. The readers fill it, the
// weights room turns it into bytes.
#ifndef KVPLAN_QUANTIZATION_H_
#define KVPLAN_QUANTIZATION_H_

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace kvplan {

// How the matrix of one linear layer is stored.
struct WeightScheme {
  std::string type;               // a name of the table of weight types: "gptq-int4", "fp8-block", "mxfp4"
  std::uint64_t millibits = 0;    // 0: as the type has it; 1000 * bits where the checkpoint names its own
  std::uint64_t group_size = 0;   // 0: as the type has it
  std::uint64_t zero_bits = 0;    // of a group's zero point; 0: as the type has it
  std::uint64_t tensor_bits = 0;  // of what a matrix has besides (codebooks); 0: as the type has it
  std::uint64_t block_rows = 0, block_columns = 0;
  bool has_zero_points = true;
  bool double_quantized = true;
  friend auto operator<=>(const WeightScheme&, const WeightScheme&) = default;
};

// Modules that match are stored so; nullopt: they stay as they are.
struct SchemeRule {
  std::string pattern;  // exact, suffix, glob, or "re:..."
  std::optional<WeightScheme> scheme;
  std::string_view list = {};  // the key that it stands under, a literal: "ignore"
};

struct QuantDeclaration {
  std::string dialect;  // quant_method as the file has it: "gptq"; empty where nothing is declared
  bool is_known = true;
  bool names_method =
      true;  // quant_method, or the tag of hf_quant_config.json: without it some engines see no quantization
  bool has_embedding = false;  // MLX packs the embedding too
  bool has_head = false;
  bool experts_only = false;
  std::optional<WeightScheme> scheme;         // of linear layers that no rule names
  std::optional<WeightScheme> expert_scheme;  // of routed experts where it differs (DeepSeek-V4: expert_dtype)
  std::optional<WeightScheme> head_scheme;    // EXL2, EXL3
  std::vector<SchemeRule> rules;              // the first that matches decides
  friend bool is_declared(const QuantDeclaration& q) { return !q.dialect.empty(); }
};

// What an engine's kernels make of MXFP4 experts: their inner and outer width are multiples of these (no inner width at
// all: what is left of a block has no scale). Scales in the kernel's order, with rows in such multiples, may stand
// beside those that were loaded, and then the biases are in float32; 0: they do not.
struct Mxfp4Layout {
  std::uint64_t width = 1, hidden = 1, second_scale_rows = 0;
  friend bool operator==(const Mxfp4Layout&, const Mxfp4Layout&) = default;
};

}  // namespace kvplan

#endif  // KVPLAN_QUANTIZATION_H_
