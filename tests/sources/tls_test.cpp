// Certificates: what is refused, and how a company's own authority is made known.
#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>

#include "sources/site.h"
#include "support/relay.h"

namespace kvplan {
namespace {

bool can_test_tls() {
  if (!has_curl()) return false;
  if (!has_tls()) MESSAGE("SKIPPED: no openssl on this machine (it comes with ca-certificates)");
  return has_tls();
}

std::vector<std::string> at(const std::string& endpoint, const std::vector<std::string>& more = {}) {
  std::vector<std::string> out = more;
  out.push_back("HF_ENDPOINT=" + endpoint);
  out.push_back("HF_TOKEN=" + kSecret);
  return out;
}

TEST_CASE("hub: an untrusted certificate is refused before anything is sent") {
  if (!can_test_tls()) return;
  Site site;
  site.hub.fallback(with_commit(kSmallConfig));
  const Certificate own(site.home.path(), "own", "IP:127.0.0.1");
  const Certificate other(site.home.path(), "other", "IP:127.0.0.1");
  const Certificate elsewhere(site.home.path(), "elsewhere", "DNS:hub.example");
  const Relay front(site.hub.port(), own);
  const Relay misnamed(site.hub.port(), elsewhere);
  check_refused(site.run({"org/small"}, at(front.url())), Exit::kHub, "no secure connection to 127.0.0.1");
  check_refused(site.run({"org/small"}, at(front.url(), {"SSL_CERT_FILE=" + other.path})), Exit::kHub,
                "no secure connection");
  check_refused(site.run({"org/small"}, at(misnamed.url(), {"SSL_CERT_FILE=" + elsewhere.path})), Exit::kHub,
                "no secure connection");
  check_refused(site.run({"org/small"}, at(front.url(), {"SSL_CERT_FILE=/nowhere/ca.pem"})), Exit::kHub,
                "no secure connection");
  // A server that does not use TLS.
  check_refused(site.run({"org/small"}, at("https://127.0.0.1:" + std::to_string(site.hub.port()),
                                           {"SSL_CERT_FILE=" + own.path, "KVPLAN_HTTP_TIMEOUT_MS=500"})),
                Exit::kHub, "");
  for (const Seen& seen : site.hub.seen()) CHECK(seen.authorization.empty());
  CHECK_FALSE(site.has_cached_model());
}

TEST_CASE("hub: the user's own authority, from each variable that curl and Python's tools know") {
  if (!can_test_tls()) return;
  Site site;
  site.hub.fallback(refusal(404, "EntryNotFound"));
  site.serve("org/small", {{"config.json", with_commit(kSmallConfig)}});
  const Certificate own(site.home.path(), "own", "IP:127.0.0.1");
  const Relay front(site.hub.port(), own);
  const std::string folder = site.home.path() + "/authorities";
  fs::create_directories(folder);
  fs::copy(own.path, folder);
  REQUIRE(std::system(("openssl rehash '" + folder + "' >/dev/null 2>&1").c_str()) == 0);
  for (const std::string& variable :
       {"SSL_CERT_FILE=" + own.path, "CURL_CA_BUNDLE=" + own.path, "REQUESTS_CA_BUNDLE=" + own.path,
        "SSL_CERT_DIR=" + folder, "REQUESTS_CA_BUNDLE=" + folder}) {
    CAPTURE(variable);
    site.hub.forget();
    fs::remove_all(site.home.path() + "/cache");
    const Run run = site.run({"org/small", "--json"}, at(front.url(), {variable}));
    CAPTURE(run.err);
    CHECK(run.exit == 0);
    REQUIRE_FALSE(site.hub.seen().empty());
    CHECK(site.hub.seen()[0].authorization == "Bearer " + kSecret);
  }
}

TEST_CASE("hub: no redirect leads from https to http") {
  if (!can_test_tls()) return;
  Site site;
  HubServer plain;
  plain.fallback(with_commit(kSmallConfig));
  Answer away = refusal(302, "");
  away.headers = {"Location: " + plain.url() + "/config.json"};
  site.hub.fallback(away);
  const Certificate own(site.home.path(), "own", "IP:127.0.0.1");
  const Relay front(site.hub.port(), own);
  check_refused(site.run({"org/small"}, at(front.url(), {"SSL_CERT_FILE=" + own.path})), Exit::kHub,
                "from https to http");
  CHECK(plain.seen().empty());
}

}  // namespace
}  // namespace kvplan
