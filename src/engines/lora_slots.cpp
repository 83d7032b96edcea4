// Sources: vLLM, lora/layers/*.py (create_lora_weights), lora/model_manager.py, config/lora.py; SGLang,
// srt/lora/mem_pool.py and server_args.py; TensorRT-LLM, llmapi LoraConfig.
#include "engines/lora_slots.h"

#include <algorithm>

#include "engines/engine.h"
#include "kvplan/error.h"
#include "kvplan/strings.h"

namespace kvplan {

namespace {

constexpr std::uint64_t kVllmRanks[] = {1, 8, 16, 32, 64, 128, 256, 320, 512};
// Classes with embedding_modules in vLLM's model_executor/models: the embedding and the head are wrapped, too. Phi-3
// and Mistral are Llama's class there. Qwen, Gemma and most others have none.
constexpr Arch kVllmEmbeds[] = {Arch::kLlama,    Arch::kMistral, Arch::kPhi3,     Arch::kGranite, Arch::kGraniteHybrid,
                                Arch::kExaone,   Arch::kExaone4, Arch::kNemotron, Arch::kSolar,   Arch::kMinicpm,
                                Arch::kFalconH1, Arch::kJamba,   Arch::kBamba,    Arch::kMixtral};
constexpr std::uint64_t kVllmNoExtraVocab = 12;  // releases before kept 256 more words; experts are wrapped since
constexpr std::uint64_t kVllmExtraVocab = 256;
constexpr std::uint64_t kVllmMostVocab = 258048;
constexpr std::uint64_t kDefaultRank = 16;

}  // namespace

LoraSlots vllm_lora_slots(const LoraQuestion& asked, const Request& request, std::vector<Note>& notes) {
  const ExtrasRequest& extras = request.extras;
  LoraSlots out;
  out.source = "vLLM lora/layers/*.py create_lora_weights";
  out.slots = extras.max_loras.value_or(1);
  out.rank = extras.max_lora_rank.value_or(kDefaultRank);
  if (const std::uint64_t needed = asked.largest_rank; needed > out.rank) {
    const auto* const wide =
        std::find_if(std::begin(kVllmRanks), std::end(kVllmRanks), [&](std::uint64_t r) { return r >= needed; });
    const bool none = wide == std::end(kVllmRanks);
    if (extras.max_lora_rank || none)
      refuse(
          "the adapter's rank " + std::to_string(needed) + " is more than --max-lora-rank " + std::to_string(out.rank),
          none ? "vLLM's largest is 512" : "use --max-lora-rank " + std::to_string(*wide));
    out.rank = *wide;
    notes.push_back({NoteLevel::kInfo,
                     "max_lora_rank",
                     {"planned with --max-lora-rank {rank}, for the adapter's rank of {needed}; vLLM's default is 16",
                      {{"rank", out.rank}, {"needed", needed}}}});
  }
  if (std::find(std::begin(kVllmRanks), std::end(kVllmRanks), out.rank) == std::end(kVllmRanks))
    refuse("--max-lora-rank " + std::to_string(out.rank) + ": vLLM knows 1, 8, 16, 32, 64, 128, 256, 320 and 512",
           "use the next of them");
  const bool newer = engine_version(engine_of(request), request) >= kVllmNoExtraVocab;
  out.fuses = true;
  out.with_experts = newer && !request.parallel.expert;
  out.with_embedding = out.with_head =
      std::find(std::begin(kVllmEmbeds), std::end(kVllmEmbeds), asked.arch) != std::end(kVllmEmbeds);
  out.extra_vocab = newer ? 0 : kVllmExtraVocab;
  out.vocab_padding = newer ? 1 : kVllmExtraVocab;
  if (out.with_head && extras.lora_targets.empty() && asked.vocab_size > kVllmMostVocab)
    refuse("vLLM takes LoRA adapters for vocabularies of up to " + std::to_string(kVllmMostVocab) +
               " words, and this one has " + std::to_string(asked.vocab_size),
           "choose another engine");
  return out;
}

LoraSlots sglang_lora_slots(const LoraQuestion& asked, const Request& request, std::vector<Note>&) {
  constexpr std::uint64_t kSlots = 8;
  const ExtrasRequest& extras = request.extras;
  LoraSlots out;
  out.source = "SGLang srt/lora/mem_pool.py";
  out.slots = extras.max_loras.value_or(kSlots);
  out.rank = extras.max_lora_rank.value_or(asked.largest_rank);
  if (out.rank == 0)
    refuse("SGLang takes the rank of its LoRA slots from the adapters, and none is named",
           "use --max-lora-rank N, or --lora FILE");
  if (asked.largest_rank > out.rank)
    refuse("the adapter's rank " + std::to_string(asked.largest_rank) + " is more than --max-lora-rank " +
               std::to_string(out.rank),
           "use --max-lora-rank " + std::to_string(asked.largest_rank));
  out.fuses = true;
  out.targets = asked.targets;
  out.head_is_cut = true;
  return out;
}

LoraSlots tensorrt_llm_lora_slots(const LoraQuestion& asked, const Request& request, std::vector<Note>&) {
  LoraSlots out;
  out.source = "estimate: TensorRT-LLM llmapi LoraConfig";
  out.slots = request.extras.max_loras.value_or(4);
  out.rank = std::max(request.extras.max_lora_rank.value_or(64), asked.largest_rank);
  out.low = 0.5;
  out.high = 2;
  return out;
}

LoraSlots logical_lora_slots(const LoraQuestion& asked, const Request& request, std::vector<Note>&) {
  LoraSlots out;
  out.source = "pairs for every linear layer";
  out.slots = request.extras.max_loras.value_or(1);
  out.rank = std::max(request.extras.max_lora_rank.value_or(kDefaultRank), asked.largest_rank);
  return out;
}

}  // namespace kvplan
