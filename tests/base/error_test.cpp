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

TEST_CASE("the innermost source of an error is kept") {
  Error error(Exit::kBadInput, "what", "remedy");
  error.set_source("hf_quant_config.json");
  error.set_source("model");
  CHECK(error.source() == "hf_quant_config.json");
}

TEST_CASE("text from outside cannot break the line or flood the terminal") {
  CHECK(one_line("a\nb\x1b[31m\x7f") == "a?b?[31m?");
  CHECK(one_line("0123456789", 4) == "0123...");
  CHECK(one_line("Größe") == "Größe");
  // C1 controls, direction marks, zero-width characters, invalid UTF-8.
  CHECK(one_line("a\xc2\x9b"
                 "b\xe2\x80\xae"
                 "c\xe2\x80\x8b"
                 "d\xef\xbb\xbf") == "a?b?c?d?");
  CHECK(one_line("\x9b"
                 "a\xe2\x82") == "?a??");
  CHECK(one_line("\xc0\xaf\xed\xa0\x80\xf4\x90\x80\x80") == "?????????");
  CHECK(one_line("größer", 3) == "gr...");
  // Text that a CI runner would take for a command, at the start of a line or of a word that wrapping may put there.
  CHECK(one_line("::stop-commands::x") == ": :stop-commands::x");
  CHECK(one_line("x ::error::y ##[add-mask]1") == "x : :error::y ## [add-mask]1");
  CHECK(one_line("std::vector") == "std::vector");
  CHECK(one_line("a::::b") == "a:: : :b");
  Error error(Exit::kBadInput, std::string(5000, 'x') + "\n", "remedy");
  error.set_source("two\nlines");
  CHECK(error.line().find('\n') == std::string::npos);
  CHECK(error.line().size() < 2000);
}

TEST_CASE("an error has its exit code") {
  CHECK_THROWS_WITH_AS(fail("what", "remedy"), "what; remedy", Error);
  try {
    fail(Exit::kUnknownArchitecture, "what", "remedy");
  } catch (const Error& error) {
    CHECK(error.code() == Exit::kUnknownArchitecture);
  }
}

}  // namespace
}  // namespace kvplan
