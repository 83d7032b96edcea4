// A calibration in a plan: which figures apply to which GPU, engine and model, and what they change.
#include "plan/calibrate.h"

#include <doctest/doctest.h>

#include "engines/requests.h"
#include "kvplan/error.h"
#include "measure/diagnosis.h"
#include "measure/log_reader.h"
#include "plan/plan.h"
#include "plan/steps.h"
#include "support/figures.h"

namespace kvplan {
namespace {

CalibrationRecord record_of(const std::string& device, const std::string& engine, const std::string& source) {
  CalibrationRecord out;
  out.device = device;
  out.driver = "550.54";
  out.engine = engine;
  out.source = source;
  out.date = "2026-11-21";
  return out;
}

Request on(const std::string& gpu, const std::string& engine, std::vector<CalibrationRecord> records) {
  Request out = request_for(engine, 4096);
  out.card.gpu = &parse_gpu(gpu);
  auto calibration = std::make_shared<Calibration>();
  calibration->path = "calibration.json";
  calibration->named = true;
  calibration->records = std::move(records);
  out.calibration = calibration;
  return out;
}

const LedgerLine* line_of(const Plan& plan, std::string_view word) {
  for (const LedgerLine& line : plan.memory.front().lines)
    if (in_words(line.what).find(word) != std::string::npos) return &line;
  return nullptr;
}

TEST_CASE("calibrate: a measured context is the low end of its line, and libraries come in addition") {
  const ModelSpec model = test_model("llama-3.1-8b");
  CalibrationRecord h100 = record_of("NVIDIA H100 80GB HBM3", "logical", "measure");
  h100.add(kContextFigure, 400.0 * kMiB);
  h100.add(kContextFigure, 420.0 * kMiB);
  h100.add(kUsableFigure, 80000.0 * kMiB);
  h100.add(kBandwidthFigure, 2.5e12);
  const Plan plan = make_plan(model, on("h100-80gb", "transformers", {h100}));
  const LedgerLine* context = line_of(plan, "context");
  REQUIRE(context != nullptr);
  const Plan estimated = make_plan(model, on("h100-80gb", "transformers", {}));
  REQUIRE(line_of(estimated, "context") != nullptr);
  CHECK(context->bytes == Bytes(570 * kMiB));
  CHECK(line_of(estimated, "context")->bytes == Bytes(512 * kMiB));
  CHECK(context->low == Bytes(400 * kMiB));
  CHECK(context->high == Bytes(1024 * kMiB));  // libraries are added
  CHECK(context->source.find("measured 2 times on NVIDIA H100 80GB HBM3") != std::string::npos);
  REQUIRE(plan.calibrated.size() == 3);
  CHECK(
      plan.roofline->bandwidth_gb_s ==
      doctest::Approx(3350));  // the maker's figure, because the measured one is lower and therefore not an upper bound
  CHECK(plan.calibrated[0].what == in_words(context->what));
  CHECK(plan.calibrated[1].what == "memory of the GPU");
  // The total memory is the measured 80000 MiB. The budget is what everything but the cache leaves of it.
  REQUIRE(plan.capacity);
  const Bytes beside = plan.memory[0].total - *plan.memory[0].kv_cache;
  CHECK(plan.capacity->kv_cache_memory == Bytes(80000 * kMiB) - beside);
  CHECK(calibrated_bandwidth(plan.request)->mean == doctest::Approx(2.5e12));
  // The parts still add up.
  CHECK(*plan.memory[0].runtime == context->bytes);
}

TEST_CASE("calibrate: another GPU's figures change nothing") {
  const ModelSpec model = test_model("llama-3.1-8b");
  CalibrationRecord other = record_of("NVIDIA GeForce RTX 4090", "logical", "measure");
  other.add(kContextFigure, 1.0 * kMiB);
  const Plan plan = make_plan(model, on("h100-80gb", "transformers", {other}));
  CHECK(plan.calibrated.empty());
  CHECK(line_of(plan, "context")->bytes == Bytes(512 * kMiB));
  CHECK(plan.notes.back().code == "calibration_unused");
  // One name with two sizes: a GPU with half the memory is another GPU.
  CalibrationRecord half = record_of("NVIDIA H100 80GB HBM3", "logical", "measure");
  half.memory = Bytes(40000 * kMiB);
  half.add(kContextFigure, 1.0 * kMiB);
  CHECK(make_plan(model, on("h100-80gb", "transformers", {half})).calibrated.empty());
  // A size does not identify a GPU.
  Request size = on("h100-80gb", "transformers", {other});
  size.card.gpu = nullptr;
  size.card.memory = Bytes(80000 * kMiB);
  CHECK(make_plan(model, size).calibrated.empty());
}

TEST_CASE("calibrate: an engine's figures apply to its release, a model's also only to the model") {
  const ModelSpec model = test_model("llama-3.1-8b");
  Request request = on("h100-80gb", "vllm", {});
  CalibrationRecord log = record_of("h100-80gb", "vllm", "log");
  log.engine_version = "0.33";
  log.model = calibration_subject(engine_input(model, request));
  log.add(kActivationFigure, 1000.0 * kMiB);
  log.add(kGraphsFigure, 700.0 * kMiB);
  CalibrationRecord process = log;
  process.figures.clear();
  process.model = calibration_layout(request);
  process.add(kNonTorchFigure, 90.0 * kMiB);
  const Plan estimated = make_plan(model, request_for("vllm", 4096));
  const Plan plan = make_plan(model, on("h100-80gb", "vllm", {log, process}));
  CHECK(plan.calibrated.size() == 3);
  CHECK(*plan.memory[0].activation == Bytes(1000 * kMiB));
  CHECK(*plan.memory[0].runtime == Bytes(790 * kMiB));
  CHECK(plan.memory[0].weights == estimated.memory[0].weights);

  Request older = on("h100-80gb", "vllm", {log, process});
  older.engine_version = "0.20";
  CHECK(make_plan(model, older).calibrated.empty());
  CHECK(make_plan(model, on("h100-80gb", "sglang", {log, process})).calibrated.empty());
  // For another model, the memory of the process outside its tensors still applies, but the activations do not.
  const ModelSpec qwen = test_model("qwen3-0.6b");
  const Plan another = make_plan(qwen, on("h100-80gb", "vllm", {log, process}));
  REQUIRE(another.calibrated.size() == 1);
  CHECK(another.calibrated[0].name == kNonTorchFigure);
  // Two ranks communicate, so neither figure applies.
  Request ranks = on("h100-80gb", "vllm", {log, process});
  ranks.parallel.tensor = 2;
  CHECK(make_plan(model, ranks).calibrated.empty());
}

TEST_CASE("calibrate: graphs outside an older vLLM's budget do not change the budget") {
  const ModelSpec model = test_model("llama-3.1-8b");
  Request request = on("h100-80gb", "vllm", {});
  request.engine_version = "0.10";
  CalibrationRecord log = record_of("h100-80gb", "vllm", "log");
  log.engine_version = "0.10";
  log.model = calibration_subject(engine_input(model, request));
  log.add(kGraphsFigure, 3000.0 * kMiB);
  const Plan without = make_plan(model, request);
  Request with = on("h100-80gb", "vllm", {log});
  with.engine_version = "0.10";
  const Plan plan = make_plan(model, with);
  REQUIRE(plan.calibrated.size() == 1);
  CHECK(line_of(plan, "graphs")->bytes == Bytes(3000 * kMiB));
  CHECK(plan.capacity->kv_cache_memory == without.capacity->kv_cache_memory);
}

TEST_CASE("calibrate: a start-up log gives activations, graphs and memory outside PyTorch") {
  const ModelSpec model = test_model("llama-3.1-8b");
  // The lines as vLLM 0.30 prints them, with figures of this test.
  const std::string log =
      "INFO vLLM API server version 0.30.0\n"
      "INFO Free memory on device (78.7/79.19 GiB) on startup. Desired GPU memory utilization is (0.9, 71.27 GiB). "
      "Actual usage is 15.0 GiB for weight, 1.25 GiB for peak activation, 0.5 GiB for non-torch memory, and 0.25 GiB "
      "for CUDAGraph memory.\n";
  Request base;
  base.card.gpu = &parse_gpu("h100-80gb");
  const LogCheck check = check_log(model, base, read_log(log));
  const auto records = calibration_of_log(model, check, "2026-11-21");
  REQUIRE(records.size() == 2);
  CHECK(records[0].device == "h100-80gb");
  CHECK(records[0].engine == "vllm");
  CHECK(records[0].engine_version == "0.30");
  CHECK(records[0].source == "log");
  CHECK(records[0].find(kActivationFigure)->mean_bytes() == Bytes(1280 * kMiB));
  CHECK(records[0].find(kGraphsFigure)->mean_bytes() == Bytes(256 * kMiB));
  CHECK(records[1].find(kNonTorchFigure)->mean_bytes() == Bytes(512 * kMiB));
  // The next plan has the log's figures.
  Request next = check.plan.request;
  auto calibration = std::make_shared<Calibration>();
  for (const CalibrationRecord& record : records) calibration->merge(record);
  next.calibration = calibration;
  const Plan plan = make_plan(model, next);
  CHECK(*plan.memory[0].activation == Bytes(1280 * kMiB));
  CHECK(*plan.memory[0].runtime == Bytes(768 * kMiB));
  CHECK_THROWS_AS(calibration_of_log(model,
                                     check_log(model, base,
                                               read_log("INFO vLLM API server version 0.30.0\n"
                                                        "INFO Model loading took 15.0 GiB\n")),
                                     "2026-11-21"),
                  Error);
}

// Qwen3-0.6B's blocks are 16 tokens of 28 layers: 1,835,008 bytes; these hold some 24 tokens in twice the bytes.
TEST_CASE("calibrate: weights and blocks from kvplan verify") {
  const ModelSpec model = test_model("qwen3-0.6b");
  Request request = on("h100-80gb", "vllm", {});
  request.engine_version = "0.99.0";
  const CalibrationRecord said =
      said_by_engine(model, request, "weights_bytes=2276328096,block_bytes=3670016,request_blocks=171", "2026-11-28");
  CHECK(said.source == "verify");
  const auto planned = [&](std::string release, std::uint64_t tokens) {
    Request out = on("h100-80gb", "vllm", {said});
    out.engine_version = std::move(release);
    out.max_model_len = Tokens(tokens);
    return make_plan(model, out);
  };
  const Plan plan = planned("0.99", 4096);
  CHECK(*plan.memory[0].weights - line_of(plan, "loading")->bytes == Bytes(2276328096));
  CHECK(line_of(plan, "weights")->basis == Basis::kCalibrated);
  REQUIRE(plan.capacity);
  CHECK(*plan.capacity->num_blocks == plan.capacity->kv_cache_memory.count() / 3670016);
  CHECK(*plan.capacity->tokens == 4096 * *plan.capacity->num_blocks / 171);
  CHECK(plan.capacity->max_concurrency == doctest::Approx(static_cast<double>(*plan.capacity->num_blocks) / 171));
  CHECK(plan.calibrated.size() == 3);
  CHECK(planned("0.98", 4096).calibrated.empty());
  CHECK(planned("0.99", 8192).calibrated.empty());
  CHECK_FALSE(plan.settings.prefix_caching == false);
  const auto off = said_by_engine(model, request, "prefix_caching=0", "2026-11-28");
  Request later = on("h100-80gb", "vllm", {off});
  later.engine_version = "0.99.0";
  CHECK(make_plan(model, later).settings.prefix_caching == false);
  CHECK_THROWS_AS(said_by_engine(model, request, "tokens=7", "2026-11-28"), Error);
  CHECK_THROWS_AS(said_by_engine(model, request, "block_bytes=-1", "2026-11-28"), Error);
}

TEST_CASE("calibrate: tokens of SGLang's pool from kvplan verify") {
  const ModelSpec model = test_model("qwen3-0.6b");
  const CalibrationRecord said =
      said_by_engine(model, on("h100-80gb", "sglang", {}), "token_bytes=123456.5", "2026-11-28");
  const Plan plan = make_plan(model, on("h100-80gb", "sglang", {said}));
  REQUIRE(plan.capacity);
  CHECK(*plan.capacity->tokens ==
        static_cast<std::uint64_t>(static_cast<double>(plan.capacity->kv_cache_memory.count()) / 123456.5));
  CHECK(plan.capacity->max_concurrency == doctest::Approx(static_cast<double>(*plan.capacity->tokens) /
                                                          static_cast<double>(plan.load.max_model_len.count()))
                                              .epsilon(1e-3));
  CHECK(plan.calibrated.size() == 1);
  // A token of less than a byte would give more tokens than fit a number.
  const CalibrationRecord tiny =
      said_by_engine(model, on("h100-80gb", "sglang", {}), "token_bytes=0.000000000001", "2026-11-28");
  CHECK(make_plan(model, on("h100-80gb", "sglang", {tiny})).calibrated.empty());
  Request limited = on("h100-80gb", "sglang", {said});
  limited.extras.max_total_tokens = 5000;
  CHECK(make_plan(model, limited).calibrated.empty());
}

// By kvplan's rules one sequence fits, by the engine's blocks only half of one.
TEST_CASE("calibrate: if the engine's own figures contradict a verdict, there is none") {
  const ModelSpec model = test_model("qwen3-0.6b");
  Request request = on("h100-80gb", "vllm", {});
  request.calibration = nullptr;
  REQUIRE(make_plan(model, request).verdict.status == Verdict::kFits);
  const std::string said = "block_bytes=1835008,request_blocks=80000";
  const Plan plan = make_plan(model, on("h100-80gb", "vllm", {said_by_engine(model, request, said, "2026-11-28")}));
  CHECK(plan.verdict.status == Verdict::kUnknown);
  CHECK_FALSE(plan.verdict.starts);
}

}  // namespace
}  // namespace kvplan
