// Headers of weights on the Hub, by range requests: of a safetensors file, or of the GGUF that a name means.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sources/hub_cache.h"
#include "sources/hub_http.h"

namespace kvplan {

struct SafetensorsBeginning {
  std::string bytes;             // up to the end of the header
  std::uint64_t file_bytes = 0;  // of the whole file
};

// Nothing if there is no such file. Throws Error(kHub) for a broken one.
std::optional<SafetensorsBeginning> fetch_safetensors(HubClient& client, const std::string& revision,
                                                      const std::string& name);

// Throws HubUnreachable unless the text is a JSON object: a page that asks to log in comes with status 200 too.
void check_json(const HubFile& file, const std::string& name);

// The paths that end in .gguf, from the pages of the Hub's list of files. Throws HubUnreachable for pages that are no
// such list.
std::vector<std::string> gguf_paths(const std::vector<std::string>& pages);

// Fetches the headers of a file, or of all files of a split set if it is the first. `commit` is set if the server
// gives it. Throws Error(kHub).
std::vector<GgufHeader> fetch_gguf(HubClient& client, const std::string& revision, const std::string& path,
                                   std::string& commit);

// Chooses the GGUF file that a name means among several.

// The files of a folder whose names begin with `prefix` and end in .gguf, sorted; broken links are left out.
std::vector<std::string> gguf_files(const std::string& folder, std::string_view prefix = "");

// The file whose name contains the quantization ("Q4_K_M", in any case), or whose path it is. The parts of a split set
// count as one, its first; projectors and drafts do not count. Without a quantization Q4_K_M is chosen among several,
// as in llama.cpp. "" if none matches; Error(kBadInput) if several do.
std::string choose_gguf(const std::vector<std::string>& files, std::string_view quantization);

// For "x-00001-of-00003.gguf", all files of the set in order; for another file, only that file.
std::vector<std::string> files_of_set(const std::string& first);

}  // namespace kvplan
