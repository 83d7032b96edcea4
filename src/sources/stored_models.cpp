#include "sources/stored_models.h"

#include <algorithm>
#include <filesystem>

#include "sources/hf_cache.h"
#include "sources/hub_id.h"
#include "sources/hub_settings.h"
#include "sources/local_stores.h"

namespace kvplan {

namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostEntries = 4096;        // of one folder
constexpr std::size_t kMostEntriesOfAll = 16384;  // in all folders together

// Lists folders, of which a store may have any number.
class FolderLister {
 public:
  // The plain names in a folder, either of folders or of files.
  std::vector<std::string> names_in(const std::string& folder, bool folders) {
    std::vector<std::string> out;
    std::error_code error;
    std::size_t left = std::min(kMostEntries, left_);
    for (fs::directory_iterator it(folder, error), end; !error && it != end && left > 0; it.increment(error)) {
      --left;
      --left_;
      std::error_code ignored;
      std::string name = it->path().filename().string();
      if (is_plain_name(name) && it->is_directory(ignored) == folders) out.push_back(std::move(name));
    }
    return out;
  }

 private:
  std::size_t left_ = kMostEntriesOfAll;
};

void add_hub(FolderLister& looker, std::vector<std::string>& out) {
  const std::string cache = hf_cache_folder();
  if (cache.empty()) return;
  constexpr std::string_view kPrefix = "models--";
  for (const std::string& folder : looker.names_in(cache, true)) {
    if (!folder.starts_with(kPrefix)) continue;
    std::string repo = folder.substr(kPrefix.size());
    const auto dashes = repo.find("--");
    if (dashes == std::string::npos) continue;
    repo.replace(dashes, 2, "/");
    if (!find_in_hf_cache(cache, repo, "main").empty()) out.push_back(repo);
  }
}

void add_ollama(FolderLister& looker, std::vector<std::string>& out) {
  std::vector<std::string> stores{environment("OLLAMA_MODELS")};
  if (stores[0].empty()) stores = {home_folder(".ollama/models"), "/usr/share/ollama/.ollama/models"};
  for (const std::string& store : stores) {
    const std::string library = store + "/manifests/registry.ollama.ai/library";
    if (store.empty()) continue;
    for (const std::string& model : looker.names_in(library, true))
      for (const std::string& tag : looker.names_in(library + "/" + model, false))
        out.push_back("ollama:" + model + (tag == "latest" ? "" : ":" + tag));
  }
}

void add_lmstudio(FolderLister& looker, std::vector<std::string>& out) {
  const std::string root = lmstudio_models();
  if (root.empty()) return;
  for (const std::string& publisher : looker.names_in(root, true)) {
    for (const std::string& model : looker.names_in(root + "/" + publisher, true)) {
      const std::string name = "lmstudio:" + publisher + "/" + model;
      const std::vector<std::string> files = looker.names_in(root + "/" + publisher + "/" + model, false);
      if (std::find(files.begin(), files.end(), "config.json") != files.end()) out.push_back(name);
      for (const std::string& file : files)
        if (file.ends_with(".gguf")) out.push_back(name + "@" + file.substr(0, file.size() - 5));
    }
  }
}

}  // namespace

std::vector<std::string> stored_models() {
  std::vector<std::string> out;
  FolderLister looker;
  add_hub(looker, out);
  add_ollama(looker, out);
  add_lmstudio(looker, out);
  std::sort(out.begin(), out.end());
  return out;
}

}  // namespace kvplan
