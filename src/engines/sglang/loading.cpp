// Sizes that SGLang chooses when it loads a model: padded experts and vocabularies, tables of rotary angles.
#include <algorithm>
#include <string_view>

#include "engines/sglang/models.h"
#include "engines/sglang/tensors.h"
#include "kvplan/gpus.h"
#include "kvplan/numbers.h"
#include "kvplan/strings.h"

namespace kvplan {

// FlashInfer's kernels on Blackwell (Mxfp4MoEMethod, quantization/mxfp4.py).
Mxfp4Layout sglang_mxfp4_layout(const Request& request) {
  if (request.card.capability() / 10 != 10) return {0, 1};  // not padded, with scales of whole blocks only
  return {sglang_since(request, kExecuted) ? 128U : 256U, 256};
}

bool sglang_pads_vocab(const Request& request) {
  constexpr std::uint64_t kOldestExecuted = 8;
  return sglang_since(request, kOldestExecuted);
}

// Gemma 3's classes rotate without the config's scaling, and in earlier releases kept no table.
Bytes sglang_rotary_table(const RotaryTable& table, const SideTensorsInput& input, std::uint64_t element) {
  constexpr std::uint64_t kGemmaTablesSince = 10;  // 0.5.9 has none
  constexpr std::uint64_t kGemmaPositions = 131072;
  const bool is_gemma = input.arch == Arch::kGemma3;
  const bool newer = sglang_since(*input.request, kExecuted);
  const Bytes frequencies = Bytes(table.width / 2 * 4);
  if (is_gemma && !sglang_since(*input.request, kGemmaTablesSince)) return frequencies;
  // transformers' classes keep the frequencies, LFM2 also a copy of the original ones.
  if (!newer && has_word("Exaone4ForCausalLM VoxtralForConditionalGeneration", input.architecture)) return frequencies;
  if (!newer && has_word("Lfm2ForCausalLM Lfm2VlForConditionalGeneration", input.architecture)) return frequencies * 2;
  // An indexer may use the table of the attention beside it; DeepSeek-V4 makes none that no layer uses.
  if (table.of_indexer &&
      (is_one_of(input.arch, {Arch::kGlmMoeDsa, Arch::kDeepseekV4}) || has_word("HYV4ForCausalLM", input.architecture)))
    return Bytes(0);
  const std::uint64_t rows = is_gemma ? std::min(table.positions, kGemmaPositions) : table.positions;
  // DeepSeek-V4 keeps a second copy of the angles as complex numbers (freqs_cis).
  const std::uint64_t times = input.arch == Arch::kDeepseekV4 ? 2 : 1;
  const std::uint64_t width = round_up(table.width, 2, "a rotary table");
  Bytes out = Bytes(checked_mul(rows, width, "a rotary table")) * element * times;
  if (is_gemma) out += frequencies;
  // Classes that store which of time, height and width each frequency is for (MRotaryEmbedding.axis_map).
  constexpr std::string_view kWithAxes =
      "Qwen3_5ForConditionalGeneration Qwen3_5MoeForConditionalGeneration Cosmos3EdgeForConditionalGeneration";
  if (table.is_multimodal && newer && has_word(kWithAxes, input.architecture)) out += Bytes(table.width / 2 * 8);
  return out;
}

}  // namespace kvplan
