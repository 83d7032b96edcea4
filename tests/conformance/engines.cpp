#include "conformance/engines.h"

#include <fmt/format.h>

#include <stdexcept>

#include "kvplan/strings.h"

namespace kvplan::conformance {

namespace {

Json config_of(const Json& row) {
  return row.at("config");
}

// transformers' rows have the name of a class default in their id.
std::string no_settings(const Json&) {
  return "";
}

Json gguf_of(const Json& row) {
  return row.at("model").get<std::string>() + ".gguf";
}

constexpr std::array kEngines{EngineRows{"transformers", config_of, no_settings, transformers_figures},
                              EngineRows{"vllm", config_of, vllm_settings, vllm_figures},
                              EngineRows{"sglang", config_of, sglang_settings, sglang_figures},
                              EngineRows{"mlx", config_of, no_settings, mlx_figures},
                              EngineRows{"llama.cpp", gguf_of, llama_cpp_settings, llama_cpp_figures}};

}  // namespace

const EngineRows& engine_rows(std::string_view engine) {
  for (const EngineRows& each : kEngines)
    if (each.engine == engine) return each;
  throw std::runtime_error("rows of an engine that nothing here reads: " + std::string(engine));
}

Figure refusal(const std::string& name, const Reply& reply) {
  Figure out{.name = name};
  out.refused = reply.is_refused();
  if (reply.is_report() && !out.refused) out.planned = 1;
  return out;
}

Figure start(const Json& row, const Reply& reply, std::string_view later) {
  Figure out = refusal("starts", reply);
  if (!row.contains("refused") && out.refused && has_word(later, reply.refusal_code())) {
    out.refused = false;
    out.planned = 1;
  }
  if (row.contains("refused"))
    out.words = row["refused"];
  else
    out.truth = 1;
  return out;
}

std::string text(double number) {
  return fmt::format("{}", number);
}

}  // namespace kvplan::conformance
