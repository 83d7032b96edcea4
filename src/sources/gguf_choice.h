// Chooses the GGUF file that a name means among several.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace kvplan {

// The files of a folder whose names begin with `prefix` and end in .gguf, sorted; broken links are left out.
std::vector<std::string> gguf_files(const std::string& folder, std::string_view prefix = "");

// The file whose name contains the quantization ("Q4_K_M", in any case), or whose path it is. The parts of a split set
// count as one, its first; projectors and drafts do not count. Without a quantization Q4_K_M is chosen among several,
// as in llama.cpp. "" where none matches; Error(kBadInput) where several do.
std::string choose_gguf(const std::vector<std::string>& files, std::string_view quantization);

// For "x-00001-of-00003.gguf" all files of the set in order; for another file only itself.
std::vector<std::string> files_of_set(const std::string& first);

}  // namespace kvplan
