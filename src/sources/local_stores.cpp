#include "sources/local_stores.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <vector>

#include "formats/fields.h"
#include "formats/file.h"
#include "kvplan/error.h"
#include "kvplan/quantity.h"
#include "kvplan/strings.h"
#include "sources/hub_cache.h"
#include "sources/hub_http.h"
#include "sources/hub_settings.h"

namespace kvplan {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view kOllama = "ollama:";
constexpr std::string_view kLmStudio = "lmstudio:";
constexpr std::string_view kLlamaCpp = "llama.cpp:";
constexpr std::size_t kMaxManifest = kMiB;

// Checks one part of a path: a plain name that cannot leave its folder.
void check_part(std::string_view part, std::string_view whole) {
  if (!is_plain_name(part))
    fail("\"" + one_line(whole, 80) + "\" is not a model's name", "use the name that its tool lists");
}

// "[host/][namespace/]model[:tag]"
std::string ollama_manifest(std::string_view name) {
  std::string_view tag = "latest";
  std::string_view path = name;
  if (const auto colon = name.rfind(':');
      colon != std::string_view::npos && name.find('/', colon) == std::string_view::npos) {
    tag = name.substr(colon + 1);
    path = name.substr(0, colon);
  }
  std::vector<std::string_view> parts = parts_of(path, '/');
  if (parts.size() == 1) parts.insert(parts.begin(), "library");
  if (parts.size() == 2) parts.insert(parts.begin(), "registry.ollama.ai");
  if (parts.size() != 3)
    fail("\"" + one_line(name, 80) + "\" is not an ollama model", "use the name that `ollama list` prints");
  parts.push_back(tag);
  std::string out = "/manifests";
  for (const std::string_view part : parts) {
    check_part(part, name);
    out += "/" + std::string(part);
  }
  return out;
}

// "sha256:ab12..." is the file blobs/sha256-ab12...
std::string blob_of(const std::string& digest) {
  if (!digest.starts_with("sha256:") || digest.size() != 71 ||
      digest.find_first_not_of("0123456789abcdef", 7) != std::string::npos)
    fail("the manifest of ollama names a blob by \"" + one_line(digest, 80) + "\"", "pull the model again");
  return "/blobs/sha256-" + digest.substr(7);
}

std::vector<std::string> ollama_stores() {
  if (std::string own = environment("OLLAMA_MODELS"); !own.empty()) return {std::move(own)};
  return {home_folder(".ollama/models"), "/usr/share/ollama/.ollama/models"};
}

// The store that has the manifest; "" for none.
std::string ollama_store_of(const std::string& manifest) {
  for (const std::string& store : ollama_stores())
    if (!store.empty() && is_file(store + manifest)) return store;
  return "";
}

std::string find_in_ollama(std::string_view name) {
  const std::string manifest = ollama_manifest(name);
  if (const std::string store = ollama_store_of(manifest); !store.empty()) {
    const std::string path = store + manifest;
    const Fields config = Fields::parse(read_file(path, kMaxManifest));
    if (const auto layers = config.objects("layers"))
      for (const Fields& layer : *layers) {
        if (layer.find_string("mediaType").value_or("") != "application/vnd.ollama.image.model") continue;
        const std::string blob = store + blob_of(layer.find_string("digest").value_or(""));
        if (!exists(blob)) fail("the model's blob is missing from ollama's store", "pull the model again");
        return blob;
      }
    fail("the manifest in ollama's store names no GGUF", "give the model's own file or a Hub id");
  }
  fail("ollama's store has no model of that name", "see `ollama list`, pull it, or set OLLAMA_MODELS");
}

std::string find_in_lmstudio(std::string_view name) {
  const auto at = name.find('@');
  const std::vector<std::string_view> parts = parts_of(name.substr(0, at), '/');
  if (parts.size() != 2) fail("\"" + one_line(name, 80) + "\" is not an LM Studio model", "name it publisher/model");
  for (const std::string_view part : parts) check_part(part, name);
  const std::string folder = lmstudio_models() + "/" + std::string(parts[0]) + "/" + std::string(parts[1]);
  if (is_directory(folder)) {
    if (exists(folder + "/config.json")) return folder;
    const std::string file = choose_gguf(gguf_files(folder), at == std::string_view::npos ? "" : name.substr(at + 1));
    if (!file.empty()) return file;
  }
  fail("LM Studio's folder has no model of that name",
       "name it publisher/model[@quantization], as the folders are named");
}

std::string find_in_llama_cpp(std::string_view name) {
  const auto colon = name.find(':');
  std::string_view tag = colon == std::string_view::npos ? "" : name.substr(colon + 1);
  if (tag == "latest") tag = "";
  const HubId id = parse_hub_id(name.substr(0, colon), "https://huggingface.co");
  std::string cache = environment("LLAMA_CACHE");
  const bool own = !cache.empty();
  if (!own) {
    const std::string root = environment("XDG_CACHE_HOME");
    cache = root.empty() ? home_folder(".cache/llama.cpp") : root + "/llama.cpp";
  }
  std::string prefix = id.repo + "_";
  std::replace(prefix.begin(), prefix.end(), '/', '_');
  if (std::string file = choose_gguf(gguf_files(cache, prefix), tag); !file.empty()) return file;
  for (const std::string& hf : {own ? cache : std::string(), hf_cache_folder()})
    if (const std::string folder = find_in_hf_cache(hf, id.repo, "main"); !folder.empty())
      if (std::string file = choose_gguf(gguf_files(folder), tag); !file.empty()) return file;
  fail("llama.cpp's cache has no model of that name", "fetch it with llama-server -hf, or set LLAMA_CACHE");
}

struct Store {
  std::string_view prefix;
  std::string (*find)(std::string_view name);
};
constexpr std::array kStores{Store{kOllama, find_in_ollama}, Store{kLmStudio, find_in_lmstudio},
                             Store{kLlamaCpp, find_in_llama_cpp}};

}  // namespace

std::string lmstudio_models() {
  // The application writes its home's path to a file when it was moved.
  std::string home = home_folder(".lmstudio");
  if (const std::string pointer = home_folder(".lmstudio-home-pointer"); !pointer.empty() && exists(pointer)) {
    home = trimmed(read_file(pointer, 4096));
  }
  if (!home.empty() && is_directory(home + "/models")) return home + "/models";
  return home_folder(".cache/lm-studio/models");
}

bool is_in_ollama(std::string_view argument) {
  return argument.starts_with(kOllama) && !ollama_store_of(ollama_manifest(argument.substr(kOllama.size()))).empty();
}

bool is_in_store(std::string_view argument) {
  return std::any_of(kStores.begin(), kStores.end(), [&](const Store& s) { return argument.starts_with(s.prefix); });
}

std::string find_in_store(std::string_view argument) {
  for (const Store& store : kStores)
    if (argument.starts_with(store.prefix)) return store.find(argument.substr(store.prefix.size()));
  fail("unknown store", "use ollama:, lmstudio: or llama.cpp:");
}

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
  for (const std::string& store : ollama_stores()) {
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

constexpr std::size_t kMaxListBytes = kMiB;

bool is_model_list(const std::string& argument) {
  return argument.size() > 1 && argument.front() == '@';
}

std::vector<std::string> read_model_list(const std::string& argument) {
  const std::string path = argument.substr(1);
  return with_source(path, [&] {
    std::vector<std::string> out;
    const std::string text = read_file(path, kMaxListBytes);
    const bool is_text = std::none_of(text.begin(), text.end(), [](char c) {
      return static_cast<unsigned char>(c) < 0x20 && c != '\n' && c != '\r' && c != '\t';
    });
    if (!is_text || trimmed(std::string_view(text).substr(0, text.find('\n'))).starts_with('{'))
      fail("not a list of models", "write a MODEL on each line, or name a config *.json");
    // Some editors begin a text with a byte order mark.
    const std::string_view lines = text;
    for (const std::string_view line : split(lines.substr(lines.starts_with("\xEF\xBB\xBF") ? 3 : 0), '\n')) {
      std::string name(trimmed(line.substr(0, line.find('#'))));
      if (name.empty()) continue;
      if (out.size() == kMostModels)
        fail("the list names more than " + std::to_string(kMostModels) + " models", "split it");
      if (is_model_list(name)) fail("the list names another list, " + one_line(name, 60), "name its models here");
      if (std::string beside = path.substr(0, path.rfind('/') + 1) + name;
          name.front() != '/' && !exists(name) && exists(beside))
        name = std::move(beside);
      out.push_back(std::move(name));
    }
    if (out.empty()) fail("the list names no model", "write a MODEL on each line");
    return out;
  });
}

}  // namespace kvplan
