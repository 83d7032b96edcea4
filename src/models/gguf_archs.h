// The table of GGUF architectures (general.architecture): Hugging Face's name of each, and facts about its layers that
// are not in the file. To add an architecture, write its name in a row of gguf_archs.cpp.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "formats/fields.h"
#include "formats/gguf_keys.h"
#include "formulas/model.h"
#include "models/blocks/layers.h"

namespace kvplan {

// Which layers have a window, if the file has no list of them (attention.sliding_window_pattern).
struct GgufWindow {
  static constexpr std::uint64_t kByLayer = ~std::uint64_t{0};  // the file must give it

  std::uint64_t pattern = 0;   // every pattern-th layer has full attention; 0: none has
  bool full_first = false;     // the full layer is the first of a pattern, otherwise the last
  std::uint64_t fallback = 0;  // the window if the key is absent; 0: then there are no windows
  std::uint64_t fixed = 0;     // the window, whatever the key says
};

struct GgufArch {
  // Names separated by spaces: "name" if Hugging Face's name is the same, otherwise "name=other" or
  // "name=other/with_a_window".
  std::string_view names;
  // Reads the layers, if a GGUF describes them more directly than the family's config; null: the family reads them.
  void (*read)(Reader& reader) = nullptr;
  GgufWindow window{};
  GgufRecurrence recurrence = GgufRecurrence::kNone;
  std::string_view needs{};    // keys that llama.cpp requires
  std::uint64_t interval = 0;  // if the file does not list recurrent layers, all but every interval-th are recurrent
  bool empty_is_recurrent = false;  // layers without KV heads are recurrent
};

std::span<const GgufArch> gguf_archs();
// Null for an unknown architecture.
const GgufArch* find_gguf_arch(std::string_view architecture);
bool is_gguf_projector(std::string_view architecture);
// Hugging Face's name of the architecture.
std::string gguf_model_type(const GgufArch& arch, std::string_view architecture, bool windowed);

// Reads latent attention if the file has its keys, otherwise plain attention.
void read_latent_or_plain(Reader& reader);

// Adds what an architecture's keys imply, once the table of keys is translated: the kind of each layer, and llama.cpp's
// defaults for absent keys.
void complete_gguf_keys(GgufKeys& keys, const GgufArch& arch, std::string_view architecture);

// Fills ModelSpec::graph.

void read_graph_facts(const GgufKeys& keys, std::string_view architecture, ModelSpec& model);
void read_graph_facts(const Fields& text, ModelSpec& model);

}  // namespace kvplan
