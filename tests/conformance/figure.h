// A figure from an engine's own code, and kvplan's figure.
#pragma once

#include <array>
#include <cstddef>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace kvplan::conformance {

using Json = nlohmann::ordered_json;

// A request to an engine, in the terms that known errors match.
struct Case {
  std::string engine, release;
  std::string model;        // a config's name, "default/TYPE", the name of a GGUF file
  std::string type;         // model_type of the decoder, or the architecture of a GGUF
  std::string settings;     // "h100 tp2 {...}", "x1 n_ctx=8192 n_outputs=1"
  std::string root_type{};  // model_type of the whole file
};

struct Figure {
  std::string name;
  std::optional<double> truth{};    // nothing: the engine refuses the case
  std::optional<double> planned{};  // nothing: kvplan has no plan, or the plan lacks this figure
  double tolerance = 0;             // uncertainty from the digits that the engine prints, or from how its pools count
  bool refused = false;             // kvplan refused explicitly
  std::string detail{};             // which of several figures: "20 GiB", "5000 tokens", "CUDA1"
  std::string words{};              // the engine's message, if it refuses
  std::optional<std::pair<double, double>> range{};  // the plan's range, if the figure is an estimate

  bool is_exact() const;
  // (planned - truth) / truth; infinite if the truth is 0; nothing if one of them is not a number.
  std::optional<double> off() const;
  // The first of kBands that contains the figure.
  std::size_t band() const;
  bool in_range() const { return range && range->first <= *truth && *truth <= range->second; }
};

// How far a plan is off: exact to the last digit, off by at most a bound, off by more, or without a figure.
struct Band {
  std::string_view name;
  double most;
};
inline constexpr std::array kBands{Band{"equal", 0},  Band{"0.01 %", 1e-4}, Band{"0.5 %", 0.005}, Band{"1 %", 0.01},
                                   Band{"5 %", 0.05}, Band{"20 %", 0.2},    Band{"more", 1e300},  Band{"no figure", 0}};

}  // namespace kvplan::conformance
