
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "kvplan/error.h"
#include "kvplan/strings.h"
#include "report/words.h"

namespace kvplan {
namespace {

TEST_CASE("a token of the Hub is not printed") {
  const std::string letters(34, 'a');
  CHECK(one_line("give hf_" + letters + " to it") == "give hf_*** to it");
  CHECK(one_line("/path/hf_" + letters + "/x") == "/path/hf_***/x");
  CHECK(one_line("hf_" + std::string(20, 'Z')) == "hf_***");
  // The name of a model or a folder is not a token.
  CHECK(one_line("hf_transfer-and-more_of_it") == "hf_transfer-and-more_of_it");
  CHECK(one_line("hf_" + std::string(19, 'Z')) == "hf_" + std::string(19, 'Z'));
}

TEST_CASE("a JSON string is unchanged when it is read, except for bytes that are not text") {
  for (const std::string text : {"plain", "a\"b\\c", "a\nb\tc\x1b[31m", "\u009b\u202e\u2028", "ä漢😀", ""})
    CHECK(nlohmann::json::parse(json_string(text)).get<std::string>() == text);
  CHECK(json_string("\xff"
                    "a\xed\xa0\x80") ==
        "\"\xEF\xBF\xBD"
        "a\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\"");
  CHECK(json_string("##[x]") == "\"##\\u005bx]\"");
  CHECK(json_string("\x7f") == "\"\\u007f\"");
  // A whole report: its own line ends and brackets stay.
  const std::string token = "hf_" + std::string(34, 'a');
  CHECK(printable_json("{\"" + token + "\": \"x" + token + "\", \"hf_short\": \"hf_\"}") ==
        "{\"hf_***\": \"xhf_***\", \"hf_short\": \"hf_\"}");
  CHECK(printable_json("{\n  \"a\": [\"##[x] \xC2\x9B \xE2\x80\xAE \x7f\"]\n}") ==
        "{\n  \"a\": [\"##\\u005bx] \\u009b \\u202e \\u007f\"]\n}");
}

TEST_CASE("quotes a word for a shell") {
  CHECK(shell_word("org/name@main") == "org/name@main");
  CHECK(shell_word("=ls") == "'=ls'");
  CHECK(shell_word("") == "''");
  CHECK(shell_word("it's") == "'it'\\''s'");
  // bash: printf %s $'a\x1b[31m\x0ab'
  CHECK(shell_word("a\x1b[31m\nb'c\\") == "$'a\\x1b[31m\\x0ab\\'c\\\\'");
  CHECK(shell_word("\xff") == "$'\\xff'");
  CHECK(shell_word("x ##[add-mask]y") == "$'x \\x23\\x23[add-mask]y'");
}

// FIPS 180-4's examples, and lengths about the end of a block (by sha256sum).
TEST_CASE("SHA-256") {
  CHECK(sha256("") == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  CHECK(sha256("abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  CHECK(sha256("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq") ==
        "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  CHECK(sha256(std::string(1'000'000, 'a')) == "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
  CHECK(sha256(std::string(55, 'x')) == "d5e285683cd4efc02d021a5c62014694958901005d6f71e89e0989fac77e4072");
  CHECK(sha256(std::string(56, 'x')) == "04c26261370ee7541549d16dee320c723e3fd14671e66a099afe0a377c16888e");
  CHECK(sha256(std::string(64, 'x')) == "7ce100971f64e7001e8fe5a51973ecdfe1ced42befe7ee8d5fd6219506b5393c");
}

TEST_CASE("characters: UTF-8 of one to four bytes, written and read") {
  for (const char32_t code : {U'A', U'\u00e9', U'\u20ac', U'\U0001f600'}) {
    std::string text;
    append_utf8(code, text);
    CHECK(character_at(text, 0).code == code);
    CHECK(character_at(text, 0).bytes == text.size());
  }
}

}  // namespace
}  // namespace kvplan
