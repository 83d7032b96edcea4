// Main memory as a device, and what the kernel reports about it.
#include <doctest/doctest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <vector>

#include "measure/device.h"
#include "measure/proc.h"
#include "support/program.h"

namespace kvplan {
namespace {

void put(const std::string& path, const std::string& text) {
  std::filesystem::create_directories(std::filesystem::path(path).parent_path());
  std::ofstream(path) << text;
}

TEST_CASE("host: written memory is resident, freed memory is gone") {
  const auto device = open_device("host");
  CHECK(device->facts().granularity == Bytes(static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE))));
  CHECK(device->memory().used == Bytes(0));
  const BufferId first = device->allocate(8 * kMiB);
  CHECK(device->memory().used == Bytes(0));  // memory is not backed before it is written
  device->fill(first, 0, 8 * kMiB, 1);
  CHECK(device->memory().used == Bytes(8 * kMiB));
  const BufferId second = device->allocate(5000);
  device->fill(second, 0, 5000, 2);
  CHECK(device->memory().used.count() == 8 * kMiB + 8192);
  std::byte read[2] = {};
  device->read(second, 4999, std::span(read, 1));
  CHECK(read[0] == std::byte{2});
  device->free(first);
  CHECK(device->memory().used == Bytes(8192));
  device->free(second);
  device->free(second);  // freeing twice does no harm
  CHECK(device->memory().used == Bytes(0));
}

TEST_CASE("host: an allocation beyond all memory is refused") {
  const auto device = open_device("host");
  CHECK_THROWS_AS(device->allocate(~std::uint64_t{0} - 5), DeviceError);
  CHECK_THROWS_AS(device->allocate(std::uint64_t{1} << 62), DeviceError);
}

TEST_CASE("host: a control group's limit counts as the memory") {
  const TemporaryFolder folder;
  const std::string& root = folder.path();
  put(root + "/proc/meminfo", "MemTotal: 65536000 kB\nMemFree: 100 kB\nMemAvailable: 40960000 kB\n");
  put(root + "/proc/self/cgroup", "0::/a/b\n");
  HostMemory memory = host_memory(root);
  CHECK(memory.total == Bytes(65536000ull * 1024));
  CHECK(memory.limit == memory.total);
  CHECK(memory.available == Bytes(40960000ull * 1024));
  put(root + "/sys/fs/cgroup/a/b/memory.max", "max\n");
  put(root + "/sys/fs/cgroup/a/memory.max", "4294967296\n");  // the parent group also limits
  put(root + "/sys/fs/cgroup/a/memory.current", "3221225472\n");
  put(root + "/sys/fs/cgroup/a/memory.stat", "anon 1073741824\ninactive_file 2147483648\n");
  memory = host_memory(root);
  CHECK(memory.limit == Bytes(4294967296));
  CHECK(memory.available == Bytes(4294967296 - 1073741824));  // reclaimable memory is available
}

TEST_CASE("host: the first version of control groups") {
  const TemporaryFolder folder;
  const std::string& root = folder.path();
  put(root + "/proc/meminfo", "MemTotal: 65536000 kB\nMemAvailable: 40960000 kB\n");
  put(root + "/proc/self/cgroup", "3:cpu:/x\n7:memory:/job\n");
  put(root + "/sys/fs/cgroup/memory/job/memory.limit_in_bytes", "1073741824\n");
  put(root + "/sys/fs/cgroup/memory/job/memory.usage_in_bytes", "73741824\n");
  const HostMemory memory = host_memory(root);
  CHECK(memory.limit == Bytes(1073741824));
  CHECK(memory.available == Bytes(1000000000));
}

// Small enough for any machine: 200 to 400 MiB each.
TEST_CASE("host: bundled models agree within 0.1 %") {
  struct Case {
    const char *config, *engine, *tokens;
  };
  constexpr Case kCases[] = {
      {"llama-3.1-8b", "vllm", "2k"},
      {"deepseek-v3", "sglang", "4k"},
      {"gpt-oss-20b", "vllm", "8k"},
      {"qwen3.5-27b", "sglang", "4k"},
      {"gemma-4-26b", "llama.cpp", "4k"},
      {"mixtral-8x7b", "transformers", "2k"},
      {"falcon-h1-1.5b", "transformers", "8k"},
      {"mamba-2.8b", "logical", "4k"},
      {"kimi-linear-48b", "logical", "8k"},
      {"deepseek-v3.2", "vllm", "4k"},
      {"llama-4-scout", "mlx", "1k"},
      {"qwen3-0.6b", "tensorrt-llm", "2k"},
  };
  for (const Case& each : kCases) {
    CAPTURE(each.config);
    CAPTURE(each.engine);
    const Run run =
        run_program({"testdata/configs/" + std::string(each.config) + ".json", "--engine", each.engine,
                     "--max-model-len", each.tokens, "--measure", "--device", "host", "--tolerance", "0.1%", "--json"});
    CHECK(run.err == "");
    CHECK(run.exit == 0);
    CHECK(run.out.find("\"status\": \"agrees\"") != std::string::npos);
    CHECK(run.out.find("\"left_bytes\": 0") != std::string::npos);
  }
}

}  // namespace
}  // namespace kvplan
