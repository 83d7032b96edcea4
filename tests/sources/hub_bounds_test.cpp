// Each limit on what a server may send. At the limit a model is planned; beyond it kvplan prints one error line and
// exits with 4 (2 if the user's input is too long).
#include <cstdint>

#include "formats/gguf.h"
#include "sources/site.h"
#include "support/gguf_writer.h"

namespace kvplan {
namespace {

// At the limit the model is planned. Beyond it the Hub's answer is refused.
void check_bound(const Run& at, const Run& beyond, const std::string& words) {
  CAPTURE(at.err);
  CHECK(at.exit == 0);
  check_refused(beyond, Exit::kHub, words);
}

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
  check_bound(after(5), after(6), "redirects without end");
}

TEST_CASE("hub bounds: the length of names, revisions and tokens") {
  if (!has_curl()) return;
  Site site;
  site.hub.fallback(refusal(404, "RepoNotFound"));
  const std::string name = "org/" + std::string(92, 'x');
  check_refused(site.run({name}), Exit::kHub, "no such model");
  check_refused(site.run({name + "x"}), Exit::kBadInput, "longer than 96 characters");
  check_refused(site.run({"org/x@" + std::string(200, 'x')}), Exit::kHub, "");
  check_refused(site.run({"org/x@" + std::string(201, 'x')}), Exit::kBadInput, "is not a revision");
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
  CHECK_FALSE(has(claiming(kMost).err, "is inconsistent"));
  check_refused(claiming(kMost + 1), Exit::kHub, "is inconsistent");
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
  CHECK_FALSE(has(list(8 << 20).err, "8 MiB"));
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

TEST_CASE("hub bounds: bytes of an answer's headers") {
  if (!has_curl()) return;
  const auto with_headers = [](std::size_t bytes) {
    constexpr std::size_t kLine = 60'000;  // libcurl itself limits a line to 100 KiB
    Answer out = with_commit(kSmallConfig);
    const std::string rest = "HTTP/1.1 200 Answer\r\n" + out.headers[0] +
                             "\r\nContent-Length: " + std::to_string(out.body.size()) + "\r\n\r\n";
    constexpr std::size_t kOthers = 5;  // "X: " and the end of the line
    for (bytes -= rest.size(); bytes > 0;) {
      const std::size_t line = bytes > 2 * kLine ? kLine : std::min(bytes, kLine + bytes % kLine);
      out.headers.push_back("X: " + std::string(line - kOthers, 'x'));
      bytes -= line;
    }
    Site site;
    site.serve("org/small", {{"config.json", out}});
    return site.run({"org/small"});
  };
  check_bound(with_headers(256 << 10), with_headers((256 << 10) + 1), "sends headers without end");
}

TEST_CASE("hub bounds: bytes of a GGUF's header") {
  if (!has_curl()) return;
  const auto with_header = [](std::size_t bytes) {
    const auto file = [](std::size_t padding) {
      return small_llama_gguf().text("padding", std::string(padding, 'x')).file();
    };
    const std::string bare = file(0);
    const std::uint64_t others = Gguf::parse(bytes_of(bare)).header_bytes();
    Site site;
    site.serve("org/x", {{"x.gguf", with_commit(file(bytes - others) + std::string(1000, '\0'))}});
    return site.run({"https://huggingface.co/org/x/blob/main/x.gguf"});
  };
  check_bound(with_header(64 << 20), with_header((64 << 20) + 1), "the headers take more than 64 MiB");
}

TEST_CASE("hub bounds: pages of a list of files") {
  if (!has_curl()) return;
  const auto listed = [](int pages) {
    Site site;
    const std::string tree = "/api/models/org/x/tree/main?";
    for (int i = 1; i <= pages; ++i) {
      Answer page;
      page.body = i == pages ? "[]" : R"([{"path": "README.md"}])";
      if (i < pages) page.headers = {"Link: <" + tree + "cursor=" + std::to_string(i + 1) + ">; rel=\"next\""};
      site.hub.on(tree + (i == 1 ? std::string("recursive=true") : "cursor=" + std::to_string(i)), {page});
    }
    return site.run({"org/x:Q4_K_M"});
  };
  check_refused(listed(40), Exit::kHub, "the repository has no config.json");
  check_refused(listed(41), Exit::kHub, "the list of files has no end");
}

TEST_CASE("hub bounds: requests for a model") {
  if (!has_curl()) return;
  constexpr int kShards = 250;
  const auto with_redirects = [](int redirects) {
    Site site;
    site.serve("org/large", {{"config.json", with_commit(kConfig)},
                             {"model.safetensors.index.json", with_commit(index_of(kShards, 0))}});
    const Answer shard = with_commit(safetensors(R"({"a": {"dtype": "U8", "shape": [2], "data_offsets": [0, 2]}})", 2));
    Answer away = refusal(302, "");
    away.headers = {"Location: /shard"};
    site.hub.on("/shard", {shard});
    for (int i = 1; i <= kShards; ++i) {
      char name[64];
      std::snprintf(name, sizeof name, "model-%05d-of-%06d.safetensors", i, kShards);
      site.serve("org/large", {{name, i <= redirects ? away : shard}});
    }
    const Run run = site.run({"org/large"});
    CHECK(site.hub.seen().size() == 500);
    return run;
  };
  // The config, the index, a request for each shard, and one more for each redirect.
  check_bound(with_redirects(500 - 2 - kShards), with_redirects(501 - 2 - kShards), "takes more than 500 requests");
}

TEST_CASE("hub bounds: bytes of all answers for a model") {
  if (!has_curl()) return;
  const auto filled = [](std::string text, std::size_t bytes) {
    return with_commit(text + std::string(bytes - text.size(), ' '));
  };
  // A file of `bytes`, of which all except its two bytes of data are requested.
  const auto shard = [](std::size_t bytes) {
    const std::string header = R"({"a": {"dtype": "U8", "shape": [2], "data_offsets": [0, 2]}})";
    return with_commit(safetensors(header + std::string(bytes - 8 - header.size(), ' '), 2));
  };
  const auto in_all = [&](std::size_t bytes) {
    constexpr std::size_t kConfigBytes = 16 << 20, kIndexBytes = 64 << 20, kShardBytes = 64 << 20;
    Site site;
    site.serve("org/large",
               {{"config.json", filled(kConfig, kConfigBytes)},
                {"model.safetensors.index.json", filled(index_of(2, 0), kIndexBytes)},
                {"model-00001-of-000002.safetensors", shard(kShardBytes)},
                {"model-00002-of-000002.safetensors", shard(bytes - kConfigBytes - kIndexBytes - kShardBytes)}});
    return site.run({"org/large"}, {"KVPLAN_HTTP_TIMEOUT_MS=10000"});
  };
  const Run most = in_all(160 << 20);
  CAPTURE(most.err);
  CHECK(most.exit == 0);
  CHECK(most.peak_mib < 512 * kSanitizerFactor);
  check_refused(in_all((160 << 20) + 1), Exit::kHub, "160 MiB of configs and headers");
}

TEST_CASE("hub bounds: a pause that a server requests") {
  if (!has_curl()) return;
  const auto after = [](const char* seconds) {
    Site site;
    Answer busy = refusal(503, "");
    busy.headers = {std::string("Retry-After: ") + seconds};
    site.serve("org/small", {{"model.safetensors", refusal(404, "EntryNotFound")}});
    site.hub.on("/org/small/resolve/main/config.json", {busy, with_commit(kSmallConfig)});
    return site.run({"org/small"}, {"KVPLAN_HTTP_TIMEOUT_MS=1000"});
  };
  const Run most = after("1");
  CAPTURE(most.err);
  CHECK(most.exit == 0);
  CHECK(most.seconds > 1);
  check_refused(after("2"), Exit::kHub, "asks for a pause of 2 seconds");
}

}  // namespace
}  // namespace kvplan
