#include "sources/hub_settings.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>

#include "base/os.h"
#include "formats/file.h"
#include "kvplan/error.h"
#include "kvplan/quantity.h"
#include "kvplan/strings.h"

namespace kvplan {

constexpr std::size_t kMaxToken = 2048;

static bool is_true(std::string_view value) {
  return has_word("1 on yes true", lower(value));
}

// Refuses a token with a line break, which could add headers.
static std::string checked_token(std::string_view text, std::string_view from) {
  std::string token(trimmed(text));
  const bool plain = std::all_of(token.begin(), token.end(), [](char c) { return c > ' ' && c < 0x7f; });
  if (!plain || token.size() > kMaxToken)
    fail("the token of " + std::string(from) +
             " is malformed: it contains spaces, line breaks or other bytes that no token has",
         "copy it again from the Hub's settings");
  return token;
}

static std::string hf_home() {
  std::string home = environment("HF_HOME");
  if (!home.empty()) return home;
  const std::string cache = environment("XDG_CACHE_HOME");
  return cache.empty() ? home_folder(".cache/huggingface") : cache + "/huggingface";
}

static std::string find_token(const HubOptions& options) {
  if (!options.token.empty()) {
    std::string token = checked_token(options.token, "--token");
    if (token.empty()) fail("--token: an empty token", "copy it again from the Hub's settings");
    return token;
  }
  if (is_true(environment("HF_HUB_DISABLE_IMPLICIT_TOKEN"))) return "";
  for (const char* name : {"HF_TOKEN", "HUGGING_FACE_HUB_TOKEN"})
    if (std::string token = checked_token(environment(name), name); !token.empty()) return token;
  std::string path = environment("HF_TOKEN_PATH");
  if (path.empty()) {
    const std::string home = hf_home();
    if (home.empty()) return "";
    path = home + "/token";
  }
  if (!is_file(path)) return "";
  std::string text;
  try {
    text = read_file(path, 64 * kKiB);
  } catch (const Error&) {
    return "";  // for example, it belongs to another user: open models need no token
  }
  return checked_token(text, "the token file");
}

static std::string find_endpoint() {
  const std::string given = environment("HF_ENDPOINT");
  std::string endpoint(trimmed(given));
  while (endpoint.ends_with('/')) endpoint.pop_back();
  if (endpoint.empty()) return "https://huggingface.co";
  const std::string origin = origin_of(endpoint);
  const bool plain = std::all_of(endpoint.begin(), endpoint.end(), [](char c) {
    return c > ' ' && c < 0x7f && c != '?' && c != '#' && c != '"' && c != '\\';
  });
  if (origin.empty() || !plain)
    fail("HF_ENDPOINT is not the address of a server", "give https://HOST, without a user or a query");
  return endpoint;
}

std::string environment(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

std::string home_folder(std::string_view beneath) {
  const std::string home = os::home();
  return home.empty() ? "" : home + "/" + std::string(beneath);
}

std::string origin_of(std::string_view url) {
  std::string out;
  for (const std::string_view scheme : {"https://", "http://"})
    if (url.size() > scheme.size() && lower(url.substr(0, scheme.size())) == scheme) out = scheme;
  if (out.empty()) return "";
  const std::string_view rest = url.substr(out.size());
  const std::string_view authority = rest.substr(0, rest.find_first_of("/?#"));
  std::string_view host = authority;
  std::string_view port;
  if (const auto colon = authority.rfind(':');
      colon != std::string_view::npos && authority.find(']', colon) == std::string_view::npos) {
    host = authority.substr(0, colon);
    port = authority.substr(colon + 1);
    if (port.empty() || port.size() > 5 || port.find_first_not_of("0123456789") != std::string_view::npos) return "";
  }
  const bool bracketed = host.size() > 2 && host.front() == '[' && host.back() == ']';
  if (host.empty()) return "";
  for (const char c : bracketed ? host.substr(1, host.size() - 2) : host) {
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    if (!letter && c != '.' && c != '-' && c != '_' && !(bracketed && c == ':')) return "";
  }
  if (port.empty()) port = out == "https://" ? "443" : "80";
  return out + lower(host) + ":" + std::string(port);
}

std::string hf_cache_folder() {
  for (const char* name : {"HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE"})
    if (std::string folder = environment(name); !folder.empty()) return folder;
  const std::string home = hf_home();
  return home.empty() ? "" : home + "/hub";
}

HubSettings read_hub_settings(const HubOptions& options) {
  HubSettings out;
  out.endpoint = find_endpoint();
  out.offline =
      options.offline || is_true(environment("HF_HUB_OFFLINE")) || is_true(environment("TRANSFORMERS_OFFLINE"));
  if (!out.offline) out.token = find_token(options);
  out.hf_cache = hf_cache_folder();
  out.own_cache = environment("KVPLAN_CACHE");
  if (out.own_cache.empty()) {
    const std::string cache = environment("XDG_CACHE_HOME");
    out.own_cache = cache.empty() ? home_folder(".cache/kvplan") : cache + "/kvplan";
  }
  if (const std::string text = environment("KVPLAN_HTTP_TIMEOUT_MS"); !text.empty()) {
    int value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || *end != '\0' || value < 1 || value > 600000)
      fail("KVPLAN_HTTP_TIMEOUT_MS is not a number of milliseconds from 1 to 600000", "set 10000, or unset it");
    out.timeout = std::chrono::milliseconds(value);
  }
  return out;
}

}  // namespace kvplan
