// Each bound on what a server may send: just within it a model is planned, one beyond it is a line and exit 4 (2 where
// the user's own words are too long).
#include <cstdint>

#include "sources/site.h"

namespace kvplan {
namespace {

TEST_CASE("hub bounds: redirects of one request") {
  if (!has_curl()) return;
  const auto after = [](int redirects) {
    Site site;
    site.serve("org/small", {{"model.safetensors", refusal(404, "EntryNotFound")}});
    Answer first = refusal(302, "");
    first.headers = {"Location: /hop/1"};
    site.serve("org/small", {{"config.json", first}});
    for (int i = 1; i < redirects; ++i) {
      Answer next = refusal(302, "");
      next.headers = {"Location: /hop/" + std::to_string(i + 1)};
      site.hub.on("/hop/" + std::to_string(i), {next});
    }
    site.hub.on("/hop/" + std::to_string(redirects), {with_commit(kSmallConfig)});
    return site.run({"org/small"});
  };
  const Run most = after(5);
  CAPTURE(most.err);
  CHECK(most.exit == 0);
  check_refused(after(6), Exit::kHub, "redirects without end");
}

TEST_CASE("hub bounds: the length of names, revisions and tokens") {
  if (!has_curl()) return;
  Site site;
  site.hub.fallback(refusal(404, "RepoNotFound"));
  const std::string name = "org/" + std::string(92, 'x');
  check_refused(site.run({name}), Exit::kHub, "no such model");
  check_refused(site.run({name + "x"}), Exit::kBadInput, "longer than 96 characters");
  check_refused(site.run({"org/x@" + std::string(200, 'x')}), Exit::kHub, "");
  check_refused(site.run({"org/x@" + std::string(201, 'x')}), Exit::kBadInput, "no revision");
  check_refused(site.run({"org/x"}, {"HF_TOKEN=" + std::string(2048, 'x')}), Exit::kHub, "");
  check_refused(site.run({"org/x"}, {"HF_TOKEN=" + std::string(2049, 'x')}), Exit::kBadInput, "is malformed");
}

TEST_CASE("hub bounds: the size of a file that a server claims") {
  if (!has_curl()) return;
  const auto claiming = [](std::uint64_t bytes) {
    Site site;
    const std::string header = R"({"a.weight": {"dtype": "U8", "shape": [2], "data_offsets": [0, 2]}})";
    Answer weights = with_commit(safetensors(header, 262144));
    weights.content_range = "bytes 0-131071/" + std::to_string(bytes);
    site.serve("org/adapter", {{"adapter_config.json", with_commit(R"({"peft_type": "LORA", "r": 8})")},
                               {"adapter_model.safetensors", weights}});
    return site.run({"testdata/configs/llama-3.1-8b.json", "--engine", "vllm", "--lora", "org/adapter"});
  };
  constexpr std::uint64_t kMost = std::uint64_t{1} << 44;
  CHECK_FALSE(holds(claiming(kMost).err, "does not hold together"));
  check_refused(claiming(kMost + 1), Exit::kHub, "does not hold together");
}

TEST_CASE("hub bounds: bytes of a config, of a list of files and of an index") {
  if (!has_curl()) return;
  const auto filled = [](std::string text, std::size_t bytes) {
    return with_commit(text + std::string(bytes - text.size(), ' '));
  };
  const auto config = [&](std::size_t bytes) {
    Site site;
    site.serve("org/small", {{"config.json", filled(kSmallConfig, bytes)}});
    return site.run({"org/small"});
  };
  CHECK(config(16 << 20).exit == 0);
  check_refused(config((16 << 20) + 1), Exit::kHub, "16 MiB");
  const auto list = [&](std::size_t bytes) {
    Site site;
    site.hub.on("/api/models/org/x/tree/main?recursive=true", {filled("[{\"path\": \"a.bin\"}]", bytes)});
    return site.run({"org/x:Q4_K_M"});
  };
  CHECK_FALSE(holds(list(8 << 20).err, "8 MiB"));
  check_refused(list((8 << 20) + 1), Exit::kHub, "8 MiB");
  const auto index = [&](std::size_t bytes) {
    Site site;
    site.serve("org/large", {{"config.json", with_commit(kConfig)},
                             {"model.safetensors.index.json", filled(index_of(2, 5), bytes)}});
    return site.run({"org/large"});
  };
  CHECK(index(64 << 20).exit == 0);
  check_refused(index((64 << 20) + 1), Exit::kHub, "64 MiB");
}

}  // namespace
}  // namespace kvplan
