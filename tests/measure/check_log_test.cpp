// A log against the plan: what agrees, what does not, and what cannot be told.
#include "measure/check_log.h"

#include <doctest/doctest.h>

#include "measure/log_reader.h"
#include "support/figures.h"

namespace kvplan {
namespace {

LogCheck checked(const std::string& log) {
  return check_log(test_model("llama-3.1-8b"), Request(), read_log(log));
}

TEST_CASE("check-log: a figure of nothing agrees with nothing but nothing") {
  // 32 layers of 8 heads of 128 in 16 bit, 131,072 tokens: 16,384 MiB.
  const std::string line = "llama_kv_cache: CUDA0 KV buffer size = ";
  LogCheck check = checked(line + "16384.00 MiB");
  CHECK(check.compared == 1);
  CHECK(check.disagreements == 0);
  CHECK(check.lines[0].difference() == 0);
  check = checked(line + "0.00 MiB");
  CHECK(check.disagreements == 1);
  CHECK(check.lines[0].difference() == 1);
  check = checked(line + "12288.00 MiB");
  CHECK(check.disagreements == 1);
  CHECK(check.lines[0].difference() == doctest::Approx(1.0 / 3));
}

TEST_CASE("check-log: a budget below zero is no agreement") {
  const LogCheck check = checked("INFO Available KV cache memory: -12.21 GiB\n");
  CHECK(check.compared == 0);
  REQUIRE(check.remarks.size() == 1);
  CHECK(check.remarks[0].find("nothing left") != std::string::npos);
}

}  // namespace
}  // namespace kvplan
