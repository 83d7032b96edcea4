// libcurl, opened when a model must be fetched and never before: linking it would cost every local plan its start. The
// few functions and numbers of its stable interface that are used are declared in the source file.
#ifndef KVPLAN_SOURCES_HUB_CURL_H_
#define KVPLAN_SOURCES_HUB_CURL_H_

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <string>

namespace kvplan {

struct HttpRequest {
  std::string url;
  std::string authorization;  // the header's value; "" for none
  std::string range;          // "0-131071"; "" for the whole
  std::size_t limit = 0;      // of the body, after decompression
  std::chrono::milliseconds silence{10000}, total{120000};
  std::function<void(std::uint64_t bytes)> progress;  // now and then
};

enum class HttpTrouble { kNone, kDns, kProxy, kConnect, kTimeout, kTls, kClosedEarly, kTooMuchHeader, kBroken };

struct HttpResponse {
  std::string host;  // that answered, or did not
  HttpTrouble trouble = HttpTrouble::kNone;
  std::string detail;     // libcurl's words for it
  long proxy_status = 0;  // what a proxy answered in place of a connection
  long status = 0;
  std::map<std::string, std::string> headers;  // names in small letters; the last answer's
  std::string body;                            // cut at the limit
  bool is_cut = false;                         // there was more
  std::string location;                        // of a redirect, absolute
};

// One request, no redirect followed. Throws Error(kHub) where there is no libcurl.
HttpResponse http_get(const HttpRequest& request);

}  // namespace kvplan

#endif  // KVPLAN_SOURCES_HUB_CURL_H_
