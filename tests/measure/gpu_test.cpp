// The real program with a simulated driver (tests/fakes/fake_gpu.cpp): CUDA, HIP, and failures.
#include <doctest/doctest.h>

#include <filesystem>

#include "measure/nvml.h"
#include "support/program.h"
#include "support/words.h"

namespace kvplan {
namespace {

#ifdef KVPLAN_FAKE_GPU

// One simulated library replaces all three.
const std::string kFake = KVPLAN_FAKE_GPU;
const std::string kCuda = "KVPLAN_LIBCUDA=" + kFake;
const std::string kHip = "KVPLAN_LIBHIP=" + kFake;
const std::string kNvml = "KVPLAN_NVML=" + kFake;

// Llama-3.1-8B, 32 layers with K and V: 4 GiB at 32k tokens.
Run measure(const Words& options, Words environment) {
  Words arguments{"testdata/configs/llama-3.1-8b.json", "--measure", "--json", "--max-model-len", "32k"};
  arguments.insert(arguments.end(), options.begin(), options.end());
  environment.insert(environment.end(), {kCuda, kHip, kNvml});
  return run_program(arguments, "/dev/null", environment);
}

bool says(const Run& run, const std::string& text) {
  return run.out.find(text) != std::string::npos;
}

const std::string kH100 = "KVPLAN_FAKE_GPUS=NVIDIA H100 80GB HBM3=81090";

TEST_CASE("gpu: a well-behaved GPU") {
  const TemporaryFolder folder;
  const Run run = measure({}, {kH100, "KVPLAN_FAKE_LOG=" + folder.path() + "/log"});
  CHECK(run.err == "");
  CHECK(run.exit == 0);
  CHECK(says(run, "\"id\": \"cuda:0\""));
  CHECK(says(run, "\"name\": \"NVIDIA H100 80GB HBM3\""));
  CHECK(says(run, "\"driver\": \"570.00.fake\""));
  CHECK(says(run, "\"nominal_bytes\": " + std::to_string((81090ull + 500) << 20)));
  CHECK(says(run, "\"usable_bytes\": " + std::to_string(81090ull << 20)));
  CHECK(says(run, "\"context_bytes\": " + std::to_string(400ull << 20)));
  CHECK(says(run, "\"planned_bytes\": 4294967296"));
  CHECK(says(run, "\"measured_bytes\": 4294967296"));
  CHECK(says(run, "\"mean\": 3000.0"));  // GB/s of the fake
  CHECK(says(run, "\"status\": \"agrees\""));
  // Then it rehearses the start: libraries, weights, the 64 buffers again, activations.
  CHECK(says(run, "\"status\": \"starts\""));
  // 64 buffers, the first one that warms the driver up, and those of the start. All are freed before the context is
  // released.
  CHECK(file_text(folder.path() + "/log") == "context released, 0 buffers live, 132 allocated\n");
}

TEST_CASE("gpu: 60 GiB on a GPU of 80, and a model of 128 GiB that is scaled down") {
  const Run large = measure({"--num-seqs", "15"}, {kH100});
  CHECK(large.exit == 0);
  CHECK(says(large, "\"measured_bytes\": " + std::to_string(60ull << 30)));
  CHECK(says(large, "\"scaled\": null"));
  // Without --gpu kvplan plans for the measured GPU. 128 GiB do not fit it, so the rehearsal fails.
  const Run beyond = measure({"--num-seqs", "32"}, {kH100});
  CHECK(beyond.exit == 1);
  CHECK(says(beyond, "\"status\": \"agrees\""));
  CHECK(says(beyond, "\"status\": \"stops\""));
  CHECK(says(beyond, "\"stopped_at\": \"cache, block "));
  CHECK_FALSE(says(beyond, "\"scaled\": null"));
}

TEST_CASE("gpu: the text report") {
  const Run run = run_program({"testdata/configs/llama-3.1-8b.json", "--engine", "transformers", "--max-model-len",
                               "1000", "--measure", "--share"},
                              "/dev/null", {kH100, kCuda, kNvml, "KVPLAN_FAKE_OTHERS=1024", "KVPLAN_FAKE_PROCESSES=1"});
  CHECK(run.exit == 0);
  for (const std::string line :
       {"as it is now, the plan starts and leaves", "Allocating what the engine allocates at its start",
        "activations of a full batch", "--watch measures them",
        "Measured on cuda:0: NVIDIA H100 80GB HBM3, driver 570.00.fake", "in use by other programs (1 program)",
        "gqa, 32 layers: whole multiples of 2 MiB, at most 3 MiB",
        "AGREES  128.0 MiB measured, 125.0 MiB planned: +2.400 %"})
    CHECK(run.out.find(line) != std::string::npos);
}

TEST_CASE("gpu: two different GPUs, selected by number") {
  const std::string two = "KVPLAN_FAKE_GPUS=NVIDIA H100 80GB HBM3=81090,NVIDIA GeForce RTX 3060=12044";
  CHECK(says(measure({"--device", "cuda:0"}, {two}), "NVIDIA H100 80GB HBM3"));
  const Run second = measure({"--device", "cuda:1", "--num-seqs", "4"}, {two});
  CHECK(second.exit == 1);  // 16 GB of weights
  CHECK(says(second, "\"stopped_at\": \"weights, block 1 of 1 (14.96 GiB)\""));
  CHECK(says(second, "\"id\": \"cuda:1\""));
  CHECK(says(second, "NVIDIA GeForce RTX 3060"));
  CHECK(says(second, "\"num_seqs\": 2,"));  // of four
  const Run third = measure({"--device", "cuda:2"}, {two});
  CHECK(third.exit == 5);
  CHECK(third.out.empty());
  CHECK(third.err.find("the driver sees 2 devices") != std::string::npos);
}

TEST_CASE("gpu: HIP by the same table of calls") {
  const Run run = measure({"--device", "hip:0"}, {"KVPLAN_FAKE_GPUS=AMD Instinct MI300X=196288"});
  CHECK(run.err == "");
  CHECK(run.exit == 0);
  CHECK(says(run, "\"id\": \"hip:0\""));
  CHECK(says(run, "\"driver\": \"HIP 6.3\""));
  CHECK(says(run, "\"context_bytes\": null"));  // it is not counted here
  CHECK(says(run, "\"status\": \"agrees\""));
}

TEST_CASE("gpu: no device is exit 5 and one line") {
  for (const Words& environment : {Words{}, Words{kH100, "KVPLAN_FAKE_FAIL=init:1", "KVPLAN_FAKE_ERROR=999"},
                                   Words{kH100, "KVPLAN_FAKE_FAIL=context:1"}}) {
    const Run run = measure({"--device", "cuda:0"}, environment);
    CHECK(run.exit == 5);
    CHECK(run.out.empty());
    CHECK(run.err.starts_with("kvplan: --measure: cuda:0 cannot be used ("));
    CHECK(run.err.find('\n') == run.err.size() - 1);
  }
  const Run none = run_program({"testdata/configs/llama-3.1-8b.json", "--measure"}, "/dev/null",
                               {"KVPLAN_LIBCUDA=/nonexistent.so", "KVPLAN_LIBHIP=/nonexistent.so"});
  CHECK(none.exit == 5);
  CHECK(none.err.find("--device host") != std::string::npos);
  // A file that is not a library.
  CHECK(run_program({"testdata/configs/llama-3.1-8b.json", "--measure", "--device", "cuda"}, "/dev/null",
                    {"KVPLAN_LIBCUDA=" + std::string(KVPLAN_SOURCE_DIR) + "/CMakeLists.txt"})
            .exit == 5);
}

TEST_CASE("gpu: if a call fails, the answer names the call and nothing stays allocated") {
  for (const std::string call : {"allocate:2", "allocate:40", "fill:20", "write:100", "read:100", "copy:70",
                                 "synchronize:30", "memory:2", "memory:4"}) {
    CAPTURE(call);
    const TemporaryFolder folder;
    const Run run = measure(
        {}, {kH100, "KVPLAN_FAKE_FAIL=" + call, "KVPLAN_FAKE_ERROR=700", "KVPLAN_FAKE_LOG=" + folder.path() + "/log"});
    CHECK(run.err == "");
    CHECK(run.exit == 1);
    CHECK(says(run, "\"status\": \"failed\""));
    CHECK(says(run, "error 700"));
    CHECK(file_text(folder.path() + "/log").starts_with("context released, 0 buffers live"));
  }
}

TEST_CASE("gpu: a driver that allocates more, and memory that loses its contents") {
  const Run more = measure({}, {kH100, "KVPLAN_FAKE_EXTRA=50"});
  CHECK(more.exit == 1);
  CHECK(says(more, "\"status\": \"disagrees\""));
  CHECK(measure({"--tolerance", "6%"}, {kH100, "KVPLAN_FAKE_EXTRA=50"}).exit == 0);
  const Run forgets = measure({}, {kH100, "KVPLAN_FAKE_FORGET=1"});
  CHECK(forgets.exit == 1);
  CHECK(says(forgets, "could not be read back"));
}

TEST_CASE("gpu: other programs on the GPU are noticed and keep their memory") {
  const Run run =
      measure({"--num-seqs", "8", "--share"}, {kH100, "KVPLAN_FAKE_OTHERS=60000", "KVPLAN_FAKE_PROCESSES=2"});
  CHECK(run.exit == 1);  // the plan would fit an empty GPU
  CHECK(says(run, "\"status\": \"fits\""));
  CHECK(says(run, "\"status\": \"agrees\""));
  CHECK(says(run, "\"status\": \"stops\""));
  CHECK(says(run, "\"used_by_others_bytes\": " + std::to_string(60000ull << 20)));
  CHECK(says(run, "\"other_processes\": 2"));
  CHECK_FALSE(says(run, "\"scaled\": null"));
  // A full GPU is refused. Only the driver's warm-up allocates anything.
  const Run full = measure({"--share"}, {kH100, "KVPLAN_FAKE_OTHERS=80500"});
  CHECK(full.exit == 1);
  CHECK(says(full, "\"status\": \"refused\""));
}

TEST_CASE("gpu: the largest context") {
  const Run run = measure({"--measure-max", "--weights", "q4_k_m"}, {"KVPLAN_FAKE_GPUS=card=16384"});
  CHECK(run.exit == 0);
  CHECK(says(run, "\"limited_by\": \"the free memory, minus a safety margin\""));
}

TEST_CASE("gpu: calibrate once, and the next plan and measurement know the context") {
  const TemporaryFolder folder;
  const std::string file = folder.path() + "/calibration.json";
  CHECK(measure({"--save-calibration", file}, {kH100, "KVPLAN_FAKE_CONTEXT=440"}).exit == 0);
  CHECK(measure({"--save-calibration", file}, {kH100, "KVPLAN_FAKE_CONTEXT=460"}).exit == 0);
  const std::string saved = file_text(file);
  CHECK(saved.find("\"n\": 2") != std::string::npos);
  CHECK(saved.find("bandwidth") == std::string::npos);  // copying buffers does not bound reading them
  CHECK(std::distance(std::filesystem::directory_iterator(folder.path()), {}) == 1);  // no lock, no half-written file
  const Run plan = run_program({"testdata/configs/llama-3.1-8b.json", "--gpu", "h100-80gb", "--calibration", file});
  CHECK(plan.exit == 0);
  CHECK(plan.out.find("Calibrated by " + file) != std::string::npos);
  CHECK(plan.out.find("450.0 MiB  measured 2 times on") != std::string::npos);
  const Run again = measure({"--calibration", file}, {kH100, "KVPLAN_FAKE_CONTEXT=450"});
  CHECK(says(again, "\"context_bytes\": " + std::to_string(450ull << 20)));
  // The plan's line also includes libraries, 160 MiB beside a measured context.
  CHECK(says(again, "\"planned_context_bytes\": " + std::to_string(610ull << 20)));
  // A file that is not a calibration is not overwritten.
  const std::string other = folder.write("other.json", "{}");
  const Run refused = measure({"--save-calibration", other}, {kH100});
  CHECK(refused.exit == 2);
  CHECK(refused.out.empty());
  CHECK(file_text(other) == "{}");
  CHECK(measure({"--save-calibration", folder.path() + "/absent/file"}, {kH100}).exit == 2);
}

TEST_CASE("gpu: the default place for a calibration is found again") {
  const TemporaryFolder folder;
  const std::string home = "XDG_CONFIG_HOME=" + folder.path() + "/config";
  CHECK(measure({"--save-calibration", "default"}, {kH100, home}).exit == 0);
  const Run plan = run_program({"testdata/configs/llama-3.1-8b.json", "--gpu", "h100-80gb"}, "/dev/null", {home});
  CHECK(plan.out.find("Calibrated by " + folder.path() + "/config/kvplan/calibration.json") != std::string::npos);
}

TEST_CASE("gpu: contradictory options are refused") {
  for (const Words& words :
       {Words{"--device", "host"}, Words{"--tolerance", "2%"}, Words{"--save-calibration", "x"},
        Words{"--measure", "--device", "cuda:"}, Words{"--measure", "--device", "cuda:x"},
        Words{"--measure", "--device", "cpu"}, Words{"--measure", "--format", "csv"},
        Words{"--measure", "--engine", "vllm,sglang"}, Words{"--measure", "--tolerance", "much"}}) {
    Words arguments{"testdata/configs/llama-3.1-8b.json"};
    arguments.insert(arguments.end(), words.begin(), words.end());
    const Run run = run_program(arguments);
    CHECK(run.exit == 2);
    CHECK(run.out.empty());
    CHECK(run.err.find('\n') == run.err.size() - 1);
  }
  CHECK(run_program({"fit", "testdata/configs/llama-3.1-8b.json", "--measure"}).exit == 2);
  CHECK(run_program({"testdata/configs", "--measure"}).exit == 2);
}

#endif

TEST_CASE("gpu: AMD's memory of a GPU by its address") {
  const TemporaryFolder folder;
  namespace fs = std::filesystem;
  fs::create_directories(folder.path() + "/0000:03:00.0");
  CHECK(amd_view(folder.path(), "0000:03:00.0") == nullptr);
  folder.write("0000:03:00.0/mem_info_vram_total", "25753026560\n");
  folder.write("0000:03:00.0/mem_info_vram_used", "1048576\n");
  const auto view = amd_view(folder.path(), "0000:03:00.0");
  REQUIRE(view != nullptr);
  CHECK(view->memory()->total == Bytes(25753026560));
  CHECK(view->memory()->used == Bytes(1048576));
  CHECK(amd_view(folder.path(), "../0000:03:00.0") == nullptr);
}

}  // namespace
}  // namespace kvplan
