#include "kvplan/error.h"

#include <doctest/doctest.h>

namespace kvplan {
namespace {

TEST_CASE("an error is one line: source, finding, remedy") {
  Error error(Exit::kBadInput, "\"head_dim\" is -1", "correct the config");
  CHECK(error.line() == "kvplan: \"head_dim\" is -1; correct the config");
  error.set_source("a/config.json");
  CHECK(error.line() == "kvplan: a/config.json: \"head_dim\" is -1; correct the config");
}

TEST_CASE("the innermost source stays") {
  Error error(Exit::kBadInput, "what", "remedy");
  error.set_source("hf_quant_config.json");
  error.set_source("model");
  CHECK(error.source() == "hf_quant_config.json");
}

TEST_CASE("text from outside cannot break the line or flood the terminal") {
  CHECK(one_line("a\nb\x1b[31m\x7f") == "a?b?[31m?");
  CHECK(one_line("0123456789", 4) == "0123...");
  CHECK(one_line("Größe") == "Größe");
  Error error(Exit::kBadInput, std::string(5000, 'x') + "\n", "remedy");
  error.set_source("two\nlines");
  CHECK(error.line().find('\n') == std::string::npos);
  CHECK(error.line().size() < 2000);
}

TEST_CASE("fail carries its exit code") {
  CHECK_THROWS_WITH_AS(fail("what", "remedy"), "what; remedy", Error);
  try {
    fail(Exit::kUnknownArchitecture, "what", "remedy");
  } catch (const Error& error) {
    CHECK(error.code() == Exit::kUnknownArchitecture);
  }
}

}  // namespace
}  // namespace kvplan
