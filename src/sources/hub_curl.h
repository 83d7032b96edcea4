// libcurl, opened only when a model must be fetched: linking it would slow down every local plan. The few functions and
// numbers of its stable interface that are used are declared in the source file.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <string>

namespace kvplan {

struct HttpRequest {
  std::string url;
  std::string authorization;  // the header's value; "" for none
  std::string range;          // "0-131071"; "" for the whole file
  std::size_t limit = 0;      // of the body, after decompression
  std::chrono::milliseconds silence{10000}, total{120000};
  std::function<void(std::uint64_t bytes)> progress;  // called now and then
};

enum class HttpTrouble {
  kNone,
  kDns,
  kProxy,
  kConnect,
  kTimeout,
  kTls,
  kClosedEarly,
  kTooMuchHeader,
  kEncoded,
  kBroken
};

struct HttpResponse {
  std::string host;  // the one that answered, or did not
  HttpTrouble trouble = HttpTrouble::kNone;
  std::string detail;     // libcurl's words for it, or the encoding that was not requested
  long proxy_status = 0;  // status of a proxy's answer in place of a connection
  long status = 0;
  std::map<std::string, std::string> headers;  // of the last response, by names in lower case
  std::string body;                            // cut at the limit
  bool is_cut = false;                         // the body was longer
  std::string location;                        // of a redirect, absolute
};

// Makes one request, and follows no redirect. Throws Error(kHub) if there is no libcurl.
HttpResponse http_get(const HttpRequest& request);

}  // namespace kvplan
