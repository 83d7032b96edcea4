// What a checkpoint declares about the quantization of its weights, in any dialect. src/formats fills it, and
// src/weights computes bytes from it.
#pragma once

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
  std::uint64_t millibits = 0;    // 1000 * bits if the checkpoint gives its own; 0: the type's own
  std::uint64_t group_size = 0;   // 0: the type's own
  std::uint64_t zero_bits = 0;    // bits of a group's zero point; 0: the type's own
  std::uint64_t tensor_bits = 0;  // additional bits of a matrix (codebooks); 0: the type's own
  std::uint64_t block_rows = 0, block_columns = 0;
  bool has_zero_points = true;
  bool is_symmetric = true;  // GPTQ's sym; its files have zero points in both cases
  bool double_quantized = true;
  bool has_fp4_activations = false;  // kernels multiply FP4 by FP4
  friend auto operator<=>(const WeightScheme&, const WeightScheme&) = default;
};

// Modules that match are stored in this scheme; nullopt: they are not quantized.
struct SchemeRule {
  std::string pattern;  // exact, suffix, glob, or "re:..."
  std::optional<WeightScheme> scheme;
  std::string_view list = {};  // the config key of the list that it is from, a literal: "ignore"
};

struct QuantDeclaration {
  std::string dialect;  // quant_method, as the file spells it: "gptq"; empty if none is declared
  bool is_known = true;
  bool names_method = true;    // there is a quant_method or hf_quant_config.json's tag: without one some engines
                               // see no quantization
  bool has_embedding = false;  // the embedding is packed too (MLX)
  bool has_head = false;
  bool experts_only = false;
  std::optional<WeightScheme> scheme;         // of linear layers that no rule matches
  std::optional<WeightScheme> expert_scheme;  // of routed experts if it differs (DeepSeek-V4: expert_dtype)
  std::optional<WeightScheme> head_scheme;    // EXL2, EXL3
  std::vector<SchemeRule> rules;              // the first that matches decides
  friend bool is_declared(const QuantDeclaration& q) { return !q.dialect.empty(); }
};

// How an engine's kernels store MXFP4 experts. They pad the inner and outer width to multiples of these numbers. If the
// inner multiple is 0, that width is not padded and a partial block has no scale. If second_scale_rows is not 0, a
// second copy of the scales in the kernel's order stays next to the loaded ones, with rows in multiples of it, and the
// biases are float32.
struct Mxfp4Layout {
  std::uint64_t width = 1, hidden = 1, second_scale_rows = 0;
  friend bool operator==(const Mxfp4Layout&, const Mxfp4Layout&) = default;
};

}  // namespace kvplan
