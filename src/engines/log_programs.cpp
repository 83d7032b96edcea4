#include <algorithm>
#include <vector>

#include "engines/engine.h"
#include "engines/log_lines.h"

namespace kvplan {

// other_logs/*.txt
std::span<const std::string_view> koboldcpp_log_lines();
std::span<const std::string_view> lm_studio_log_lines();
std::span<const std::string_view> lmdeploy_log_lines();
std::span<const std::string_view> tgi_log_lines();
std::span<const std::string_view> pytorch_log_lines();
std::span<const std::string_view> system_log_lines();

namespace {

// The engine to plan with for a program that kvplan does not plan.
struct OtherProgram {
  std::string_view name, title, engine;
  std::span<const std::string_view> (*log_lines)();
};
constexpr OtherProgram kOthers[] = {
    {"koboldcpp", "koboldcpp", "llama.cpp", koboldcpp_log_lines},
    {"lm-studio", "LM Studio", "llama.cpp", lm_studio_log_lines},
    {"lmdeploy", "lmdeploy", "", lmdeploy_log_lines},
    {"tgi", "TGI (text-generation-inference)", "", tgi_log_lines},
    // A log that is cut, so that it has no line of only one engine.
    {"", "a Python program with PyTorch", "", pytorch_log_lines},
};

std::vector<LogProgram> programs() {
  static const std::vector<EngineLog> logs = [] {
    std::vector<EngineLog> out;
    for (const Engine& engine : engines())
      if (!engine.is_logical) out.push_back(engine_log(engine.log));
    for (const OtherProgram& other : kOthers) out.push_back(engine_log({other.log_lines}));
    return out;
  }();
  std::vector<LogProgram> out;
  for (const Engine& engine : engines())
    if (!engine.is_logical) out.push_back({engine.name, engine.name, &logs[out.size()], &engine, true});
  for (const OtherProgram& other : kOthers)
    out.push_back({other.name, other.title, &logs[out.size()],
                   other.engine.empty() ? nullptr : engine_named(other.engine), false});
  return out;
}

}  // namespace

const EngineLog& system_log() {
  static const EngineLog log = engine_log({system_log_lines});
  return log;
}

std::span<const LogProgram> log_programs() {
  static const std::vector<LogProgram> all = programs();
  return all;
}

const EngineLog& log_of(const Engine& engine) {
  static const EngineLog none;
  const LogProgram* const program = log_program(engine.name);
  return program != nullptr ? *program->log : none;
}

const LogProgram* log_program(std::string_view name) {
  const auto all = log_programs();
  const auto found = std::find_if(all.begin(), all.end(), [&](const LogProgram& one) { return one.name == name; });
  return found == all.end() ? nullptr : &*found;
}

}  // namespace kvplan
