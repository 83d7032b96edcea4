// Fetches files of a model from the Hub, or from a server that may misbehave. kvplan follows redirects itself, so that
// the token goes only to the endpoint. Attempts, bytes and seconds are limited.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kvplan/error.h"
#include "kvplan/progress.h"
#include "sources/hub_cache.h"
#include "sources/hub_settings.h"

namespace kvplan {

// libcurl, opened only when a model must be fetched: linking it would slow down every local plan. The source file
// declares the few functions and numbers of its stable interface that kvplan uses.

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
  std::string host;  // the host that answered, or did not
  HttpTrouble trouble = HttpTrouble::kNone;
  std::string detail;     // libcurl's message, or the encoding that was not requested
  long proxy_status = 0;  // status of a proxy's answer instead of a connection
  long status = 0;
  std::map<std::string, std::string> headers;  // of the last response, by names in lower case
  std::string body;                            // cut at the limit
  bool is_cut = false;                         // the body was longer
  std::string location;                        // of a redirect, absolute
};

// Makes one request and follows no redirect. Throws Error(kHub) if there is no libcurl.
HttpResponse http_get(const HttpRequest& request);

// The server did not answer, or its answer is useless. An older copy can be used instead.
class HubUnreachable : public Error {
 public:
  HubUnreachable(std::string_view what, std::string_view remedy) : Error(Exit::kHub, what, remedy) {}
};

// Whether the text contains the token, as it is or with percent-encoded characters.
bool contains_token(std::string_view text, std::string_view token);

// Throws HubUnreachable: what the server sent as `name` is not valid.
[[noreturn]] void broken_file(std::string_view name, std::string_view why,
                              std::string_view remedy = "try again, or check HF_ENDPOINT");

struct HubFile {
  std::string body;
  std::string commit;             // X-Repo-Commit; "" if the server does not send it
  std::uint64_t total_bytes = 0;  // of the whole file, if only a part was requested
  std::string cursor;             // of a list: the query of its next page; "" for the last page
};

// The Hub's reason for not giving a file.
struct HubMissing {
  std::string code;  // "RepoNotFound", "RevisionNotFound", "EntryNotFound", ""
};

class HubClient {
 public:
  HubClient(const HubSettings& settings, std::string repo);
  HubClient(const HubClient&) = delete;
  HubClient& operator=(const HubClient&) = delete;

  // Fetches the file `name`, a path in the repository. Throws Error if it is longer than `limit`. Returns nothing if it
  // is missing, with the reason in `missing`.
  std::optional<HubFile> file(const std::string& revision, const std::string& name, std::size_t limit,
                              HubMissing& missing);
  // Fetches `count` bytes from `begin` on with a range request. Returns fewer if the file ends earlier.
  std::optional<HubFile> part(const std::string& revision, const std::string& name, std::uint64_t begin,
                              std::size_t count, HubMissing& missing);
  // Fetches the Hub's list of the repository's files. Each element is a page as the server sent it.
  std::optional<std::vector<std::string>> listing(const std::string& revision, HubMissing& missing);

 private:
  std::optional<HubFile> whole(const std::string& url, const std::string& name, std::size_t limit, HubMissing& missing);
  std::string url_of(const std::string& revision, const std::string& name) const;
  std::string name_of(const std::string& origin) const;  // for messages
  HttpResponse get(const std::string& url, const std::string& range, std::size_t limit, std::string& commit);
  HttpResponse get_once(const std::string& url, const std::string& range, std::size_t limit, std::string& commit);
  void check_echo(const HttpResponse& response) const;
  void wait_before(int attempt, const HttpResponse& last);
  [[noreturn]] void refuse(const HttpResponse& response) const;
  [[noreturn]] void give_up(const HttpResponse& response) const;
  std::chrono::milliseconds left() const;
  void show(std::uint64_t bytes);

  const HubSettings& settings_;
  std::string repo_;
  std::string origin_;
  std::size_t requests_ = 0;
  std::size_t body_bytes_ = 0;  // of all answers
  std::chrono::steady_clock::time_point start_;
  ProgressLine progress_;
};

// Headers of weights on the Hub, by range requests: of a safetensors file, or of the GGUF that a name means.

struct SafetensorsBeginning {
  std::string bytes;             // up to the end of the header
  std::uint64_t file_bytes = 0;  // of the whole file
};

// Nothing if there is no such file. Throws Error(kHub) if the file is broken.
std::optional<SafetensorsBeginning> fetch_safetensors(HubClient& client, const std::string& revision,
                                                      const std::string& name);

// Throws HubUnreachable unless the text is a JSON object: a login page comes with status 200 too.
void check_json(const HubFile& file, const std::string& name);

// The paths that end in .gguf, from the pages of the Hub's list of files. Throws HubUnreachable if a page is not such a
// list.
std::vector<std::string> gguf_paths(const std::vector<std::string>& pages);

// Fetches the headers of a file, or of all files of a split set if it is the first one. Sets `commit` if the server
// gives it. Throws Error(kHub).
std::vector<GgufHeader> fetch_gguf(HubClient& client, const std::string& revision, const std::string& path,
                                   std::string& commit);

// Chooses the GGUF file that a name means among several.

// The files of a folder whose names begin with `prefix` and end in .gguf, sorted. Broken links are left out.
std::vector<std::string> gguf_files(const std::string& folder, std::string_view prefix = "");

// The file whose name contains the quantization ("Q4_K_M", in any case), or whose path it is. The parts of a split set
// count as one, its first; projectors and drafts do not count. Without a quantization Q4_K_M is chosen among several,
// as in llama.cpp. "" if none matches; Error(kBadInput) if several do.
std::string choose_gguf(const std::vector<std::string>& files, std::string_view quantization);

// For "x-00001-of-00003.gguf", all files of the set in order; for another file, only that file.
std::vector<std::string> files_of_set(const std::string& first);

}  // namespace kvplan
