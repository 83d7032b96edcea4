#include "sources/load.h"

#include <span>

#include "formats/fields.h"
#include "formats/file.h"
#include "formats/safetensors.h"
#include "kvplan/error.h"
#include "kvplan/quantity.h"
#include "sources/hub_cache.h"
#include "sources/hub_http.h"
#include "sources/hub_settings.h"

namespace kvplan {

namespace {

constexpr const char* kIndex = "model.safetensors.index.json";
constexpr const char* kSingle = "model.safetensors";
constexpr std::size_t kMaxShards = 400;
// Checkpoints are split into files of 5 GB or more, so a smaller one is probably a single file.
constexpr std::uint64_t kOneFileElements = 2'500'000'000;

ModelSpec model_of(const HubSnapshot& snapshot, const std::string& source, const SourceOptions& options) {
  if (!snapshot.gguf.empty()) {
    ModelSpec model = read_gguf(parse_headers(snapshot.gguf), source, options.read);
    inform(model.notes, "gguf_file", {"planned from {file}", {{"file", one_line(snapshot.gguf_path, 200)}}});
    return model;
  }
  ModelSpec model = read_config(snapshot.config, snapshot.quant_config, source, options.read);
  if (snapshot.file_bytes > 0)
    add_stored(
        [&](const TensorVisitor& visit) {
          parse_safetensors(std::as_bytes(std::span(snapshot.header)), snapshot.file_bytes, visit);
        },
        model);
  else if (snapshot.weight_bytes > 0)
    model.stored.push_back({Component::kOther, "index", 1, Elements(0), Bytes(snapshot.weight_bytes)});
  return model;
}

// Fetches what a plan needs of one commit.
class Fetch {
 public:
  Fetch(HubClient& client, std::string revision) : client_(client), revision_(std::move(revision)) {}

  // Fetches the sizes of the weights of the model whose config is in `snapshot`. Returns false if the repository has
  // no safetensors.
  bool weights(HubSnapshot& snapshot, std::uint64_t elements) {
    const bool found =
        elements > kOneFileElements ? index(snapshot) || single(snapshot) : single(snapshot) || index(snapshot);
    if (!scaled_) return found;
    HubMissing missing;
    if (auto file = client_.file(revision_, kQuantConfig, kMaxConfigBytes, missing)) {
      check_json(*file, kQuantConfig);
      snapshot.quant_config = std::move(file->body);
    }
    return found;
  }

 private:
  static bool names_scales(std::string_view text) {
    for (const std::string_view part : {"weight_scale", "input_scale", "k_scale\""})
      if (text.find(part) != std::string_view::npos) return true;
    return false;
  }

  bool index(HubSnapshot& snapshot) {
    HubMissing missing;
    const auto file = client_.file(revision_, kIndex, kMaxIndexBytes, missing);
    if (!file) return false;
    SafetensorsIndex parsed;
    try {
      parsed = parse_safetensors_index(file->body);
    } catch (const Error& error) {
      broken_file(kIndex, error.what());
    }
    scaled_ = names_scales(file->body);
    snapshot.weight_bytes = parsed.total_size;
    if (snapshot.weight_bytes == 0 && parsed.files.size() <= kMaxShards)
      for (const std::string& name : parsed.files) {
        const auto shard = fetch_safetensors(client_, revision_, name);
        if (!shard) return true;  // the config must say what the index leaves out
        snapshot.weight_bytes += shard->file_bytes - shard->bytes.size();
      }
    return true;
  }

  bool single(HubSnapshot& snapshot) {
    auto file = fetch_safetensors(client_, revision_, kSingle);
    if (!file) return false;
    snapshot.header = std::move(file->bytes);
    snapshot.file_bytes = file->file_bytes;
    scaled_ = names_scales(snapshot.header);
    return true;
  }

  HubClient& client_;
  std::string revision_;
  bool scaled_ = false;  // there are tensors of scales: the weights are quantized
};

[[noreturn]] void missing_model(const HubMissing& missing, const HubSettings& settings, const HubId& id) {
  if (missing.code == "RevisionNotFound")
    fail(Exit::kHub, "the model has no revision " + one_line(id.revision, 60),
         "name a branch, a tag or a commit of it");
  if (missing.code == "EntryNotFound")
    fail(Exit::kHub, "the repository has no config.json",
         "name a repository in transformers' layout, or download its *.gguf");
  fail(Exit::kHub, "no such file here, and no such model at " + settings.endpoint + ", or a private one",
       settings.token.empty() ? "check the name; a private model needs HF_TOKEN or --token"
                              : "check the name, and that the token may read it");
}

std::uint64_t elements_of(const ModelSpec& model) {
  Elements sum;
  for (const TensorGroup& group : model.tensors) sum += group.stored();
  return sum.count();
}

// Finds the GGUF that the name means in the list of files. Returns false if the repository has no GGUF. Sets `commit`
// if the server gives it.
bool find_gguf(HubClient& client, const HubId& id, HubSnapshot& snapshot, HubMissing& missing, std::string& commit) {
  const auto listing = client.listing(id.revision, missing);
  if (!listing) return false;
  const std::vector<std::string> paths = gguf_paths(*listing);
  if (paths.empty()) {
    missing.code = "EntryNotFound";
    return false;
  }
  snapshot.gguf_path = choose_gguf(paths, id.gguf);
  if (snapshot.gguf_path.empty())
    fail(Exit::kHub,
         id.gguf.empty() ? "the repository has no model among its *.gguf"
                         : "the repository has no GGUF of the quantization " + one_line(id.gguf, 60),
         "name one that it has: org/name:Q4_K_M");
  snapshot.gguf = fetch_gguf(client, id.revision, snapshot.gguf_path, commit);
  return true;
}

ModelSpec fetch(const HubId& id, const HubSettings& settings, const HubCache& cache, const std::string& source,
                const SourceOptions& options) {
  HubClient client(settings, id.repo);
  HubMissing missing;
  HubSnapshot snapshot;
  std::string commit;
  if (id.gguf.ends_with(".gguf")) {
    snapshot.gguf_path = id.gguf;
    snapshot.gguf = fetch_gguf(client, id.revision, id.gguf, commit);
  } else if (!id.gguf.empty()) {
    if (!find_gguf(client, id, snapshot, missing, commit)) missing_model(missing, settings, id);
  } else if (auto config = client.file(id.revision, kConfigFile, kMaxConfigBytes, missing)) {
    check_json(*config, kConfigFile);
    // All other files are fetched at this commit, even if somebody pushes a new one meanwhile.
    const bool named = !config->commit.empty();
    commit = named ? config->commit : stand_in_commit(id.revision, config->body);
    if (const auto known = cache.find(commit, "")) {
      cache.write_ref(id.revision, commit);
      return model_of(*known, source, options);
    }
    snapshot.config = std::move(config->body);
    const ModelSpec bare = read_config(snapshot.config, "", source, options.read);
    // Some repositories of GGUF files have a config but no safetensors.
    if (!Fetch(client, named ? commit : id.revision).weights(snapshot, elements_of(bare)))
      find_gguf(client, id, snapshot, missing, commit);
  } else if (missing.code == "RepoNotFound" || missing.code == "RevisionNotFound" ||
             !find_gguf(client, id, snapshot, missing, commit)) {
    missing_model(missing, settings, id);
  }
  if (commit.empty()) commit = stand_in_commit(id.revision, snapshot.gguf.front().bytes);
  ModelSpec model = model_of(snapshot, source, options);
  if (!cache.write(id.revision, commit, id.gguf, snapshot))
    inform(model.notes, "hub_not_cached", "the cache could not be written: the next plan downloads again");
  return model;
}

// The model from the Hugging Face tools' cache. Nothing if that cache lacks a part.
std::optional<ModelSpec> from_hf_cache(const HubId& id, const HubSettings& settings, const std::string& source,
                                       const SourceOptions& options) {
  const std::string folder = find_in_hf_cache(settings.hf_cache, id.repo, id.revision);
  if (folder.empty()) return std::nullopt;
  if (id.gguf.empty() && exists(folder + "/" + kConfigFile)) return load_snapshot(folder, source, options);
  const bool is_path = id.gguf.ends_with(".gguf");
  const std::string file = is_path ? folder + "/" + id.gguf : choose_gguf(gguf_files(folder), id.gguf);
  if (file.empty() || !exists(file)) return std::nullopt;
  ModelSpec model = load_gguf(file, options.read);
  model.source = source;
  return model;
}

}  // namespace

ModelSpec load_from_hub(const std::string& argument, const SourceOptions& options) {
  const HubSettings settings = read_hub_settings(options.hub);
  HubId id = parse_hub_id(argument, settings.endpoint);
  if (id.revision.empty()) id.revision = options.hub.revision.empty() ? "main" : options.hub.revision;
  check_revision(id.revision);

  if (auto model = from_hf_cache(id, settings, argument, options)) return *std::move(model);

  const HubCache cache(settings, id.repo);
  const std::string known = cache.commit_of(id.revision);
  if (settings.offline || is_commit(id.revision)) {
    if (const auto snapshot = cache.find(known, id.gguf)) return model_of(*snapshot, argument, options);
    if (settings.offline)
      fail(Exit::kHub,
           "no such file, and no copy of the model in the caches; the network is off (--offline or HF_HUB_OFFLINE)",
           "plan it once with the network, or download it");
  }
  try {
    return fetch(id, settings, cache, argument, options);
  } catch (const HubUnreachable& error) {
    // An older copy is better than no copy.
    const auto snapshot = cache.find(known, id.gguf);
    if (!snapshot) throw;
    ModelSpec model = model_of(*snapshot, argument, options);
    warn(model.notes, "hub_unreachable",
         {"planned from the copy of commit {commit}: {error}",
          {{"commit", known.substr(0, 12)}, {"error", one_line(error.what(), 200)}}});
    return model;
  }
}

}  // namespace kvplan
