// A hub that sends too much, redirects to other hosts, or claims impossible sizes.
#include <doctest/doctest.h>

#include "sources/site.h"
#include "support/gguf_writer.h"

namespace kvplan {
namespace {

TEST_CASE("hub: an error names the host that failed, not the one that sent us there") {
  if (!has_curl()) return;
  HubServer other;
  const auto check = [&](const std::string& location, const std::string& part, const std::string& not_part) {
    Site site;
    Answer away = refusal(302, "");
    away.headers = {"Location: " + location};
    site.hub.fallback(away);
    const Run run = site.run({"org/small"}, {"HF_TOKEN=" + kSecret, "KVPLAN_HTTP_TIMEOUT_MS=500"});
    check_refused(run, Exit::kHub, part);
    CHECK_FALSE(has(run.err, not_part));
  };
  check("http://localhost:1/x", "no connection to localhost", "127.0.0.1");
  const std::string local = "http://localhost:" + std::to_string(other.port()) + "/x";
  for (const int status : {401, 403, 407, 418}) {
    other.fallback(refusal(status, ""));
    check(local, "localhost, to which 127.0.0.1 redirects, answers " + std::to_string(status), "token");
  }
  // Another port of the hub's host counts as another host.
  other.fallback(refusal(401, ""));
  check(other.url() + "/x", "127.0.0.1:" + std::to_string(other.port()) + ", to which 127.0.0.1 redirects", "token");
  other.fallback(refusal(503, ""));
  check(local, "localhost answers 503 after 4 attempts", "127.0.0.1");
  Answer silent;
  silent.fault = Fault::kSilent;
  other.fallback(silent);
  check(local, "localhost did not answer in time", "127.0.0.1");
}

TEST_CASE("hub: a pause that is too long for the clock is not a pause of zero") {
  if (!has_curl()) return;
  // A thousand of these are slightly more than 2^64.
  for (const char* seconds : {"18446744073709552", "18446744073709551615", "36893488147419104"}) {
    Site site;
    Answer busy = refusal(429, "");
    busy.headers = {std::string("Retry-After: ") + seconds};
    site.hub.fallback(busy);
    const Run run = site.run({"org/small"}, {"KVPLAN_HTTP_TIMEOUT_MS=200"});
    CHECK(run.exit == 4);
    if (std::string(seconds) < "2") {
      CHECK(has(run.err, std::string("asks for a pause of ") + seconds + " seconds"));
      CHECK(site.hub.seen().size() == 1);
    }
  }
}

TEST_CASE("hub: no part of an error message is empty") {
  if (!has_curl()) return;
  Site site;
  site.serve("org/small", {{"config.json", with_commit(kSmallConfig)}, {"model.safetensors", with_commit("short")}});
  const Run run = site.run({"org/small"});
  check_refused(run, Exit::kHub, "is broken (the length of its header is impossible); try again");
  Answer header = refusal(200, "");
  header.headers = {"X-A: " + std::string(300'000, 'a')};
  site.hub.fallback(header);
  const Run long_line = site.run({"org/other"});
  CHECK(long_line.exit == 4);
  for (const char* part : {"()", "; )", ": ;", "  "}) CHECK_FALSE(has(long_line.err, part));
}

std::string part_name(int number, int count) {
  char name[64];
  std::snprintf(name, sizeof name, "m-%05d-of-%05d.gguf", number, count);
  return name;
}

// A part of a set whose header has `padding` extra bytes.
std::string gguf_part(int number, int count, std::size_t padding) {
  GgufWriter out = number == 1 ? GgufWriter("llama") : GgufWriter();
  out.u16("split.no", static_cast<std::uint16_t>(number - 1)).u16("split.count", static_cast<std::uint16_t>(count));
  out.text("padding", std::string(padding, 'x'));
  if (number == 1)
    out.u32(".block_count", 2)
        .u32(".embedding_length", 64)
        .u32(".context_length", 2048)
        .u32(".attention.head_count", 4);
  return out.file() + std::string(padding < 1000 ? 200'000 : 0, '\0');
}

void serve_set(Site& site, int count, std::size_t padding) {
  Answer list;
  list.body = "[{\"path\": \"" + part_name(1, count) + "\"}]";
  site.hub.on("/api/models/org/x/tree/main?recursive=true", {list});
  for (int i = 1; i <= count; ++i)
    site.serve("org/x", {{part_name(i, count), with_commit(gguf_part(i, count, padding))}});
}

TEST_CASE("hub: the number of parts of a set is limited, and the total size of their headers") {
  if (!has_curl()) return;
  {
    Site site;
    serve_set(site, 400, 10);
    const Run run = site.run({"org/x", "--json"});
    CAPTURE(run.err);
    CHECK(run.exit == 0);
    CHECK(run.peak_mib < 256 * kSanitizerFactor);
    CHECK(site.hub.seen().size() == 402);  // config.json, the list, and each part once
  }
  {
    Site site;
    Answer list;
    list.body = "[{\"path\": \"" + part_name(1, 401) + "\"}]";
    site.hub.on("/api/models/org/x/tree/main?recursive=true", {list});
    check_refused(site.run({"org/x"}), Exit::kHub, "the set has 401 files");
  }
  {
    Site site;
    serve_set(site, 4, 15 << 20);
    const Run run = site.run({"org/x", "--json"});
    CAPTURE(run.err);
    CHECK(run.exit == 0);
    CHECK(run.peak_mib < 512 * kSanitizerFactor);
  }
  {
    Site site;
    serve_set(site, 5, 15 << 20);
    const Run run = site.run({"org/x", "--json"});
    check_refused(run, Exit::kHub, "the headers take more than 64 MiB");
    CHECK(run.peak_mib < 512 * kSanitizerFactor);
  }
}

TEST_CASE("hub: the number of requests for a model is limited") {
  if (!has_curl()) return;
  Site site;
  // Attempts are counted too: the first answer for each shard is empty.
  site.serve("org/large",
             {{"config.json", with_commit(kConfig)}, {"model.safetensors.index.json", with_commit(index_of(400, 0))}});
  const std::string shard = safetensors(R"({"a": {"dtype": "U8", "shape": [2], "data_offsets": [0, 2]}})", 2);
  for (int i = 1; i <= 400; ++i) {
    char name[64];
    std::snprintf(name, sizeof name, "model-%05d-of-%06d.safetensors", i, 400);
    Answer away = refusal(302, "");
    away.headers = {"Location: /shard"};
    site.serve("org/large", {{name, away}});
  }
  site.hub.on("/shard", {with_commit(shard)});
  const Run run = site.run({"org/large"});
  check_refused(run, Exit::kHub, "takes more than 500 requests");
  CHECK(site.hub.seen().size() == 500);
}

TEST_CASE("hub: no disk space is reserved for a length that a server claims") {
  if (!has_curl()) return;
  Site site;
  const std::string header =
      R"({"a.q_proj.lora_A.weight": {"dtype": "BF16", "shape": [8, 16384], "data_offsets": [0, 262144]}})";
  Answer weights = with_commit(safetensors(header, 262144));
  weights.content_range = "bytes 0-131071/4398046511104";
  site.serve("org/adapter", {{"adapter_config.json", with_commit(R"({"peft_type": "LORA", "r": 8})")},
                             {"adapter_model.safetensors", weights}});
  const Run run = site.run({"testdata/configs/llama-3.1-8b.json", "--engine", "vllm", "--lora", "org/adapter"});
  CAPTURE(run.err);
  CHECK(run.exit == 0);
  std::uintmax_t largest = 0;
  for (const auto& entry : fs::recursive_directory_iterator(site.home.path()))
    if (entry.is_regular_file()) largest = std::max(largest, entry.file_size());
  CHECK(largest < 10'000);
}

TEST_CASE("hub: a list of files and a config that are built to exhaust memory") {
  if (!has_curl()) return;
  std::string objects = "[";
  while (objects.size() < (7 << 20)) objects += "{},";
  Site list;
  list.hub.on("/api/models/org/x/tree/main?recursive=true", {with_commit(objects + "{}]")});
  const Run listed = list.run({"org/x"});
  check_refused(listed, Exit::kHub, "");
  CHECK(listed.peak_mib < 256 * kSanitizerFactor);
  Site config;
  config.hub.fallback(with_commit("{\"a\": " + objects + "{}]}"));
  const Run read = config.run({"org/x"});
  check_refused(read, Exit::kHub, "has more than 500000 values");
  CHECK(read.peak_mib < 256 * kSanitizerFactor);
  CHECK(read.processor_seconds < 2);
}

}  // namespace
}  // namespace kvplan
