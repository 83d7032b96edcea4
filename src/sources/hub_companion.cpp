#include "sources/hub_companion.h"

#include <algorithm>

#include "formats/file.h"
#include "formats/gguf.h"
#include "formats/safetensors.h"
#include "kvplan/strings.h"
#include "sources/hub_cache.h"
#include "sources/hub_http.h"
#include "sources/hub_id.h"
#include "sources/hub_settings.h"
#include "sources/hub_weights.h"

namespace kvplan {

namespace {

const std::string kAdapterConfig = "adapter_config.json";
const std::string kAdapterWeights = "adapter_model.safetensors";
const std::string kGguf = "weights.gguf";

// Among a repository's files the projector of that type, else one of 16 bits, else the first; "" for none.
std::string choose_projector(const std::vector<std::string>& paths, const std::string& type) {
  std::string found;
  for (const std::string& path : paths) {
    const std::string name = lower(path.substr(path.rfind('/') + 1));
    if (name.find("mmproj") == std::string::npos) continue;
    if (!type.empty() ? name.find(lower(type)) != std::string::npos : name.find("f16") != std::string::npos)
      return path;
    if (type.empty() && found.empty()) found = path;
  }
  return found;
}

class Source {
 public:
  Source(const std::string& argument, Companion what, const SourceOptions& options)
      : settings_(read_hub_settings(options.hub)), id_(parse_hub_id(argument, settings_.endpoint)), what_(what) {
    if (what == Companion::kAdapter && !id_.gguf.empty() && !id_.gguf.ends_with(".gguf"))
      fail("an adapter has no quantization", "give org/name, or the address of a *.gguf");
    // --revision is the main model's.
    if (id_.revision.empty()) id_.revision = "main";
  }

  CompanionFile file() {
    if (std::string found = in_hf_cache(); !found.empty()) return {found};
    const HubCache cache(settings_, id_.repo);
    const std::string known = cache.commit_of(id_.revision);
    if (settings_.offline || is_commit(id_.revision)) {
      if (auto found = kept(cache, known)) return *std::move(found);
      if (settings_.offline)
        fail(Exit::kHub, "no such file, and no copy in the caches; the network is off (--offline or HF_HUB_OFFLINE)",
             "plan it once with the network, or download it");
    }
    try {
      return fetched(cache);
    } catch (const HubUnreachable&) {
      auto found = kept(cache, known);
      if (!found) throw;
      return *std::move(found);
    }
  }

 private:
  bool is_folder() const { return what_ == Companion::kAdapter && id_.gguf.empty(); }
  // The name under which it is kept: each folder of a repository has its own.
  std::string name() const {
    if (is_folder()) return "adapter";
    return what_ == Companion::kProjector && !id_.gguf.ends_with(".gguf") ? "projector " + id_.gguf : id_.gguf;
  }

  std::string in_hf_cache() const {
    const std::string folder = snapshot_in_hf_cache(settings_.hf_cache, id_.repo, id_.revision);
    if (folder.empty()) return "";
    if (is_folder())
      return is_file(folder + "/" + kAdapterConfig) && is_file(folder + "/" + kAdapterWeights) ? folder : "";
    if (id_.gguf.ends_with(".gguf")) return is_file(folder + "/" + id_.gguf) ? folder + "/" + id_.gguf : "";
    return choose_projector(gguf_files(folder), id_.gguf);
  }

  CompanionFile of(const KeptFiles& files) const {
    return {is_folder() ? files.folder : files.folder + "/" + kGguf, files.file_bytes};
  }

  // From kvplan's own cache, if valid there.
  std::optional<CompanionFile> kept(const HubCache& cache, const std::string& commit) const {
    const auto files = cache.find_files(
        commit, name(), is_folder() ? std::vector{kAdapterConfig, kAdapterWeights} : std::vector{kGguf});
    if (!files) return std::nullopt;
    try {
      if (is_folder())
        read_safetensors(
            files->folder + "/" + kAdapterWeights, [](const SafeTensor&) {}, files->file_bytes);
      else
        Gguf::open(files->folder + "/" + kGguf, files->file_bytes);
      return of(*files);
    } catch (const Error&) {
      return std::nullopt;
    }
  }

  CompanionFile fetched(const HubCache& cache) {
    HubClient client(settings_, id_.repo);
    HubMissing missing;
    std::string commit;
    std::vector<KeptFile> files;
    std::uint64_t file_bytes = 0;
    if (is_folder()) {
      auto config = client.file(id_.revision, kAdapterConfig, kMaxConfigBytes, missing);
      if (!config) missing_file(kAdapterConfig, missing);
      check_json(*config, kAdapterConfig);
      commit = config->commit;
      if (auto found = kept(cache, commit)) return *std::move(found);
      auto weights = fetch_safetensors(client, commit.empty() ? id_.revision : commit, kAdapterWeights);
      if (!weights) missing_file(kAdapterWeights, {"EntryNotFound"});
      files.push_back({kAdapterConfig, std::move(config->body)});
      files.push_back({kAdapterWeights, std::move(weights->bytes)});
      file_bytes = weights->file_bytes;
    } else {
      std::string path = id_.gguf;
      if (!path.ends_with(".gguf")) {
        const auto listing = client.listing(id_.revision, missing);
        if (!listing) missing_file("*.gguf", missing);
        path = choose_projector(gguf_paths(*listing), id_.gguf);
        if (path.empty()) missing_file("mmproj*.gguf", {"EntryNotFound"});
      }
      std::vector<GgufHeader> headers = fetch_gguf(client, id_.revision, path, commit);
      if (headers.size() != 1) fail(Exit::kHub, "the file is one of a split set", "download the set");
      files.push_back({kGguf, std::move(headers[0].bytes)});
      file_bytes = headers[0].file_bytes;
    }
    if (commit.empty()) commit = stand_in_commit(id_.revision, files.back().bytes);
    const auto written = cache.write_files(id_.revision, commit, name(), files, file_bytes);
    if (!written)
      fail(Exit::kHub, "kvplan's cache could not be written", "set KVPLAN_CACHE to a folder, or download the file");
    return of(*written);
  }

  [[noreturn]] void missing_file(const std::string& file, const HubMissing& missing) const {
    if (missing.code == "EntryNotFound")
      fail(Exit::kHub, "the repository has no " + file,
           is_folder() ? "name a LoRA adapter in PEFT's layout, or the address of a *.gguf"
                       : "give the address of a *.gguf");
    fail(Exit::kHub, "no such file here, and no such repository at " + settings_.endpoint + ", or a private one",
         "check the name; a private one needs HF_TOKEN or --token");
  }

  HubSettings settings_;
  HubId id_;
  Companion what_;
};

}  // namespace

CompanionFile local_companion(const std::string& argument, Companion what, const SourceOptions& options) {
  if (!is_hub_url(argument) && is_local_path(argument)) return {argument};
  return with_source(argument, [&] { return Source(argument, what, options).file(); });
}

}  // namespace kvplan
