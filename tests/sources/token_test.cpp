// The token is in no output, no error, no log line and no file, whatever happens.
#include <doctest/doctest.h>

#include <algorithm>

#include "sources/site.h"

namespace kvplan {
namespace {

void check_secret(const Site& site, const Run& run) {
  CAPTURE(run.out);
  CAPTURE(run.err);
  CHECK_FALSE(has(run.out, kSecret));
  CHECK_FALSE(has(run.err, kSecret));
  CHECK_FALSE(has(site.all_files(), kSecret));
}

TEST_CASE("hub: no report and no command shows the token") {
  if (!has_curl()) return;
  Site site;
  site.hub.fallback(refusal(404, "EntryNotFound"));
  site.serve("org/small", {{"config.json", with_commit(kSmallConfig)}});
  std::vector<std::vector<std::string>> calls{
      {"explain", "org/small"},
      {"compare", "org/small"},
      {"fit", "org/small"},
      {"org/small", "org/none"},
      {"check-log", "org/small", "testdata/configs/llama-3.1-8b.json"},
  };
  for (const char* form : {"table", "json", "markdown", "csv", "html", "github"})
    calls.push_back({"org/small", "--format", form});
  for (const char* form : {"args", "k8s"}) calls.push_back({"org/small", "--format", form, "--engine", "vllm"});
  for (std::vector<std::string> call : calls) {
    CAPTURE(call[0]);
    const Run by_variable = site.run(call, {"HF_TOKEN=" + kSecret});
    CHECK_FALSE(by_variable.out.size() + by_variable.err.size() == 0);
    check_secret(site, by_variable);
    call.push_back("--token");
    call.push_back(kSecret);
    check_secret(site, site.run(call));
  }
  const auto seen = site.hub.seen();
  CHECK(std::all_of(seen.begin(), seen.end(), [](const Seen& s) { return s.authorization == "Bearer " + kSecret; }));
}

TEST_CASE("hub: no fault and no refusal shows the token") {
  if (!has_curl()) return;
  std::vector<Answer> answers;
  for (const Fault fault :
       {Fault::kSilent, Fault::kHangUp, Fault::kTruncate, Fault::kEndless, Fault::kTrickle, Fault::kHeaders}) {
    Answer answer = with_commit("{");
    answer.fault = fault;
    answers.push_back(answer);
  }
  for (const int status : {400, 401, 403, 404, 407, 418, 429, 500, 503}) answers.push_back(refusal(status, ""));
  for (const char* code : {"GatedRepo", "RepoNotFound", "RevisionNotFound", "EntryNotFound", "DisabledRepo"})
    answers.push_back(refusal(401, code));
  for (const Answer& answer : answers) {
    CAPTURE(answer.status);
    Site site;
    site.hub.fallback(answer);
    const Run run = site.run({"org/small"}, {"HF_TOKEN=" + kSecret, "KVPLAN_HTTP_TIMEOUT_MS=100"});
    CHECK(run.exit == 4);
    check_secret(site, run);
  }
}

TEST_CASE("hub: a server that sends the token back") {
  if (!has_curl()) return;
  const std::string echo = "{\"model_type\": \"" + kSecret + "\"}";
  std::string named = kSmallConfig;
  named.insert(1, "\"_name_or_path\": \"" + kSecret + "\", ");
  for (const std::string& body : {echo, "{\"" + kSecret, kSecret, named}) {
    Site site;
    site.hub.fallback(with_commit(body));
    const Run run = site.run({"org/small"}, {"HF_TOKEN=" + kSecret});
    check_refused(run, Exit::kHub, "sends the token back");
    check_secret(site, run);
  }
  for (const std::string& line :
       {"Content-Encoding: " + kSecret, "Location: ftp://" + kSecret, "X-Error-Code: " + kSecret,
        "Retry-After: " + kSecret, "Content-Range: " + kSecret, "X-Repo-Commit: " + kSecret}) {
    CAPTURE(line);
    for (const int status : {200, 206, 302, 401, 429}) {
      Site site;
      Answer answer = refusal(status, "");
      answer.headers = {line};
      site.hub.fallback(answer);
      const Run run = site.run({"org/small"}, {"HF_TOKEN=" + kSecret, "KVPLAN_HTTP_TIMEOUT_MS=100"});
      CHECK(run.exit == 4);
      CHECK(std::count(run.err.begin(), run.err.end(), '\n') == 1);
      check_secret(site, run);
    }
  }
}

TEST_CASE("hub: the error for a mistyped option does not show the token") {
  Site site;
  for (const std::vector<std::string>& call :
       std::vector<std::vector<std::string>>{{"org/small", "--tokn", kSecret, "--offline"},
                                             {"org/small", "--tokn=" + kSecret},
                                             {"org/small", "-token", kSecret, "--offline"},
                                             {"org/small", "-token=" + kSecret},
                                             {"org/small", "--hf-token", kSecret, "--offline"},
                                             {"org/small", "--hf-token=" + kSecret},
                                             {"org/small", "--token", kSecret, "--max-model-len", "nonsense"},
                                             {"org/small", "--token=" + kSecret, "--nonsense"},
                                             {"--token", kSecret},
                                             {kSecret, "--offline"},
                                             {kSecret, "org/small", "--json"},
                                             {"compare", kSecret}}) {
    CAPTURE(call.back());
    const Run run = site.run(call);
    CHECK(run.exit != 0);
    check_secret(site, run);
  }
  // An endpoint that contains the token, as some people write it.
  check_secret(site, site.run({"org/small"}, {"HF_ENDPOINT=https://user:" + kSecret + "@hub.example"}));
  CHECK(site.hub.seen().empty());
}

}  // namespace
}  // namespace kvplan
