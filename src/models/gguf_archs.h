// The table of GGUF architectures (general.architecture): what Hugging Face calls each, and what of its layers the
// file leaves unsaid. To add one, write its name in a row of gguf_archs.cpp.
#ifndef KVPLAN_MODELS_GGUF_ARCHS_H_
#define KVPLAN_MODELS_GGUF_ARCHS_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "formats/gguf_keys.h"
#include "models/blocks/layers.h"

namespace kvplan {

// Which layers have a window, where the file does not say it layer by layer (attention.sliding_window_pattern).
struct GgufWindow {
  static constexpr std::uint64_t kByLayer = ~std::uint64_t{0};  // the file has to say

  std::uint64_t pattern = 0;   // every pattern-th layer attends to everything; 0: none does
  bool full_first = false;     // it is the first of the pattern, not the last
  std::uint64_t fallback = 0;  // the window where the key is absent; 0: no windows then
  std::uint64_t fixed = 0;     // the window whatever the key says
};

struct GgufArch {
  // Separated by spaces: "name" where Hugging Face's is the same, "name=other", "name=other/with_a_window".
  std::string_view names;
  // Where the family reads how a config spells what a GGUF says plainly; null: the family of the name.
  void (*read)(Reader& reader) = nullptr;
  GgufWindow window{};
  GgufRecurrence recurrence = GgufRecurrence::kNone;
  std::string_view needs{};         // keys without which llama.cpp refuses the file
  std::uint64_t interval = 0;       // where the file names no recurrent layers: all but every interval-th are
  bool empty_is_recurrent = false;  // a layer without KV heads has the recurrence
};

std::span<const GgufArch> gguf_archs();
// Null where no row has it.
const GgufArch* find_gguf_arch(std::string_view architecture);
bool is_gguf_projector(std::string_view architecture);
// Hugging Face's name of it.
std::string gguf_model_type(const GgufArch& arch, std::string_view architecture, bool windowed);

// Latent attention where the file has it.
void read_latent_or_plain(Reader& reader);

// What else an architecture's keys say, once those of the table are translated: which layer is what, and what
// llama.cpp takes where the file is silent.
void complete_gguf_keys(GgufKeys& keys, const GgufArch& arch, std::string_view architecture);

}  // namespace kvplan

#endif  // KVPLAN_MODELS_GGUF_ARCHS_H_
