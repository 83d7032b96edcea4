// The small JSON of the Hub: its list of a repository's files, and the sizes that the cache keeps beside a model.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace kvplan {

// The paths of one page of the list; nothing if it is not a list.
std::optional<std::vector<std::string>> paths_in(std::string_view page);

// {"weight_bytes": N, "file_bytes": N, "gguf": [N, ...], "gguf_path": PATH}: bytes of the tensors, of the files, of
// each part.
struct KeptSizes {
  std::uint64_t weight_bytes = 0, file_bytes = 0;
  std::vector<std::uint64_t> gguf;
  std::string gguf_path;
};
std::string sizes_text(const KeptSizes& sizes);

}  // namespace kvplan
