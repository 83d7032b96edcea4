// Simulates an engine's start as vLLM logs it, with real allocations: fake_engine WEIGHTS_MIB CACHE_MIB [die|mute]. If
// KVPLAN_FAKE_SEEN names a file, it continues after a stage only once the file says that the watcher has seen it, even
// on a busy machine.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

namespace {

std::vector<char*> held;

void take(std::size_t mib) {
  char* const memory = static_cast<char*>(std::malloc(mib << 20));
  if (memory == nullptr) std::exit(3);
  std::memset(memory, 1, mib << 20);
  held.push_back(memory);
}

void say(const char* line) {
  std::puts(line);
  std::fflush(stdout);
}

// Prints the stage's line, and waits for the watcher.
void end_stage(const char* line) {
  static int told = 0;
  say(line);
  ++told;
  const char* const place = std::getenv("KVPLAN_FAKE_SEEN");
  for (int waits = 0; waits < 1000; ++waits) {
    std::this_thread::sleep_for(std::chrono::milliseconds(place == nullptr ? 200 : 20));
    int seen = 0;
    if (place == nullptr || (std::ifstream(place) >> seen && seen >= told)) return;
  }
}

std::string gib(std::size_t mib) {
  char text[32];
  std::snprintf(text, sizeof text, "%.4f GiB", static_cast<double>(mib) / 1024);
  return text;
}

}  // namespace

int main(int count, char** words) {
  const std::size_t weights = count > 1 ? std::strtoull(words[1], nullptr, 10) : 64;
  const std::size_t cache = count > 2 ? std::strtoull(words[2], nullptr, 10) : 64;
  say("INFO 09-01 10:00:00 [core.py:93] Initializing a V1 LLM engine (v0.11.0) with config: model='toy'");
  end_stage("INFO 09-01 10:00:01 [gpu_model_runner.py:2602] Starting to load model toy...");
  take(weights);
  end_stage(("INFO 09-01 10:00:02 [gpu_model_runner.py:2653] Model loading took " + gib(weights) + " and 1.0 seconds")
                .c_str());
  const std::string how = count > 3 ? words[3] : "";
  if (how == "mute") std::this_thread::sleep_for(std::chrono::seconds(60));
  if (how == "die") {
    say("ERROR 09-01 10:00:03 [core.py:708] torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. "
        "GPU 0 has a total capacity of 23.52 GiB of which 1.00 GiB is free.");
    return 1;
  }
  end_stage(("INFO 09-01 10:00:03 [gpu_worker.py:298] Available KV cache memory: " + gib(cache)).c_str());
  take(cache);
  end_stage("INFO 09-01 10:00:04 [core.py:210] init engine (profile, create kv cache, warmup model) took 2.00 seconds");
  say("INFO:     Application startup complete.");
  std::this_thread::sleep_for(std::chrono::seconds(60));
  return 0;
}
