// SGLang's kernels by weight format, compute capability and release.
#include "engines/kernel_table.h"
#include "engines/sglang/sglang.h"

namespace kvplan {

using enum KernelPart;

constexpr const char* kNoFp8 =
    "type fp8e4nv not supported in this architecture. The supported fp8 dtypes are ('fp8e4b15', 'fp8e5')";
constexpr const char* kNoNvfp4 =
    "Current platform does not support NVFP4 quantization. Please use Blackwell and above.";
constexpr const char* kAda = "use a GPU of compute capability 8.9 or newer, or 4-bit weights";
constexpr const char* kNoGptq = "Unknown quantization method: gptq";
constexpr const char* kGptqCure = "use SGLang 0.5.19, or a checkpoint in 4 or 8 bits with sym=true";
constexpr std::string_view kMarlinOnly = "BASE_QUANTIZATION_METHODS has only gptq_marlin on CUDA; GPTQConfig in 0.5.19";
constexpr std::string_view kLeast = "get_min_capability of the method's class, in the releases on both sides";

// clang-format off
constexpr KernelRow kKernels[] = {
    {.methods = "", .cards = "75+",
     .words = "SGLang has kernels from compute capability {floor} on, and this GPU has {current}",
     .evidence = "the list of its platform pages"},
    {.methods = "fp8", .cards = "80+", .evidence = kLeast},
    {.methods = "fp8 compressed-tensors", .types = "fp8", .part = kBlocks, .cards = "89+", .until = {0, 5, 1},
     .words = kNoFp8, .cure = kAda,
     .evidence = "Fp8LinearMethod: no Marlin without SGLANG_FORCE_FP8_MARLIN in 0.5.0, by itself in 0.5.1"},
    {.methods = "fp8 compressed-tensors", .types = "fp8", .part = kExperts, .cards = "89+", .words = kNoFp8,
     .cure = kAda, .evidence = "Fp8MoEMethod and CompressedTensorsW8A8Fp8MoE have no weight-only kernel; "
                               "sgl-project/sglang#5871"},
    {.methods = "modelopt", .types = "fp8", .cards = "89+", .evidence = kLeast, .basis = RuleBasis::kExecuted},
    {.methods = "modelopt", .types = "nvfp4", .cards = "100+", .until = {0, 5, 13}, .evidence = kLeast,
     .basis = RuleBasis::kExecuted},
    {.methods = "modelopt", .types = "nvfp4", .cards = "80+", .since = {0, 5, 13}, .evidence = kLeast,
     .basis = RuleBasis::kExecuted},
    {.methods = "compressed-tensors", .types = "nvfp4", .until = {0, 5, 7},
     .words = "No compressed-tensors compatible scheme was found.", .cure = "use SGLang 0.5.7 or newer",
     .evidence = "schemes of 0.5.2 to 0.5.6 have no NVFP4, those of 0.5.7 do; sgl-project/sglang#13639"},
    {.methods = "compressed-tensors", .types = "nvfp4", .cards = "100+", .since = {0, 5, 7}, .until = {0, 5, 22},
     .words = kNoNvfp4, .evidence = "CompressedTensorsW4A4Fp4, CompressedTensorsW4A4Nvfp4MoE; a weight-only kernel "
                                    "since 0.5.22"},
    {.methods = "compressed-tensors", .types = "nvfp4", .cards = "80+", .since = {0, 5, 22}, .evidence = kLeast},
    {.methods = "compressed-tensors", .types = "fp8 int4 int8", .cards = "80+", .evidence = kLeast},
    {.methods = "mxfp4", .cards = "80+", .evidence = kLeast},
    {.methods = "awq", .cards = "75+", .evidence = kLeast},
    {.methods = "gptq", .cards = "60+", .evidence = kLeast},
    {.methods = "gptq", .types = "gptq-int2 gptq-int3", .since = {0, 5, 20}, .words = kNoGptq, .cure = kGptqCure,
     .evidence = kMarlinOnly},
    {.methods = "gptq", .part = kAsymmetric, .since = {0, 5, 20}, .words = kNoGptq, .cure = kGptqCure,
     .evidence = kMarlinOnly},
    {.methods = "bitsandbytes", .cards = "70+", .evidence = kLeast},
    {.methods = "quark", .types = "fp8", .cards = "89+", .evidence = kLeast},
    {.methods = "quark", .types = "mxfp4", .cards = "70+", .evidence = kLeast},
};
// clang-format on

std::span<const KernelRow> sglang_kernel_rows() {
  return kKernels;
}

}  // namespace kvplan
