// The HF tools' cache: models--org--name/refs/REVISION names a commit, snapshots/COMMIT/ holds links into blobs/.
// Only read, never written.
#ifndef KVPLAN_SOURCES_HF_CACHE_H_
#define KVPLAN_SOURCES_HF_CACHE_H_

#include <string>

namespace kvplan {

// The snapshot's folder, where its config.json or a *.gguf can be read; "" where there is none. Links to blobs that are
// gone, and files that broke off, count as absent.
std::string find_in_hf_cache(const std::string& cache, const std::string& repo, const std::string& revision);

// The same whatever the snapshot holds: for what is no model.
std::string snapshot_in_hf_cache(const std::string& cache, const std::string& repo, const std::string& revision);

}  // namespace kvplan

#endif  // KVPLAN_SOURCES_HF_CACHE_H_
