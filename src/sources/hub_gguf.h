// GGUF files on the Hub: which one a name means, and its header by range requests.
#ifndef KVPLAN_SOURCES_HUB_GGUF_H_
#define KVPLAN_SOURCES_HUB_GGUF_H_

#include <string>
#include <vector>

#include "sources/hub_cache.h"
#include "sources/hub_http.h"

namespace kvplan {

// The paths in the pages of the Hub's list of a repository's files that end in .gguf. Throws HubUnreachable for what is
// no list.
std::vector<std::string> gguf_paths(const std::vector<std::string>& pages);

// The headers of a file, or of all files of a split set whose first part it is. `commit` is set where the server names
// it. Throws Error(kHub).
std::vector<GgufHeader> fetch_gguf(HubClient& client, const std::string& revision, const std::string& path,
                                   std::string& commit);

}  // namespace kvplan

#endif  // KVPLAN_SOURCES_HUB_GGUF_H_
