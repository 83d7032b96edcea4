// How the rows of each engine become figures: kvplan's request, and where its report has each figure. Every file starts
// with a table of these places. If the report changes, only the table needs editing.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "conformance/figure.h"
#include "conformance/planner.h"

namespace kvplan::conformance {

using Figures = std::vector<Figure>;

struct EngineRows {
  std::string_view engine;
  // The config or file of a row in the form that the planner needs.
  Json (*model)(const Json& row);
  // The rest of the request in one line, as known errors name it.
  std::string (*settings)(const Json& row);
  // `engine`: with the release, "vllm@0.33.0".
  Figures (*figures)(const Json& row, const std::string& engine, Planner& planner);
};

Figures transformers_figures(const Json& row, const std::string& engine, Planner& planner);
Figures vllm_figures(const Json& row, const std::string& engine, Planner& planner);
Figures sglang_figures(const Json& row, const std::string& engine, Planner& planner);
Figures mlx_figures(const Json& row, const std::string& engine, Planner& planner);
Figures llama_cpp_figures(const Json& row, const std::string& engine, Planner& planner);
std::string vllm_settings(const Json& row);
std::string sglang_settings(const Json& row);
std::string llama_cpp_settings(const Json& row);

const EngineRows& engine_rows(std::string_view engine);

// Whether the engine starts with a case at all; kvplan should refuse exactly the same cases. `later`: codes of
// refusals, separated by spaces. The engine makes these checks after the point where the harness stops.
Figure start(const Json& row, const Reply& reply, std::string_view later = "");
Figure refusal(const std::string& name, const Reply& reply);

std::string text(double number);  // "16384", "0.5"

}  // namespace kvplan::conformance
