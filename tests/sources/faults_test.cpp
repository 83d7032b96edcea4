// Hub ids with a misbehaving hub, damaged caches, and several runs at the same time.
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <thread>

#include "sources/site.h"

namespace kvplan {
namespace {

TEST_CASE("hub: pauses and second attempts") {
  if (!has_curl()) return;
  Site site;
  const Answer busy = refusal(429, "");
  const Answer ill = refusal(503, "");
  Answer dropped;
  dropped.fault = Fault::kHangUp;
  const std::string path = "/org/small/resolve/main/config.json";
  for (const Answer& trouble : {busy, ill, dropped}) {
    site.hub.forget();
    site.hub.on(path, {trouble, trouble, with_commit(kSmallConfig)});
    const Run run = site.run({"org/small"});
    CAPTURE(run.err);
    CHECK(run.exit == 0);
    const auto seen = site.hub.seen();
    CHECK(std::count_if(seen.begin(), seen.end(), [&](const Seen& s) { return s.path == path; }) >= 3);
  }
  Site other;
  other.hub.fallback(ill);
  check_refused(other.run({"org/small"}), Exit::kHub, "503 after 4 attempts");
  CHECK(other.hub.seen().size() == 4);
  other.hub.forget();
  Answer long_pause = busy;
  long_pause.headers = {"Retry-After: 3600"};
  other.hub.fallback(long_pause);
  check_refused(other.run({"org/small"}), Exit::kHub, "3600 seconds");
  CHECK(other.hub.seen().size() == 1);
}

TEST_CASE("hub: redirects that lead nowhere") {
  if (!has_curl()) return;
  Site site;
  Answer loop = refusal(302, "");
  loop.headers = {"Location: " + site.hub.url() + "/org/small/resolve/main/config.json"};
  site.hub.fallback(loop);
  check_refused(site.run({"org/small"}), Exit::kHub, "redirects without end");
  CHECK(site.hub.seen().size() < 10);
  for (const std::string location :
       {"Location: file:///etc/passwd", "Location: http://a@b/", "Location: ftp://x/", "X-None: 1"}) {
    CAPTURE(location);
    loop.headers = {location};
    site.hub.fallback(loop);
    check_refused(site.run({"org/small"}), Exit::kHub, "redirects to an invalid address");
  }
}

TEST_CASE("hub: faulty servers: one line, limited time and memory, no copy kept") {
  if (!has_curl()) return;
  struct Row {
    std::string what;
    Answer answer;
    std::string line;
  };
  const auto faulty = [](Fault fault, const std::string& body) {
    Answer out = with_commit(body);
    out.fault = fault;
    return out;
  };
  Answer gzip = with_commit("no gzip at all");
  gzip.headers.push_back("Content-Encoding: gzip");
  const std::vector<Row> rows{
      {"a page", with_commit("<!DOCTYPE html><html>log in</html>"), "a web page"},
      {"nothing", with_commit(""), "not a JSON object"},
      {"a list", with_commit("[1, 2]"), "not a JSON object"},
      {"half an object", with_commit(kConfig.substr(0, 200)), "broken"},
      {"silence", faulty(Fault::kSilent, ""), "in time"},
      {"a trickle", faulty(Fault::kTrickle, "{"), "in time"},
      {"too much", faulty(Fault::kEndless, "{"), "larger than 16 MiB"},
      {"headers without end", faulty(Fault::kHeaders, ""), "headers without end"},
      {"half the body", faulty(Fault::kTruncate, kConfig), "closed the connection early"},
      {"hang-up", faulty(Fault::kHangUp, ""), "closed the connection early"},
      {"bad compression", gzip, "no valid answer"},
  };
  for (const Row& row : rows) {
    CAPTURE(row.what);
    Site site;
    site.hub.fallback(row.answer);
    const Run run = site.run({"org/small"}, {"KVPLAN_HTTP_TIMEOUT_MS=200"});
    check_refused(run, Exit::kHub, row.line);
    CHECK(run.seconds < 5);
#ifndef KVPLAN_SANITIZED
    CHECK(run.peak_mib < 150);
#endif
    CHECK_FALSE(site.has_cached_model());
  }
}

// A response that claims to be gzip, with uncompressed text.
std::string gzipped(const std::string& text) {
  std::uint32_t crc = 0xFFFFFFFF;
  for (const char c : text) {
    crc ^= static_cast<unsigned char>(c);
    for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ ((crc & 1) != 0 ? 0xEDB88320U : 0U);
  }
  const auto put = [](std::size_t value, int bytes) {
    std::string out;
    for (int i = 0; i < bytes; ++i) out += static_cast<char>(value >> (8 * i));
    return out;
  };
  return std::string("\x1f\x8b\x08\0\0\0\0\0\0\x03\x01", 11) + put(text.size(), 2) + put(~text.size(), 2) + text +
         put(~crc, 4) + put(text.size(), 4);
}

TEST_CASE("hub: a body is gzip-compressed once, or not at all") {
  if (!has_curl()) return;
  const auto served = [](const std::string& body, const std::vector<std::string>& headers, bool weights = false) {
    Site site;
    Answer answer = with_commit(body);
    answer.headers.insert(answer.headers.end(), headers.begin(), headers.end());
    site.serve("org/small", {{weights ? "model.safetensors" : "config.json", answer}});
    if (weights) site.serve("org/small", {{"config.json", with_commit(kSmallConfig)}});
    return site.run({"org/small"});
  };
  for (const std::string coding : {"gzip", "GZIP", "x-gzip"})
    CHECK(served(gzipped(kSmallConfig), {"Content-Encoding: " + coding}).exit == 0);
  CHECK(served(kSmallConfig, {"Content-Encoding: identity"}).exit == 0);
  const std::string twice = gzipped(gzipped(kSmallConfig));
  const std::vector<std::vector<std::string>> refused{
      {"Content-Encoding: gzip, gzip"},
      {"Content-Encoding: gzip", "Content-Encoding: gzip"},
      {"content-encoding: gzip", "CONTENT-ENCODING: identity, gzip"},
      {"Content-Encoding : zstd"},
      {"Content-Encoding: gzip,"},
      {"Content-Encoding:"},
      {"Content-Encoding:\r\n gzip, gzip"},
      {"Content-Encoding: gzip\r\n\t, gzip"},
      {"Content-Encoding: deflate"},
      {"Content-Encoding: br"},
      {"Content-Encoding: zstd"},
      {"Content-Encoding: zstd, zstd, zstd, zstd, zstd"},
      {"Transfer-Encoding: gzip"},
      {"Transfer-Encoding: zstd, chunked"},
  };
  for (const std::vector<std::string>& headers : refused) {
    CAPTURE(headers[0]);
    const Run run = served(twice, headers);
    check_refused(run, Exit::kHub, "a header that kvplan rejects");
  }
  // A range of a file is never compressed.
  check_refused(served(gzipped("x"), {"Content-Encoding: gzip"}, true), Exit::kHub, "a header that kvplan rejects");
}

TEST_CASE("hub: false sizes of weights from a server") {
  if (!has_curl()) return;
  const std::string file = safetensors(
      R"({"model.embed_tokens.weight": {"dtype": "BF16", "shape": [1000, 64], "data_offsets": [0, 128000]}})", 128000);
  struct Row {
    std::string what, name;
    Answer answer;
  };
  std::vector<Row> rows;
  for (const std::string range : {"bytes 5-131076/200000", "bytes 0-10/200000", "bytes 0-131071/9", "bytes 0-131071/*",
                                  "nonsense", "bytes 0-18446744073709551615/18446744073709551616"}) {
    Answer answer = with_commit(file);
    answer.content_range = range;
    rows.push_back({range, "model.safetensors", answer});
  }
  Answer endless = with_commit(file);
  endless.fault = Fault::kEndless;
  rows.push_back({"without end", "model.safetensors", endless});
  rows.push_back({"a header beyond the file", "model.safetensors", with_commit(std::string(8, '\x7f') + "{}")});
  rows.push_back({"a header of nonsense", "model.safetensors", with_commit(safetensors("{\"a\": 1}", 10))});
  rows.push_back({"too short", "model.safetensors", with_commit("abc")});
  rows.push_back({"an index that is a page", "model.safetensors.index.json", with_commit("<html>")});
  rows.push_back({"an index that leaves its folder", "model.safetensors.index.json",
                  with_commit(R"({"weight_map": {"a": "../../x.safetensors"}})")});
  for (const Row& row : rows) {
    CAPTURE(row.what);
    Site site;
    site.serve("org/small", {{"config.json", with_commit(kSmallConfig)}, {row.name, row.answer}});
    const Run run = site.run({"org/small"}, {"KVPLAN_HTTP_TIMEOUT_MS=200"});
    check_refused(run, Exit::kHub, "");
    CHECK(run.seconds < 5);
    CHECK_FALSE(site.has_cached_model());
  }
}

TEST_CASE("hub: two runs at once on one cache") {
  if (!has_curl()) return;
  Site site;
  site.serve("org/large", {{"config.json", with_commit(kConfig)},
                           {"model.safetensors.index.json", with_commit(index_of(4, 16060522496))}});
  std::vector<Run> runs(4);
  std::vector<std::thread> threads;
  for (Run& run : runs) threads.emplace_back([&site, &run] { run = site.run({"org/large", "--json"}); });
  for (std::thread& thread : threads) thread.join();
  for (const Run& run : runs) {
    CAPTURE(run.err);
    CHECK(run.exit == 0);
    CHECK(run.out == runs[0].out);
  }
  CHECK(site.run({"org/large", "--json", "--offline"}).out == runs[0].out);
  CHECK_FALSE(has(site.all_files(), ".part-"));
}

TEST_CASE(
    "hub: a damaged file in kvplan's cache is fetched again, and a cache that cannot be written is not an error") {
  if (!has_curl()) return;
  Site site;
  site.serve("org/large", {{"config.json", with_commit(kConfig)},
                           {"model.safetensors.index.json", with_commit(index_of(4, 16060522496))}});
  const Run first = site.run({"org/large", "--json"});
  CHECK(first.exit == 0);
  std::string config;
  for (const auto& entry : fs::recursive_directory_iterator(site.home.path()))
    if (entry.path().filename() == "config.json") config = entry.path().string();
  REQUIRE_FALSE(config.empty());
  for (const std::string& damage : {std::string(), kConfig.substr(0, 100)}) {
    std::ofstream(config, std::ios::trunc) << damage;
    check_refused(site.run({"org/large", "--offline"}), Exit::kHub, "no copy");
    CHECK(site.run({"org/large", "--json"}).out == first.out);
    CHECK(site.run({"org/large", "--json", "--offline"}).out == first.out);
  }
  const Run run = site.run({"org/large", "--json"}, {"XDG_CACHE_HOME=/dev/null"});
  CHECK(run.exit == 0);
  CHECK(has(run.out, "hub_not_cached"));
  const Run no_home = site.run({"org/large"}, {"XDG_CACHE_HOME=", "HOME=", "HF_HOME="});
  CAPTURE(no_home.err);
  CHECK(no_home.exit == 0);
}

}  // namespace
}  // namespace kvplan
