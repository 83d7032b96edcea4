// The catalogue of GPUs: its rows are consistent, names are found as people type them, and the user's GPUs come first.
#include "kvplan/gpus.h"
#include "formats/own_files.h"
#include "kvplan/strings.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <set>
#include <string>

#include "kvplan/error.h"

namespace kvplan {
namespace {

std::uint64_t mib(const char* name) {
  return parse_gpu(name).memory_mib;
}

TEST_CASE("gpus: every row makes sense") {
  std::set<std::string> names;
  std::string_view vendor;
  CHECK(gpus().size() >= 75);
  for (const Gpu& gpu : gpus()) {
    CAPTURE(gpu.name);
    CHECK(gpu.vendor >= vendor);  // sorted by vendor
    vendor = gpu.vendor;
    CHECK(names.insert(folded(gpu.name)).second);
    for (const std::string_view alias : split(gpu.aliases)) {
      CAPTURE(alias);
      CHECK_FALSE(folded(alias).empty());
      CHECK(names.insert(folded(alias)).second);
    }
    CHECK(gpu.bandwidth_gb_s >= 60);
    CHECK(gpu.bandwidth_gb_s <= 40000);
    CHECK_FALSE(gpu.source.empty());
    CHECK(gpu.usable_mib <= gpu.memory_mib);
    // What CUDA sees is within 5 % of the GPU; with shared memory it is at least half.
    if (gpu.usable_mib != 0) CHECK(gpu.usable_mib * 100 >= gpu.memory_mib * (gpu.unified ? 50 : 94));
    CHECK(gpu.budget() > Bytes(0));
  }
}

TEST_CASE("gpus: memory is at most 12 % below the size in the name, and never above") {
  for (const Gpu& gpu : gpus()) {
    if (!gpu.name.ends_with("gb")) continue;
    CAPTURE(gpu.name);
    const auto dash = gpu.name.rfind('-');
    const double nominal = std::stod(std::string(gpu.name.substr(dash + 1, gpu.name.size() - dash - 3)));
    const double memory = static_cast<double>(gpu.memory_mib) / 1024;
    CHECK(memory <= nominal * 1.001);
    CHECK(memory >= nominal * 0.88);
  }
}

// From nvidia-smi in public logs.
TEST_CASE("gpus: what drivers report") {
  CHECK(mib("h100") == 81559);
  CHECK(mib("h100-nvl") == 95830);
  CHECK(mib("h20") == 97871);
  CHECK(mib("gh200") == 97871);
  CHECK(mib("b200") == 183359);
  CHECK(mib("gb200") == 189471);
  CHECK(mib("b300") == 275040);
  CHECK(mib("gb300") == 284208);
  CHECK(mib("rtx-pro-6000") == 97887);
  CHECK(mib("rtx-pro-5000") == 48935);
  CHECK(mib("rtx-5090") == 32607);
  CHECK(mib("rtx-5090-laptop") == 24463);
  CHECK(mib("rtx-4090") == 24564);
  CHECK(mib("a10g") == 23028);
  CHECK(mib("mi300x") == 206141652992 >> 20);  // rocm-smi's bytes
  CHECK(mib("mi250x") == 68702699520 >> 20);
}

// vLLM: "Free memory on device (.../178.35 GiB)", SGLang and vLLM "total_gpu_memory=139.72GiB", and the like.
TEST_CASE("gpus: budgets start from what a program sees") {
  const auto gib = [](const char* name) {
    return std::round(static_cast<double>(parse_gpu(name).budget().count()) / 1073741824.0 * 100) / 100;
  };
  CHECK(gib("b200") == doctest::Approx(178.35));
  CHECK(gib("h200") == doctest::Approx(139.72));
  CHECK(gib("rtx-5090") == doctest::Approx(31.36));
  CHECK(gib("rtx-pro-6000") == doctest::Approx(94.97));
  CHECK(gib("a100-40gb") == doctest::Approx(39.38));
  CHECK(gib("t4") == doctest::Approx(14.56));
  CHECK(gib("dgx-spark") == doctest::Approx(121.69));
  // ggml_metal_init: recommendedMaxWorkingSetSize = 21845.34 MB of 32 GB, 73728.00 of 96 GB, 28991.03 (10^6) of 36 GB.
  CHECK(parse_gpu("m1-max-32gb").usable_mib == 21845);
  CHECK(parse_gpu("m2-max-96gb").usable_mib == 73728);
  CHECK(parse_gpu("m4-max-36gb").budget() == Bytes(28991029248));
  CHECK(parse_gpu("a40").budget() == Bytes(std::uint64_t{46068} << 20));  // no other figure was recorded
}

TEST_CASE("gpus: names as people and drivers write them") {
  for (const char* text : {"rtx-4090", "RTX 4090", "4090", "rtx4090", "NVIDIA GeForce RTX 4090", "geforce-rtx-4090"})
    CHECK(parse_gpu(text).name == "rtx-4090");
  CHECK(parse_gpu("NVIDIA H100 80GB HBM3").name == "h100-80gb");
  CHECK(parse_gpu("NVIDIA A100-SXM4-80GB").name == "a100-80gb");
  CHECK(parse_gpu("NVIDIA GeForce RTX 4070 Laptop GPU").name == "rtx-4070-laptop");
  CHECK(parse_gpu("NVIDIA RTX 6000 Ada Generation").name == "rtx-6000-ada");
  CHECK(parse_gpu("NVIDIA B300 SXM6 AC").name == "b300-288gb");
  CHECK(parse_gpu("AMD Radeon RX 7900 XTX").name == "rx-7900-xtx");
  CHECK(parse_gpu("AMD Instinct MI300X").name == "mi300x-192gb");
  CHECK(parse_gpu("Tesla T4").name == "t4");
  CHECK(parse_gpu("Apple M2-Ultra").name == "m2-ultra-192gb");
  CHECK(find_gpu("") == nullptr);
  CHECK(find_gpu("nvidia") == nullptr);
  CHECK(find_gpu("---") == nullptr);
}

TEST_CASE("gpus: the error for an unknown name has the nearest name") {
  try {
    parse_gpu("h1000\n");
    FAIL("found");
  } catch (const Error& error) {
    const std::string line = error.line();
    CHECK(error.code() == Exit::kBadInput);
    CHECK(line.find("h100-80gb") != std::string::npos);
    CHECK(line.find('\n') == std::string::npos);
  }
}

TEST_CASE("gpus: the user's own GPUs come first and replace others") {
  const GpuCatalogue known(parse_gpu_file(
      R"([{"name": "lab-card", "memory": "40GiB", "bandwidth": 900, "aliases": ["lab"]}, {"name": "RTX4090", "memory": "48GiB"}])"));
  CHECK(known.cards().size() == gpus().size() + 1);
  CHECK(known.parse("lab").memory_mib == 40960);
  CHECK(known.parse("rtx-4090").memory_mib == 49152);
  CHECK(known.parse("rtx-4080").memory_mib == 16376);
  CHECK(find_gpu("lab") == nullptr);
}

}  // namespace
}  // namespace kvplan
