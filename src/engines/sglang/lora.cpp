// Slots of LoRA adapters: srt/lora/mem_pool.py and server_args.py.
#include "engines/lora_slots.h"
#include "engines/sglang/sglang.h"
#include "kvplan/error.h"

namespace kvplan {

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

}  // namespace kvplan
