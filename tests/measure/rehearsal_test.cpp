// A rehearsed start on a simulated device: PyTorch's segments, one buffer in llama.cpp, and the step at which it fails.
#include "measure/measure.h"

#include <doctest/doctest.h>

#include "sources/load.h"
#include "support/fake_device.h"

namespace kvplan {
namespace {

const Bytes kGranule(2 * kMiB);

std::optional<Rehearsal> rehearsed(Device& device, std::string_view engine, std::uint64_t card_gib,
                                   const MeasureOptions& options = {},
                                   const std::string& config = "llama-3.1-8b.json") {
  const ModelSpec model = load_model(std::string(KVPLAN_SOURCE_DIR) + "/testdata/configs/" + config, {});
  Request request;
  request.max_model_len = Tokens(32768);
  if (card_gib > 0) request.card.memory = Bytes(card_gib * kGiB);
  find_engine(engine, request);
  const Plan plan = make_plan(model, request);
  return rehearse(model, plan, device, options);
}

const RehearsedStep& step_of(const Rehearsal& seen, std::string_view what) {
  for (const RehearsedStep& step : seen.steps)
    if (step.what.starts_with(what)) return step;
  FAIL("no step " << what);
  return seen.steps.front();
}

}  // namespace

TEST_CASE("rehearsal: vLLM's start on a GPU of 80 GiB, in PyTorch's segments") {
  FakeDevice device(Bytes(80 * kGiB), kGranule);
  const auto seen = rehearsed(device, "vllm", 80);
  REQUIRE(seen);
  CHECK(seen->status == RehearsalStatus::kStarts);
  CHECK(seen->stopped.empty());
  CHECK(seen->missing == Bytes(0));
  // Embedding, head, rotary table; four matrices of 32 layers; one segment for 65 norms of 8 KiB: arithmetic on
  // CUDACachingAllocator.cpp's sizes.
  const RehearsedStep& weights = step_of(*seen, "weights");
  CHECK(weights.blocks >= 132);
  CHECK(weights.blocks <= 133);  // and a few bytes for scales
  CHECK(weights.held == weights.blocks);
  CHECK(weights.asked >= weights.planned);
  CHECK(weights.asked.count() - weights.planned.count() < 4 * kMiB);
  // The pool is the engine's whole budget, 32 tensors, and not the 4 GiB of the request.
  const RehearsedStep& cache = step_of(*seen, "cache");
  CHECK(cache.what == "cache, the whole pool");
  CHECK(cache.blocks == 32);
  CHECK(cache.planned > Bytes(45 * kGiB));
  CHECK(step_of(*seen, "graphs").held == 1);
  // Everything was allocated at the same time, and freed. What remains is the part that vLLM's fraction leaves free.
  CHECK(device.most_used > Bytes(70 * kGiB));
  CHECK(seen->spare == Bytes(80 * kGiB) - device.most_used);
  CHECK(device.live() == 0);
}

TEST_CASE("rehearsal: llama.cpp allocates a buffer of each kind, and the cache") {
  FakeDevice device(Bytes(80 * kGiB), kGranule);
  const auto seen = rehearsed(device, "llama.cpp", 80);
  REQUIRE(seen);
  CHECK(seen->status == RehearsalStatus::kStarts);
  CHECK(step_of(*seen, "weights").blocks == 1);
  CHECK(step_of(*seen, "cache").what == "cache");
  CHECK(step_of(*seen, "cache").planned == Bytes(4 * kGiB));
  CHECK(device.live() == 0);
}

TEST_CASE("rehearsal: if another program uses memory, it fails and names the block") {
  FakeDevice device(Bytes(80 * kGiB), kGranule);
  device.others = Bytes(20 * kGiB);
  const auto seen = rehearsed(device, "vllm", 80);
  REQUIRE(seen);
  CHECK(seen->status == RehearsalStatus::kStops);
  CHECK(seen->free == Bytes(60 * kGiB));
  CHECK(seen->stopped.starts_with("cache, the whole pool, block "));
  CHECK(seen->missing > Bytes(10 * kGiB));
  CHECK(seen->spare == Bytes(0));
  // Never more than the margin for other programs leaves.
  CHECK(device.most_used <= Bytes(20 * kGiB) + usable_room(Bytes(60 * kGiB), 0.02));
  CHECK(device.live() == 0);
}

TEST_CASE("rehearsal: the margin for other programs is not allocated") {
  FakeDevice plenty(Bytes(80 * kGiB), kGranule);
  const auto whole = rehearsed(plenty, "transformers", 80);
  REQUIRE(whole);
  Bytes all;
  for (const RehearsedStep& step : whole->steps) all += step.asked;
  FakeDevice device(all + Bytes(64 * kMiB), kGranule);
  const auto seen = rehearsed(device, "transformers", 80);
  REQUIRE(seen);
  CHECK(seen->status == RehearsalStatus::kTight);
  CHECK(seen->spare == Bytes(64 * kMiB));
  CHECK(device.live() == 0);
}

TEST_CASE("rehearsal: a driver's error is quoted, and everything is freed") {
  FakeDevice device(Bytes(80 * kGiB), kGranule);
  device.fail_at_allocation = 3;
  const auto seen = rehearsed(device, "transformers", 80);
  REQUIRE(seen);
  CHECK(seen->status == RehearsalStatus::kStops);
  CHECK(seen->reason == "told to refuse");
  CHECK_FALSE(seen->stopped.empty());
  CHECK(device.live() == 0);
  FakeDevice interrupted(Bytes(80 * kGiB), kGranule);
  MeasureOptions options;
  int looks = 0;
  options.stop = [&] { return ++looks > 5; };
  CHECK_THROWS_AS(rehearsed(interrupted, "vllm", 80, options), Interrupted);
  CHECK(interrupted.live() == 0);
}

}  // namespace kvplan
