// Headers of weights on the Hub, by range requests: of a safetensors file, or of the GGUF that a name means.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sources/hub_cache.h"
#include "sources/hub_http.h"

namespace kvplan {

struct SafetensorsBeginning {
  std::string bytes;             // up to the end of the header
  std::uint64_t file_bytes = 0;  // of the whole file
};

// Nothing where there is no such file. Throws Error(kHub) for a broken one.
std::optional<SafetensorsBeginning> fetch_safetensors(HubClient& client, const std::string& revision,
                                                      const std::string& name);

// Throws HubUnreachable unless the text is a JSON object: a page that asks to log in comes with status 200 too.
void check_json(const HubFile& file, const std::string& name);

// The paths that end in .gguf, from the pages of the Hub's list of files. Throws HubUnreachable for pages that are no
// such list.
std::vector<std::string> gguf_paths(const std::vector<std::string>& pages);

// Fetches the headers of a file, or of all files of a split set if it is the first. `commit` is set where the server
// gives it. Throws Error(kHub).
std::vector<GgufHeader> fetch_gguf(HubClient& client, const std::string& revision, const std::string& path,
                                   std::string& commit);

}  // namespace kvplan
