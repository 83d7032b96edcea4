#include <algorithm>
#include <array>
#include <charconv>

#include "engines/capacity.h"
#include "engines/engine.h"
#include "kvplan/error.h"
#include "kvplan/strings.h"

namespace kvplan {

// To add an engine, add its row. The first row is the default.
static const auto& table() {
  static const std::array kEngines{logical_engine(),   vllm_engine(),         sglang_engine(),
                                   llama_cpp_engine(), transformers_engine(), tensorrt_llm_engine(),
                                   mlx_engine(),       mistralrs_engine(),    ollama_engine()};
  return kEngines;
}

// "0.20" -> 20, "1.3" -> 1003; nothing for text that is not a version.
static std::optional<std::uint64_t> version_number(std::string_view text) {
  std::uint64_t major = 0;
  std::uint64_t minor = 0;
  const char* end = text.data() + text.size();
  // A build of llama.cpp ("b6900") counts as older than its first version.
  if (text.size() > 1 && text.front() == 'b') {
    const auto [rest, error] = std::from_chars(text.data() + 1, end, minor);
    return error == std::errc() && rest == end ? std::optional<std::uint64_t>(0) : std::nullopt;
  }
  auto [after, error] = std::from_chars(text.data(), end, major);
  if (error != std::errc() || major > 100000) return std::nullopt;
  if (after == end) return major * 1000;
  if (*after != '.') return std::nullopt;
  auto [rest, error2] = std::from_chars(after + 1, end, minor);
  if (error2 != std::errc() || minor > 999) return std::nullopt;
  // engine_patch() reads the patch level ("0.20.1").
  for (const char* c = rest; c != end; ++c)
    if (*c != '.' && (*c < '0' || *c > '9')) return std::nullopt;
  return major * 1000 + minor;
}

// "v0.5.0", as projects tag it, without the letter.
static std::string_view without_letter(std::string_view version) {
  const bool tagged = version.size() > 1 && version[0] == 'v' && version[1] >= '0' && version[1] <= '9';
  return tagged ? version.substr(1) : version;
}

std::vector<CacheBuffer> CacheLayout::buffers(const Load& load, std::size_t rank) const {
  std::vector<CacheBuffer> out;
  const std::vector<RankCache> ranks = explain(load);
  if (rank < ranks.size())
    for (const LedgerLine& line : ranks[rank].lines)
      if (line.bytes > Bytes(0)) out.push_back({line.what, "one buffer", line.bytes});
  return out;
}

std::vector<Bytes> CacheLayout::reserved_by_stage(const Load& load, std::uint64_t stages) const {
  const std::vector<RankCache> ranks = explain(load);
  const std::size_t per_stage = std::max<std::size_t>(1, ranks.size() / stages);
  std::vector<Bytes> out;
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    if (r / per_stage == out.size()) out.emplace_back(0);
    out.back() = std::max(out.back(), ranks[r].reserved);
  }
  return out;
}

Template CacheLayout::shortfall(Bytes budget, const Load& load) const {
  if (fits(budget, load)) return {};
  return too_small(std::max(reserved(load), budget), budget);
}

std::span<const Engine> engines() {
  return table();
}

namespace {

// Programs that kvplan does not plan, with what they are and what to use.
struct ProgramElsewhere {
  std::string_view names, what, remedy;
};
constexpr ProgramElsewhere kProgramsElsewhere[] = {
    {"ktransformers exllama exllamav2 exllamav3 tabbyapi lmdeploy tgi text-generation-inference aphrodite mlc mlc-llm "
     "ctranslate2 openvino lightllm deepspeed-mii max exo petals",
     "is an engine that kvplan does not plan for", ""},
    {"koboldcpp lmstudio lm-studio llamafile jan gpt4all llama-cpp-python localai ramalama text-generation-webui",
     "runs llama.cpp", "use --engine llama.cpp"},
    {"trl unsloth axolotl peft deepspeed megatron megatron-lm llama-factory torchtune verl accelerate",
     "trains models, and kvplan plans inference only",
     "for training use accelerate estimate-memory or DeepSpeed's estimators"},
    {"diffusers comfyui", "runs diffusion models, and kvplan plans language models",
     "see its memory guide; kvplan can plan a pipeline's text encoder"},
};

}  // namespace

const Engine& find_engine(std::string_view text, Request& request) {
  const auto at = text.find('@');
  const std::string_view wanted = text.substr(0, at);
  for (const Engine& engine : engines()) {
    if (engine.name != wanted && !has_word(engine.aliases, wanted)) continue;
    request.engine = &engine;
    request.engine_version = at == std::string_view::npos ? "" : std::string(without_letter(text.substr(at + 1)));
    if (at != std::string_view::npos && !version_number(request.engine_version))
      refuse("--engine: \"" + one_line(text, 40) + "\" has no version",
             "write for example " + std::string(engine.name) + "@" + std::string(engine.versions.back().version));
    return engine;
  }
  std::vector<std::string_view> known;
  for (const Engine& engine : engines()) known.push_back(engine.name);
  for (const auto& [names, what, remedy] : kProgramsElsewhere)
    if (has_word(names, lower(wanted)))
      refuse("--engine: " + one_line(wanted, 40) + " " + std::string(what),
             remedy.empty() ? "use one of " + join(known) : std::string(remedy));
  refuse("--engine: unknown engine \"" + one_line(text, 40) + "\"", nearest_remedy(wanted, known));
}

TensorCuts tensor_cuts(const Request& request) {
  const auto cuts = engine_of(request).parallel.cuts;
  return cuts != nullptr ? cuts(request) : TensorCuts{request.parallel.tensor, request.parallel.tensor};
}

std::optional<Dtype> loaded_dtype(const Request& request, const ModelTraits& traits, Dtype dtype) {
  if (request.dtype || dtype != Dtype::kFloat32 || !engine_of(request).loading.halves_float32) return request.dtype;
  return traits.overflows_float16 ? Dtype::kBfloat16 : Dtype::kFloat16;
}

std::uint64_t layout_copies(const Request& request) {
  constexpr std::string_view kWhat = "the number of ranks";
  return checked_mul(request.parallel.data, tensor_cuts(request).attention, kWhat) / request.parallel.tensor;
}

const Engine* engine_named(std::string_view name) {
  for (const Engine& engine : engines())
    if (engine.name == name) return &engine;
  refuse("unknown engine \"" + std::string(name) + "\"", "see kvplan engines");
}

const Engine& engine_of(const Request& request) {
  return request.engine != nullptr ? *request.engine : engines().front();
}

std::uint64_t engine_version(const Engine& engine, const Request& request) {
  const std::string_view text =
      request.engine_version.empty() ? engine.versions.back().version : std::string_view(request.engine_version);
  return version_number(text).value_or(0);
}

std::uint64_t engine_patch(const Request& request) {
  const std::string_view text = request.engine_version;
  const auto minor = text.find('.');
  const auto patch = minor == std::string_view::npos ? minor : text.find('.', minor + 1);
  return patch == std::string_view::npos ? kAnyCount : whole_number(text.substr(patch + 1)).value_or(kAnyCount);
}

bool runs_on(const Engine& engine, const Gpu& gpu) {
  constexpr std::string_view kMakers = "NVIDIA AMD Intel Apple";
  if (has_word(kMakers, gpu.vendor) && !has_word(engine.makers, gpu.vendor)) return false;
  return engine.supports == nullptr || engine.supports(gpu);
}

}  // namespace kvplan
