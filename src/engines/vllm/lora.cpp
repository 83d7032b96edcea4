// Slots of LoRA adapters: lora/layers/*.py (create_lora_weights), lora/model_manager.py, config/lora.py.
#include <algorithm>

#include "engines/engine.h"
#include "engines/lora_slots.h"
#include "engines/vllm/class_table.h"
#include "engines/vllm/rules.h"
#include "engines/vllm/vllm.h"
#include "kvplan/error.h"

namespace kvplan {

constexpr std::uint64_t kRanks[] = {1, 8, 16, 32, 64, 128, 256, 320, 512};
constexpr std::uint64_t kExtraVocab = 256;
constexpr std::uint64_t kMostVocab = 258048;
constexpr std::uint64_t kDefaultRank = 16;

LoraSlots vllm_lora_slots(const LoraQuestion& asked, const Request& request, std::vector<Note>& notes) {
  const ExtrasRequest& extras = request.extras;
  LoraSlots out;
  out.source = "vLLM lora/layers/*.py create_lora_weights";
  out.slots = extras.max_loras.value_or(1);
  out.rank = extras.max_lora_rank.value_or(kDefaultRank);
  if (const std::uint64_t needed = asked.largest_rank; needed > out.rank) {
    const auto* const wide =
        std::find_if(std::begin(kRanks), std::end(kRanks), [&](std::uint64_t r) { return r >= needed; });
    const bool none = wide == std::end(kRanks);
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
  if (std::find(std::begin(kRanks), std::end(kRanks), out.rank) == std::end(kRanks))
    refuse("--max-lora-rank " + std::to_string(out.rank) + ": vLLM knows 1, 8, 16, 32, 64, 128, 256, 320 and 512",
           "use the next of them");
  const bool newer = vllm_rules(request).lora_with_experts;
  out.fuses = true;
  out.with_experts = newer && !request.parallel.expert;
  out.with_embedding = out.with_head = vllm_class(asked.arch).adapts_embedding;
  out.extra_vocab = newer ? 0 : kExtraVocab;
  out.vocab_padding = newer ? 1 : kExtraVocab;
  if (out.with_head && extras.lora_targets.empty() && asked.vocab_size > kMostVocab)
    refuse("vLLM takes LoRA adapters for vocabularies of up to " + std::to_string(kMostVocab) +
               " words, and this one has " + std::to_string(asked.vocab_size),
           "choose another engine");
  return out;
}

}  // namespace kvplan
