// The engine's allocations for a cache add up to the plan's bytes exactly, for every bundled model.
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>

#include "engines/engine.h"
#include "kvplan/error.h"
#include "plan/plan.h"
#include "plan/steps.h"
#include "sources/load.h"

namespace kvplan {
namespace {

std::vector<CacheBuffer> buffers_of(const std::string& config, const std::string& engine, Request request,
                                    std::size_t rank = 0) {
  const ModelSpec model = load_model(std::string(KVPLAN_SOURCE_DIR) + "/testdata/configs/" + config, {});
  find_engine(engine, request);
  const EngineInput input = engine_input(model, request);
  std::vector<Note> notes;
  return engine_of(request).layout(input, notes)->buffers(load_of(model, request), rank);
}

TEST_CASE("buffers: they add up to the plan in every engine") {
  std::size_t compared = 0;
  for (const auto& entry : std::filesystem::directory_iterator(std::string(KVPLAN_SOURCE_DIR) + "/testdata/configs")) {
    if (entry.path().extension() != ".json") continue;
    CAPTURE(entry.path().filename().string());
    const ModelSpec model = load_model(entry.path().string(), {});
    for (const Engine& engine : engines()) {
      for (const std::uint64_t ranks : {1u, 2u}) {
        for (const std::uint64_t stages : {1u, 2u}) {
          CAPTURE(engine.name);
          CAPTURE(ranks);
          CAPTURE(stages);
          try {
            Request request;
            find_engine(engine.name, request);
            request.parallel.tensor = ranks;
            request.parallel.pipeline = stages;
            request.max_model_len = Tokens(5000);
            request.num_seqs = 3;
            const EngineInput input = engine_input(model, request);
            std::vector<Note> notes;
            const auto layout = engine.layout(input, notes);
            const Load load = load_of(model, request);
            const std::vector<RankCache> plan = layout->explain(load);
            for (std::size_t rank = 0; rank < plan.size(); ++rank) {
              std::map<std::string, Bytes> by_line;
              Bytes sum;
              for (const CacheBuffer& buffer : layout->buffers(load, rank)) {
                CHECK(buffer.bytes > Bytes(0));
                CHECK_FALSE(buffer.name.empty());
                by_line[in_words(buffer.line)] += buffer.bytes;
                sum += buffer.bytes;
              }
              CHECK(sum == plan[rank].reserved);
              // A buffer that is also a ledger line has that line's bytes.
              for (const LedgerLine& line : plan[rank].lines)
                if (by_line.count(in_words(line.what)) > 0) CHECK(by_line[in_words(line.what)] == line.bytes);
              ++compared;
            }
          } catch (const Error&) {  // the engine refuses the model or the layout, which other tests check
          }
        }
      }
    }
  }
  CHECK(compared > 1000);
}

TEST_CASE("buffers: a layer's K and V are separate tensors if the engine separates them") {
  Request request;
  request.max_model_len = Tokens(1024);
  // 32 layers, 8 heads of 128, 16 bit: K of 1024 tokens is 2 MiB.
  const auto transformers = buffers_of("llama-3.1-8b.json", "transformers", request);
  REQUIRE(transformers.size() == 64);
  CHECK(transformers.front().bytes == Bytes(2 << 20));
  CHECK(transformers.front().name == "layer 0, key");
  // vLLM keeps K and V in one tensor of blocks.
  const auto vllm = buffers_of("llama-3.1-8b.json", "vllm", request);
  REQUIRE(vllm.size() == 32);
  CHECK(vllm.front().bytes == Bytes(4 << 20));
  // SGLang has an additional page of one token.
  const auto sglang = buffers_of("llama-3.1-8b.json", "sglang", request);
  REQUIRE(sglang.size() == 64);
  CHECK(sglang.front().bytes == Bytes(std::uint64_t{1025} * 8 * 128 * 2));
  // llama.cpp: one buffer for the cache of a device; TensorRT-LLM: one pool.
  CHECK(buffers_of("llama-3.1-8b.json", "llama.cpp", request).size() == 1);
  CHECK(buffers_of("llama-3.1-8b.json", "tensorrt-llm", request).size() == 1);
}

TEST_CASE("buffers: the groups of a pool share its tensors") {
  Request request;
  request.max_model_len = Tokens(32768);
  // gpt-oss-20b: 12 full layers and 12 sliding ones form two groups. Each tensor serves one layer of each group.
  const auto buffers = buffers_of("gpt-oss-20b.json", "vllm", request);
  REQUIRE_FALSE(buffers.empty());
  std::set<Bytes> sizes;
  for (const CacheBuffer& buffer : buffers) sizes.insert(buffer.bytes);
  CHECK(sizes.size() == 1);
  CHECK(buffers.size() == 12);
}

}  // namespace
}  // namespace kvplan
