#include "cli/engine_options.h"

#include <algorithm>
#include <array>

#include "kvplan/error.h"
#include "kvplan/strings.h"

namespace kvplan {

namespace {

constexpr std::string_view kLlama = "llama.cpp ollama";
constexpr std::string_view kVllm = "vllm";

constexpr std::array kOptions{
    EngineOption{"--block-size", "vllm sglang tensorrt-llm mistralrs", true},
    EngineOption{"--enable-prefix-caching", kVllm},
    EngineOption{"--mamba-cache-mode", kVllm},
    EngineOption{"--disable-hybrid-kv-cache-manager", kVllm},
    EngineOption{"--enforce-eager", "vllm sglang"},
    EngineOption{"--mamba-ssm-cache-dtype", "vllm sglang tensorrt-llm", true},
    EngineOption{"--decode-context-parallel-size", kVllm},
    EngineOption{"--enable-dp-attention", "sglang"},
    EngineOption{"--enable-expert-parallel", "vllm sglang tensorrt-llm", true},
    EngineOption{"--cpu-offload-gb", "vllm sglang"},
    EngineOption{"--kv-offloading-size", kVllm},
    EngineOption{"--swap-space", kVllm},
    EngineOption{"--batch", kLlama},
    EngineOption{"--ubatch-size", kLlama},
    EngineOption{"--kv-unified", kLlama},
    EngineOption{"--swa-full", kLlama},
    EngineOption{"--flash-attn", kLlama},
    EngineOption{"--n-gpu-layers", kLlama},
    EngineOption{"--no-kv-offload", kLlama},
    EngineOption{"--tensor-split", kLlama},
    EngineOption{"--tool", kLlama},
    EngineOption{"--cache-implementation", "transformers"},
    EngineOption{"--max-kv-size", "mlx"},
    EngineOption{"--n-cpu-moe", kLlama},
    EngineOption{"--cpu-moe", kLlama},
    EngineOption{"--override-tensor", kLlama},
    EngineOption{"--cache-type-k", kLlama, true},
    EngineOption{"--cache-type-v", kLlama, true},
    EngineOption{"--ctx-size-draft", "llama.cpp", true},
    EngineOption{"--cache-type-k-draft", "llama.cpp", true},
    EngineOption{"--cache-type-v-draft", "llama.cpp", true},
    EngineOption{"--speculative-num-draft-tokens", "sglang"},
    EngineOption{"--enable-lora", "vllm sglang tensorrt-llm", true},
    EngineOption{"--max-loras", "vllm sglang tensorrt-llm", true},
    EngineOption{"--max-lora-rank", "vllm sglang tensorrt-llm", true},
    EngineOption{"--max-cpu-loras", "vllm sglang tensorrt-llm", true},
    EngineOption{"--lora-targets", "vllm sglang tensorrt-llm", true},
    EngineOption{"--fully-sharded-loras", kVllm},
    EngineOption{"--limit-mm-per-prompt", kVllm},
    EngineOption{"--language-model-only", kVllm},
    EngineOption{"--mamba-scheduler-strategy", "sglang"},
    EngineOption{"--disable-radix-cache", "sglang"},
    EngineOption{"--swa-full-tokens-ratio", "sglang"},
    EngineOption{"--mamba-full-memory-ratio", "sglang"},
    EngineOption{"--max-mamba-cache-size", "sglang"},
    EngineOption{"--max-total-tokens", "sglang"},
    EngineOption{"--disable-hybrid-swa-memory", "sglang"},
    EngineOption{"--cuda-graph-max-bs", "sglang"},
    EngineOption{"--attention-backend", "sglang"},
};

}  // namespace

std::span<const EngineOption> engine_options() {
  return kOptions;
}

std::string check_engine_option(std::string_view option, std::span<const std::string> chosen) {
  for (const EngineOption& row : kOptions) {
    if (row.option != option) continue;
    if (std::any_of(chosen.begin(), chosen.end(),
                    [&](const std::string& engine) { return has_word(row.engines, engine); }))
      return {};
    std::string names;
    for (const char c : row.engines) names += c == ' ' ? std::string(", ") : std::string(1, c);
    const bool logical = std::any_of(chosen.begin(), chosen.end(), [](const auto& name) { return name == "logical"; });
    if (logical && (row.logical_too || chosen.size() > 1)) return {};
    if (logical)
      return std::string(option) + " belongs to " + names + " and changes nothing here: name the engine with --engine";
    fail(std::string(option) + ": " + chosen.front() + " has no such option", "it belongs to " + names);
  }
  return {};
}

std::string_view implied_engine(std::string_view model) {
  if (model.starts_with("ollama:")) return "ollama";
  return model.ends_with(".gguf") || model.starts_with("llama.cpp:") ? "llama.cpp" : "";
}

}  // namespace kvplan
