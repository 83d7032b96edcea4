// The progress line: kvplan shows it only on a terminal, after half a second, and removes it at the end.
#include <doctest/doctest.h>

#include <cstdlib>

#include "sources/site.h"

namespace kvplan {
namespace {

// What a terminal shows during a run, from script(1), which every Debian has; "" if it is missing.
std::string on_a_terminal(const Site& site, const std::string& more) {
  const std::string shown = site.home.path() + "/shown";
  const std::string command = "env HF_ENDPOINT=" + site.hub.url() + " HOME=" + site.home.path() +
                              " HF_HOME=" + site.home.path() + " XDG_CACHE_HOME=" + site.home.path() +
                              " KVPLAN_CACHE= HF_HUB_OFFLINE= no_proxy='*' NO_PROXY='*' HF_TOKEN=" + kSecret + " " +
                              more + " script -qec '" + KVPLAN_BINARY + " org/small' " + shown +
                              " </dev/null >/dev/null 2>&1";
  if (std::system("command -v script >/dev/null 2>&1") != 0) return "";
  const int ignored = std::system(command.c_str());
  static_cast<void>(ignored);
  return file_text(shown);
}

TEST_CASE("hub: a progress line on a terminal after half a second") {
  if (!has_curl()) return;
  Site site;
  Answer slow = with_commit("{");
  slow.fault = Fault::kTrickle;
  site.hub.fallback(slow);
  const std::string shown = on_a_terminal(site, "KVPLAN_HTTP_TIMEOUT_MS=80");
  if (shown.empty()) {
    MESSAGE("SKIPPED: no script(1) on this machine");
    return;
  }
  CAPTURE(shown);
  CHECK(has(shown, "\rkvplan: fetching org/small from 127.0.0.1: 0 KiB"));
  // The progress line is removed before the error is printed.
  const auto wiped = shown.rfind("\r\033[K");
  REQUIRE(wiped != std::string::npos);
  CHECK(shown.find("fetching", wiped) == std::string::npos);
  CHECK(has(shown.substr(wiped), "did not answer in time"));
  CHECK_FALSE(has(shown, kSecret));

  Site quick;
  quick.hub.fallback(refusal(404, "EntryNotFound"));
  quick.serve("org/small", {{"config.json", with_commit(kSmallConfig)}});
  const std::string plan = on_a_terminal(quick, "KVPLAN_HTTP_TIMEOUT_MS=5000");
  CHECK(has(plan, "KV cache"));
}

}  // namespace
}  // namespace kvplan
