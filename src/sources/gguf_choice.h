// Which of a folder's GGUF files a name means.
#ifndef KVPLAN_SOURCES_GGUF_CHOICE_H_
#define KVPLAN_SOURCES_GGUF_CHOICE_H_

#include <string>
#include <string_view>
#include <vector>

namespace kvplan {

// The folder's files whose names begin so and end in .gguf, sorted; links to nothing are none.
std::vector<std::string> gguf_files(const std::string& folder, std::string_view prefix = "");

// Of several files the one whose name holds the quantization ("Q4_K_M", in any case), or that has this very path. Parts
// of a split set count once, as their first; projectors and drafts not at all. Without a quantization Q4_K_M is taken
// where there are several, as llama.cpp does. "" where none fits; Error(kBadInput) where several do.
std::string choose_gguf(const std::vector<std::string>& files, std::string_view quantization);

// "x-00001-of-00003.gguf": all files of the set in order; the file alone where it is none.
std::vector<std::string> files_of_set(const std::string& first);

}  // namespace kvplan

#endif  // KVPLAN_SOURCES_GGUF_CHOICE_H_
