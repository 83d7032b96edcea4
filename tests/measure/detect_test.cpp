// --gpu auto with a fake management library (tests/fakes/fake_nvml.cpp) and a fake sysfs.
#include "measure/detect.h"

#include <doctest/doctest.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "kvplan/error.h"
#include "support/program.h"

namespace kvplan {
namespace {

TEST_CASE("detect: the catalogue has the memory that a program sees") {
  Request request;
  use_cards({{"NVIDIA H100 80GB HBM3", Bytes(81559 * kMiB)}, {"NVIDIA H100 80GB HBM3", Bytes(81559 * kMiB)}}, request);
  CHECK(request.card.gpu->name == "h100-80gb");
  CHECK(request.card.count == 2);
  CHECK(request.card.note.find("smallest") == std::string::npos);
}

TEST_CASE("detect: for uneven GPUs the smallest one is planned") {
  Request request;
  use_cards({{"NVIDIA GeForce RTX 4090", Bytes(24564 * kMiB)}, {"NVIDIA GeForce RTX 3060", Bytes(12288 * kMiB)}},
            request);
  CHECK(request.card.gpu->name == "rtx-3060");
  CHECK(request.card.count == 2);
  CHECK(request.card.note.find("planned for the smallest") != std::string::npos);
}

TEST_CASE("detect: a GPU with another size than its name in the catalogue keeps its own size") {
  Request request;
  use_cards({{"NVIDIA GeForce RTX 2080 Ti", Bytes(22528 * kMiB)}}, request);  // with its memory doubled
  CHECK_FALSE(request.card.gpu);
  CHECK(request.card.memory == Bytes(22528 * kMiB));
}

TEST_CASE("detect: the catalogue gives the size of unified memory that the driver does not report") {
  Request request;
  use_cards({{"NVIDIA GB10", Bytes(0)}}, request);
  CHECK(request.card.gpu->name == "dgx-spark-128gb");
  CHECK_THROWS_AS(use_cards({{"NVIDIA Something", Bytes(0)}}, request), Error);
  CHECK_THROWS_AS(use_cards({}, request), Error);
}

TEST_CASE("detect: AMD's GPUs in sysfs, without the CPU's integrated graphics") {
  namespace fs = std::filesystem;
  const TemporaryFolder folder;
  const auto card = [&](const std::string& name, const std::string& vram, const std::string& gtt) {
    fs::create_directories(folder.path() + "/" + name + "/device");
    std::ofstream(folder.path() + "/" + name + "/device/mem_info_vram_total") << vram << '\n';
    std::ofstream(folder.path() + "/" + name + "/device/mem_info_gtt_total") << gtt << '\n';
  };
  CHECK(detect_amd(folder.path()).empty());
  CHECK(detect_amd(folder.path() + "/absent").empty());
  card("card0", "536870912", "33554432000");
  REQUIRE(detect_amd(folder.path()).size() == 1);
  CHECK(detect_amd(folder.path())[0].memory == Bytes(33554432000));
  card("card1", "25753026560", "33554432000");
  card("renderD128", "25753026560", "33554432000");
  card("card2", "no number", "1");
  const auto cards = detect_amd(folder.path());
  REQUIRE(cards.size() == 1);
  CHECK(cards[0].memory == Bytes(25753026560));
}

TEST_CASE("detect: without a valid library there is no GPU") {
  CHECK(detect_nvidia("/nonexistent/libnvidia-ml.so.1").empty());
  CHECK(detect_nvidia(std::string(KVPLAN_SOURCE_DIR) + "/CMakeLists.txt").empty());
}

#ifdef KVPLAN_FAKE_NVML
TEST_CASE("detect: the GPUs that NVML lists") {
  setenv("KVPLAN_FAKE_CARDS", "NVIDIA GeForce RTX 4090=24564,NVIDIA GB10=0", 1);
  const auto cards = detect_nvidia(KVPLAN_FAKE_NVML);
  REQUIRE(cards.size() == 2);
  CHECK(cards[0].name == "NVIDIA GeForce RTX 4090");
  CHECK(cards[0].memory == Bytes(24564 * kMiB));
  CHECK(cards[1].memory == Bytes(0));
  // A partitioned GPU counts as its slices. A program sees the slices that the environment names.
  setenv("KVPLAN_FAKE_CARDS",
         "NVIDIA A100-SXM4-40GB=40960,NVIDIA A100-SXM4-40GB MIG 3g.20gb=20096+2048,NVIDIA A100-SXM4-40GB MIG "
         "1g.5gb=4864,NVIDIA GeForce RTX 3060=12288",
         1);
  const auto cut = detect_nvidia(KVPLAN_FAKE_NVML);
  REQUIRE(cut.size() == 3);
  CHECK(cut[0].name == "NVIDIA A100-SXM4-40GB MIG 3g.20gb");
  CHECK(cut[0].uuid == "MIG-1");
  CHECK(cut[2].index == 1);
  CHECK(visible_cards(cut, "1").front().name == "NVIDIA GeForce RTX 3060");
  CHECK(visible_cards(cut, "MIG-2").front().memory == Bytes(4864 * kMiB));
  CHECK(visible_cards(cut, "1,nonsense,0").size() == 1);
  CHECK(visible_cards(cut, "").empty());
  Request of_slice;
  use_cards(visible_cards(cut, "MIG-1"), of_slice);
  CHECK(of_slice.card.gpu->name == "a100-3g.20gb");
  CHECK(of_slice.card.note.find("in use now: 2.00 GiB") != std::string::npos);
  setenv("KVPLAN_NVML", KVPLAN_FAKE_NVML, 1);
  setenv("KVPLAN_FAKE_CARDS", "NVIDIA GeForce RTX 4090=24564,NVIDIA GeForce RTX 3060=12288", 1);
  const Run run = run_program({"testdata/configs/llama-3.1-8b.json", "--gpu", "auto", "--json"});
  CHECK(run.exit <= 1);
  CHECK(run.out.find("planned for the smallest") != std::string::npos);
  // The same GPUs, or none, within a time limit.
  using std::chrono::milliseconds;
  const auto within = detect_cards_within(milliseconds(60'000));
  REQUIRE(within.size() == 2);
  CHECK(within[1].name == "NVIDIA GeForce RTX 3060");
  CHECK(within[1].memory == Bytes(12288 * kMiB));
  CHECK(detect_cards_within(milliseconds(0)).empty());
  // If the output is a pipe, it never mentions this machine.
  CHECK(run_program({"testdata/configs/llama-3.1-8b.json"}).out.find("this machine") == std::string::npos);
  unsetenv("KVPLAN_NVML");
  unsetenv("KVPLAN_FAKE_CARDS");
}
#endif

}  // namespace
}  // namespace kvplan
