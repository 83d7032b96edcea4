// Hub ids through the real program, with a well-behaved hub on loopback. These tests do not cover TLS, because the
// machine would have to trust a certificate for loopback.
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <thread>

#include "sources/site.h"

namespace kvplan {
namespace {

TEST_CASE("hub: a model of 163 shards in two requests, and offline in none") {
  if (!has_curl()) return;
  Site site;
  site.serve("org/large", {{"config.json", with_commit(kConfig)},
                           {"model.safetensors.index.json", with_commit(index_of(163, 16060522496))}});
  const Run first = site.run({"org/large", "--json"});
  CAPTURE(first.err);
  CHECK(first.exit == 0);
  CHECK(first.err.empty());
  CHECK(has(first.out, "\"source\": \"org/large\""));
  CHECK(has(first.out, "\"weights_bytes\": 16060522496"));
  CHECK(site.hub.seen().size() == 2);

  // The branch is requested again, but its files are not.
  site.hub.forget();
  CHECK(site.run({"org/large", "--json"}).out == first.out);
  CHECK(site.hub.seen().size() == 1);

  // Offline, and with a known commit, nothing is requested.
  site.hub.forget();
  CHECK(site.run({"org/large", "--json", "--offline"}).out == first.out);
  CHECK(site.run({"org/large", "--json"}, {"HF_HUB_OFFLINE=1"}).out == first.out);
  CHECK(site.run({"org/large@" + kCommit, "--json"}).exit == 0);
  CHECK(site.run({"org/large", "--revision", kCommit}).exit == 0);
  CHECK(site.hub.seen().empty());
  check_refused(site.run({"org/other", "--offline"}), Exit::kHub, "no copy of the model");
  CHECK(site.hub.seen().empty());
}

TEST_CASE("hub: if the server is gone the earlier copy is used, with a warning") {
  if (!has_curl()) return;
  Site site;
  site.serve("org/large", {{"config.json", with_commit(kConfig)},
                           {"model.safetensors.index.json", with_commit(index_of(4, 16060522496))}});
  CHECK(site.run({"org/large"}).exit == 0);
  const Run later = site.run({"org/large", "--json"}, {"KVPLAN_HTTP_TIMEOUT_MS=100"});
  CHECK(later.exit == 0);
  Answer broken;
  broken.status = 503;
  site.serve("org/large", {{"config.json", broken}});
  const Run old = site.run({"org/large", "--json"}, {"KVPLAN_HTTP_TIMEOUT_MS=100"});
  CAPTURE(old.err);
  CHECK(old.exit == 0);
  CHECK(has(old.out, "hub_unreachable"));
}

TEST_CASE("hub: a small model's header by one range request") {
  if (!has_curl()) return;
  Site site;
  const std::string file = safetensors(
      R"({"model.embed_tokens.weight": {"dtype": "BF16", "shape": [1000, 64], "data_offsets": [0, 128000]}})", 128000);
  site.serve("org/small", {{"config.json", with_commit(kSmallConfig)}, {"model.safetensors", with_commit(file)}});
  const Run run = site.run({"org/small", "--json"});
  CAPTURE(run.err);
  CHECK(run.exit == 0);
  const auto seen = site.hub.seen();
  REQUIRE(seen.size() == 2);
  CHECK(seen[1].range == "bytes=0-131071");
  site.hub.forget();
  CHECK(site.run({"org/small", "--json", "--offline"}).out == run.out);
  CHECK(site.hub.seen().empty());
}

TEST_CASE("hub: a header longer than the first part, and a server without ranges") {
  if (!has_curl()) return;
  std::string header =
      R"({"model.embed_tokens.weight": {"dtype": "BF16", "shape": [1000, 64], "data_offsets": [0, 128000]})";
  header += std::string(200000, ' ') + "}";
  for (const bool ranges : {true, false}) {
    CAPTURE(ranges);
    Site site;
    Answer answer = with_commit(safetensors(ranges ? header : header.substr(0, 98) + "}", 128000));
    answer.ranges = ranges;
    site.serve("org/small", {{"config.json", with_commit(kSmallConfig)}, {"model.safetensors", answer}});
    const Run run = site.run({"org/small"});
    CAPTURE(run.err);
    CHECK(run.exit == 0);
    CHECK(site.hub.seen().size() == (ranges ? 3 : 2));
  }
}

TEST_CASE("hub: hf_quant_config.json is requested if the weights have scales and the config declares nothing") {
  if (!has_curl()) return;
  Site site;
  site.serve("org/fp8", {{"config.json", with_commit(kConfig)},
                         {"model.safetensors.index.json", with_commit(index_of(4, 9000000000, "weight_scale"))},
                         {"hf_quant_config.json",
                          with_commit(R"({"quantization": {"quant_algo": "FP8", "kv_cache_quant_algo": "FP8"}})")}});
  const Run run = site.run({"org/fp8", "--json"});
  CAPTURE(run.err);
  CHECK(run.exit == 0);
  CHECK(has(run.out, "\"kv_cache_dtype\": \"fp8_e4m3\""));
  CHECK(site.hub.seen().size() == 3);
  CHECK(site.run({"org/fp8", "--json", "--offline"}).out == run.out);
}

TEST_CASE("hub: addresses and revisions") {
  if (!has_curl()) return;
  Site site;
  const Answer config = with_commit(kSmallConfig);
  site.hub.on("/org/small/resolve/refs%2Fpr%2F1/config.json", {config});
  site.hub.on("/org/small/resolve/v1.0/config.json", {config});
  site.hub.on("/org/small/resolve/main/config.json", {config});
  for (const std::string name : {"org/small@refs/pr/1", "org/small@v1.0", "https://huggingface.co/org/small/tree/v1.0",
                                 "https://huggingface.co/org/small", "https://hf.co/org/small?library=transformers",
                                 "https://huggingface.co/org/small/tree/refs%2Fpr%2F1",
                                 "https://huggingface.co/org/small/blob/main/config.json"}) {
    CAPTURE(name);
    const Run run = site.run({name});
    CAPTURE(run.err);
    CHECK(run.exit == 0);
  }
  CHECK(site.run({"org/small", "--revision", "v1.0"}).exit == 0);
  check_refused(site.run({"https://elsewhere.example/org/small"}), Exit::kBadInput, "not a model's page");
  check_refused(site.run({"https://huggingface.co/datasets/org/data"}), Exit::kBadInput, "not a model's page");
}

TEST_CASE("hub: libcurl is loaded only if something must be fetched") {
  Site site;
  const std::vector<std::string> traced{"LD_DEBUG=files"};
  const Run local = site.run({"testdata/configs/llama-3.1-8b.json"}, traced);
  if (!has(local.err, "libc.so")) return;  // another loader
  CHECK_FALSE(has(local.err, "libcurl"));
  CHECK_FALSE(has(site.run({"org/small", "--offline"}, traced).err, "libcurl"));
  if (has_curl()) CHECK(has(site.run({"org/small"}, traced).err, "libcurl"));
}

TEST_CASE("hub: tricky names are refused before any request") {
  Site site;
  for (const std::string name : {"org/../../etc",
                                 "org/..",
                                 "org/na%2fme",
                                 "org/na%2e%2e",
                                 "org/na\nme",
                                 "org/na\x01me",
                                 "a/b/c",
                                 "org/",
                                 "/org/x/",
                                 "org/name@../..",
                                 "org/name@a b",
                                 "org/name@",
                                 "org/name@-x",
                                 "org/name@a//b",
                                 "org/name?x=1",
                                 "org/name#x",
                                 "org\\name",
                                 "a b/c",
                                 "org/.hidden",
                                 "org/name@%2e%2e",
                                 "https://huggingface.co/../../x",
                                 "https://user@huggingface.co/a/b"}) {
    CAPTURE(name);
    check_refused(site.run({name}), Exit::kBadInput, "");
  }
  check_refused(site.run({"org/" + std::string(100, 'x')}), Exit::kBadInput, "96");
  check_refused(site.run({"org/name@" + std::string(1000, 'x')}), Exit::kBadInput, "is not a revision");
  check_refused(site.run({"org/name", "--revision", "../.."}), Exit::kBadInput, "is not a revision");
  CHECK(site.hub.seen().empty());
}

TEST_CASE("hub: each refusal has its own line") {
  if (!has_curl()) return;
  Site site;
  const std::vector<std::string> token{"HF_TOKEN=" + kSecret};
  site.hub.fallback(refusal(401, "GatedRepo"));
  check_refused(site.run({"org/gated"}), Exit::kHub, "gated; accept its terms at");
  site.hub.fallback(refusal(403, "GatedRepo"));
  check_refused(site.run({"org/gated"}, token), Exit::kHub, "the token's account has no access");
  site.hub.fallback(refusal(401, "RepoNotFound"));
  check_refused(site.run({"org/none"}), Exit::kHub, "no such model at");
  site.hub.fallback(refusal(404, "RepoNotFound"));
  check_refused(site.run({"org/none"}, token), Exit::kHub, "the token may read it");
  site.hub.fallback(refusal(404, "RevisionNotFound"));
  check_refused(site.run({"org/model@v9"}), Exit::kHub, "no revision v9");
  site.hub.fallback(refusal(404, "EntryNotFound"));
  check_refused(site.run({"org/model"}), Exit::kHub, "has no config.json");
  site.hub.fallback(refusal(404, ""));
  check_refused(site.run({"org/model"}), Exit::kHub, "no such model at");
  site.hub.fallback(refusal(401, ""));
  check_refused(site.run({"org/model"}, token), Exit::kHub, "refuses the token");
  check_refused(site.run({"org/model"}), Exit::kHub, "requires a login");
  site.hub.fallback(refusal(403, ""));
  check_refused(site.run({"org/model"}), Exit::kHub, "refuses access");
  site.hub.fallback(refusal(418, ""));
  check_refused(site.run({"org/model"}), Exit::kHub, "418");
  // A closed port. A name that does not resolve is not tested, because the time depends on the name server.
  check_refused(site.run({"org/model"}, {"HF_ENDPOINT=http://127.0.0.1:1"}), Exit::kHub, "no connection to");
  check_refused(site.run({"org/model"}, {"HF_ENDPOINT=ftp://hub.example"}), Exit::kBadInput, "HF_ENDPOINT");
  CHECK_FALSE(site.has_cached_model());
}

TEST_CASE("hub: the token goes to the endpoint and nowhere else") {
  if (!has_curl()) return;
  Site site;
  HubServer elsewhere;
  elsewhere.fallback(with_commit(kSmallConfig));
  Answer away = refusal(302, "");
  away.headers = {"Location: " + elsewhere.url() + "/file?sig=1", "X-Repo-Commit: " + kCommit};
  Answer here = refusal(307, "");
  here.headers = {"Location: /moved/config.json"};
  site.hub.on("/org/small/resolve/main/config.json", {here});
  site.hub.on("/moved/config.json", {away});
  const auto check_token = [&](const Run& run, std::size_t at_hub) {
    CAPTURE(run.err);
    CHECK(run.exit == 0);
    for (const Seen& seen : site.hub.seen()) CHECK(seen.authorization == "Bearer " + kSecret);
    CHECK(site.hub.seen().size() >= at_hub);
    REQUIRE_FALSE(elsewhere.seen().empty());
    for (const Seen& seen : elsewhere.seen()) CHECK(seen.authorization.empty());
    CHECK_FALSE(has(run.out + run.err, kSecret));
    site.hub.forget();
    elsewhere.forget();
  };
  check_token(site.run({"org/small", "--json"}, {"HF_TOKEN=" + kSecret}), 2);
  check_token(site.run({"org/small", "--json", "--token", kSecret}), 2);
  CHECK_FALSE(has(site.all_files(), kSecret));
  fs::create_directories(site.home.path() + "/hf");
  site.home.write("hf/token", kSecret + "\n");
  check_token(site.run({"org/small", "--json"}), 2);
  site.home.write("hf/token", "");
  site.hub.forget();
  CHECK(site.run({"org/small"}).exit == 0);
  for (const Seen& seen : site.hub.seen()) CHECK(seen.authorization.empty());
  CHECK_FALSE(has(site.all_files(), kSecret));
  // Nor in errors.
  site.hub.fallback(refusal(401, ""));
  const Run refused = site.run({"org/none"}, {"HF_TOKEN=" + kSecret});
  CHECK(refused.exit == 4);
  CHECK_FALSE(has(refused.err, kSecret));
  for (const std::string& bad : {kSecret + "\nX-Evil: 1", kSecret + " more", kSecret + "\x01"}) {
    const Run run = site.run({"org/small"}, {"HF_TOKEN=" + bad});
    check_refused(run, Exit::kBadInput, "malformed");
    CHECK_FALSE(has(run.err, kSecret));
  }
}

TEST_CASE("hub: an index without a sum, and its shards' headers") {
  if (!has_curl()) return;
  Site site;
  const std::string shard = safetensors(R"({"a": {"dtype": "BF16", "shape": [64], "data_offsets": [0, 128]}})", 128);
  site.serve("org/large", {{"config.json", with_commit(kConfig)},
                           {"model.safetensors.index.json",
                            with_commit(R"({"weight_map": {"a": "x-1.safetensors", "b": "x-2.safetensors"}})")},
                           {"x-1.safetensors", with_commit(shard)},
                           {"x-2.safetensors", with_commit(shard)}});
  const Run run = site.run({"org/large", "--json"});
  CAPTURE(run.err);
  CHECK(run.exit == 0);
  CHECK(has(run.out, "\"weights_bytes\": 256"));
}

TEST_CASE("hub: the HF tools' cache comes first and needs no network") {
  Site site;
  const std::string model = site.home.path() + "/hf/hub/models--org--local";
  const std::string snapshot = model + "/snapshots/" + kCommit;
  fs::create_directories(model + "/refs");
  fs::create_directories(model + "/blobs");
  fs::create_directories(snapshot);
  site.home.write("hf/hub/models--org--local/refs/main", kCommit);
  site.home.write("hf/hub/models--org--local/blobs/aa", kConfig);
  fs::create_symlink("../../blobs/aa", snapshot + "/config.json");
  const Run run = site.run({"org/local", "--json", "--offline"});
  CAPTURE(run.err);
  CHECK(run.exit == 0);
  CHECK(has(run.out, "\"source\": \"org/local\""));
  CHECK(site.run({"org/local"}).exit == 0);
  CHECK(site.run({"org/local@" + kCommit}).exit == 0);
  CHECK(site.run({"org/local"}, {"HF_HOME=/nowhere", "HF_HUB_CACHE=" + site.home.path() + "/hf/hub"}).exit == 0);
  CHECK(site.hub.seen().empty());
  // A shard whose blob is missing, as after an interrupted download. The index's sum is used.
  std::ofstream(snapshot + "/model.safetensors.index.json") << index_of(2, 16060522496);
  fs::create_symlink("../../blobs/gone", snapshot + "/model-00001-of-000002.safetensors");
  const Run broken = site.run({"org/local", "--json"});
  CHECK(broken.exit == 0);
  CHECK(has(broken.out, "\"weights_bytes\": 16060522496"));
  CHECK(has(broken.out, "the checkpoint's index"));
  // Half a config, a broken link and an invalid ref are treated as missing.
  for (const std::string& damage : {kConfig.substr(0, 50), std::string()}) {
    site.home.write("hf/hub/models--org--local/blobs/aa", damage);
    check_refused(site.run({"org/local", "--offline"}), Exit::kHub, "no copy");
  }
  fs::remove(model + "/blobs/aa");
  check_refused(site.run({"org/local", "--offline"}), Exit::kHub, "no copy");
  site.home.write("hf/hub/models--org--local/refs/main", "../../../../etc");
  check_refused(site.run({"org/local", "--offline"}), Exit::kHub, "no copy");
}

}  // namespace
}  // namespace kvplan
