// The table of GGUF architectures (general.architecture): which rule reads which. To add one, write a row in
// gguf_archs.cpp, and a rule in gguf_rules.cpp where no rule fits.
#ifndef KVPLAN_MODELS_GGUF_ARCHS_H_
#define KVPLAN_MODELS_GGUF_ARCHS_H_

#include <cstdint>
#include <string_view>

#include "models/gguf_reader.h"

namespace kvplan {

struct GgufArch;
using GgufRule = void (*)(GgufReader& reader, const GgufArch& arch);

// Which layers have a window, where the file does not say it layer by layer (attention.sliding_window_pattern).
struct GgufWindow {
  static constexpr std::uint64_t kByLayer = ~std::uint64_t{0};  // the file has to say

  std::uint64_t pattern = 0;   // every pattern-th layer attends to everything; 0: none does
  bool full_first = false;     // it is the first of the pattern, not the last
  std::uint64_t fallback = 0;  // the window where the key is absent; 0: no windows then
  std::uint64_t fixed = 0;     // the window whatever the key says
};

struct GgufArch {
  std::string_view names;  // separated by spaces
  std::string_view family;
  GgufRule read;
  GgufWindow window{};
};

// Null where no row has it.
const GgufArch* find_gguf_arch(std::string_view architecture);

// gguf_rules.cpp and gguf_recurrent.cpp. Each fills model().layers.
void gguf_plain(GgufReader& reader, const GgufArch& arch);
void gguf_windowed(GgufReader& reader, const GgufArch& arch);
void gguf_dflash(GgufReader& reader, const GgufArch& arch);
void gguf_exaone4(GgufReader& reader, const GgufArch& arch);
void gguf_smallthinker(GgufReader& reader, const GgufArch& arch);
void gguf_llama4(GgufReader& reader, const GgufArch& arch);
void gguf_shared(GgufReader& reader, const GgufArch& arch);
void gguf_latent(GgufReader& reader, const GgufArch& arch);
void gguf_sparse_latent(GgufReader& reader, const GgufArch& arch);
void gguf_minimax_m3(GgufReader& reader, const GgufArch& arch);
void gguf_deepseek4(GgufReader& reader, const GgufArch& arch);
void gguf_encoder(GgufReader& reader, const GgufArch& arch);
void gguf_t5(GgufReader& reader, const GgufArch& arch);
void gguf_mllama(GgufReader& reader, const GgufArch& arch);
void gguf_looped(GgufReader& reader, const GgufArch& arch);
void gguf_router_layer(GgufReader& reader, const GgufArch& arch);
void gguf_projector(GgufReader& reader, const GgufArch& arch);
void gguf_mamba(GgufReader& reader, const GgufArch& arch);
void gguf_mamba2(GgufReader& reader, const GgufArch& arch);
void gguf_jamba(GgufReader& reader, const GgufArch& arch);
void gguf_mamba2_hybrid(GgufReader& reader, const GgufArch& arch);
void gguf_nemotron_h(GgufReader& reader, const GgufArch& arch);
void gguf_falcon_h1(GgufReader& reader, const GgufArch& arch);
void gguf_delta_net(GgufReader& reader, const GgufArch& arch);
void gguf_kda(GgufReader& reader, const GgufArch& arch);
void gguf_lightning(GgufReader& reader, const GgufArch& arch);
void gguf_lfm2(GgufReader& reader, const GgufArch& arch);
void gguf_rwkv6(GgufReader& reader, const GgufArch& arch);
void gguf_rwkv7(GgufReader& reader, const GgufArch& arch);

// Pieces that several rules use.
Mixer gguf_full(const GgufReader& reader, std::uint64_t layer);  // None where the layer has no KV heads
Latent gguf_latent_of(const GgufReader& reader, std::uint64_t layer);
bool gguf_has_latent(const GgufReader& reader);
// The mixer of a layer with a window, or without where it covers all that the model can hold.
Mixer gguf_window(const GgufReader& reader, const Heads& heads, std::uint64_t window);

}  // namespace kvplan

#endif  // KVPLAN_MODELS_GGUF_ARCHS_H_
