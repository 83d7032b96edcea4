#include "sources/hub_http.h"

#include <doctest/doctest.h>
#include <fmt/printf.h>

#include <ctime>
#include <functional>

#include "sources/site.h"

namespace kvplan {
namespace {

// Each letter in the form that printf writes.
std::string each_as(const std::string& text, const char* format) {
  std::string out;
  for (const char c : text) out += fmt::sprintf(format, static_cast<unsigned>(static_cast<unsigned char>(c)));
  return out;
}

std::vector<std::string> spellings() {
  return {kSecret, each_as(kSecret, "%%%02x"), each_as(kSecret, "%%%02X"),
          kSecret.substr(0, 5) + "%" + each_as(kSecret.substr(5, 1), "%02x") + kSecret.substr(6)};
}

TEST_CASE("the token is found plain and percent-encoded, at any position") {
  for (const std::string& spelling : spellings()) {
    CAPTURE(spelling);
    CHECK(contains_token(spelling, kSecret));
    CHECK(contains_token("{\"a\": \"" + spelling + "\"}", kSecret));
    for (const std::size_t before : {1'048'570U, 1'048'576U, 2'097'000U})
      CHECK(contains_token(std::string(before, ' ') + spelling, kSecret));
  }
  for (const std::string text :
       {"", "hf_", "hf_aVerySecretTokenOfTheTest", "{\"model_type\": \"llama\"}", "%", "%4", "%%"})
    CHECK_FALSE(contains_token(text, kSecret));
  CHECK_FALSE(contains_token("anything", ""));
}

TEST_CASE("the time to search for the token depends only on the text's length") {
  const std::string almost = kSecret.substr(0, kSecret.size() - 1);
  for (const std::string& unit :
       {std::string("x"), kSecret.substr(0, 1), kSecret.substr(0, 2), almost + "!", std::string("%25")}) {
    CAPTURE(unit.substr(0, 60));
    std::string text;
    while (text.size() < 64 << 20) text += unit;
    const std::clock_t begin = std::clock();
    CHECK_FALSE(contains_token(text, kSecret));
    const double seconds = static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
#ifdef NDEBUG
    CHECK(seconds < 1.5 * kSanitizerFactor);  // within the two seconds that an input of 64 MiB may take
#else
    CHECK(seconds < 15 * kSanitizerFactor);
#endif
    CHECK(contains_token(text + each_as(kSecret, "%%%02x"), kSecret));
  }
}

TEST_CASE("hub: a token that comes back percent-encoded is neither kept nor printed") {
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
