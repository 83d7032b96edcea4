#include "engines/sglang/sglang.h"

#include <algorithm>
#include <string>
#include <string_view>

#include "engines/estimates.h"
#include "engines/sglang/class_table.h"
#include "engines/sglang/rules.h"
#include "kvplan/gpus.h"
#include "kvplan/strings.h"

namespace kvplan {

constexpr std::string_view kOfGptOss = "triton trtllm_mha fa3 fa4 ascend intel_amx intel_xpu aiter";

constexpr std::string_view kOfExaone = "fa3 triton trtllm_mha";

constexpr const char* kBlackwell = " is only supported on Blackwell GPUs. Please use a different backend.";

// What the backend does not support, in SGLang's words; empty if it supports everything.
static Template missing(const EngineInput& input, std::string_view name, std::uint32_t capability) {
  const std::uint32_t major = capability / 10;
  const bool has_latents = sglang_has_latents(input);
  const SglangRules rules = sglang_rules(input.request);
  const bool newer = rules.trtllm_beyond_sm100;
  if (sglang_class(input.model).is_gpt_oss && !has_word(kOfGptOss, name))
    return {"GptOssForCausalLM requires one of {backends} attention backend", {{"backends", kOfGptOss}}};
  if (has_word("trtllm_mla cutedsl_mla", name) && !has_latents)
    return {"{backend} backend can only be used with MLA models.", {{"backend", name}}};
  if (name == "trtllm_mha" && has_latents) return "trtllm_mha backend can only be used with non-MLA models.";
  if (capability == 0) return {};
  if (name == "fa3" && major != 9 && (major != 8 || has_latents))
    return "FlashAttention v3 Backend requires SM>=80 and SM<=90. Please use `--attention-backend flashinfer`.";
  if (name == "trtllm_mla" && major != 10 && major != 12) return Template("TRTLLM MLA backend") + kBlackwell;
  const bool is_tokenspeed = name == "tokenspeed_mla" && !rules.tokenspeed_is_cutedsl;
  if (is_tokenspeed && major != 10 && major != 12)
    return "tokenspeed_mla backend is only supported on Blackwell GPUs (SM100/SM12x).";
  if (is_tokenspeed && input.types.key == input.types.model)
    return "tokenspeed_mla backend requires kv-cache-dtype=fp8_e4m3.";
  if (has_word("cutedsl_mla tokenspeed_mla", name) && !is_tokenspeed && major != 10)
    return Template("CuteDSL MLA backend") + kBlackwell;
  const bool has_trtllm = major == 10 || (newer && (major == 9 || major == 12));
  if (name == "trtllm_mha" && !has_trtllm)
    return newer ? Template("TRTLLM MHA backend for prefill requires Hopper (SM90), Blackwell (SM100), or SM120 GPUs.")
                 : Template("TRTLLM MHA backend") + kBlackwell;
  return {};
}

using Found = std::optional<Refusal>;

// EXAONE-4 with windows. Releases without a default backend for it check before they choose one.
static Found exaone(const EngineInput& input, std::uint32_t capability) {
  const SglangRules rules = sglang_rules(input.request);
  if (!rules.exaone_backends || !sglang_class(input.model).checks_backend || !has_windows(input)) return std::nullopt;
  // Since 0.5.22, transformers' name for it is on the list too.
  if (!rules.exaone_default && sglang_class(input.model).checked_since_default) return std::nullopt;
  std::string_view backend = input.request.extras.attention_backend;
  const bool usual = capability == 0 || capability / 10 == 8 || capability / 10 == 9 || capability / 10 == 10;
  if (backend.empty() && rules.exaone_default && usual) return std::nullopt;
  if (backend.empty()) backend = rules.exaone_default ? "fa3" : "None";
  if (has_word(kOfExaone, backend) && (backend != "fa3" || capability < 100)) return std::nullopt;
  return Refusal{"attention_backend",
                 {"One of the attention backends in {backends} is required for {architecture}, but got {backend}",
                  {{"backends", kOfExaone}, {"architecture", input.model.architecture}, {"backend", backend}}},
                 "use --attention-backend triton"};
}

// The model's is_mla: one term for keys, and no values.
bool sglang_has_latents(const EngineInput& input) {
  return std::any_of(input.caches.begin(), input.caches.end(), [](const LayerCache& cache) {
    const auto has = [&](Role role) {
      return any_term(cache.compact,
                      [&](const Term& term) { return term.role == role && term.growth == Growth::kToken; });
    };
    return has(Role::kKey) && !has(Role::kValue);
  });
}

// handle_attention_backend_compatibility (arg_groups/attention_hook.py; server_args.py of 0.5.8), and the factories of
// layers/attention/attention_registry.py.
std::optional<Refusal> sglang_backend_refusal(const EngineInput& input, std::uint32_t capability) {
  const std::string& name = input.request.extras.attention_backend;
  if (Found found = exaone(input, capability)) return found;
  if (name.empty()) return std::nullopt;
  Template why = missing(input, name, capability);
  if (why.empty()) return std::nullopt;
  return Refusal{"attention_backend", std::move(why), "leave --attention-backend out: SGLang chooses one that fits"};
}

// _mla_backend_page_constraints, _fa4_page_constraint.
std::optional<std::uint64_t> sglang_backend_page(const EngineInput& input) {
  const std::string& name = input.request.extras.attention_backend;
  if (name.empty()) return std::nullopt;
  if (has_word("flashmla trtllm_mla cutedsl_mla trtllm_mha hpc_ops", name)) return 64;
  const SglangRules rules = sglang_rules(input.request);
  if (name == "cutlass_mla" && rules.cutlass_pages_of_128) return 128;
  if (name == "fa4" && rules.fa4_pages_of_128 && sglang_on_blackwell(input.request) && !sglang_has_latents(input))
    return 128;
  return 1;
}

}  // namespace kvplan
