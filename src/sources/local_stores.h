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

namespace kvplan {

// Whether the argument begins with a store's name.
bool is_in_store(std::string_view argument);

// LM Studio's folder of models; "" where it is unknown.
std::string lmstudio_models();

// The model's file, or its folder where it is no GGUF. Throws Error(kBadInput).
std::string find_in_store(std::string_view argument);

}  // namespace kvplan
