// --measure with a simulated device: what it allocates, compares, refuses and frees.
#include "measure/measure.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "kvplan/error.h"
#include "sources/load.h"
#include "support/fake_device.h"

namespace kvplan {
namespace {

struct Measured {
  ModelSpec model;
  Plan plan;
  Measurement seen;
};

// Llama-3.1-8B: 131,072 bytes per token.
void measure(Measured& out, Device& device, const Request& request, const MeasureOptions& options = {},
             const std::string& config = "llama-3.1-8b.json") {
  out.model = load_model(std::string(KVPLAN_SOURCE_DIR) + "/testdata/configs/" + config, {});
  out.plan = make_plan(out.model, request);
  out.seen = measure_plan(out.model, out.plan, device, options);
}

Request tokens(std::uint64_t length, std::uint64_t sequences = 1) {
  Request out;
  out.max_model_len = Tokens(length);
  out.num_seqs = sequences;
  return out;
}

TEST_CASE("measure: the planned bytes are allocated, and all of them are freed") {
  FakeDevice device(Bytes(80 * kGiB), Bytes(2 * kMiB));
  Measured out;
  measure(out, device, tokens(32768));
  CHECK(out.seen.status == MeasureStatus::kAgrees);
  CHECK(out.seen.planned == Bytes(4 * kGiB));
  CHECK(out.seen.measured == Bytes(4 * kGiB));
  REQUIRE(out.seen.lines.size() == 1);
  CHECK(out.seen.lines[0].buffers == 64);  // K and V of 32 layers
  CHECK(out.seen.lines[0].reason.empty());
  CHECK(out.seen.scaled.empty());
  CHECK(device.allocations == 64);
  CHECK(device.frees == 64);
  CHECK(device.live() == 0);
  // Every granule of 2 MiB gets a mark, and each mark is read back.
  CHECK(device.reads == 4 * kGiB / (2 * kMiB));
  CHECK(out.seen.bandwidth.n == 5);
  CHECK(out.seen.bandwidth.mean == doctest::Approx(1e12));
  CHECK(out.seen.others_moved == 0);
}

TEST_CASE("measure: rounding to whole multiples explains a difference, a larger one does not") {
  // 1000 tokens: 64 buffers of 2,048,000 bytes, each in a granule of 2 MiB.
  FakeDevice device(Bytes(8 * kGiB), Bytes(2 * kMiB));
  Measured out;
  measure(out, device, tokens(1000));
  CHECK(out.seen.status == MeasureStatus::kAgrees);
  CHECK(out.seen.planned == Bytes(131072000));
  CHECK(out.seen.measured == Bytes(kMiB * 64 * 2));
  CHECK(out.seen.lines[0].rounding == Bytes(kMiB * 64 * 2 - 131072000));
  CHECK(out.seen.lines[0].unexplained() == Bytes(0));
  CHECK(out.seen.lines[0].reason.find("whole multiples") != std::string::npos);
  CHECK(out.seen.reason.find("granularity") != std::string::npos);
  CHECK(out.seen.difference() == doctest::Approx(0.024).epsilon(0.01));

  device.extra_per_mille = 30;  // a driver that uses 3 % itself
  measure(out, device, tokens(32768));
  CHECK(out.seen.status == MeasureStatus::kDisagrees);
  CHECK(out.seen.lines[0].reason.find("unexplained") != std::string::npos);
  CHECK(device.live() == 0);
  MeasureOptions loose;
  loose.tolerance = 0.05;
  measure(out, device, tokens(32768), loose);
  CHECK(out.seen.status == MeasureStatus::kAgrees);
}

TEST_CASE("measure: lines of a hybrid model, each with its own figure") {
  FakeDevice device(Bytes(80 * kGiB), Bytes(4096));
  Measured out;
  Request request = tokens(8192, 4);
  find_engine("sglang", request);
  measure(out, device, request, {}, "qwen3.5-27b.json");
  REQUIRE(out.seen.lines.size() >= 2);
  Bytes sum;
  for (const MeasuredLine& line : out.seen.lines) {
    CHECK(line.measured >= line.planned);
    CHECK(line.unexplained() == Bytes(0));
    sum += line.planned;
  }
  CHECK(sum == out.plan.kv_cache.reserved);
  CHECK(out.seen.status == MeasureStatus::kAgrees);
}

TEST_CASE("measure: a failed allocation is named, and everything is freed") {
  for (const std::uint64_t at : {1u, 2u, 33u, 64u}) {
    FakeDevice device(Bytes(80 * kGiB), Bytes(2 * kMiB));
    device.fail_at_allocation = at;
    Measured out;
    measure(out, device, tokens(4096));
    CHECK(out.seen.status == MeasureStatus::kFailed);
    CHECK(out.seen.reason.find("buffer " + std::to_string(at) + " (") != std::string::npos);
    CHECK(device.live() == 0);
    CHECK(device.frees == at - 1);
  }
  FakeDevice device(Bytes(80 * kGiB), Bytes(2 * kMiB));
  device.fail_at_read = 7;
  Measured out;
  measure(out, device, tokens(4096));
  CHECK(out.seen.status == MeasureStatus::kFailed);
  CHECK(device.live() == 0);
}

TEST_CASE("measure: memory that does not keep what was written is a failure") {
  FakeDevice device(Bytes(80 * kGiB), Bytes(2 * kMiB));
  device.corrupt_at_read = 100;
  Measured out;
  measure(out, device, tokens(32768));
  CHECK(out.seen.status == MeasureStatus::kFailed);
  CHECK(out.seen.reason.find("could not be read back") != std::string::npos);
  CHECK(device.live() == 0);
}

TEST_CASE("measure: a plan larger than the free memory is measured smaller, and the report says so") {
  FakeDevice device(Bytes(24 * kGiB), Bytes(2 * kMiB));
  Measured out;
  // 16 sequences of 32k tokens are 64 GiB, and five of them fit.
  measure(out, device, tokens(32768, 16));
  CHECK(out.seen.status == MeasureStatus::kAgrees);
  CHECK(out.seen.num_seqs == 5);
  CHECK(out.seen.max_model_len == 32768);
  CHECK(out.seen.planned == Bytes(20 * kGiB));
  CHECK_FALSE(out.seen.scaled.empty());
  // One sequence of a million tokens is 128 GiB, so a shorter one is measured.
  measure(out, device, tokens(1048576));
  CHECK(out.seen.num_seqs == 1);
  CHECK(out.seen.max_model_len < 1048576);
  CHECK(out.seen.max_model_len > 150000);
  CHECK(device.most_used < Bytes(24 * kGiB));
  CHECK(device.live() == 0);
}

TEST_CASE("measure: memory of other programs is counted as theirs") {
  FakeDevice device(Bytes(24 * kGiB), Bytes(2 * kMiB));
  device.others = Bytes(22 * kGiB);
  Measured out;
  measure(out, device, tokens(131072));  // 16 GiB
  CHECK(out.seen.used_by_others == Bytes(22 * kGiB));
  CHECK(out.seen.other_processes == 1);
  CHECK(out.seen.free == Bytes(2 * kGiB));
  // A margin of 256 MiB stays free whatever is requested.
  CHECK(device.most_used <= Bytes(24 * kGiB - 256 * kMiB));
  CHECK(out.seen.status == MeasureStatus::kAgrees);

  device.others = Bytes(24 * kGiB - 300 * kMiB);
  device.allocations = 0;
  measure(out, device, tokens(131072));
  CHECK(device.most_used <= Bytes(24 * kGiB - 256 * kMiB));
  device.others = Bytes(24 * kGiB - 100 * kMiB);
  device.allocations = 0;
  measure(out, device, tokens(131072));
  CHECK(out.seen.status == MeasureStatus::kRefused);
  CHECK(device.allocations == 0);
}

TEST_CASE("measure: programs that grow meanwhile are named as a cause") {
  FakeDevice device(Bytes(80 * kGiB), Bytes(2 * kMiB));
  device.others_grow = Bytes(32 * kMiB);
  Measured out;
  measure(out, device, tokens(32768));
  CHECK(out.seen.status == MeasureStatus::kDisagrees);
  CHECK(out.seen.others_moved == static_cast<std::int64_t>(kMiB * 64 * 32));
  CHECK(out.seen.reason.find("other programs changed memory") != std::string::npos);
}

TEST_CASE("measure: of several GPUs, one is measured with its part of the plan") {
  FakeDevice device(Bytes(80 * kGiB), Bytes(2 * kMiB));
  Measured out;
  Request request = tokens(32768);
  request.parallel.tensor = 2;
  request.parallel.given = true;
  measure(out, device, request);
  CHECK(out.seen.planned == Bytes(2 * kGiB));
  CHECK(out.seen.gpu == 0);
}

TEST_CASE("measure: the largest context is the largest that can be allocated") {
  FakeDevice device(Bytes(16 * kGiB), Bytes(2 * kMiB));
  Measured out;
  MeasureOptions options;
  options.find_maximum = true;
  measure(out, device, tokens(4096), options);
  REQUIRE(out.seen.maximum);
  // 16 GiB minus 2 % are 128,450 tokens of 128 KiB. Rounding each buffer to granules of 16 tokens takes the rest.
  CHECK(out.seen.maximum->max_model_len <= 128450);
  CHECK(out.seen.maximum->max_model_len > 126000);
  CHECK(out.seen.maximum->tries == 1);
  CHECK(device.most_used <= Bytes(16 * kGiB - 256 * kMiB));
  CHECK(device.live() == 0);

  // A device that refuses although it reports more free memory. The limit is found by trying.
  class Lying : public FakeDevice {
   public:
    using FakeDevice::FakeDevice;
    DeviceMemory memory() override {
      DeviceMemory out = FakeDevice::memory();
      out.free = Bytes(out.free.count() * 2);
      return out;
    }
  };
  Lying lying(Bytes(8 * kGiB), Bytes(2 * kMiB));
  measure(out, lying, tokens(4096), options);
  REQUIRE(out.seen.maximum);
  CHECK(out.seen.maximum->tries > 1);
  CHECK(out.seen.maximum->tries <= 24);
  // 8 GiB hold 65,536 tokens.
  CHECK(out.seen.maximum->max_model_len <= 65536);
  CHECK(out.seen.maximum->max_model_len > 65000);
  CHECK(out.seen.maximum->bytes <= Bytes(8 * kGiB));
  CHECK(lying.live() == 0);
}

TEST_CASE("measure: a cache that does not grow has no largest context") {
  FakeDevice device(Bytes(16 * kGiB), Bytes(4096));
  Measured out;
  MeasureOptions options;
  options.find_maximum = true;
  measure(out, device, tokens(4096), options, "mamba-2.8b.json");
  REQUIRE(out.seen.maximum);
  CHECK(out.seen.maximum->limited_by.find("does not grow") != std::string::npos);
}

TEST_CASE("measure: an interruption frees everything") {
  FakeDevice device(Bytes(80 * kGiB), Bytes(2 * kMiB));
  Measured out;
  int looks = 0;
  MeasureOptions options;
  options.stop = [&] { return ++looks > 40; };
  CHECK_THROWS_AS(measure(out, device, tokens(32768), options), Interrupted);
  CHECK(device.live() == 0);
  CHECK(device.allocations > 0);
  CHECK(device.frees == device.allocations);
}

TEST_CASE("measure: progress goes from 0 to 100 %") {
  FakeDevice device(Bytes(80 * kGiB), Bytes(2 * kMiB));
  Measured out;
  std::vector<std::string> steps;
  MeasureOptions options;
  options.progress = [&](std::string_view step, Bytes done, Bytes all) {
    CHECK(done <= all);
    if (steps.empty() || steps.back() != step) steps.emplace_back(step);
  };
  measure(out, device, tokens(4096), options);
  CHECK(std::find(steps.begin(), steps.end(), "checking") != steps.end());
}

TEST_CASE("measure: the GPU's description") {
  FakeDevice device(Bytes(80 * kGiB), Bytes(2 * kMiB));
  Measured out;
  Request request = tokens(32768);
  find_engine("transformers", request);
  measure(out, device, request);
  const CalibrationRecord record = calibration_of(out.seen, "2026-11-21");
  CHECK(record.device == "a device of the tests");
  CHECK(record.engine.empty());  // belongs to the GPU, whatever engine was requested
  CHECK(record.model.empty());
  REQUIRE(record.find(kUsableFigure) != nullptr);
  CHECK(record.find(kUsableFigure)->mean_bytes() == Bytes(80 * kGiB));
  CHECK(record.find(kBandwidthFigure) == nullptr);  // belongs to buffers that are copied one by one
  CHECK(record.find(kContextFigure)->n == 1);
}

}  // namespace
}  // namespace kvplan
