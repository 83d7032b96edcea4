#include "sources/token_echo.h"

#include <doctest/doctest.h>
#include <fmt/printf.h>

#include <ctime>
#include <functional>

#include "sources/site.h"

namespace kvplan {
namespace {

// Each letter as printf writes it.
std::string each_as(const std::string& text, const char* format) {
  std::string out;
  for (const char c : text) out += fmt::sprintf(format, static_cast<unsigned>(static_cast<unsigned char>(c)));
  return out;
}

std::string upper(std::string text) {
  for (char& c : text)
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  return text;
}

// kSecret as a shell's base64 writes it, alone and behind one and two other letters.
const std::vector<std::string> kInBase64{
    "aGZfYVZlcnlTZWNyZXRUb2tlbk9mVGhlVGVzdHM=", "eGhmX2FWZXJ5U2VjcmV0VG9rZW5PZlRoZVRlc3Rz",
    "eHhoZl9hVmVyeVNlY3JldFRva2VuT2ZUaGVUZXN0cw=="};

std::vector<std::string> spellings() {
  std::vector<std::string> out{kSecret,
                               each_as(kSecret, "\\u%04x"),
                               each_as(kSecret, "\\u%04X"),
                               each_as(kSecret, "%%%02x"),
                               each_as(kSecret, "%%25%02x"),
                               each_as(kSecret, "&#%u;"),
                               each_as(kSecret, "&#x%x;"),
                               each_as(kSecret, "\\x%02x"),
                               each_as(kSecret, "\\%03o"),
                               each_as(kSecret, "\\\\u%04x"),
                               each_as(kSecret, "%02x"),
                               each_as(kSecret, "%c-"),
                               upper(kSecret)};
  out.insert(out.end(), kInBase64.begin(), kInBase64.end());
  return out;
}

TEST_CASE("the token is known in every spelling, wherever it stands") {
  const TokenEcho echo(kSecret);
  for (const std::string& spelling : spellings()) {
    CAPTURE(spelling);
    CHECK(echo.is_in(spelling));
    CHECK(echo.is_in("{\"a\": \"" + spelling + "\"}"));
    for (const std::size_t before : {1'048'570U, 1'048'576U, 2'097'000U})
      CHECK(echo.is_in(std::string(before, ' ') + spelling));
  }
  for (const std::string text :
       {"", "hf_", "hf_aVerySecretTokenOfTheTest", "{\"model_type\": \"llama\"}", "%", "\\", "&#", "\\u00"})
    CHECK_FALSE(echo.is_in(text));
  CHECK_FALSE(TokenEcho("").is_in("anything"));
  // A short one is compared as it is.
  CHECK(TokenEcho("abc").is_in("xabcx"));
  CHECK_FALSE(TokenEcho("abc").is_in("a-b-c ABC"));
}

TEST_CASE("the search for the token takes its time from the text's length alone") {
  const TokenEcho echo(kSecret);
  const std::string almost = kSecret.substr(0, kSecret.size() - 1);
  for (const std::string& unit :
       {std::string("x"), kSecret.substr(0, 1), kSecret.substr(0, 2), kSecret.substr(3, 8), almost + "!",
        almost + "\\n", std::string("\\\\"), std::string("\\\\u005c"), std::string("\\\\\\\\n"), std::string("%25"),
        std::string("&#38;"), std::string("&#x26;#"), kInBase64[0].substr(0, 20),
        std::string(4000, kSecret[0]) + "\\\\\\\\n"}) {
    CAPTURE(unit.substr(0, 60));
    std::string text;
    while (text.size() < 64 << 20) text += unit;
    const std::clock_t begin = std::clock();
    CHECK_FALSE(echo.is_in(text));
    const double seconds = static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
#ifdef NDEBUG
    CHECK(seconds < 1.5 * kSanitizerFactor);  // within the two seconds of an input of 64 MiB
#else
    CHECK(seconds < 15 * kSanitizerFactor);
#endif
    // At the end, and over the border between two pieces.
    CHECK(echo.is_in(text + each_as(kSecret, "\\u%04x")));
  }
}

TEST_CASE("hub: a token that comes back in another spelling is neither kept nor printed") {
  if (!has_curl()) return;
  const auto check = [](const Site& site, const Run& run) {
    check_refused(run, Exit::kHub, "sends the token back");
    const std::string all = run.out + run.err + site.all_files();
    for (const std::string& spelling : spellings()) CHECK_FALSE(has(all, spelling));
  };
  for (const std::string& spelling : spellings()) {
    CAPTURE(spelling);
    const std::string named = "{\"_name_or_path\": \"" + spelling + "\", " + kSmallConfig.substr(1);
    const std::string quantized = kSmallConfig.substr(0, kSmallConfig.rfind('}')) +
                                  ", \"quantization_config\": {\"quant_method\": \"" + spelling + "\"}}";
    for (const std::string& config : {named, quantized}) {
      Site site;
      site.serve("org/small", {{"config.json", with_commit(config)}});
      check(site, site.run({"org/small", "--json"}, {"HF_TOKEN=" + kSecret}));
    }
    Site index;
    index.serve("org/large", {{"config.json", with_commit(kConfig)},
                              {"model.safetensors.index.json",
                               with_commit("{\"weight_map\": {\"a\": \"" + spelling + ".safetensors\"}}")}});
    check(index, index.run({"org/large"}, {"HF_TOKEN=" + kSecret}));
    Site away;
    Answer answer = refusal(302, "");
    answer.headers = {"Location: http://" + spelling + ".invalid/x"};
    away.hub.fallback(answer);
    check(away, away.run({"org/small"}, {"HF_TOKEN=" + kSecret}));
  }
}

}  // namespace
}  // namespace kvplan
