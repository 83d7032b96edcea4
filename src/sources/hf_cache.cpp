#include "sources/hf_cache.h"

#include <filesystem>

#include "formats/fields.h"
#include "formats/file.h"
#include "kvplan/error.h"
#include "kvplan/strings.h"
#include "sources/hub_cache.h"
#include "sources/hub_id.h"

namespace kvplan {

namespace {

namespace fs = std::filesystem;

bool is_usable(const std::string& snapshot) {
  const std::string config = snapshot + "/config.json";
  if (is_file(config)) {
    try {
      Fields::parse(read_file(config));
      return true;
    } catch (const Error&) {
      return false;
    }
  }
  std::error_code error;
  for (fs::directory_iterator it(snapshot, error), end; !error && it != end; it.increment(error))
    if (it->path().extension() == ".gguf" && is_file(it->path().string())) return true;
  return false;
}

}  // namespace

std::string snapshot_in_hf_cache(const std::string& cache, const std::string& repo, const std::string& revision) {
  if (cache.empty()) return "";
  const std::string folder = cache + "/" + repo_folder(repo);
  std::string commit = revision;
  if (!is_commit(revision)) {
    const std::string ref = folder + "/refs/" + revision;
    if (!is_file(ref)) return "";
    try {
      commit = trimmed(read_file(ref, kMaxRef));
    } catch (const Error&) {
      return "";
    }
    if (!is_commit(commit)) return "";
  }
  std::string snapshot = folder + "/snapshots/" + commit;
  return is_directory(snapshot) ? snapshot : "";
}

std::string find_in_hf_cache(const std::string& cache, const std::string& repo, const std::string& revision) {
  std::string snapshot = snapshot_in_hf_cache(cache, repo, revision);
  return !snapshot.empty() && is_usable(snapshot) ? snapshot : "";
}

}  // namespace kvplan
