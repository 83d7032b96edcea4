#include <algorithm>
#include <vector>

#include "engines/engine.h"
#include "engines/log_lines.h"

namespace kvplan {

namespace {

// The engine to plan with for a program that kvplan does not plan.
struct OtherProgram {
  std::string_view name, title, engine;
  EngineLog (*log)();
};
constexpr OtherProgram kOthers[] = {
    {"koboldcpp", "koboldcpp", "llama.cpp", koboldcpp_log},
    {"lm-studio", "LM Studio", "llama.cpp", lm_studio_log},
    {"lmdeploy", "lmdeploy", "", lmdeploy_log},
    {"tgi", "TGI (text-generation-inference)", "", tgi_log},
    // A log that is cut, so that it has no line of only one engine.
    {"", "a Python program with PyTorch", "", transformers_log},
};

// The log may have only a server's message.
constexpr RemedyRule kUnnamedRemedies[] = {
    {LogEventId::kOutOfMemory,
     "dtype=torch.bfloat16 (or float16) | in from_pretrained, which loads float32 before transformers 5; an Int4 "
     "checkpoint "
     "(AWQ, GPTQ) or load_in_4bit | a quarter of the 16-bit weights; --gpu-memory-utilization (vLLM) or "
     "--mem-fraction-static (SGLang), lower | for a server: memory outside the KV cache; more GPUs (-tp, "
     "device_map=\"auto\") | splits weights and cache"},
};

std::vector<LogProgram> programs() {
  static const std::vector<EngineLog> logs = [] {
    std::vector<EngineLog> out;
    for (const OtherProgram& other : kOthers) out.push_back(other.log());
    out.back().events = {};  // transformers logs them as events
    out.back().remedies = kUnnamedRemedies;
    return out;
  }();
  std::vector<LogProgram> out;
  for (const Engine& engine : engines())
    if (!engine.is_logical) out.push_back({engine.name, engine.name, &engine.log, &engine, true});
  for (std::size_t i = 0; i < std::size(kOthers); ++i)
    out.push_back({kOthers[i].name, kOthers[i].title, &logs[i],
                   kOthers[i].engine.empty() ? nullptr : engine_named(kOthers[i].engine), false});
  return out;
}

}  // namespace

std::span<const LogProgram> log_programs() {
  static const std::vector<LogProgram> all = programs();
  return all;
}

const LogProgram* log_program(std::string_view name) {
  const auto all = log_programs();
  const auto found = std::find_if(all.begin(), all.end(), [&](const LogProgram& one) { return one.name == name; });
  return found == all.end() ? nullptr : &*found;
}

}  // namespace kvplan
