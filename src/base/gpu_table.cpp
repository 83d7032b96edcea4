// The built-in cards, by vendor. One row each: name, aliases, memory as the driver reports it (MiB), memory as a
// program sees it (MiB, 0 where nobody recorded it), bandwidth (GB/s).
//
// NVIDIA: nvidia-smi's "Memory total", and CUDA's total under Linux (cudaMemGetInfo, totalGlobalMem) as llama.cpp and
// vLLM print it at start. CUDA's total moves by some ten MiB with the driver, and ECC takes 6 % of a GDDR card's
// memory: the table has the lowest common figure. Under Windows CUDA reports nvidia-smi's figure. AMD: rocm-smi's "VRAM
// Total Memory", which llama.cpp prints too. Apple: Metal's recommendedMaxWorkingSetSize, which ggml_metal_init prints:
// 2/3 of memory below 36 GB (10923 MiB of 16 GB, 21845 of 32), 3/4 from there on (27648 of 36 GB, 73728 of 96). Newer
// systems allow some more (12124 of 16 GB, 110100 of 128 GB), and `sysctl iogpu.wired_limit_mb` raises it: name the
// size with --gpu-memory then.
//
// Peaks: NVIDIA's data sheets of A10, A100, H100, H200, L4, L40S and HGX B200 (half of the figures with sparsity: 1,979
// of an H100, 4,500 of a B200), the white papers of Ampere GA102, Ada and RTX Blackwell (with 32 bit sums: half of what
// GeForce cards do with 16 bit sums; FP8 of Ada with 16 bit sums); AMD's data sheets of MI250X (one of two dies: half
// of 383) and MI300X (1,307.4). Compute capabilities: developer.nvidia.com/cuda-gpus; gfx numbers: LLVM's AMDGPU usage.

#include "kvplan/gpus.h"

namespace kvplan {

namespace {

using std::string_view;
using Mib = std::uint64_t;

constexpr string_view kSmi = "data sheet; nvidia-smi";
constexpr string_view kSmiCuda = "data sheet; nvidia-smi; CUDA total from llama.cpp and vLLM logs";
constexpr string_view kRocm = "data sheet; rocm-smi";
constexpr string_view kSheet = "data sheet";
constexpr string_view kLog = "data sheet; CUDA total from llama.cpp's log";
constexpr string_view kMetal = "data sheet; Metal's default working set";

constexpr Gpu nv(string_view name, string_view aliases, Mib memory, Mib usable, double bandwidth) {
  return {"NVIDIA", name, aliases, memory, usable, true, false, bandwidth, usable != 0 ? kSmiCuda : kSmi, 0, {}};
}
constexpr Gpu amd(string_view name, string_view aliases, Mib memory, double bandwidth) {
  return {"AMD", name, aliases, memory, 0, true, false, bandwidth, kRocm, 0, {}};
}
constexpr Gpu nominal(string_view vendor, string_view name, string_view aliases, Mib gib, double bandwidth) {
  return {vendor, name, aliases, gib * 1024, 0, false, false, bandwidth, kSheet, 0, {}};
}
// Memory shared with the processor: `usable` is the part that a program gets.
constexpr Gpu shared(string_view vendor, string_view name, string_view aliases, Mib gib, Mib usable, double bandwidth,
                     string_view source) {
  return {vendor, name, aliases, gib * 1024, usable, false, true, bandwidth, source, 0, {}};
}
constexpr Gpu apple(string_view name, string_view aliases, Mib gib, double bandwidth) {
  return shared("Apple", name, aliases, gib, gib < 36 ? gib * 2048 / 3 : gib * 768, bandwidth, kMetal);
}

// Adds NVIDIA's compute capability times ten or AMD's gfx number, and the peak where it is known.
constexpr Gpu on(std::uint32_t capability, Gpu gpu) {
  gpu.capability = capability;
  return gpu;
}
constexpr Gpu on(std::uint32_t capability, Peak peak, Gpu gpu) {
  gpu.capability = capability;
  gpu.peak = peak;
  return gpu;
}

constexpr Gpu kGpus[] = {
    // AMD: consumer, workstation, data centre (an MI250's two dies are two devices), unified.
    on(0x1030, amd("rx-6700-xt", "6700xt", 12272, 384)),
    on(0x1030, amd("rx-6800", "6800", 16368, 512)),
    on(0x1030, amd("rx-6800-xt", "6800xt", 16368, 512)),
    on(0x1030, amd("rx-6900-xt", "6900xt", 16368, 512)),
    on(0x1030, nominal("AMD", "rx-6950-xt", "6950xt", 16, 576)),
    on(0x1102, nominal("AMD", "rx-7600-xt", "7600xt", 16, 288)),
    on(0x1101, nominal("AMD", "rx-7800-xt", "7800xt", 16, 624)),
    on(0x1100, nominal("AMD", "rx-7900-gre", "7900gre", 16, 576)),
    on(0x1100, amd("rx-7900-xt", "7900xt", 20464, 800)),
    on(0x1100, amd("rx-7900-xtx", "7900xtx", 24560, 960)),
    on(0x1200, nominal("AMD", "rx-9060-xt-16gb", "rx-9060-xt 9060xt", 16, 320)),
    on(0x1201, amd("rx-9070", "9070", 16304, 640)),
    on(0x1201, amd("rx-9070-xt", "9070xt", 16304, 640)),
    on(0x1030, amd("radeon-pro-v620-32gb", "v620", 30704, 512)),
    on(0x906, amd("radeon-pro-vii-16gb", "radeon-pro-vii radeon-vii", 16368, 1024)),
    on(0x1100, nominal("AMD", "w7800-32gb", "w7800 radeon-pro-w7800", 32, 576)),
    on(0x1100, nominal("AMD", "w7900-48gb", "w7900 radeon-pro-w7900", 48, 864)),
    on(0x1201, amd("r9700-32gb", "r9700 ai-pro-r9700 radeon-ai-pro-r9700", 32624, 640)),
    on(0x906, amd("mi50-16gb", "mi50", 16368, 1024)),
    on(0x906, amd("mi50-32gb", "mi60 mi60-32gb", 32752, 1024)),
    on(0x908, nominal("AMD", "mi100-32gb", "mi100", 32, 1229)),
    on(0x90a, amd("mi210-64gb", "mi210", 65520, 1638)),
    on(0x90a, amd("mi250-64gb", "mi250 mi250-gcd mi250-die", 65520, 1638)),
    on(0x90a, {192, 1}, amd("mi250x-64gb", "mi250x mi250x-gcd mi250x-die", 65520, 1638)),
    on(0x942, shared("AMD", "mi300a-128gb", "mi300a", 128, 0, 5300, kSheet)),
    on(0x942, {1307, 2, 2}, amd("mi300x-192gb", "mi300x", 196592, 5300)),
    on(0x942, nominal("AMD", "mi325x-256gb", "mi325x", 256, 6000)),
    on(0x950, nominal("AMD", "mi350x-288gb", "mi350x", 288, 8000)),
    on(0x950, nominal("AMD", "mi355x-288gb", "mi355x", 288, 8000)),
    on(0x1151, shared("AMD", "strix-halo-64gb", "strix-halo-64 ryzen-ai-max-64gb", 64, 49152, 256,
                      "data sheet; the largest carve-out of the firmware")),
    on(0x1151, shared("AMD", "strix-halo-128gb", "strix-halo ryzen-ai-max-395 ai-max-395 8060s radeon-8060s", 128,
                      98304, 256, "data sheet; the largest carve-out of the firmware")),

    apple("m1-8gb", "m1", 8, 68),
    apple("m1-16gb", "", 16, 68),
    apple("m1-pro-16gb", "m1-pro", 16, 200),
    apple("m1-pro-32gb", "", 32, 200),
    apple("m1-max-32gb", "m1-max", 32, 400),
    apple("m1-max-64gb", "", 64, 400),
    apple("m1-ultra-64gb", "m1-ultra", 64, 800),
    apple("m1-ultra-128gb", "", 128, 800),
    apple("m2-8gb", "m2", 8, 100),
    apple("m2-16gb", "", 16, 100),
    apple("m2-24gb", "", 24, 100),
    apple("m2-pro-16gb", "m2-pro", 16, 200),
    apple("m2-pro-32gb", "", 32, 200),
    apple("m2-max-32gb", "m2-max", 32, 400),
    apple("m2-max-64gb", "", 64, 400),
    apple("m2-max-96gb", "", 96, 400),
    apple("m2-ultra-64gb", "", 64, 800),
    apple("m2-ultra-128gb", "", 128, 800),
    apple("m2-ultra-192gb", "m2-ultra", 192, 800),
    apple("m3-8gb", "m3", 8, 100),
    apple("m3-16gb", "", 16, 100),
    apple("m3-24gb", "", 24, 100),
    apple("m3-pro-18gb", "m3-pro", 18, 150),
    apple("m3-pro-36gb", "", 36, 150),
    apple("m3-max-36gb", "m3-max", 36, 300),
    apple("m3-max-48gb", "", 48, 400),
    apple("m3-max-64gb", "", 64, 400),
    apple("m3-max-96gb", "", 96, 300),
    apple("m3-max-128gb", "", 128, 400),
    apple("m3-ultra-96gb", "m3-ultra", 96, 819),
    apple("m3-ultra-256gb", "", 256, 819),
    apple("m3-ultra-512gb", "", 512, 819),
    apple("m4-16gb", "m4", 16, 120),
    apple("m4-24gb", "", 24, 120),
    apple("m4-32gb", "", 32, 120),
    apple("m4-pro-24gb", "m4-pro", 24, 273),
    apple("m4-pro-48gb", "", 48, 273),
    apple("m4-pro-64gb", "", 64, 273),
    apple("m4-max-36gb", "m4-max", 36, 410),
    apple("m4-max-48gb", "", 48, 546),
    apple("m4-max-64gb", "", 64, 546),
    apple("m4-max-128gb", "", 128, 546),
    apple("m5-16gb", "m5", 16, 153),
    apple("m5-24gb", "", 24, 153),
    apple("m5-32gb", "", 32, 153),
    apple("m5-pro-24gb", "m5-pro", 24, 307),
    apple("m5-pro-48gb", "", 48, 307),
    apple("m5-pro-64gb", "", 64, 307),
    apple("m5-max-36gb", "m5-max", 36, 460),
    apple("m5-max-64gb", "", 64, 614),
    apple("m5-max-128gb", "", 128, 614),

    nominal("Intel", "arc-a750", "a750", 8, 512),
    {"Intel",
     "arc-a770-16gb",
     "arc-a770 a770",
     16384,
     15473,
     false,
     false,
     560,
     "data sheet; llama.cpp's SYCL log",
     0,
     {}},
    nominal("Intel", "arc-b570", "b570", 10, 380),
    nominal("Intel", "arc-b580", "b580", 12, 456),
    nominal("Intel", "arc-pro-b50", "b50", 16, 224),
    nominal("Intel", "arc-pro-b60", "b60 b60-pro", 24, 456),
    nominal("Intel", "max-1100-48gb", "max-1100", 48, 1229),
    nominal("Intel", "max-1550-128gb", "max-1550 ponte-vecchio", 128, 3277),
    {"Intel", "gaudi2-96gb", "gaudi2 hl-225", 98304, 0, true, false, 2450, "data sheet; hl-smi", 2, {}},
    {"Intel", "gaudi3-128gb", "gaudi3 hl-325", 131072, 0, true, false, 3700, "data sheet; hl-smi", 3, {}},

    // NVIDIA: GeForce by generation.
    on(61, nv("gtx-1080", "1080", 8192, 0, 320)),
    on(61, nv("gtx-1080-ti", "1080ti", 11264, 0, 484)),
    on(75, nv("rtx-2060", "2060", 6144, 0, 336)),
    on(75, nv("rtx-2060-12gb", "", 12288, 11833, 336)),
    on(75, nv("rtx-2060-super", "2060-super", 8192, 0, 448)),
    on(75, nv("rtx-2070", "2070", 8192, 0, 448)),
    on(75, nv("rtx-2070-super", "2070-super", 8192, 0, 448)),
    on(75, nv("rtx-2080", "2080", 8192, 0, 448)),
    on(75, nv("rtx-2080-super", "2080-super", 8192, 0, 496)),
    on(75, nv("rtx-2080-ti", "2080ti", 11264, 0, 616)),
    on(75, nv("titan-rtx", "titan", 24576, 0, 672)),
    on(86, nv("rtx-3050", "3050", 8192, 0, 224)),
    on(86, nv("rtx-3060", "3060 rtx-3060-12gb", 12288, 11906, 360)),
    on(86, nv("rtx-3060-laptop", "3060-laptop", 6144, 0, 336)),
    on(86, nv("rtx-3060-ti", "3060ti", 8192, 0, 448)),
    on(86, nv("rtx-3070", "3070", 8192, 7819, 448)),
    on(86, nv("rtx-3070-laptop", "3070-laptop", 8192, 0, 448)),
    on(86, nv("rtx-3070-ti", "3070ti", 8192, 0, 608)),
    on(86, nv("rtx-3080", "3080 rtx-3080-10gb", 10240, 0, 760)),
    on(86, nv("rtx-3080-12gb", "", 12288, 0, 912)),
    on(86, nv("rtx-3080-laptop-16gb", "rtx-3080-laptop 3080-laptop", 16384, 0, 448)),
    on(86, nv("rtx-3080-ti", "3080ti", 12288, 0, 912)),
    on(86, nv("rtx-3080-ti-laptop", "3080ti-laptop", 16384, 0, 512)),
    on(86, {71, 4}, nv("rtx-3090", "3090", 24576, 24115, 936)),
    on(86, nv("rtx-3090-ti", "3090ti", 24564, 24142, 1008)),
    on(89, nv("rtx-4050-laptop", "4050-laptop 4050", 6141, 0, 192)),
    on(89, nv("rtx-4060", "4060", 8188, 0, 272)),
    on(89, nv("rtx-4060-laptop", "4060-laptop", 8188, 7815, 256)),
    on(89, nv("rtx-4060-ti-8gb", "rtx-4060-ti 4060ti", 8188, 0, 288)),
    on(89, nv("rtx-4060-ti-16gb", "4060ti-16gb", 16380, 15944, 288)),
    on(89, nv("rtx-4070", "4070", 12282, 11866, 504)),
    on(89, nv("rtx-4070-laptop", "4070-laptop", 8188, 7805, 256)),
    on(89, nv("rtx-4070-super", "4070-super", 12282, 0, 504)),
    on(89, nv("rtx-4070-ti", "4070ti", 12282, 0, 504)),
    on(89, nv("rtx-4070-ti-super", "4070ti-super", 16376, 0, 672)),
    on(89, nv("rtx-4080", "4080", 16376, 0, 717)),
    on(89, nv("rtx-4080-laptop", "4080-laptop", 12282, 0, 432)),
    on(89, nv("rtx-4080-super", "4080-super", 16376, 0, 736)),
    on(89, {165, 4, 4}, nv("rtx-4090", "4090", 24564, 24080, 1008)),
    on(89, nv("rtx-4090-d", "4090d", 24564, 0, 1008)),
    on(89, nv("rtx-4090-laptop", "4090-laptop", 16376, 0, 576)),
    on(120, nv("rtx-5050-laptop", "5050-laptop", 8151, 0, 384)),
    on(120, nv("rtx-5060", "5060", 8151, 0, 448)),
    on(120, nv("rtx-5060-laptop", "5060-laptop", 8151, 0, 384)),
    on(120, nv("rtx-5060-ti-8gb", "5060ti-8gb", 8151, 0, 448)),
    on(120, nv("rtx-5060-ti-16gb", "rtx-5060-ti 5060ti", 16311, 15841, 448)),
    on(120, nv("rtx-5070", "5070", 12227, 0, 672)),
    on(120, nv("rtx-5070-laptop", "5070-laptop", 8151, 0, 384)),
    on(120, nv("rtx-5070-ti", "5070ti", 16303, 15842, 896)),
    on(120, nv("rtx-5070-ti-laptop", "5070ti-laptop", 12227, 0, 672)),
    on(120, nv("rtx-5080", "5080", 16303, 15880, 960)),
    on(120, nv("rtx-5080-laptop", "5080-laptop", 16303, 0, 896)),
    on(120, {210, 4, 4, 8}, nv("rtx-5090", "5090", 32607, 32109, 1792)),
    on(120, nv("rtx-5090-d", "5090d", 32607, 0, 1792)),
    on(120, nv("rtx-5090-laptop", "5090-laptop", 24463, 0, 896)),
    // Workstation.
    {"NVIDIA", "quadro-rtx-5000-16gb", "quadro-rtx-5000", 16384, 15927, false, false, 448, kLog, 75, {}},
    on(75, nv("quadro-rtx-6000-24gb", "quadro-rtx-6000", 23040, 0, 672)),
    on(75, nv("quadro-rtx-8000-48gb", "quadro-rtx-8000", 46080, 0, 672)),
    on(86, nv("rtx-a2000-6gb", "rtx-a2000 a2000", 6138, 0, 288)),
    on(86, nv("rtx-a2000-12gb", "a2000-12gb", 12282, 0, 288)),
    on(86, nv("rtx-a4000", "a4000", 16376, 0, 448)),
    on(86, nv("rtx-a4500", "a4500", 20470, 0, 640)),
    on(86, nv("rtx-a5000", "a5000", 24564, 0, 768)),
    on(86, nv("rtx-a5500", "a5500", 24564, 0, 768)),
    on(86, nv("rtx-a6000", "a6000", 49140, 0, 768)),
    on(75, nv("rtx-2000-ada", "rtx-2000-ada-generation", 16380, 0, 224)),
    on(89, nv("rtx-4000-ada", "rtx-4000-ada-generation 4000-ada rtx-4000-sff-ada", 20475, 0, 360)),
    on(89, nv("rtx-4500-ada", "rtx-4500-ada-generation 4500-ada", 24570, 0, 432)),
    on(120, nv("rtx-5000-ada", "rtx-5000-ada-generation 5000-ada", 32760, 0, 576)),
    on(89, nv("rtx-6000-ada", "rtx-6000-ada-generation 6000-ada", 49140, 0, 960)),
    on(120, nominal("NVIDIA", "rtx-pro-2000", "pro-2000 rtx-pro-2000-blackwell", 16, 288)),
    on(120, nv("rtx-pro-4000", "pro-4000 rtx-pro-4000-blackwell", 24467, 0, 672)),
    on(120, nv("rtx-pro-4500", "pro-4500 rtx-pro-4500-blackwell", 32623, 0, 896)),
    on(120, nv("rtx-pro-5000-48gb", "rtx-pro-5000 pro-5000 rtx-pro-5000-blackwell", 48935, 0, 1344)),
    on(120, nv("rtx-pro-5000-72gb", "pro-5000-72gb", 73415, 0, 1344)),
    on(120, nv("rtx-pro-6000-96gb",
               "rtx-pro-6000 pro-6000 rtx-pro-6000-blackwell rtx-pro-6000-blackwell-workstation-edition "
               "rtx-pro-6000-blackwell-max-q-workstation-edition",
               97887, 97250, 1792)),
    on(120,
       nv("rtx-pro-6000-server-96gb", "rtx-pro-6000-server rtx-pro-6000-blackwell-server-edition", 97887, 97250, 1597)),
    // Data centre.
    on(61, nv("p40-24gb", "p40 tesla-p40", 23040, 0, 346)),
    on(60, nv("p100-16gb", "p100 tesla-p100-pcie-16gb tesla-p100-sxm2-16gb", 16384, 0, 732)),
    on(70, nv("v100-16gb", "v100 tesla-v100-sxm2-16gb tesla-v100-pcie-16gb", 16384, 16160, 900)),
    on(70, nv("v100-32gb", "tesla-v100-sxm2-32gb tesla-v100-pcie-32gb tesla-v100s-pcie-32gb", 32768, 32494, 900)),
    on(75, nv("t4", "t4-16gb tesla-t4", 15360, 14912, 320)),
    on(86, nv("a2", "a2-16gb", 15356, 0, 200)),
    on(86, {125}, nv("a10", "a10-24gb", 23028, 0, 600)),
    on(86, nv("a10g", "a10g-24gb", 23028, 22528, 600)),
    on(86, nv("a16", "a16-16gb", 15356, 0, 200)),
    on(80, nv("a30", "a30-24gb", 24576, 0, 933)),
    on(86, nv("a40", "a40-48gb", 46068, 0, 696)),
    on(80, {312}, nv("a100-40gb", "a100-40g a100-sxm4-40gb a100-pcie-40gb a100-sxm-40gb", 40960, 40325, 1555)),
    on(80, {312}, nv("a100-80gb", "a100 a100-80g a100-sxm a100-sxm4-80gb a100-sxm-80gb", 81920, 81151, 2039)),
    on(80, nv("a100-pcie-80gb", "a100-pcie a100-80gb-pcie", 81920, 81151, 1935)),
    on(80, nv("a800-80gb", "a800 a800-sxm4-80gb", 81920, 0, 2039)),
    on(89, {121, 2, 2}, nv("l4", "l4-24gb", 23034, 22558, 300)),
    on(89, nv("l40", "l40-48gb", 46068, 0, 864)),
    on(89, {362, 2, 2}, nv("l40s", "l40s-48gb", 46068, 45467, 864)),
    on(90, {989, 2, 2}, nv("h100-80gb", "h100 h100-sxm h100-sxm5 h100-80gb-hbm3 h100-sxm-80gb", 81559, 81081, 3350)),
    on(90, {756, 2, 2}, nv("h100-pcie-80gb", "h100-pcie", 81559, 0, 2000)),
    on(90, {835, 2, 2}, nv("h100-nvl-94gb", "h100-nvl", 95830, 0, 3938)),
    on(90, nv("h800-80gb", "h800", 81559, 0, 3350)),
    on(90, nv("h20-96gb", "h20", 97871, 0, 4000)),
    on(90, {989, 2, 2}, nv("h200-141gb", "h200 h200-sxm h200-sxm-141gb", 143771, 143073, 4800)),
    on(90, nv("h200-nvl-141gb", "h200-nvl", 143771, 0, 4800)),
    on(90, nv("gh200-96gb", "gh200 gh200-480gb gh200-120gb", 97871, 0, 4000)),
    on(90, nv("gh200-144gb", "gh200-144g-hbm3e", 146831, 0, 4900)),
    on(100, nominal("NVIDIA", "b100-180gb", "b100 b100-192gb", 180, 8000)),
    on(100, {2250, 2, 2, 4}, nv("b200-180gb", "b200 b200-192gb", 183359, 182630, 8000)),
    on(103, nv("b300-288gb", "b300 b300-sxm6-ac b300-270gb", 275040, 0, 8000)),
    on(100, nv("gb200-186gb", "gb200 gb200-192gb", 189471, 0, 8000)),
    on(103, nv("gb300-288gb", "gb300 gb300-279gb", 284208, 0, 8000)),
    // Unified.
    on(121, shared("NVIDIA", "dgx-spark-128gb", "dgx-spark gb10 gb10-128gb spark", 128, 124610, 273, kLog)),
    on(87, shared("NVIDIA", "jetson-orin-nano-8gb", "orin-nano jetson-orin-nano", 8, 7607, 102, kLog)),
    on(87, shared("NVIDIA", "jetson-orin-nx-16gb", "orin-nx jetson-orin-nx", 16, 0, 102, kSheet)),
    on(87, shared("NVIDIA", "jetson-agx-orin-32gb", "agx-orin-32gb", 32, 0, 205, kSheet)),
    on(87, shared("NVIDIA", "jetson-agx-orin-64gb", "agx-orin agx-orin-64gb jetson-agx-orin jetson-orin", 64, 62827,
                  205, kLog)),
    on(110, shared("NVIDIA", "jetson-thor-128gb", "jetson-thor thor agx-thor jetson-agx-thor", 128, 125748, 273, kLog)),
};

}  // namespace

std::span<const Gpu> gpu_table() {
  return kGpus;
}

}  // namespace kvplan
