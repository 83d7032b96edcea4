// vLLM's kernels by weight format, compute capability and release.
#include "engines/vllm/vllm.h"

namespace kvplan {

static constexpr Release of_minor(std::uint64_t minor, std::uint64_t patch = 0) {
  return {0, minor, patch};
}

constexpr const char* kOldCard = "vLLM has kernels from compute capability {floor} on, and this GPU has {current}";
constexpr const char* kNoFp8 =
    "type fp8e4nv not supported in this architecture. The supported fp8 dtypes are ('fp8e4b15', 'fp8e5')";
constexpr const char* kNotFor12 = "vLLM has no kernel of this format for compute capability 12";
constexpr const char* kSince101 = "use vLLM 0.10.1 or newer";
constexpr const char* kNoNvfp4Experts = "No NvFp4 MoE backend supports the deployment configuration.";
constexpr const char* kNewerOrCard = "use a newer release, or a GPU of compute capability 10.0";
constexpr const char* kGptqBits = "Unsupported quantization config: GPTQ needs 4 or 8 bits, and sym=True";
constexpr const char* kGptqCure = "use vLLM 0.21, or a checkpoint in 4 or 8 bits with sym=true";
constexpr std::string_view kAutoGptq = "AutoGPTQConfig.TYPE_MAP; 0.21 has GPTQConfig for other checkpoints";
constexpr std::string_view kMinimum = "get_min_capability of the method's class, in the releases on both sides";
constexpr std::string_view kOracle =
    "fused_moe/oracle/nvfp4.py with _supports_current_device and _supports_activation "
    "of its kernels, in the releases on both sides";

using enum KernelPart;

// clang-format off
constexpr KernelRow kRows[] = {
    {.methods = "", .cards = "70+", .until = of_minor(21),
     .words = kOldCard,
     .evidence = "docs/getting_started/installation/gpu.md of 0.14"},
    {.methods = "", .cards = "75+", .since = of_minor(21),
     .words = kOldCard,
     .evidence = "docs/getting_started/installation/gpu.md of 0.21"},
    {.methods = "fp8", .cards = "80+", .until = of_minor(14), .evidence = kMinimum},
    {.methods = "fp8", .cards = "75+", .since = of_minor(14), .evidence = kMinimum},
    {.methods = "fp8 compressed-tensors", .types = "fp8", .part = kBlocks, .cards = "89+", .until = of_minor(9),
     .words = kNoFp8, .cure = "use vLLM 0.9 or newer, or a GPU of compute capability 8.9",
     .evidence = "Fp8LinearMethod: blocks never used Marlin in 0.8.5, and do in 0.9.0; vllm-project/vllm#17764"},
    {.methods = "fp8 compressed-tensors", .types = "fp8", .part = kExperts, .cards = "89+", .until = of_minor(9),
     .words = kNoFp8, .cure = "use vLLM 0.9 or newer, or a GPU of compute capability 8.9",
     .evidence = "Fp8MoEMethod has no Marlin in 0.8.5, and has it in 0.9.0; vllm-project/vllm#17581, #18182"},
    {.methods = "fp8 compressed-tensors", .types = "fp8", .part = kBlocks, .cards = "0-119", .since = of_minor(9),
     .until = of_minor(10, 1), .words = kNotFor12, .cure = kSince101,
     .evidence = "vllm-project/vllm#22131, #21648: cutlass_scaled_mm with blocks"},
    {.methods = "modelopt", .types = "nvfp4", .cards = "0-119", .since = of_minor(9), .until = of_minor(10, 1),
     .words = kNotFor12, .cure = kSince101,
     .evidence = "cutlass_scaled_fp4_mm; vllm-project/vllm#21309, #21274"},
    {.methods = "compressed-tensors", .types = "nvfp4", .part = kFp4Activations, .until = of_minor(9, 1),
     .words = "No compressed-tensors compatible scheme was found.", .cure = "use vLLM 0.9.1 or newer",
     .evidence = "CompressedTensorsConfig._get_scheme_from_parts: no W4A4 scheme in 0.9.0, and one in 0.9.1"},
    {.methods = "compressed-tensors", .types = "nvfp4", .part = kFp4Activations, .cards = "0-119",
     .since = of_minor(9, 1), .until = of_minor(10, 1), .words = kNotFor12, .cure = kSince101,
     .evidence = "CompressedTensorsW4A4Fp4 calls cutlass_scaled_fp4_mm; vllm-project/vllm#21309"},
    {.methods = "compressed-tensors", .types = "fp8", .cards = "80+", .until = of_minor(16), .evidence = kMinimum},
    {.methods = "compressed-tensors", .types = "fp8", .cards = "75+", .since = of_minor(16), .evidence = kMinimum},
    {.methods = "compressed-tensors", .types = "nvfp4", .cards = "80+", .until = of_minor(16), .evidence = kMinimum},
    {.methods = "compressed-tensors", .types = "nvfp4", .cards = "75+", .since = of_minor(16), .evidence = kMinimum},
    {.methods = "compressed-tensors", .types = "mxfp4", .cards = "80+", .since = of_minor(14), .evidence = kMinimum},
    {.methods = "compressed-tensors", .types = "int4", .cards = "80+", .until = of_minor(12), .evidence = kMinimum},
    {.methods = "compressed-tensors", .types = "int4", .cards = "75+", .since = of_minor(12), .evidence = kMinimum},
    {.methods = "compressed-tensors", .types = "int8", .cards = "75+", .evidence = kMinimum},
    {.methods = "modelopt", .types = "fp8", .cards = "89+", .until = of_minor(27), .evidence = kMinimum,
     .basis = RuleBasis::kExecuted},
    {.methods = "modelopt", .types = "fp8", .cards = "80+", .since = of_minor(27), .evidence = kMinimum,
     .basis = RuleBasis::kExecuted},
    {.methods = "modelopt", .types = "nvfp4", .cards = "100+", .until = of_minor(9),
     .evidence = kMinimum},
    {.methods = "modelopt", .types = "nvfp4", .cards = "80+", .since = of_minor(9), .until = of_minor(14),
     .evidence = kMinimum},
    {.methods = "modelopt", .types = "nvfp4", .cards = "75+", .since = of_minor(14),
     .evidence = kMinimum},
    {.methods = "modelopt", .types = "mxfp8", .cards = "100+", .since = of_minor(16), .until = of_minor(20),
     .evidence = kMinimum},
    {.methods = "modelopt", .types = "mxfp8", .cards = "80+", .since = of_minor(20), .evidence = kMinimum},
    {.methods = "modelopt", .part = kHead, .until = of_minor(23),
     .words = "There is no module or parameter named 'lm_head.input_scale'", .cure = "use vLLM 0.23 or newer",
     .evidence = "ModelOptQuantConfigBase.get_quant_method of 0.22 and 0.23; vllm-project/vllm#44081 and #45102"},
    {.methods = "awq torchao", .cards = "75+", .evidence = kMinimum},
    {.methods = "gptq", .cards = "60+", .evidence = kMinimum},
    {.methods = "gptq", .types = "gptq-int2 gptq-int3", .since = of_minor(22), .words = kGptqBits, .cure = kGptqCure,
     .evidence = kAutoGptq},
    {.methods = "gptq", .part = kAsymmetric, .since = of_minor(22), .words = kGptqBits, .cure = kGptqCure,
     .evidence = kAutoGptq},
    {.methods = "bitsandbytes", .cards = "70+", .evidence = kMinimum},
    {.methods = "mxfp4 fbgemm_fp8 experts_int8", .cards = "80+", .evidence = kMinimum},
    {.methods = "quark", .types = "fp8", .cards = "89+", .evidence = kMinimum},
    {.methods = "quark", .types = "int8", .cards = "75+", .evidence = kMinimum},
    {.methods = "quark", .types = "mxfp4", .cards = "70+", .evidence = kMinimum},
    {.methods = "modelopt compressed-tensors", .types = "nvfp4", .part = kExperts, .cards = "75-119",
     .since = of_minor(15), .until = of_minor(15, 1),
     .words = "NvFp4 MoE backend 'FLASHINFER_CUTLASS' does not support the deployment configuration since kernel does "
              "not support current device.",
     .cure = "use vLLM 0.15.1 or newer", .evidence = "vllm-project/vllm#33416 and #33417"},
    {.methods = "modelopt compressed-tensors", .types = "nvfp4", .part = kPlainExperts,
     .cards = "100-109", .since = of_minor(15), .until = of_minor(15, 1), .words = kNoNvfp4Experts,
     .cure = kNewerOrCard, .evidence = kOracle},
    {.methods = "modelopt compressed-tensors", .types = "nvfp4", .part = kPlainExperts, .cards = "100+",
     .since = of_minor(15, 1), .until = of_minor(16), .words = kNoNvfp4Experts, .cure = kNewerOrCard,
     .evidence = kOracle},
    {.methods = "modelopt compressed-tensors fp8", .types = "nvfp4", .part = kClampedExperts,
     .cards = "100-109", .since = of_minor(22), .until = of_minor(24), .words = kNoNvfp4Experts, .cure = kNewerOrCard,
     .evidence = "NVFP4_BACKENDS_WITH_CLAMP of fused_moe/oracle/nvfp4.py in 0.22, 0.23 and 0.24; "
                 "vllm-project/vllm#45661 and #46492"},
};
// clang-format on

std::span<const KernelRow> vllm_kernel_rows() {
  return kRows;
}

}  // namespace kvplan
