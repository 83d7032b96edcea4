#include "sources/hub_http.h"

#include <algorithm>
#include <array>
#include <memory>
#include <new>
#include <utility>

#include "base/library.h"
#include "formats/file.h"
#include "kvplan/error.h"
#include "kvplan/quantity.h"
#include "kvplan/strings.h"
#include "kvplan/version.h"
#include "sources/hub_settings.h"

namespace kvplan {

namespace {

// The numbers of libcurl's options and codes. They are part of its ABI since 7.32, and were compared with 7.88's
// documentation.
enum CurlOption : int {
  kWriteData = 10001,
  kUrl = 10002,
  kProxy = 10004,
  kRange = 10007,
  kErrorBuffer = 10010,
  kWriteFunction = 20011,
  kUserAgent = 10018,
  kLowSpeedLimit = 19,
  kLowSpeedTime = 20,
  kHttpHeader = 10023,
  kHeaderData = 10029,
  kNoProgress = 43,
  kFollowLocation = 52,
  kProgressData = 10057,
  kVerifyPeer = 64,
  kCaInfo = 10065,
  kCaPath = 10097,
  kHeaderFunction = 20079,
  kHttpGet = 80,
  kVerifyHost = 81,
  kAcceptEncoding = 10102,
  kTimeoutMs = 155,
  kConnectTimeoutMs = 156,
  kProtocols = 181,
  kProgressFunction = 20219,
  kHeaderOpt = 229,
  kSuppressConnectHeaders = 265,
  kQuickExit = 322,
};
constexpr int kInfoResponseCode = 0x200000 + 2;
constexpr int kInfoConnectCode = 0x200000 + 22;
constexpr int kInfoRedirectUrl = 0x100000 + 31;
constexpr long kHeadersToServerAlone = 1;
constexpr long kHttpAndHttps = 1 + 2;
constexpr long kGlobalAll = 3;
constexpr std::size_t kErrorBufferSize = 256;
constexpr std::size_t kMaxHeaderBytes = 256 * kKiB;
constexpr std::size_t kMaxErrorBody = 64 * kKiB;

struct CurlList;
struct Curl {
  int (*global_init)(long);
  void* (*init)();
  void (*reset)(void*);
  int (*setopt)(void*, int, ...);
  int (*perform)(void*);
  int (*getinfo)(void*, int, ...);
  CurlList* (*append)(CurlList*, const char*);
  void (*free_list)(CurlList*);
  void* handle = nullptr;  // kept for the next request, which then needs no new connection
};

Curl open_curl() {
  std::unique_ptr<Library> library;
  for (const char* name : {"libcurl.so.4", "libcurl-gnutls.so.4", "libcurl.so", "libcurl.4.dylib"})
    if (!library || !*library) library = std::make_unique<Library>(name, true);
  if (!*library)
    fail(Exit::kHub, "fetching from the Hub needs libcurl, which is not on this machine",
         "install libcurl4, or download the model's config.json and give its path");
  Curl out{};
  const auto load = [&](auto& to, const char* name) {
    to = library->find<std::remove_pointer_t<std::remove_reference_t<decltype(to)>>>(name);
    if (to == nullptr) fail(Exit::kHub, "the libcurl of this machine lacks " + std::string(name), "install libcurl4");
  };
  load(out.global_init, "curl_global_init");
  load(out.init, "curl_easy_init");
  load(out.reset, "curl_easy_reset");
  load(out.setopt, "curl_easy_setopt");
  load(out.perform, "curl_easy_perform");
  load(out.getinfo, "curl_easy_getinfo");
  load(out.append, "curl_slist_append");
  load(out.free_list, "curl_slist_free_all");
  if (out.global_init(kGlobalAll) != 0 || (out.handle = out.init()) == nullptr)
    fail(Exit::kHub, "libcurl does not start", "check its installation");
  return out;
}

// libcurl is never closed: closing may wait for a name server that does not answer, and the process ends soon.
const Curl& curl() {
  static const Curl instance = open_curl();
  return instance;
}

struct Transfer {
  const HttpRequest& request;
  HttpResponse& response;
  std::size_t header_bytes = 0;
  bool header_too_long = false;
  int codings = 0;        // of the body, as the headers name them
  std::string refused{};  // the header that ended the transfer
};

// Whether a header is accepted. libcurl undoes every encoding that it knows, one inside another, whatever was
// requested. With several decoders a small body takes hundreds of megabytes, so only gzip is accepted, once, if it was
// requested. A header continued on the next line could hide another header.
bool is_taken(std::string_view line, Transfer& transfer) {
  if (line.starts_with(' ') || line.starts_with('\t')) return false;
  const auto colon = line.find(':');
  if (colon == std::string_view::npos) return true;
  const std::string name = lower(trimmed(line.substr(0, colon)));
  const std::string value = lower(trimmed(line.substr(colon + 1)));
  if (name == "transfer-encoding") return value == "chunked" || value == "identity";
  if (name != "content-encoding" || value == "identity") return true;
  return (value == "gzip" || value == "x-gzip") && transfer.request.range.empty() && ++transfer.codings == 1;
}

std::size_t take_header(char* data, std::size_t size, std::size_t count, void* user) {
  Transfer& transfer = *static_cast<Transfer*>(user);
  const std::string_view line(data, size * count);
  transfer.header_bytes += line.size();
  if (transfer.header_bytes > kMaxHeaderBytes) {
    transfer.header_too_long = true;
    return 0;
  }
  if (!is_taken(line, transfer)) {
    transfer.refused = trimmed(line);
    return 0;
  }
  if (line.starts_with("HTTP/")) {  // a new response: earlier headers were a proxy's, or those of "100 Continue"
    transfer.response.headers.clear();
    transfer.response.status = 0;
    if (const auto space = line.find(' '); space != std::string_view::npos)
      for (const char c : line.substr(space + 1, 3))
        if (c >= '0' && c <= '9') transfer.response.status = transfer.response.status * 10 + (c - '0');
  } else if (const auto colon = line.find(':'); colon != std::string_view::npos) {
    transfer.response.headers[lower(line.substr(0, colon))] = trimmed(line.substr(colon + 1));
  }
  return line.size();
}

std::size_t take_body(char* data, std::size_t size, std::size_t count, void* user) {
  Transfer& transfer = *static_cast<Transfer*>(user);
  HttpResponse& response = transfer.response;
  const std::size_t bytes = size * count;
  const std::size_t limit =
      response.status >= 300 ? std::min(transfer.request.limit, kMaxErrorBody) : transfer.request.limit;
  const std::size_t room = limit - std::min(limit, response.body.size());
  try {
    response.body.append(data, std::min(room, bytes));
  } catch (const std::bad_alloc&) {
    return 0;  // no exception may pass through libcurl
  }
  if (bytes <= room) return bytes;
  response.is_cut = true;
  return 0;  // ends the transfer
}

int show_progress(void* user, std::int64_t, std::int64_t bytes, std::int64_t, std::int64_t) {
  const Transfer& transfer = *static_cast<const Transfer*>(user);
  if (transfer.request.progress)
    transfer.request.progress(static_cast<std::uint64_t>(std::max<std::int64_t>(bytes, 0)));
  return 0;
}

// What libcurl's codes mean here. Any other code is kBroken.
struct TroubleRow {
  HttpTrouble trouble;
  std::string_view codes;
};
constexpr std::array kTroubles{
    TroubleRow{HttpTrouble::kNone, "0"},
    TroubleRow{HttpTrouble::kProxy, "5 97"},
    TroubleRow{HttpTrouble::kDns, "6"},
    TroubleRow{HttpTrouble::kConnect, "7"},
    TroubleRow{HttpTrouble::kTimeout, "28"},
    TroubleRow{HttpTrouble::kTls, "35 51 53 54 58 59 60 64 66 77 80 82 83 90 91"},
    TroubleRow{HttpTrouble::kClosedEarly, "18 52 55 56 92 95"},
};
HttpTrouble trouble_of(int code) {
  for (const TroubleRow& row : kTroubles)
    if (has_word(row.codes, std::to_string(code))) return row.trouble;
  return HttpTrouble::kBroken;
}

// libcurl reads HTTP_PROXY only in lower case. In upper case a visitor of a web server may have set it ("Proxy: ..." in
// a request to a CGI program). Outside CGI, Python's tools accept upper case, and so does kvplan.
std::string capital_proxy(const std::string& url) {
  const bool is_plain = origin_of(url).starts_with("http:");
  return is_plain && environment("http_proxy").empty() && environment("REQUEST_METHOD").empty()
             ? environment("HTTP_PROXY")
             : "";
}

// Whether the failed connection was to a proxy: libcurl names the host that it could not reach.
bool names_a_proxy(std::string_view detail, const std::string& url) {
  if (!detail.starts_with("Failed to connect to ")) return false;
  const std::string origin = origin_of(url);
  const auto host = origin.find("://") + 3;
  const auto colon = origin.rfind(':');
  const std::string server = origin.substr(host, colon - host) + " port " + origin.substr(colon + 1);
  return detail.find(" via ") != std::string_view::npos || lower(detail).find(server) == std::string::npos;
}

// A company's certificate authorities: a file or a folder of certificates. The variables are those of Python's
// requests, then curl, then OpenSSL and httpx; the last one that is set wins.
void trust_given_authorities(const Curl& library, void* handle) {
  std::string bundle;
  for (const char* name : {"REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "SSL_CERT_FILE"})
    if (std::string given = environment(name); !given.empty()) bundle = std::move(given);
  std::string folder = environment("SSL_CERT_DIR");
  if (!bundle.empty() && is_directory(bundle)) folder = std::exchange(bundle, "");
  if (!bundle.empty()) library.setopt(handle, kCaInfo, bundle.c_str());
  if (!folder.empty()) library.setopt(handle, kCaPath, folder.c_str());
}

class Headers {
 public:
  explicit Headers(const Curl& library) : library_(library) {}
  ~Headers() { library_.free_list(list_); }
  Headers(const Headers&) = delete;
  Headers& operator=(const Headers&) = delete;
  void add(const std::string& line) { list_ = library_.append(list_, line.c_str()); }
  CurlList* get() const { return list_; }

 private:
  const Curl& library_;
  CurlList* list_ = nullptr;
};

}  // namespace

HttpResponse http_get(const HttpRequest& request) {
  const Curl& library = curl();
  void* const handle = library.handle;
  HttpResponse response;
  Transfer transfer{request, response};
  std::array<char, kErrorBufferSize> error{};
  Headers headers(library);
  if (!request.authorization.empty()) headers.add("Authorization: " + request.authorization);
  headers.add("Accept: */*");
  if (!request.range.empty()) headers.add("Accept-Encoding: identity");
  const std::string agent = std::string("kvplan/") + kVersion;
  const long connect = request.silence.count();
  const long total = request.total.count();
  const long silence = std::max<long>(1, (request.silence.count() + 999) / 1000);

  library.reset(handle);
  library.setopt(handle, kUrl, request.url.c_str());
  library.setopt(handle, kHttpGet, 1L);
  library.setopt(handle, kUserAgent, agent.c_str());
  library.setopt(handle, kHttpHeader, headers.get());
  library.setopt(handle, kFollowLocation, 0L);
  library.setopt(handle, kProtocols, kHttpAndHttps);
  library.setopt(handle, kVerifyPeer, 1L);
  library.setopt(handle, kVerifyHost, 2L);
  library.setopt(handle, kSuppressConnectHeaders, 1L);
  library.setopt(handle, kQuickExit, 1L);
  library.setopt(handle, kConnectTimeoutMs, connect);
  library.setopt(handle, kTimeoutMs, total);
  library.setopt(handle, kLowSpeedLimit, 1024L);
  library.setopt(handle, kLowSpeedTime, silence);
  library.setopt(handle, kErrorBuffer, error.data());
  library.setopt(handle, kWriteFunction, &take_body);
  library.setopt(handle, kWriteData, &transfer);
  library.setopt(handle, kHeaderFunction, &take_header);
  library.setopt(handle, kHeaderData, &transfer);
  library.setopt(handle, kNoProgress, 0L);
  library.setopt(handle, kProgressFunction, &show_progress);
  library.setopt(handle, kProgressData, &transfer);
  library.setopt(handle, kHeaderOpt, kHeadersToServerAlone);
  const std::string proxy = capital_proxy(request.url);
  if (!proxy.empty()) library.setopt(handle, kProxy, proxy.c_str());
  trust_given_authorities(library, handle);
  if (request.range.empty())
    library.setopt(handle, kAcceptEncoding, "gzip");
  else
    library.setopt(handle, kRange, request.range.c_str());

  const int code = library.perform(handle);
  response.trouble = response.is_cut ? HttpTrouble::kNone : trouble_of(code);
  if (transfer.header_too_long) response.trouble = HttpTrouble::kTooMuchHeader;
  response.detail = error.data();
  if (!transfer.refused.empty()) {
    response.trouble = HttpTrouble::kEncoded;
    response.detail = transfer.refused;
  }
  if (library.getinfo(handle, kInfoConnectCode, &response.proxy_status) != 0 || response.proxy_status < 300)
    response.proxy_status = 0;
  if (response.trouble != HttpTrouble::kNone &&
      (response.proxy_status != 0 ||
       (response.trouble == HttpTrouble::kConnect && names_a_proxy(response.detail, request.url))))
    response.trouble = HttpTrouble::kProxy;
  long status = 0;
  if (library.getinfo(handle, kInfoResponseCode, &status) == 0 && status != 0) response.status = status;
  const char* location = nullptr;
  if (library.getinfo(handle, kInfoRedirectUrl, &location) == 0 && location != nullptr) response.location = location;
  // The buffers above do not outlive this function.
  library.reset(handle);
  return response;
}

}  // namespace kvplan
