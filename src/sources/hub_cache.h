// kvplan's own cache of what it fetched: by endpoint, model and commit, a few kilobytes each, never a token.
//
//   hub/ENDPOINT/models--org--name/refs/REVISION       the commit that the revision was last seen at
//   hub/ENDPOINT/models--org--name/snapshots/COMMIT/   config.json, hf_quant_config.json, weights.json, weights.header
//   hub/ENDPOINT/models--org--name/snapshots/COMMIT~QUANTIZATION/   weights.json, gguf-1.header ...
//   hub/ENDPOINT/models--org--name/snapshots/COMMIT~+WHAT/          weights.json, the beginnings of an adapter's files
//
// Each of these folders has a SHA256SUMS: a file that is not what was fetched counts as absent.
//
// A snapshot is written beside its place and renamed, so that it is there whole or not at all, however many runs are at
// it. What lies there is read as if a stranger had put it there.
#ifndef KVPLAN_SOURCES_HUB_CACHE_H_
#define KVPLAN_SOURCES_HUB_CACHE_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "kvplan/quantity.h"
#include "sources/hub_settings.h"

namespace kvplan {

inline constexpr std::size_t kMaxRef = 256;  // bytes of a file that names a commit
// Files of a model on the Hub.
inline constexpr const char* kConfig = "config.json";
inline constexpr const char* kQuantConfig = "hf_quant_config.json";

// The beginning of a GGUF file, to the end of its header.
struct GgufHeader {
  std::string bytes;
  std::uint64_t file_bytes = 0;
};

// What a plan needs of a model: a config and the weights' sizes, or the headers of a GGUF and its parts.
struct HubSnapshot {
  std::string config;
  std::string quant_config;        // hf_quant_config.json; "" for none
  std::uint64_t weight_bytes = 0;  // of all shards, as their index has it; 0 where a header says more
  std::string header;              // the beginning of the only safetensors file, to the end of its header
  std::uint64_t file_bytes = 0;    // of that file
  std::vector<GgufHeader> gguf;
  std::string gguf_path;  // of the first of them in the repository
};

// A file to keep whole, or its beginning.
struct KeptFile {
  std::string name, bytes;
};
// What was kept together: its folder, and how long the file is of which the beginning was kept.
struct KeptFiles {
  std::string folder;
  std::uint64_t file_bytes = 0;
};

// Of a GGUF with all its parts: a vocabulary of 260,000 tokens and its merges take 16 MiB.
inline constexpr std::size_t kMaxGgufHeader = 64 * kMiB;

class HubCache {
 public:
  HubCache(const HubSettings& settings, const std::string& repo);

  // The commit that a revision stood at when it was last fetched; "" where none is known.
  std::string commit_of(const std::string& revision) const;
  // Nothing where there is none, or it is damaged.
  std::optional<HubSnapshot> find(const std::string& commit, const std::string& gguf) const;
  // False where it could not be written; nothing half-written stays.
  bool write(const std::string& revision, const std::string& commit, const std::string& gguf,
             const HubSnapshot& snapshot) const;
  // Files that were kept together as `what` ("adapter"); nothing where one is gone, or is not what was fetched.
  std::optional<KeptFiles> find_files(const std::string& commit, const std::string& what,
                                      const std::vector<std::string>& names) const;
  // Nothing where they could not be written.
  std::optional<KeptFiles> write_files(const std::string& revision, const std::string& commit, const std::string& what,
                                       const std::vector<KeptFile>& files, std::uint64_t file_bytes) const;
  void write_ref(const std::string& revision, const std::string& commit) const;

 private:
  // A folder that `fill` writes and `is_sound` reads, put in its place in one step.
  bool place(const std::string& name, const std::function<bool(const std::string& folder)>& fill,
             const std::function<bool()>& is_sound) const;

  std::string folder_;  // of the model; "" where there is no cache
};

// A number in place of the commit, for mirrors that do not name it: the same text has the same one.
std::string stand_in_commit(const std::string& revision, const std::string& text);

// "models--org--name"
std::string repo_folder(const std::string& repo);

}  // namespace kvplan

#endif  // KVPLAN_SOURCES_HUB_CACHE_H_
