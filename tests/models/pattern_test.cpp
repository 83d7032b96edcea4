#include "models/pattern.h"

#include <doctest/doctest.h>

#include <string>

#include "kvplan/error.h"

namespace kvplan {
namespace {

// One letter for each layer: F full, S sliding, C chunked, R recurrent, H both, - none.
std::string letters(const std::vector<Label>& labels) {
  std::string out;
  for (const Label label : labels) {
    switch (label) {
      case Label::kFull: out += 'F'; break;
      case Label::kSliding: out += 'S'; break;
      case Label::kChunked: out += 'C'; break;
      case Label::kRecurrent: out += 'R'; break;
      case Label::kHybrid: out += 'H'; break;
      case Label::kNone: out += '-'; break;
      default: out += '?'; break;
    }
  }
  return out;
}

constexpr PatternRule kRecurrentOther{PatternRule::Default::kAllFull, 0, Label::kRecurrent};

TEST_CASE("one pattern of layers, spelled in a dozen ways") {
  struct Row {
    const char* config;
    std::uint64_t layers;
    PatternRule rule;
    const char* letters;
  };
  using Default = PatternRule::Default;
  const Row rows[] = {
      {R"({"layer_types": ["sliding_attention", "full_attention", "chunked_attention"]})", 3, {}, "SFC"},
      {R"({"layer_types": ["linear_attention", "full_attention", "mamba"]})", 2, {}, "RF"},  // longer lists are cut
      {R"({"layers_block_type": ["mamba", "hybrid", "attention", "moe"]})", 4, {}, "RHF-"},
      {R"({"hybrid_override_pattern": "M-M|*-E"})", 6, {}, "R-RF--"},
      {R"({"hybrid_layer_pattern": [0, 1, 1, 0]})", 4, {}, "FSSF"},
      {R"({"attn_type_list": [0, 0, 1]})", 3, {}, "RRF"},
      {R"({"block_types": ["recurrent", "recurrent", "attention"]})", 5, {}, "RRSRR"},
      {R"({"attention_types": [[["global", "local"], 2]]})", 4, {}, "FSFS"},
      {R"({"attention_layers": ["global", "local"]})", 2, {}, "FS"},
      {R"({"full_attn_idxs": [1, 3]})", 4, {}, "RFRF"},
      {R"({"attn_layer_indices": [2]})", 4, {}, "RRFR"},
      {R"({"linear_attn_config": {"kda_layers": [1, 2, 4], "full_attn_layers": [3]}})", 4, {}, "RRFR"},
      {R"({"full_attention_interval": 4})", 8, kRecurrentOther, "RRRFRRRF"},
      {R"({"attn_layer_period": 4, "attn_layer_offset": 1})", 6, {}, "RFRRRF"},
      {R"({"sliding_window_pattern": 3})", 7, {}, "SSFSSFS"},
      {R"({"sliding_window_pattern": "LLG"})", 7, {}, "SSFSSFS"},
      {R"({"layer_group_size": 3})", 8, {}, "RRFRRFFF"},
      {"{}", 4, {Default::kAllFull}, "FFFF"},
      {"{}", 4, {Default::kWindowEverywhere}, "SSSS"},
      {"{}", 6, {Default::kFullEvery, 3}, "SSFSSF"},
      {"{}", 6, {Default::kFullFirstOf, 3}, "FSSFSS"},
      {"{}", 4, {.fallback = Default::kFullEvery, .period = 3, .last_full = true}, "SSFF"},
      {R"({"use_sliding_window": true, "max_window_layers": 2})", 4, {Default::kQwen}, "FFSS"},
      {R"({"use_sliding_window": false, "max_window_layers": 2})", 4, {Default::kQwen}, "FFFF"},
      // The list takes precedence over all other keys.
      {R"({"layer_types": ["full_attention", "full_attention"], "sliding_window_pattern": 2})", 2, {}, "FF"},
  };
  for (const Row& row : rows) {
    CAPTURE(row.config);
    CHECK(letters(layer_labels(Fields::parse(row.config), row.layers, row.rule)) == row.letters);
  }
}

TEST_CASE("wrong patterns are refused") {
  const auto exit_of = [](const char* text) {
    try {
      layer_labels(Fields::parse(text), 4, {});
    } catch (const Error& error) {
      return error.code();
    }
    return Exit::kAnswered;
  };
  CHECK(exit_of(R"({"layer_types": ["full_attention"]})") == Exit::kBadInput);
  CHECK(exit_of(R"({"layer_types": ["full_attention", "full_attention", "full_attention", "warp"]})") ==
        Exit::kUnknownArchitecture);
  CHECK(exit_of(R"({"hybrid_override_pattern": "MMXM"})") == Exit::kUnknownArchitecture);
  CHECK(exit_of(R"({"hybrid_layer_pattern": [0]})") == Exit::kBadInput);
  CHECK(exit_of(R"({"attention_types": [["global", 12]]})") == Exit::kBadInput);
  CHECK(exit_of(R"({"attention_types": [[["global"], 1000000000000]]})") == Exit::kBadInput);
}

}  // namespace
}  // namespace kvplan
