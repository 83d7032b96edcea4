#include "sources/hub_http.h"

#include <algorithm>
#include <charconv>
#include <thread>
#include <vector>

#include "kvplan/quantity.h"
#include "kvplan/strings.h"
#include "sources/hub_settings.h"

namespace kvplan {

namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr int kMaxRedirects = 5;
constexpr int kMaxAttempts = 4;
// Total time for one answer and for all answers, in timeouts.
constexpr int kTotalTimeouts = 12;
constexpr int kPlanTimeouts = 18;
// For all pages of a list of files together. The Hub puts a thousand files on a page.
constexpr std::size_t kMaxListing = 8 * kMiB;
constexpr std::size_t kMaxPages = 40;
constexpr std::size_t kMaxCursor = 4096;
// For all answers about a model: a config and its quantization of 16 MiB each, an index of 64 MiB, and headers of 64
// MiB.
constexpr std::size_t kMaxBodies = 160 * kMiB;
constexpr std::size_t kMaxRequests = 500;
constexpr std::uint64_t kMaxFileBytes = std::uint64_t{1} << 44;  // 16 TiB: no model has longer files

std::string header(const HttpResponse& response, const char* name) {
  const auto found = response.headers.find(name);
  return found == response.headers.end() ? "" : found->second;
}

// Whether the file or model is missing. Without a token the Hub also answers 401 for a model that does not exist.
bool is_missing(const HttpResponse& response, HubMissing& missing) {
  const std::string code = header(response, "x-error-code");
  if (response.status != 404 && !has_word("RepoNotFound RevisionNotFound EntryNotFound", code)) return false;
  missing.code = code;
  return true;
}

bool is_worth_another_try(const HttpResponse& response) {
  if (response.trouble != HttpTrouble::kNone) return response.trouble == HttpTrouble::kClosedEarly;
  return response.status == 429 || response.status == 500 || response.status == 502 || response.status == 503 ||
         response.status == 504;
}

std::string without_port(const std::string& origin) {
  std::string out = origin.substr(0, origin.rfind(':'));
  return out.substr(out.find("://") + 3);
}

std::optional<std::uint64_t> number(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

struct ContentRange {
  std::uint64_t first = 0, last = 0, total = 0;
};

// "bytes 0-131071/16060522904"
std::optional<ContentRange> content_range(std::string_view text) {
  if (!text.starts_with("bytes ")) return std::nullopt;
  text.remove_prefix(6);
  const auto dash = text.find('-');
  const auto slash = text.find('/');
  if (dash == std::string_view::npos || slash == std::string_view::npos || dash > slash) return std::nullopt;
  const auto first = number(text.substr(0, dash));
  const auto last = number(text.substr(dash + 1, slash - dash - 1));
  const auto total = number(text.substr(slash + 1));
  if (!first || !last || !total || *first > *last || *last >= *total) return std::nullopt;
  return ContentRange{*first, *last, *total};
}

// The query in `<https://HOST/api/...?recursive=true&cursor=abc>; rel="next"`. kvplan adds the rest of the address
// itself, because a mirror may forward one that names the Hub.
std::string next_query(std::string_view link) {
  for (std::size_t at = link.find('<'); at != std::string_view::npos; at = link.find('<', at + 1)) {
    const auto end = link.find('>', at);
    if (end == std::string_view::npos) return "";
    const std::string_view target = link.substr(at + 1, end - at - 1);
    const std::string_view rest = link.substr(end, link.find('<', end) - end);
    if (rest.find("rel=\"next\"") == std::string_view::npos && rest.find("rel=next") == std::string_view::npos)
      continue;
    const auto query = target.find('?');
    const bool plain =
        std::all_of(target.begin(), target.end(), [](char c) { return c > ' ' && c < 0x7f && c != '#'; });
    return query == std::string_view::npos || !plain || target.size() > kMaxCursor ? ""
                                                                                   : std::string(target.substr(query));
  }
  return "";
}

}  // namespace

bool contains_token(std::string_view text, std::string_view token) {
  if (token.empty()) return false;
  if (text.find(token) != std::string_view::npos) return true;
  if (text.find('%') == std::string_view::npos) return false;
  // Decodes in overlapping pieces, so that the copies stay small.
  constexpr std::size_t kPiece = std::size_t{1} << 20;
  for (std::size_t at = 0; at < text.size(); at += kPiece)
    if (percent_decoded(text.substr(at, kPiece + 3 * token.size())).find(token) != std::string::npos) return true;
  return false;
}

void broken_file(std::string_view name, std::string_view why, std::string_view remedy) {
  throw HubUnreachable("the server's " + one_line(name, 80) + " is broken (" + one_line(why, 160) + ")", remedy);
}

HubClient::HubClient(const HubSettings& settings, std::string repo)
    : settings_(settings), repo_(std::move(repo)), origin_(origin_of(settings.endpoint)), start_(steady_clock::now()) {}

void HubClient::show(std::uint64_t bytes) {
  if (progress_.is_due())
    progress_.show("kvplan: fetching " + repo_ + " from " + without_port(origin_) + ": " +
                   std::to_string(bytes / kKiB) + " KiB");
}

milliseconds HubClient::left() const {
  const auto spent = std::chrono::duration_cast<milliseconds>(steady_clock::now() - start_);
  return std::max(milliseconds(1), settings_.timeout * kPlanTimeouts - spent);
}

std::string HubClient::url_of(const std::string& revision, const std::string& name) const {
  std::string out = settings_.endpoint + "/" + repo_ + "/resolve/" + percent_encoded(revision);
  for (std::size_t at = 0; at <= name.size();) {
    const std::size_t end = std::min(name.find('/', at), name.size());
    const std::string part = name.substr(at, end - at);
    if (part.empty() || part == "." || part == "..")
      throw HubUnreachable("the server gives the file name \"" + one_line(name, 80) + "\", which is not a path",
                           "check HF_ENDPOINT");
    out += "/" + percent_encoded(part);
    at = end + 1;
  }
  return out;
}

void HubClient::give_up(const HttpResponse& response) const {
  const std::string& host = response.host;
  const std::string again = "check the network, or use a local copy with --offline";
  const std::string detail = response.detail.empty() ? "" : " (" + one_line(response.detail, 120) + ")";
  switch (response.trouble) {
    case HttpTrouble::kDns:
      throw HubUnreachable("the name " + host + " could not be resolved",
                           "check the network and HF_ENDPOINT, or use --offline");
    case HttpTrouble::kProxy:
      if (response.proxy_status == 407)
        throw HubUnreachable("the proxy requires a login (407)", "put the user and password in https_proxy");
      if (response.proxy_status != 0)
        throw HubUnreachable(
            "the proxy refuses a connection to " + host + " (" + std::to_string(response.proxy_status) + ")",
            "check https_proxy and no_proxy");
      throw HubUnreachable("the proxy could not be reached", "check https_proxy, http_proxy and no_proxy");
    case HttpTrouble::kConnect: throw HubUnreachable("no connection to " + host, again);
    case HttpTrouble::kTimeout:
      throw HubUnreachable(host + " did not answer in time", "try again, or raise KVPLAN_HTTP_TIMEOUT_MS (" +
                                                                 std::to_string(settings_.timeout.count()) + " now)");
    case HttpTrouble::kTls:
      throw HubUnreachable("no secure connection to " + host + detail,
                           "check the clock and the certificates (ca-certificates, or SSL_CERT_FILE)");
    case HttpTrouble::kClosedEarly: throw HubUnreachable(host + " closed the connection early", again);
    case HttpTrouble::kTooMuchHeader: throw HubUnreachable(host + " sends headers without end", "check HF_ENDPOINT");
    case HttpTrouble::kEncoded:
      throw HubUnreachable(host + " sends a header that kvplan rejects" + detail, "check HF_ENDPOINT and the proxy");
    default: break;
  }
  throw HubUnreachable("no valid answer from " + host + detail, again);
}

HttpResponse HubClient::get_once(const std::string& url, const std::string& range, std::size_t limit,
                                 std::string& commit) {
  std::string at = url;
  const auto check_bounds = [this] {
    if (requests_ > kMaxRequests || body_bytes_ > kMaxBodies)
      throw HubUnreachable("the model takes more than " + std::to_string(kMaxRequests) + " requests or " +
                               std::to_string(kMaxBodies >> 20) + " MiB of configs and headers",
                           "download it and give its path");
  };
  for (int hop = 0; hop <= kMaxRedirects; ++hop) {
    ++requests_;
    check_bounds();
    HttpRequest request;
    request.url = at;
    request.range = range;
    request.limit = limit;
    request.silence = settings_.timeout;
    request.total = std::min(settings_.timeout * kTotalTimeouts, left());
    request.progress = [this](std::uint64_t bytes) { show(bytes); };
    const std::string origin = origin_of(at);
    if (origin == origin_ && !settings_.token.empty()) request.authorization = "Bearer " + settings_.token;
    HttpResponse response = http_get(request);
    response.host = name_of(origin);
    body_bytes_ += response.body.size();
    check_bounds();
    check_echo(response);
    if (origin == origin_ && commit.empty())
      if (const std::string named = header(response, "x-repo-commit"); is_commit(named)) commit = named;
    if (response.trouble != HttpTrouble::kNone || response.status < 300 || response.status >= 400) return response;
    const std::string next = origin_of(response.location);
    if (next.empty()) throw HubUnreachable(response.host + " redirects to an invalid address", "check HF_ENDPOINT");
    if (origin.starts_with("https:") && !next.starts_with("https:"))
      throw HubUnreachable(response.host + " redirects from https to http, which kvplan does not follow",
                           "check HF_ENDPOINT");
    at = response.location;
  }
  throw HubUnreachable(without_port(origin_) + " redirects without end", "check HF_ENDPOINT");
}

// Refuses a response that contains the token, which would get into reports, errors and the cache.
void HubClient::check_echo(const HttpResponse& response) const {
  const auto has_token = [&](std::string_view text) { return contains_token(text, settings_.token); };
  if (has_token(response.body) || has_token(response.location) || has_token(response.detail) ||
      std::any_of(response.headers.begin(), response.headers.end(),
                  [&](const auto& each) { return has_token(each.second); }))
    throw HubUnreachable(without_port(origin_) + " sends the token back, which no proper server does",
                         "check HF_ENDPOINT, and renew the token");
}

// Waits as long as the server requests, if that is short.
void HubClient::wait_before(int attempt, const HttpResponse& last) {
  milliseconds pause = settings_.timeout / 20 * (1 << attempt);
  if (const auto asked = number(header(last, "retry-after"))) {
    if (*asked > static_cast<std::uint64_t>(settings_.timeout.count()) / 1000)
      throw HubUnreachable(last.host + " answers " + std::to_string(last.status) + " and asks for a pause of " +
                               std::to_string(*asked) + " seconds",
                           last.status == 429 ? "wait, or set HF_TOKEN: accounts get more requests" : "try again then");
    pause = std::max(pause, milliseconds(static_cast<std::int64_t>(*asked * 1000)));
  }
  if (pause >= left()) give_up(last);
  std::this_thread::sleep_for(pause);
}

HttpResponse HubClient::get(const std::string& url, const std::string& range, std::size_t limit, std::string& commit) {
  for (int attempt = 0;; ++attempt) {
    HttpResponse response = get_once(url, range, limit, commit);
    if (!is_worth_another_try(response)) {
      if (response.trouble != HttpTrouble::kNone) give_up(response);
      return response;
    }
    if (attempt + 1 < kMaxAttempts) {
      wait_before(attempt, response);
      continue;
    }
    if (response.trouble != HttpTrouble::kNone) give_up(response);
    const std::string tried = "after " + std::to_string(kMaxAttempts) + " attempts";
    if (response.status == 429)
      throw HubUnreachable(response.host + " answers 429, too many requests, " + tried,
                           "wait, or set HF_TOKEN: accounts get more requests");
    throw HubUnreachable(response.host + " answers " + std::to_string(response.status) + " " + tried,
                         "try again later, or use a local copy with --offline");
  }
}

// Throws for any response that is neither a file nor a missing file.
void HubClient::refuse(const HttpResponse& response) const {
  // Another host got no token, so its answer says nothing about the model.
  if (const std::string own = without_port(origin_); response.host != own)
    throw HubUnreachable(response.host + ", to which " + own + " redirects, answers " + std::to_string(response.status),
                         "try again later, or check HF_ENDPOINT");
  const std::string code = header(response, "x-error-code");
  const bool has_token = !settings_.token.empty();
  const std::string page = settings_.endpoint + "/" + repo_;
  if (code == "GatedRepo")
    fail(Exit::kHub,
         has_token ? "the model is gated, and the token's account has no access to it" : "this model is gated",
         (has_token ? "ask for access at " : "accept its terms at ") + page + (has_token ? "" : " and set HF_TOKEN"));
  if (code == "DisabledRepo") fail(Exit::kHub, "the model was disabled on the Hub", "use another model");
  if (response.status == 401 || response.status == 407) {
    if (response.status == 401 && has_token)
      fail(Exit::kHub, "the Hub refuses the token (401): it is expired or wrong",
           "renew it at " + settings_.endpoint + "/settings/tokens");
    fail(Exit::kHub, "the server requires a login (" + std::to_string(response.status) + ")",
         response.status == 401 ? "set HF_TOKEN or give --token" : "put the proxy's user and password in https_proxy");
  }
  if (response.status == 403)
    fail(Exit::kHub, "the server refuses access (403)",
         has_token ? "check what the token may read" : "set HF_TOKEN or give --token");
  throw HubUnreachable("the server answers " + std::to_string(response.status) + ", which kvplan does not understand",
                       "check HF_ENDPOINT, or try again later");
}

// The endpoint's host name with another port counts as another host.
std::string HubClient::name_of(const std::string& origin) const {
  const std::string name = without_port(origin);
  const bool is_another = origin != origin_ && name == without_port(origin_);
  return is_another ? origin.substr(origin.find("://") + 3) : name;
}

std::optional<HubFile> HubClient::file(const std::string& revision, const std::string& name, std::size_t limit,
                                       HubMissing& missing) {
  return whole(url_of(revision, name), name, limit, missing);
}

std::optional<std::vector<std::string>> HubClient::listing(const std::string& revision, HubMissing& missing) {
  const std::string url = settings_.endpoint + "/api/models/" + repo_ + "/tree/" + percent_encoded(revision);
  std::vector<std::string> pages;
  std::size_t bytes = 0;
  for (std::string query = "?recursive=true";;) {
    auto page = whole(url + query, "the list of files", kMaxListing - bytes, missing);
    if (!page) return std::nullopt;
    bytes += page->body.size();
    pages.push_back(std::move(page->body));
    if (page->cursor.empty()) return pages;
    if (page->cursor == query || pages.size() >= kMaxPages)
      throw HubUnreachable("the list of files has no end", "name the file: org/name/blob/main/FILE.gguf as an address");
    query = std::move(page->cursor);
  }
}

std::optional<HubFile> HubClient::whole(const std::string& url, const std::string& name, std::size_t limit,
                                        HubMissing& missing) {
  HubFile out;
  HttpResponse response = get(url, "", limit, out.commit);
  if (is_missing(response, missing)) return std::nullopt;
  if (response.status != 200) refuse(response);
  if (response.is_cut)
    throw HubUnreachable(name + " is larger than " + std::to_string(limit >> 20) + " MiB",
                         "no model file is that large: check HF_ENDPOINT");
  out.body = std::move(response.body);
  out.total_bytes = out.body.size();
  out.cursor = next_query(header(response, "link"));
  return out;
}

std::optional<HubFile> HubClient::part(const std::string& revision, const std::string& name, std::uint64_t begin,
                                       std::size_t count, HubMissing& missing) {
  HubFile out;
  const std::string range = std::to_string(begin) + "-" + std::to_string(begin + count - 1);
  // A server without ranges sends the whole file. kvplan uses its beginning.
  HttpResponse response = get(url_of(revision, name), range, count, out.commit);
  if (is_missing(response, missing)) return std::nullopt;
  const auto lie = [&] {
    throw HubUnreachable("the server's answer to a range request for " + name + " is inconsistent",
                         "check HF_ENDPOINT, or download the model");
  };
  if (response.status == 206) {
    const auto got = content_range(header(response, "content-range"));
    if (!got || response.is_cut || got->first != begin || got->last - got->first + 1 != response.body.size()) lie();
    // A short answer is correct only at the end of the file.
    if (response.body.size() < count && got->last + 1 != got->total) lie();
    out.total_bytes = got->total;
  } else if (response.status == 200 && begin == 0) {
    const auto length = number(header(response, "content-length"));
    if (!length && response.is_cut) lie();
    out.total_bytes = length ? *length : response.body.size();
    if (out.total_bytes < response.body.size()) lie();
  } else if (response.status == 200 || response.status == 416) {
    lie();
  } else {
    refuse(response);
  }
  if (out.total_bytes > kMaxFileBytes) lie();
  out.body = std::move(response.body);
  return out;
}

}  // namespace kvplan
