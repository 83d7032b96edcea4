// The compute buffer of an image encoder (mmproj), which is reserved for a warm-up image when the program starts.
//
// Source: llama.cpp b6673 to v0.4.0, tools/mtmd/clip.cpp (set_warmup_n_tokens, build_attn) and models/qwen2vl.cpp.
// Checked against reports of nine starts (gpustack/gguf-parser-go#44, ggml-org/llama.cpp#22673), P = patches, w =
// width, f = the MLP's width, s = side of a patch, H = heads, 4 bytes an element:
//   with flash attention   P * (f + 2w + 3s^2 + 4), 2f with a gate         7 % below to 4 % above
//   without                P * (P * H + 5w + 3s^2 + 4)                     3 % below
//   windows                P * P more, and half of that again with flash attention
// Qwen3-VL's layers that hand features on keep them: a quarter more was seen.
#include <algorithm>

#include "engines/estimates.h"
#include "engines/llama_cpp/compute.h"
#include "engines/llama_cpp/rules.h"
#include "kvplan/strings.h"

namespace kvplan {

namespace {

// The side of the warm-up image in tokens, and the side of a token in patches. Projectors that are not listed have
// images of one size.
struct WarmUp {
  std::string_view projectors;
  std::uint64_t tokens, merge;
};
constexpr WarmUp kWarmUps[] = {
    {"qwen2vl_merger qwen2.5vl_merger qwen3vl_merger glm4v mimovl exaone4_5", 46, 2},
    {"dots_ocr dots3note_v", 46, 2},
    {"muse-glimmer hunyuanvl", 32, 2},
    {"paddleocr", 28, 2},
    {"kimivl minimax_m3 youtuvl", 16, 2},
    {"gemma4v", 16, 3},
    {"pixtral lightonocr phi4 gemma4uv", 16, 1},
};

std::uint64_t warm_up_side(const ProjectorFile& file) {
  for (const WarmUp& row : kWarmUps)
    if (has_word(row.projectors, file.projector)) return row.tokens * (file.merge > 0 ? file.merge : row.merge);
  constexpr std::uint64_t kUsual = 92;
  return file.image_size > 0 ? file.image_size / file.patch_size : kUsual;
}

}  // namespace

std::optional<LedgerLine> llama_image_encoder(const Request& request, const ProjectorFile& file) {
  if (file.width == 0 || file.patch_size == 0) return std::nullopt;
  constexpr std::string_view kWhat = "an image's patches";
  const bool flash =
      request.llama_cpp.flash_attention != FlashAttention::kOff && llama_rules(request).encoder_flash_attention;
  const bool windowed = file.projector == "qwen2.5vl_merger";
  const std::uint64_t side = warm_up_side(file);
  const std::uint64_t patches = checked_mul(side, side, kWhat);
  const std::uint64_t inputs = 3 * checked_mul(file.patch_size, file.patch_size, kWhat) + 4;
  const std::uint64_t mlp = checked_mul(file.intermediate > 0 ? file.intermediate : checked_mul(4, file.width, kWhat),
                                        windowed ? 2 : 1, kWhat);
  const std::uint64_t width = checked_mul(file.width, flash ? 2 : 5, kWhat);
  std::uint64_t scores = flash ? 0 : checked_mul(patches, std::max<std::uint64_t>(file.heads, 1), kWhat);
  if (windowed) scores += flash ? patches + patches / 2 : patches;
  const std::uint64_t row =
      checked_add(checked_add(checked_add(flash ? mlp : 0, width, kWhat), inputs, kWhat), scores, kWhat);
  const Bytes bytes = Bytes(patches) * checked_mul(row, 4, kWhat);
  LedgerLine out = estimate_line(
      Section::kActivation, "image encoder's compute buffer", bytes, flash ? Spread{0.85, 1.4} : Spread{0.95, 1.05},
      {"{patches} patches of the warm-up image * ({width} of activations + {inputs} of inputs + {scores} of scores) * "
       "4 B",
       {{"patches", patches}, {"width", row - inputs - scores}, {"inputs", inputs}, {"scores", scores}}},
      "estimate: llama.cpp tools/mtmd/clip.cpp, which reserves for the warm-up image");
  out.id = LineId::kImageEncoder;
  return out;
}

}  // namespace kvplan
