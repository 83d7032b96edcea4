// Proxies by the environment's variables: what goes through them, what does not, and what they may see.
#include <doctest/doctest.h>

#include "sources/site.h"
#include "support/relay.h"

namespace kvplan {
namespace {

// Variables that name one proxy, without exceptions.
std::vector<std::string> through(const std::string& variable, const std::vector<std::string>& more = {}) {
  std::vector<std::string> out = more;
  for (const char* none : {"NO_PROXY=", "no_proxy="})
    if (std::none_of(more.begin(), more.end(), [&](const std::string& v) { return v.starts_with(none); }))
      out.emplace_back(none);
  out.push_back(variable);
  return out;
}

TEST_CASE("hub: an https hub through a proxy, which sees neither the token nor the requests") {
  if (!has_curl() || !has_tls()) return;
  Site site;
  site.hub.fallback(refusal(404, "EntryNotFound"));
  site.serve("org/small", {{"config.json", with_commit(kSmallConfig)}});
  const Certificate own(site.home.path(), "own", "DNS:hub.example");
  const Relay front(site.hub.port(), own);
  for (const std::string variable : {"HTTPS_PROXY", "https_proxy", "ALL_PROXY"}) {
    CAPTURE(variable);
    site.hub.forget();
    const Relay proxy(front.port());
    const Run run =
        site.run({"org/small", "--json"},
                 through(variable + "=" + proxy.url(),
                         {"HF_ENDPOINT=https://hub.example", "SSL_CERT_FILE=" + own.path, "HF_TOKEN=" + kSecret}));
    CAPTURE(run.err);
    CHECK(run.exit == 0);
    REQUIRE(proxy.heads().size() == 1);  // one connection for all requests
    CHECK(proxy.heads()[0].starts_with("CONNECT hub.example:443 HTTP/1.1\r\n"));
    CHECK_FALSE(has(proxy.heads()[0], kSecret));
    REQUIRE_FALSE(site.hub.seen().empty());
    CHECK(site.hub.seen()[0].authorization == "Bearer " + kSecret);
  }
}

TEST_CASE("hub: a plain hub through a proxy; the token goes only to the hub's own name") {
  if (!has_curl()) return;
  const std::string config = "http://hub.example/org/small/resolve/main/config.json";
  for (const std::string variable : {"http_proxy", "HTTP_PROXY", "ALL_PROXY"}) {
    CAPTURE(variable);
    Site site;
    Answer away = refusal(302, "");
    away.headers = {"Location: http://files.example/config.json", "X-Repo-Commit: " + kCommit};
    site.hub.fallback(refusal(404, "EntryNotFound"));
    site.hub.on(config, {away});
    site.hub.on("http://files.example/config.json", {with_commit(kSmallConfig)});
    const Relay proxy(site.hub.port());
    const Run run = site.run({"org/small"}, through(variable + "=" + proxy.url(),
                                                    {"HF_ENDPOINT=http://hub.example", "HF_TOKEN=" + kSecret}));
    CAPTURE(run.err);
    CHECK(run.exit == 0);
    bool followed = false;
    for (const Seen& seen : site.hub.seen()) {
      const bool own = seen.path.starts_with("http://hub.example/");
      CHECK(seen.authorization == (own ? "Bearer " + kSecret : ""));
      followed = followed || !own;
    }
    CHECK(followed);
  }
}

TEST_CASE("hub: no_proxy, and a proxy's name that a web server's visitor may have set") {
  if (!has_curl()) return;
  Site site;
  site.hub.fallback(refusal(404, "EntryNotFound"));
  site.serve("org/small", {{"config.json", with_commit(kSmallConfig)}});
  const std::string dead = "=http://127.0.0.1:1";
  for (const std::string name : {"NO_PROXY=127.0.0.1", "no_proxy=localhost,127.0.0.1", "no_proxy=*"})
    for (const std::string variable : {"http_proxy", "HTTP_PROXY", "ALL_PROXY"}) {
      CAPTURE(name);
      CAPTURE(variable);
      CHECK(site.run({"org/small"}, through(variable + dead, {name})).exit == 0);
    }
  CHECK(site.run({"org/small"}, through("HTTP_PROXY" + dead, {"REQUEST_METHOD=GET"})).exit == 0);
}

TEST_CASE("hub: proxies that are missing, refuse or do not answer: one line each") {
  if (!has_curl()) return;
  Site site;
  const std::string secret = "proxy-password";
  for (const std::string endpoint : {"https://hub.example", "http://hub.example"})
    for (const std::string variable : {"ALL_PROXY", "HTTPS_PROXY", "HTTP_PROXY"}) {
      if ((variable == "HTTPS_PROXY") != endpoint.starts_with("https") && variable != "ALL_PROXY") continue;
      CAPTURE(endpoint);
      CAPTURE(variable);
      const Run run = site.run({"org/small"}, through(variable + "=http://user:" + secret + "@127.0.0.1:1",
                                                      {"HF_ENDPOINT=" + endpoint, "HF_TOKEN=" + kSecret}));
      check_refused(run, Exit::kHub, "the proxy could not be reached");
      CHECK(run.seconds < 2);
      CHECK_FALSE(has(run.err, secret));
    }
  Relay proxy(site.hub.port());
  const auto run = [&](const std::string& answer) {
    proxy.answer(answer);
    return site.run({"org/small"}, through("https_proxy=" + proxy.url(),
                                           {"HF_ENDPOINT=https://hub.example", "KVPLAN_HTTP_TIMEOUT_MS=200"}));
  };
  check_refused(run("HTTP/1.1 403 No\r\nContent-Length: 0\r\n\r\n"), Exit::kHub, "the proxy refuses");
  check_refused(run("HTTP/1.1 407 Who\r\nContent-Length: 0\r\n\r\n"), Exit::kHub, "the proxy requires a login");
  check_refused(run("HTTP/1.1 502 Bad\r\nContent-Length: 5\r\n\r\n<htm>"), Exit::kHub, "the proxy refuses");
  check_refused(run("no HTTP at all\r\n\r\n"), Exit::kHub, "");
  const Run silent = run("silent");
  check_refused(silent, Exit::kHub, "in time");
  CHECK(silent.seconds < 5);
  CHECK(site.hub.seen().empty());
}

}  // namespace
}  // namespace kvplan
