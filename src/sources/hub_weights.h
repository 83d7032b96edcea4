// Headers of weights on the Hub, by range requests: a safetensors file, or a GGUF and which one a name means.
#ifndef KVPLAN_SOURCES_HUB_WEIGHTS_H_
#define KVPLAN_SOURCES_HUB_WEIGHTS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "sources/hub_cache.h"
#include "sources/hub_http.h"

namespace kvplan {

struct SafetensorsBeginning {
  std::string bytes;             // to the end of the header
  std::uint64_t file_bytes = 0;  // of the whole file
};

// Nothing where there is no such file. Throws Error(kHub) for one that is broken.
std::optional<SafetensorsBeginning> fetch_safetensors(HubClient& client, const std::string& revision,
                                                      const std::string& name);

// Throws HubUnreachable unless the text is a JSON object: a page that says "log in" comes with status 200 too.
void check_json(const HubFile& file, const std::string& name);

// The paths in the pages of the Hub's list of a repository's files that end in .gguf. Throws HubUnreachable for what is
// no list.
std::vector<std::string> gguf_paths(const std::vector<std::string>& pages);

// The headers of a file, or of all files of a split set whose first part it is. `commit` is set where the server names
// it. Throws Error(kHub).
std::vector<GgufHeader> fetch_gguf(HubClient& client, const std::string& revision, const std::string& path,
                                   std::string& commit);

}  // namespace kvplan

#endif  // KVPLAN_SOURCES_HUB_WEIGHTS_H_
