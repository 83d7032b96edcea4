// Replaces some sources of src: the browser itself sends the requests to the Hub, and the page shows no measurements.
#include <emscripten.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <string_view>

#include "cli/shell.h"
#include "kvplan/error.h"
#include "kvplan/strings.h"
#include "report/pages/pages.h"
#include "sources/hub_http.h"

// A worker may block until the server answers. Returns malloc'ed memory: a status (0: no answer), the length of the
// headers, the length of the body, then both. The browser follows redirects, and does not say why a server was
// unreachable.
EM_JS(unsigned char*, kvplan_fetch,
      (const char* url, const char* authorization, const char* range, double milliseconds), {
        const request = new XMLHttpRequest();
        let status = 0;
        let headers = new Uint8Array(0);
        let body = headers;
        try {
          request.open("GET", UTF8ToString(url), false);
          request.responseType = "arraybuffer";
          request.timeout = milliseconds;
          if (HEAPU8[authorization]) request.setRequestHeader("Authorization", UTF8ToString(authorization));
          if (HEAPU8[range]) request.setRequestHeader("Range", "bytes=" + UTF8ToString(range));
          request.send();
          status = request.status;
          headers = new TextEncoder().encode(request.getAllResponseHeaders());
          body = new Uint8Array(request.response || 0);
        } catch (error) {
          status = error.name == "TimeoutError" ? 1 : 0;
        }
        const out = _malloc(12 + headers.length + body.length);
        HEAPU32.set([ status, headers.length, body.length ], out >> 2);
        HEAPU8.set(headers, out + 12);
        HEAPU8.set(body, out + 12 + headers.length);
        return out;
      });

namespace kvplan {

namespace {

constexpr std::uint32_t kNoAnswer = 0;
constexpr std::uint32_t kTooLate = 1;

// "name: value" a line.
std::map<std::string, std::string> headers_in(std::string_view text) {
  std::map<std::string, std::string> out;
  for (const std::string_view line : split(text, '\n')) {
    const auto colon = line.find(':');
    if (colon != std::string_view::npos)
      out[lower(line.substr(0, colon))] = std::string(trimmed(line.substr(colon + 1)));
  }
  return out;
}

}  // namespace

HttpResponse http_get(const HttpRequest& request) {
  unsigned char* const answer = kvplan_fetch(request.url.c_str(), request.authorization.c_str(), request.range.c_str(),
                                             static_cast<double>(request.total.count()));
  std::uint32_t numbers[3];
  std::memcpy(numbers, answer, sizeof numbers);
  const auto [status, header_bytes, body_bytes] = numbers;
  const char* const text = reinterpret_cast<const char*>(answer) + sizeof numbers;
  HttpResponse out;
  if (status > kTooLate) {
    out.status = static_cast<long>(status);
    out.headers = headers_in({text, header_bytes});
    out.is_cut = body_bytes > request.limit;
    out.body.assign(text + header_bytes, out.is_cut ? request.limit : body_bytes);
  }
  std::free(answer);
  if (status == kTooLate) out.trouble = HttpTrouble::kTimeout;
  if (status == kNoAnswer)
    throw HubUnreachable("the browser could not reach the Hub (no network, a blocker, or the server refuses pages)",
                         "paste the model's config.json instead");
  return out;
}

void add_measurement(const Plan&, Page&) {}
std::string man_page() {
  fail("the man page is no part of this page", "use the program: the same command in a terminal");
}
}  // namespace kvplan
