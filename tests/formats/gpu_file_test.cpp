#include "formats/own_files.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>

#include "kvplan/error.h"
#include "support/program.h"

namespace kvplan {
namespace {

TEST_CASE("gpu file: the short form and the long one") {
  const auto cards = parse_gpu_file(R"([{"name": "a", "memory": "24GiB", "bandwidth": 900.5},
    {"name": "b", "memory_bytes": 85899345920, "usable": "79GiB", "kind": "unified", "vendor": "NVIDIA"}])");
  REQUIRE(cards.size() == 2);
  CHECK(cards[0].memory == std::uint64_t{24} << 30);
  CHECK(cards[0].bandwidth_gb_s == 900.5);
  CHECK(cards[1].memory == 85899345920);
  CHECK(cards[1].usable == std::uint64_t{79} << 30);
  CHECK(cards[1].unified);
  CHECK(parse_gpu_file(R"({"gpus": [{"name": "a", "memory": "80 GB"}]})").front().memory == 80000000000);
}

TEST_CASE("gpu file: refusals") {
  for (const char* text : {"",
                           "[",
                           "[]",
                           "{}",
                           "3",
                           "null",
                           R"({"gpus": {}})",
                           "[3]",
                           "[{}]",
                           R"([{"name": "a"}])",
                           R"([{"name": "a", "memory": "many"}])",
                           R"([{"name": "a", "memory": "-24GiB"}])",
                           R"([{"name": "a", "memory": "1.2.3GiB"}])",
                           R"([{"name": "a", "memory": 0}])",
                           R"([{"name": "a", "memory": 1e300}])",
                           R"([{"name": "a", "memory": "999999999999999TiB"}])",
                           R"([{"name": "", "memory": "1GiB"}])",
                           R"([{"name": "---", "memory": "1GiB"}])",
                           R"([{"name": "a b", "memory": "1GiB"}])",
                           R"([{"name": "auto", "memory": "1GiB"}])",
                           R"([{"name": "a\u001b[31m", "memory": "1GiB"}])",
                           R"([{"name": 3, "memory": "1GiB"}])",
                           R"([{"name": "a", "memory": "1GiB", "bandwidth": -1}])",
                           R"([{"name": "a", "memory": "1GiB", "aliases": "x"}])",
                           R"([{"name": "a", "memory": "1GiB", "usable": "2GiB"}])",
                           "[[[[[[[[[[[[1]]]]]]]]]]]]"}) {
    CAPTURE(text);
    try {
      parse_gpu_file(text);
      FAIL("accepted");
    } catch (const Error& error) {
      CHECK(error.code() == Exit::kBadInput);
      const std::string line = error.line();
      CHECK(std::none_of(line.begin(), line.end(), [](char c) { return c >= 0 && c < 0x20; }));
    }
  }
}

TEST_CASE("gpu file: kvplan reads it, and its own list") {
  const TemporaryFolder folder;
  const std::string file = folder.write("cards.json", R"([{"name": "lab-card", "memory": "40GiB"}])");
  const Run one = run_program({"gpus", "--gpu-file", file, "lab-card"});
  CHECK(one.exit == 0);
  CHECK(one.out.find("40.00") != std::string::npos);
  const Run all = run_program({"gpus", "--json"});
  REQUIRE(all.exit == 0);
  CHECK(all.out.find("\"schema_version\": 1") != std::string::npos);
  const std::string again = folder.write("all.json", all.out);
  CHECK(run_program({"gpus", "--gpu-file", again, "--json"}).out == all.out);
  for (const std::vector<std::string>& wrong : {std::vector<std::string>{"gpus", "rtx-9999"},
                                                {"gpus", "--gpu-file", folder.path() + "/absent.json"},
                                                {"gpus", "--gpu-file", folder.write("bad.json", "{")}}) {
    const Run run = run_program(wrong);
    CHECK(run.exit == 2);
    CHECK(run.out.empty());
    CHECK(std::count(run.err.begin(), run.err.end(), '\n') == 1);
  }
}

}  // namespace
}  // namespace kvplan
