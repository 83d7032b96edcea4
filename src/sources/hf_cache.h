// The cache of the Hugging Face tools: models--org--name/refs/REVISION contains a commit, snapshots/COMMIT/ has links
// into blobs/. It is read, never written.
#pragma once

#include <string>

namespace kvplan {

// The snapshot's folder, if its config.json or a *.gguf can be read; "" otherwise. Links to missing blobs and
// incomplete files count as absent.
std::string find_in_hf_cache(const std::string& cache, const std::string& repo, const std::string& revision);

// The same for any contents, also of repositories that are no model.
std::string snapshot_in_hf_cache(const std::string& cache, const std::string& repo, const std::string& revision);

}  // namespace kvplan
