// Files of a model from the Hub, or from a server that does not behave: redirects by hand, so that the token goes to
// the endpoint alone; a bounded number of attempts, bytes and seconds.
#ifndef KVPLAN_SOURCES_HUB_HTTP_H_
#define KVPLAN_SOURCES_HUB_HTTP_H_

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "kvplan/error.h"
#include "kvplan/progress.h"
#include "sources/hub_curl.h"
#include "sources/hub_settings.h"
#include "sources/token_echo.h"

namespace kvplan {

// The server did not answer, or not in a way that means anything: an older copy will do.
class HubUnreachable : public Error {
 public:
  HubUnreachable(std::string_view what, std::string_view remedy) : Error(Exit::kHub, what, remedy) {}
};

// Throws HubUnreachable: what the server sent as `name` is not sound.
[[noreturn]] void broken_file(std::string_view name, std::string_view why,
                              std::string_view remedy = "try again, or check HF_ENDPOINT");

struct HubFile {
  std::string body;
  std::string commit;             // X-Repo-Commit; "" where the server names none
  std::uint64_t total_bytes = 0;  // of the whole file, where only its beginning was asked for
  std::string cursor;             // of a list: the query of its next page; "" where it is the last
};

// What the Hub said of a file that it does not give.
struct HubMissing {
  std::string code;  // "RepoNotFound", "RevisionNotFound", "EntryNotFound", ""
};

class HubClient {
 public:
  HubClient(const HubSettings& settings, std::string repo);
  HubClient(const HubClient&) = delete;
  HubClient& operator=(const HubClient&) = delete;

  // `name` is a path in the repository. The whole file; longer than `limit` is an Error. Nothing where it is missing,
  // and `missing` says how.
  std::optional<HubFile> file(const std::string& revision, const std::string& name, std::size_t limit,
                              HubMissing& missing);
  // The bytes from `begin` on, `count` at most, by a range request; fewer where the file ends before.
  std::optional<HubFile> part(const std::string& revision, const std::string& name, std::uint64_t begin,
                              std::size_t count, HubMissing& missing);
  // The Hub's list of the repository's files, page by page as it answers it.
  std::optional<std::vector<std::string>> listing(const std::string& revision, HubMissing& missing);

 private:
  std::optional<HubFile> whole(const std::string& url, const std::string& name, std::size_t limit, HubMissing& missing);
  std::string url_of(const std::string& revision, const std::string& name) const;
  std::string name_of(const std::string& origin) const;  // for a message
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
  TokenEcho echo_;
  std::size_t requests_ = 0;
  std::size_t body_bytes_ = 0;  // of all answers
  std::chrono::steady_clock::time_point start_;
  ProgressLine progress_;
};

}  // namespace kvplan

#endif  // KVPLAN_SOURCES_HUB_HTTP_H_
