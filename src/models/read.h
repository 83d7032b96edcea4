// Turns the bytes of a config.json or a GGUF header into a ModelSpec. Opens no files and no network connection.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "formats/gguf.h"
#include "formulas/model.h"

namespace kvplan {

// For a config that is read as a draft: it may be heads over another model's hidden states.
struct DraftRole {
  std::optional<DraftMethod> method;              // the method, as requested; absent: from the config and the name
  std::uint64_t hidden_size = 0, vocab_size = 0;  // of the model that the draft is for
};

struct ReadOptions {
  bool assume = false;  // plan an unknown architecture from its common fields, with a warning
  std::optional<DraftRole> draft{};
  std::string overrides{};  // a JSON object whose members replace those of the config; "" for none. It does not apply
                            // to a draft
};

// Reads the text of a config.json, and of the hf_quant_config.json next to it ("" for none). Throws Error.
ModelSpec read_config(std::string_view text, std::string_view hf_quant_config, std::string_view source,
                      const ReadOptions& options);

// Reads an open GGUF. Throws Error(kBadInput), or kUnknownArchitecture if the file has cache-related keys that kvplan
// does not know.
ModelSpec read_gguf(const Gguf& file, std::string_view source, const ReadOptions& options);
// Reads the GGUF of an image projector (--mmproj).
ProjectorFile read_gguf_projector(const Gguf& file);

}  // namespace kvplan
