// Models by the names of other tools, in those tools' folders. Nothing is fetched.
//
//   ollama:llama3.1:8b                    OLLAMA_MODELS, ~/.ollama/models, /usr/share/ollama/.ollama/models:
//                                         manifests/HOST/NAMESPACE/MODEL/TAG names the blob that is the GGUF
//   lmstudio:publisher/model[@Q4_K_M]     ~/.lmstudio/models/publisher/model/*.gguf
//   llama.cpp:org/name[:Q4_K_M]           LLAMA_CACHE, ~/.cache/llama.cpp: org_name_FILE.gguf; since 2026 the layout of
//                                         the HF tools' cache, there or in that cache
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace kvplan {

// Whether the argument begins with a store's name.
bool is_in_store(std::string_view argument);

// Whether ollama's store has "ollama:name[:tag]".
bool is_in_ollama(std::string_view argument);

// LM Studio's folder of models; "" if it is unknown.
std::string lmstudio_models();

// The model's file, or its folder if it is not a GGUF. Throws Error(kBadInput).
std::string find_in_store(std::string_view argument);

// The models in the local stores, by the names that kvplan accepts for them. Only folders are listed, no file is
// opened.

// "org/name" in the Hugging Face tools' cache, "ollama:name:tag", "lmstudio:publisher/model@FILE", sorted. Names that
// no tool would give, and folders that cannot be read, are left out.
std::vector<std::string> stored_models();

// A file that lists models, one on each line; empty lines and text after a # are ignored.

// The most models of one command line, whether lists, directories or words name them.
inline constexpr std::size_t kMostModels = 10'000;

// "@FILE". No other name is taken for a list: its lines appear in errors and are looked up on the Hub.
bool is_model_list(const std::string& argument);

// The models that "@FILE" lists. A path that does not exist is also looked for next to the list. Throws
// Error(kBadInput) for an empty list, and for one that contains another list.
std::vector<std::string> read_model_list(const std::string& argument);

}  // namespace kvplan
