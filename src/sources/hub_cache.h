// kvplan's own cache of fetched files: by endpoint, model and commit, a few kilobytes each, never a token.
//
//   hub/ENDPOINT/models--org--name/refs/REVISION       the commit that the revision was last seen at
//   hub/ENDPOINT/models--org--name/snapshots/COMMIT/   config.json, hf_quant_config.json, weights.json, weights.header
//   hub/ENDPOINT/models--org--name/snapshots/COMMIT~QUANTIZATION/   weights.json, gguf-1.header ...
//   hub/ENDPOINT/models--org--name/snapshots/COMMIT~+WHAT/          weights.json, the beginnings of an adapter's files
//
// Each of these folders has a SHA256SUMS: a file that is not what was fetched counts as absent.
//
// A snapshot is written beside its place and renamed: it is complete or absent, however many runs write it. Its
// contents are untrusted.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "formats/gguf.h"
#include "sources/hub_settings.h"

namespace kvplan {

inline constexpr std::size_t kMaxRef = 256;  // bytes of a file that contains a commit
// Names of a model's files on the Hub.
inline constexpr const char* kConfigFile = "config.json";
inline constexpr const char* kQuantConfig = "hf_quant_config.json";

// The beginning of a GGUF file, up to the end of its header.
struct GgufHeader {
  std::string bytes;
  std::uint64_t file_bytes = 0;
};
// The file, or the files of a split set, of these headers. Views them; throws Error(kBadInput).
Gguf parse_headers(const std::vector<GgufHeader>& headers);

// What a plan needs of a model: a config and the sizes of the weights, or the headers of a GGUF and its parts.
struct HubSnapshot {
  std::string config;
  std::string quant_config;        // hf_quant_config.json; "" for none
  std::uint64_t weight_bytes = 0;  // of all shards, by their index; 0 if a header is used instead
  std::string header;              // the beginning of the only safetensors file, up to the end of its header
  std::uint64_t file_bytes = 0;    // of that file
  std::vector<GgufHeader> gguf;
  std::string gguf_path;  // of the first of them, in the repository
};

// A file to keep, whole or only its beginning.
struct KeptFile {
  std::string name, bytes;
};
// Files that were kept together: their folder, and the full length of the file of which only the beginning was kept.
struct KeptFiles {
  std::string folder;
  std::uint64_t file_bytes = 0;
};

// The files of a folder.
using NamedBytes = std::vector<std::pair<std::string, std::string_view>>;

class HubCache {
 public:
  HubCache(const HubSettings& settings, const std::string& repo);

  // The commit of a revision when it was last fetched; "" if it was not.
  std::string commit_of(const std::string& revision) const;
  // Nothing if there is no such snapshot, or it is damaged.
  std::optional<HubSnapshot> find(const std::string& commit, const std::string& gguf) const;
  // Returns false if it could not be written. Never leaves anything half-written.
  bool write(const std::string& revision, const std::string& commit, const std::string& gguf,
             const HubSnapshot& snapshot) const;
  // Files that were kept together as `what` ("adapter"). Nothing if one is missing or damaged.
  std::optional<KeptFiles> find_files(const std::string& commit, const std::string& what,
                                      const std::vector<std::string>& names) const;
  // Returns nothing if they could not be written.
  std::optional<KeptFiles> write_files(const std::string& revision, const std::string& commit, const std::string& what,
                                       const std::vector<KeptFile>& files, std::uint64_t file_bytes) const;
  void write_ref(const std::string& revision, const std::string& commit) const;

 private:
  // Puts a folder with these files, which `is_sound` checks, in its place in one step.
  bool place(const std::string& name, const NamedBytes& files, const std::function<bool()>& is_sound) const;

  std::string folder_;  // the model's folder; "" if there is no cache
};

// A hash in place of the commit, for mirrors that do not give one: equal texts have equal ones.
std::string stand_in_commit(const std::string& revision, const std::string& text);

// "models--org--name"
std::string repo_folder(const std::string& repo);

// The cache of the Hugging Face tools: models--org--name/refs/REVISION contains a commit, and snapshots/COMMIT/ has
// links into blobs/. kvplan reads it and never writes it.

// The snapshot's folder, if its config.json or a *.gguf can be read; "" otherwise. Links to missing blobs and
// incomplete files count as absent.
std::string find_in_hf_cache(const std::string& cache, const std::string& repo, const std::string& revision);

// As above, for any contents, including repositories without a model.
std::string snapshot_in_hf_cache(const std::string& cache, const std::string& repo, const std::string& revision);

}  // namespace kvplan
