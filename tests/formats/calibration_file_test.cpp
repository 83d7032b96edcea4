// Calibration files: what is written is read back, and everything else is refused in one line.
#include "formats/own_files.h"

#include <doctest/doctest.h>

#include <cstdlib>

#include "kvplan/error.h"
#include "report/report.h"
#include "support/program.h"

namespace kvplan {
namespace {

Calibration sample() {
  CalibrationRecord record;
  record.device = "NVIDIA H100 80GB HBM3";
  record.memory = Bytes(85028765696);
  record.driver = "550.54.15";
  record.engine = "vllm";
  record.engine_version = "0.30";
  record.source = "measure";
  record.date = "2026-11-21";
  record.add(kContextFigure, 500e6);
  record.add(kContextFigure, 520e6);
  record.add(kBandwidthFigure, 2.9e12);
  Calibration out;
  out.merge(record);
  return out;
}

TEST_CASE("calibration: a written file reads back the same") {
  const Calibration read = parse_calibration(calibration_json(sample()));
  REQUIRE(read.records.size() == 1);
  const CalibrationRecord& record = read.records[0];
  CHECK(record.device == "NVIDIA H100 80GB HBM3");
  CHECK(record.memory == Bytes(85028765696));
  CHECK(record.driver == "550.54.15");
  CHECK(record.model.empty());
  CHECK(record.date == "2026-11-21");
  const Figure* context = record.find(kContextFigure);
  REQUIRE(context != nullptr);
  CHECK(context->n == 2);
  CHECK(context->low_bytes() == Bytes(500000000));
  CHECK(context->high_bytes() == Bytes(520000000));
  CHECK(context->mean_bytes() == Bytes(510000000));
  CHECK(calibration_json(read) == calibration_json(sample()));
}

TEST_CASE("calibration: a file of many small objects is refused at once") {
  // A parser with a callback searches the list again for each object, which takes minutes for these 3.5 MB.
  std::string text = R"({"schema_version":1,"calibration":[{})";
  for (int i = 0; i < 1000000; ++i) text += ",{}";
  CHECK_THROWS_AS(parse_calibration(text + "]}"), Error);
  CHECK_THROWS_AS(parse_calibration(R"({"schema_version":1,"calibration":)" + std::string(9, '[') + "]"), Error);
}

TEST_CASE("calibration: runs of one subject are one sample, those of another day are not") {
  Calibration all = sample();
  CalibrationRecord more = all.records[0];
  more.figures.clear();
  more.add(kContextFigure, 540e6);
  more.date = "2026-11-22";
  all.merge(more);
  REQUIRE(all.records.size() == 1);
  CHECK(all.records[0].find(kContextFigure)->n == 3);
  CHECK(all.records[0].find(kContextFigure)->mean_bytes() == Bytes(520000000));
  CHECK(all.records[0].find(kBandwidthFigure)->n == 1);
  CHECK(all.records[0].date == "2026-11-22");
  more.driver = "560.00";
  all.merge(more);
  REQUIRE(all.records.size() == 1);  // a new driver: the old driver's figures are not part of the mean
  CHECK(all.records[0].find(kContextFigure)->n == 1);
  more.device = "another card";
  all.merge(more);
  CHECK(all.records.size() == 2);
}

std::string with(const std::string& from, const std::string& to) {
  std::string text = calibration_json(sample());
  const auto at = text.find(from);
  REQUIRE(at != std::string::npos);
  return text.replace(at, from.size(), to);
}

TEST_CASE("calibration: a file of another kind is refused") {
  CHECK_NOTHROW(parse_calibration(with("550.54.15", "550")));
  for (const std::string& text : {std::string(),
                                  std::string("[]"),
                                  std::string("{}"),
                                  std::string("{\"schema_version\": 1}"),
                                  std::string("{\"schema_version\": 2, \"calibration\": []}"),
                                  std::string("{\"schema_version\": 1, \"calibration\": {}}"),
                                  std::string("{\"schema_version\": 1, \"calibration\": [[[[[[[[[[1]]]]]]]]]]}"),
                                  with("\"device\"", "\"card\""),
                                  with("\"2026-11-21\"", "\"today\""),
                                  with("\"measure\"", "\"hearsay\""),
                                  with("\"n\": 2", "\"n\": 0"),
                                  with("\"n\": 2", "\"n\": -2"),
                                  with("\"n\": 2", "\"n\": 1e99"),
                                  with("\"low\": 500000000", "\"low\": 530000000"),
                                  with("\"low\": 500000000", "\"low\": \"little\""),
                                  with("\"high\": 520000000", "\"high\": 1e300"),
                                  with("\"high\": 520000000", "\"high\": null"),
                                  with("\"bandwidth_bytes_s\"", "\"context_bytes\""),
                                  with("85028765696", "-1"),
                                  with("\"vllm\"", "\"" + std::string(400, 'x') + "\""),
                                  with("\"figures\": [", "\"figures\": [[], ")}) {
    CAPTURE(text);
    CHECK_THROWS_AS(parse_calibration(text), Error);
  }
}

TEST_CASE("calibration: one line and exit 2 for a bad file; without a file there is no calibration") {
  const TemporaryFolder folder;
  const std::string bad = folder.write("bad.json", "{\"schema_version\": 1,");
  const Run run = run_program({"testdata/configs/llama-3.1-8b.json", "--calibration", bad});
  CHECK(run.exit == 2);
  CHECK(run.out.empty());
  CHECK(run.err.starts_with("kvplan: " + bad + ": "));
  CHECK(run.err.find('\n') == run.err.size() - 1);
  CHECK(run_program({"testdata/configs/llama-3.1-8b.json", "--calibration", folder.path() + "/absent"}).exit == 2);
  CHECK(run_program({"testdata/configs/llama-3.1-8b.json", "--calibration", "none"}).exit == 0);
}

TEST_CASE("calibration: the user's own folder") {
  const TemporaryFolder folder;
  const std::vector<std::string> environment{"XDG_CONFIG_HOME=" + folder.path()};
  const std::vector<std::string> plan{"testdata/configs/llama-3.1-8b.json",
                                      "--gpu",
                                      "h100-80gb",
                                      "--engine",
                                      "transformers",
                                      "--json",
                                      "--max-model-len",
                                      "4k"};
  const Run before = run_program(plan, "/dev/null", environment);
  CHECK(before.out.find("\"calibration\": null") != std::string::npos);
  REQUIRE(std::system(("mkdir " + folder.path() + "/kvplan").c_str()) == 0);
  Calibration own = sample();
  folder.write("kvplan/calibration.json", calibration_json(own));
  const Run after = run_program(plan, "/dev/null", environment);
  CHECK(after.exit == 0);
  CHECK(after.out.find("\"name\": \"context_bytes\"") != std::string::npos);
  CHECK(after.out.find("kvplan/calibration.json") != std::string::npos);
  // The same as without a calibration: another GPU, or --calibration none.
  std::vector<std::string> other = plan;
  other[2] = "rtx-4090";
  CHECK(run_program(other, "/dev/null", environment).out.find("\"calibration\": null") != std::string::npos);
  std::vector<std::string> none = plan;
  none.insert(none.end(), {"--calibration", "none"});
  // The whole report except the command that plans it again.
  const auto plan_of = [](const std::string& out) { return out.substr(0, out.rfind("\"command\"")); };
  CHECK(plan_of(run_program(none, "/dev/null", environment).out) == plan_of(before.out));
}

}  // namespace
}  // namespace kvplan
