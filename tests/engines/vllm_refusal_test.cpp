// What vLLM refuses, tested on the rule itself, for cases without a config in testdata.
#include "engines/vllm/vllm.h"

#include <doctest/doctest.h>

#include "engines/requests.h"
#include "models/read.h"
#include "plan/plan.h"
#include "support/figures.h"

namespace kvplan {
namespace {

// FP8 in blocks of 128 x 128, with experts of `width` and 64 heads.
EngineInput blocks_of(std::uint64_t width, std::uint64_t ranks, const std::string& engine = "vllm") {
  EngineInput input;
  input.request = request_for(engine, 4096);
  input.request.parallel.tensor = ranks;
  input.model.num_heads = 64;
  input.model.experts = {.count = 128, .used = 8, .width = width};
  input.model.quantization.dialect = "fp8";
  input.model.quantization.scheme = WeightScheme{.type = "fp8-block", .block_rows = 128, .block_columns = 128};
  return input;
}

std::string_view id_of(const EngineInput& input) {
  const auto found = vllm_refusal(input, {Tokens(4096), 1, Tokens(0)});
  return found ? found->id : std::string_view();
}

TEST_CASE("vllm refusals: FP8 blocks that the ranks would split") {
  // MiniMax-M2.5 (experts of 1,536) on 8 ranks, as executed: 192 is not a multiple of 128. 0.26 refuses it. 0.30 makes
  // blocks of 64, for which an A100 has no kernel.
  CHECK(id_of(blocks_of(1536, 4)).empty());
  CHECK(id_of(blocks_of(1536, 8, "vllm@0.26")) == "fp8_blocks");
  CHECK(id_of(blocks_of(1536, 8)).empty());
  EngineInput on = blocks_of(1536, 8);
  on.request.card.gpu = &parse_gpu("a100-80gb");
  CHECK(id_of(on) == "fp8_experts");
  on.request.parallel.expert = true;
  CHECK(id_of(on).empty());
  on = blocks_of(1536, 8);
  on.request.card.gpu = &parse_gpu("rtx-4090");
  CHECK(id_of(on).empty());
  // Blocks do not become smaller than 32.
  CHECK(id_of(blocks_of(1536, 32)) == "fp8_blocks");
  // A dense MLP does not get smaller blocks.
  EngineInput dense = blocks_of(0, 8);
  dense.model.experts = {};
  dense.model.intermediate_size = 1536;
  CHECK(id_of(dense) == "fp8_blocks");
  dense.model.intermediate_size = 2048;
  CHECK(id_of(dense).empty());
  dense.model.intermediate_size = 1536;
  dense.request.weights = "bfloat16";
  CHECK(id_of(dense).empty());
  // Neither does the MLP of the shared experts, which ranks split even if each has whole experts: DeepSeek-V4-Pro
  // (3,072) on 16 ranks (vllm-project/vllm#40955). If ranks divide the sequences, each has the whole MLP.
  EngineInput shared = blocks_of(3072, 16);
  TensorGroup gate;
  gate.component = Component::kSharedExperts;
  gate.rows = 3072;
  gate.split = Split::kRows;
  shared.model.tensors = {&gate, 1};
  shared.request.parallel.expert = true;
  CHECK(id_of(shared) == "fp8_blocks");
  shared.request.parallel.data = 2;
  CHECK(id_of(shared).empty());
  shared.request.parallel.tensor = 8;
  shared.request.parallel.data = 1;
  CHECK(id_of(shared).empty());
  // #46001 pads it, in 0.24 and on NVIDIA GPUs. The experts are in MXFP4, which has no such blocks.
  const auto padded = [&](const char* engine, const char* gpu, Arch arch = Arch::kDeepseekV4) {
    EngineInput input = blocks_of(3072, 16, engine);
    input.request.card.gpu = &parse_gpu(gpu);
    input.request.cache_type_k = Dtype::kFp8E4m3;
    input.types.key = Dtype::kFp8DsMla;
    input.model.arch = arch;
    input.model.tensors = {&gate, 1};
    input.model.quantization.expert_scheme = WeightScheme{.type = "mxfp4"};
    return id_of(input);
  };
  CHECK(padded("vllm@0.23", "h200") == "fp8_blocks");
  CHECK(padded("vllm@0.24", "h200").empty());
  CHECK(padded("vllm@0.24", "mi300x") == "fp8_blocks");
  // V4.1's class pads it on every GPU.
  CHECK(padded("vllm@0.33", "b200", Arch::kDeepseekV41).empty());
  CHECK(padded("vllm@0.33", "mi355x", Arch::kDeepseekV41).empty());
}

TEST_CASE("vllm refusals: groups and heads that ranks do not divide") {
  EngineInput input;
  input.request = request_for("vllm", 4096);
  input.model.num_heads = 64;
  input.model.state_groups = 8;
  input.request.parallel.tensor = 16;
  CHECK(id_of(input) == "state_groups");
  input.request.parallel.tensor = 8;
  CHECK(id_of(input).empty());
  // One group is repeated.
  input.model.state_groups = 1;
  input.request.parallel.tensor = 16;
  CHECK(id_of(input).empty());
  input.caches = {{0, "kind", heads(6, 128), {}}};
  input.request.parallel.tensor = 4;
  CHECK(id_of(input) == "kv_heads");
  input.request.parallel.tensor = 2;
  CHECK(id_of(input).empty());
  input.model.num_heads = 25;
  CHECK(id_of(input) == "attention_heads");
  // vLLM 0.33 refuses all-MiniLM-L6-v2, an encoder without a cache, on 8 ranks, and MTP for MiniMax-M2.
  EngineInput encoder;
  encoder.request = request_for("vllm", 512);
  const ConfigFact fact{.key = "num_attention_heads", .value = "12"};
  encoder.model.facts = {&fact, 1};
  encoder.request.parallel.tensor = 8;
  CHECK(id_of(encoder) == "attention_heads");
  encoder.request.parallel.tensor = 4;
  CHECK(id_of(encoder).empty());
  encoder.draft_method = DraftMethod::kMtp;
  encoder.model.num_nextn_layers = 3;
  CHECK(id_of(encoder).empty());
  encoder.model.architecture = "MiniMaxM2ForCausalLM";
  CHECK(id_of(encoder) == "mtp");
  input.request.parallel.tensor = 1;
  CHECK(id_of(input).empty());
}

TEST_CASE("vllm refusals: GPUs that do not support a quantization") {
  const auto on = [](const char* method, const char* type, const char* card, const char* engine = "vllm") {
    EngineInput input;
    input.request = request_for(engine, 4096);
    input.request.card.gpu = &parse_gpu(card);
    input.model.quantization.dialect = method;
    input.model.quantization.scheme = WeightScheme{.type = type};
    return id_of(input);
  };
  CHECK(on("modelopt", "fp8", "a100-80gb", "vllm@0.26") == "quantization");
  CHECK(on("modelopt", "fp8", "a100-80gb").empty());
  CHECK(on("modelopt", "fp8", "t4") == "quantization");
  CHECK(on("modelopt", "nvfp4", "t4").empty());
  CHECK(on("modelopt", "nvfp4", "v100-32gb", "vllm@0.20") == "quantization");
  CHECK(on("modelopt", "nvfp4", "h100-80gb", "vllm@0.8") == "quantization");
  CHECK(on("modelopt", "nvfp4", "h100-80gb", "vllm@0.9").empty());
  for (const char* method : {"mxfp4", "fbgemm_fp8", "experts_int8"}) {
    CHECK(on(method, "fp8", "t4") == "quantization");
    CHECK(on(method, "fp8", "a100-80gb").empty());
  }
  CHECK(on("modelopt", "mxfp8", "t4") == "quantization");
  CHECK(on("modelopt", "mxfp8", "a100-80gb").empty());
  for (const char* method : {"fp8", "awq", "torchao"}) {
    CHECK(on(method, "fp8", "t4").empty());
    CHECK(on(method, "fp8", "v100-32gb", "vllm@0.20") == "quantization");
  }
  CHECK(on("bitsandbytes", "bnb-nf4", "v100-32gb", "vllm@0.20").empty());
  CHECK(on("awq", "awq-int4", "v100-32gb", "vllm@0.20") == "quantization");
  CHECK(on("compressed-tensors", "int8", "v100-32gb", "vllm@0.20") == "quantization");
  CHECK(on("compressed-tensors", "int4", "t4", "vllm@0.11") == "quantization");
  CHECK(on("compressed-tensors", "int4", "t4", "vllm@0.12").empty());
  CHECK(on("gptq", "gptq-int4", "v100-32gb", "vllm@0.20").empty());
  // AutoGPTQConfig.TYPE_MAP (0.22). Genz-70B-GPTQ, in 3 bits, is refused by 0.33.
  CHECK(on("gptq", "gptq-int3", "h100-80gb", "vllm@0.21").empty());
  CHECK(on("gptq", "gptq-int3", "h100-80gb", "vllm@0.22") == "quantization");
  CHECK(on("gptq", "gptq-int2", "h100-80gb") == "quantization");
  CHECK(on("gptq", "gptq-int4", "h100-80gb").empty());
  CHECK(on("gptq", "gptq-int8", "h100-80gb").empty());
  const auto gptq = [](const char* sym, const char* engine) {
    EngineInput input;
    input.request = request_for(engine, 4096);
    input.request.card.gpu = &parse_gpu("h100-80gb");
    input.model.quantization = parse_model(R"({"model_type":"llama","hidden_size":4096,"num_hidden_layers":2,
        "num_attention_heads":32,"intermediate_size":11008,"vocab_size":32000,"quantization_config":
        {"quant_method":"gptq","bits":4,"group_size":128,"sym":)" +
                                           std::string(sym) + "}}")
                                   .quantization;
    return id_of(input);
  };
  CHECK(gptq("false", "vllm@0.21").empty());
  CHECK(gptq("false", "vllm@0.22") == "quantization");
  CHECK(gptq("true", "vllm@0.22").empty());
  // For any weights: 7.0 until 0.20, 7.5 since then.
  CHECK(on("", "", "gtx-1080-ti", "vllm@0.20") == "card");
  CHECK(on("", "", "v100-32gb", "vllm@0.20").empty());
  CHECK(on("", "", "v100-32gb", "vllm@0.21") == "card");
  CHECK(on("fp8", "fp8", "mi300x").empty());
}

TEST_CASE("vllm refusals: experts for which a release has no kernel on a GPU") {
  const auto on = [](const char* type, Arch arch, const char* card, const char* engine) {
    EngineInput input;
    input.request = request_for(engine, 4096);
    input.request.card.gpu = &parse_gpu(card);
    input.model.arch = arch;
    input.model.experts = {.count = 128, .used = 8, .width = 1536};
    input.model.quantization.dialect = std::string_view(type) == "nvfp4" ? "modelopt" : "fp8";
    input.model.quantization.scheme = WeightScheme{.type = type};
    return id_of(input);
  };
  // Qwen3-30B-A3B-FP8 on an A100 (vllm-project/vllm#17764) and its cure, Marlin in 0.9.
  CHECK(on("fp8", Arch::kQwen, "a100-80gb", "vllm@0.8") == "quantization");
  CHECK(on("fp8", Arch::kQwen, "a100-80gb", "vllm@0.9").empty());
  CHECK(on("fp8", Arch::kQwen, "l40s", "vllm@0.8").empty());
  // NVFP4 and blocks of FP8 on GeForce Blackwell: #21309 and #22131, in 0.10.1.
  CHECK(on("nvfp4", Arch::kQwen, "rtx-5090", "vllm@0.10") == "quantization");
  CHECK(on("nvfp4", Arch::kQwen, "b200", "vllm@0.10").empty());
  CHECK(on("nvfp4", Arch::kQwen, "rtx-5090", "vllm@0.10.1").empty());
  CHECK(on("fp8", Arch::kQwen, "rtx-5090", "vllm@0.10").empty());
  // With FP4 activations compressed-tensors has no scheme in 0.9.0, and CUTLASS's kernel from 0.9.1 on.
  const auto both_fp4 = [](const char* card, const char* engine) {
    EngineInput input;
    input.request = request_for(engine, 4096);
    input.request.card.gpu = &parse_gpu(card);
    input.model.quantization.dialect = "compressed-tensors";
    input.model.quantization.scheme = WeightScheme{.type = "nvfp4", .has_fp4_activations = true};
    return id_of(input);
  };
  CHECK(both_fp4("b200", "vllm@0.9") == "quantization");
  CHECK(both_fp4("b200", "vllm@0.9.1").empty());
  CHECK(both_fp4("rtx-5090", "vllm@0.10") == "quantization");
  CHECK(both_fp4("rtx-5090", "vllm@0.10.1").empty());
  // MiniMax-M2.1-NVFP4 (#33416), Nemotron-3-Nano-NVFP4 (#35065), whose experts have no gate, DeepSeek-V4-NVFP4
  // (#45661).
  CHECK(on("nvfp4", Arch::kMinimax, "rtx-pro-6000", "vllm@0.15") == "quantization");
  CHECK(on("nvfp4", Arch::kMinimax, "rtx-pro-6000", "vllm@0.15.1").empty());
  CHECK(on("nvfp4", Arch::kNemotronH, "rtx-5090", "vllm@0.15") == "quantization");
  CHECK(on("nvfp4", Arch::kNemotronH, "rtx-5090", "vllm@0.15.1").empty());
  CHECK(on("nvfp4", Arch::kNemotronH, "h100-80gb", "vllm@0.15.1") == "quantization");
  CHECK(on("nvfp4", Arch::kNemotronH, "h100-80gb", "vllm@0.16").empty());
  CHECK(on("nvfp4", Arch::kMinimaxM3, "rtx-pro-6000", "vllm@0.23") == "quantization");
  CHECK(on("nvfp4", Arch::kMinimaxM3, "b200", "vllm@0.23").empty());
  CHECK(on("nvfp4", Arch::kMinimaxM3, "rtx-pro-6000", "vllm@0.24").empty());
}

TEST_CASE("vllm refusals: a class that a release does not have yet, or no longer has") {
  const auto on = [](const char* name, const char* engine) {
    EngineInput input;
    input.request = request_for(engine, 4096);
    input.model.architecture = name;
    const auto found = vllm_refusal(input, {Tokens(4096), 1, Tokens(0)});
    return found ? in_words(found->words) : std::string();
  };
  // models/registry.py of the wheels.
  CHECK(on("Qwen3_5ForConditionalGeneration", "vllm@0.12") ==
        "vLLM 0.12 has no Qwen3_5ForConditionalGeneration: it came with 0.17");
  CHECK(on("Qwen3_5ForConditionalGeneration", "vllm@0.17").empty());
  CHECK(on("Phi3SmallForCausalLM", "vllm@0.9").empty());
  CHECK(on("Phi3SmallForCausalLM", "vllm@0.12") ==
        "vLLM 0.12 no longer has Phi3SmallForCausalLM: it was dropped in 0.10");
  // transformers' code runs it since vLLM dropped its own class.
  CHECK(on("MllamaForConditionalGeneration", "vllm@0.12").empty());
  CHECK(on("LlamaForCausalLM", "vllm@0.6").empty());
}

// kvplan verify with 0.33: "Model architectures ['CodeGenForCausalLM'] are not supported for now."
TEST_CASE("vllm refusals: a class that neither vLLM nor its way to transformers has") {
  EngineInput input;
  input.request = request_for("vllm", 4096);
  for (const char* name : {"CodeGenForCausalLM", "GPTNeoForCausalLM", "LongT5ForConditionalGeneration"}) {
    input.model.architecture = name;
    CHECK(id_of(input) == "architecture");
  }
  input.model.architecture = "GPTNeoXForCausalLM";
  CHECK(id_of(input).empty());
}

TEST_CASE("vllm refusals: an FP8 cache if the class or the GPU has no kernel") {
  const auto on = [](Arch arch, const char* card, const char* engine, bool declared) {
    EngineInput input;
    input.request = request_for(engine, 4096);
    input.request.card.gpu = &parse_gpu(card);
    input.model.arch = arch;
    input.types.key = input.types.value = Dtype::kFp8E4m3;
    if (declared) input.model.declared_kv_dtype = Dtype::kFp8E4m3;
    Term index = term_of(Role::kKey, 1, 128);
    index.role = Role::kIndex;
    input.caches = {{0, "kind", {term_of(Role::kKey, 1, 192), index}, {}}};
    return id_of(input);
  };
  // GLM-5.1-NVFP4 declares FP8. Before 0.30 no Hopper kernel supports it without the packed layout.
  CHECK(on(Arch::kGlmMoeDsa, "h100-80gb", "vllm@0.26", true) == "no_kernel");
  CHECK(on(Arch::kGlmMoeDsa, "h100-80gb", "vllm@0.29", true) == "no_kernel");
  CHECK(on(Arch::kGlmMoeDsa, "h100-80gb", "vllm@0.30", true).empty());
  CHECK(on(Arch::kGlmMoeDsa, "b200", "vllm@0.26", true).empty());
  CHECK(on(Arch::kMimoV2, "b200", "vllm@0.33", false) == "no_fp8_cache");
  CHECK(on(Arch::kMimoV2, "a100-80gb", "vllm@0.33", false) == "no_fp8_cache");
  CHECK(on(Arch::kMimoV2, "h100-80gb", "vllm@0.33", false).empty());
}

// supports_kv_cache_dtype, supports_compute_capability, supports_sink and get_supported_head_sizes of the backends in
// the wheels; the threads that are named saw the refusals.
TEST_CASE("vllm refusals: a layer needs an attention backend that supports its cache on the GPU") {
  struct Asked {
    std::string_view backend = {};
    std::uint64_t width = 128;
    Arch arch = Arch::kLlama;
  };
  const auto on = [](const char* engine, const char* card, Dtype type, Asked asked = {}) {
    EngineInput input;
    input.request = request_for(engine, 4096);
    input.request.card.gpu = &parse_gpu(card);
    input.request.dtype = Dtype::kFloat16;
    input.request.extras.attention_backend = asked.backend;
    input.model.arch = asked.arch;
    input.types.key = input.types.value = type;
    input.caches = {{0, "kind", {term_of(Role::kKey, 1, asked.width)}, {}}};
    return id_of(input);
  };
  constexpr Dtype k16 = Dtype::kFloat16, kFp8 = Dtype::kFp8E4m3;
  // FP8 below compute capability 8.9: only FlashInfer supports it, from 0.12 on, and on Turing until 0.24.
  CHECK(on("vllm@0.11", "rtx-3090", kFp8) == "no_fp8_cache");  // vllm-project/vllm#26431
  CHECK(on("vllm@0.16", "rtx-3090", kFp8).empty());
  CHECK(on("vllm@0.16", "t4", kFp8).empty());
  CHECK(on("vllm@0.25", "t4", kFp8) == "no_fp8_cache");
  CHECK(on("vllm@0.16", "v100-32gb", kFp8) == "no_fp8_cache");  // vllm-project/vllm#35720
  CHECK(on("vllm@0.25", "rtx-3090", kFp8, {.width = 96}) == "no_fp8_cache");
  CHECK(on("vllm@0.25", "rtx-4090", kFp8, {.width = 96}).empty());
  CHECK(on("vllm@0.25", "t4", k16).empty());
  // NVFP4: data centre Blackwell; others since 0.32 (vllm-project/vllm#49011).
  CHECK(on("vllm@0.20", "b200", Dtype::kNvfp4) == "no_fp8_cache");
  CHECK(on("vllm@0.25", "b200", Dtype::kNvfp4).empty());
  CHECK(on("vllm@0.25", "rtx-5090", Dtype::kNvfp4) == "no_fp8_cache");
  CHECK(on("vllm@0.32", "rtx-5090", Dtype::kNvfp4).empty());
  CHECK(on("vllm@0.19", "h100", Dtype::kInt8) == "no_fp8_cache");
  CHECK(on("vllm@0.20", "h100", Dtype::kInt8).empty());
  // The backend that the command names: sinks (vllm-project/vllm#40153), wide heads (#40677).
  CHECK(on("vllm@0.17", "rtx-pro-6000", k16, {.backend = "FLASHINFER", .width = 64, .arch = Arch::kGptOss}) ==
        "no_kernel");
  CHECK(on("vllm@0.28", "rtx-pro-6000", k16, {.backend = "flashinfer", .width = 64, .arch = Arch::kGptOss}).empty());
  CHECK(on("vllm@0.17", "h100", k16, {.backend = "FLASH_ATTN", .width = 64, .arch = Arch::kGptOss}).empty());
  CHECK(on("vllm@0.17", "rtx-3090", k16, {.backend = "FLASH_ATTN", .width = 64, .arch = Arch::kGptOss}) == "no_kernel");
  CHECK(on("vllm@0.19", "rtx-pro-6000", k16, {.backend = "FLASHINFER", .width = 512}) == "no_kernel");
  CHECK(on("vllm@0.19", "rtx-pro-6000", k16, {.width = 512}).empty());
  CHECK(on("vllm@0.19", "rtx-pro-6000", k16, {.backend = "XFORMERS"}).empty());  // not in the table
  // ROCm's backends, checked since 0.18 (amd-strix-halo-vllm-toolboxes#36); AITER's got sinks with 0.23.
  CHECK(on("vllm@0.19", "strix-halo-128gb", k16, {.backend = "ROCM_ATTN", .arch = Arch::kGptOss}) == "no_kernel");
  CHECK(on("vllm@0.19", "strix-halo-128gb", k16, {.backend = "TRITON_ATTN", .arch = Arch::kGptOss}).empty());
  CHECK(on("vllm@0.17", "mi300x", k16, {.backend = "ROCM_ATTN", .arch = Arch::kGptOss}).empty());
  CHECK(on("vllm@0.22", "mi300x", k16, {.backend = "ROCM_AITER_FA", .arch = Arch::kGptOss}) == "no_kernel");
  CHECK(on("vllm@0.23", "mi300x", k16, {.backend = "ROCM_AITER_FA", .arch = Arch::kGptOss}).empty());
  // Latents: Triton takes FP8 since 0.18 (vllm-project/vllm#35577, #32732).
  CHECK(on("vllm@0.17", "rtx-5080", kFp8, {.arch = Arch::kDeepseekV3}) == "no_fp8_cache");
  CHECK(on("vllm@0.18", "rtx-5080", kFp8, {.arch = Arch::kDeepseekV3}).empty());
  CHECK(on("vllm@0.33", "a100-80gb", kFp8, {.arch = Arch::kDeepseekV3}) == "no_fp8_cache");
  CHECK(on("vllm@0.13", "h100", kFp8, {.arch = Arch::kDeepseekV3}).empty());
}

TEST_CASE("vllm refusals: indexed latents on RTX cards") {
  const auto on = [](const char* engine, const char* card, Dtype type) {
    EngineInput input;
    input.request = request_for(engine, 4096);
    input.request.card.gpu = &parse_gpu(card);
    input.model.arch = Arch::kDeepseekV32;
    input.types.key = input.types.value = type;
    Term index = term_of(Role::kKey, 1, 128);
    index.role = Role::kIndex;
    input.caches = {{0, "kind", {term_of(Role::kKey, 1, 576), index}, {}}};
    return id_of(input);
  };
  // "FLASHMLA_SPARSE: [compute capability not supported]" in vllm-project/vllm#31936; FLASHINFER_MLA_SPARSE_SM120 came
  // with 0.24, for the packed layout.
  CHECK(on("vllm@0.13", "rtx-pro-6000", Dtype::kBfloat16) == "no_kernel");
  CHECK(on("vllm@0.23", "rtx-pro-6000", Dtype::kFp8DsMla) == "no_kernel");
  CHECK(on("vllm@0.24", "rtx-pro-6000", Dtype::kFp8DsMla).empty());
  CHECK(on("vllm@0.24", "rtx-pro-6000", Dtype::kBfloat16) == "no_kernel");
  CHECK(on("vllm@0.13", "h200", Dtype::kBfloat16).empty());
}

TEST_CASE("vllm refusals: MIXED_PRECISION that only hf_quant_config.json declares") {
  constexpr const char* kMixed = R"({"producer": {"name": "modelopt"}, "quantization": {"quant_algo": "MIXED_PRECISION",
    "quantized_layers": {"model.layers.0.mlp.down_proj": {"quant_algo": "FP8"}}}})";
  const ModelSpec model = read_config(test_file("testdata/configs/llama-3.1-8b.json"), kMixed, "x", {});
  const auto refusal = [&](const char* engine) { return make_plan(model, request_for(engine, 4096)).verdict.refusal; };
  REQUIRE(refusal("vllm@0.32"));  // executed
  CHECK(in_words(refusal("vllm@0.32")->words) == "Unknown ModelOpt quant algo: MIXED_PRECISION");
  CHECK_FALSE(refusal("vllm@0.33"));
  CHECK_FALSE(refusal("sglang"));
}

}  // namespace
}  // namespace kvplan
