// Replaces hub_curl.cpp where libcurl is not used (cmake/Systems.cmake).
#include "kvplan/error.h"
#include "sources/hub_http.h"

namespace kvplan {

HttpResponse http_get(const HttpRequest&) {
  fail(Exit::kHub, "kvplan does not fetch from the Hub on this system",
       "download the model with huggingface-cli, or give the path of its config.json");
}

}  // namespace kvplan
