// From the bytes of a config.json or a GGUF header to a ModelSpec. No files, no network.
#ifndef KVPLAN_MODELS_READ_H_
#define KVPLAN_MODELS_READ_H_

#include <cstdint>
#include <optional>
#include <string_view>

#include "formats/gguf.h"
#include "formulas/model.h"

namespace kvplan {

// A config that is read as the draft of another model: heads that guess from its hidden states are known then.
struct DraftRole {
  std::optional<DraftMethod> method;              // as asked; absent: what config and name say
  std::uint64_t hidden_size = 0, vocab_size = 0;  // of the model that it drafts for
};

struct ReadOptions {
  bool assume = false;  // plan an unknown architecture from its fields, with a warning
  std::optional<DraftRole> draft{};
};

// The text of a config.json, and of the hf_quant_config.json beside it ("" for none). Throws Error.
ModelSpec read_config(std::string_view text, std::string_view hf_quant_config, std::string_view source,
                      const ReadOptions& options);

// An open GGUF. Throws Error(kBadInput), or kUnknownArchitecture where the file has cache-related keys that nobody
// understands.
ModelSpec read_gguf(const Gguf& file, std::string_view source, const ReadOptions& options);
// The same of an image projector (--mmproj).
ProjectorFile read_gguf_projector(const Gguf& file);

}  // namespace kvplan

#endif  // KVPLAN_MODELS_READ_H_
