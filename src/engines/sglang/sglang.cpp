// SGLang: token pools that are sized once, from what the weights leave of SGLang's fraction of the GPU (layout.cpp).
#include "engines/sglang/sglang.h"

#include <algorithm>
#include <iterator>

#include "engines/class_rows.h"
#include "engines/launch_input.h"
#include "engines/parallel.h"
#include "engines/sglang/rules.h"

namespace kvplan {

constexpr EngineVersion kVersions[] = {
    {"0.3.3", "logs: plain KV; memory fractions by ranks"},
    {"0.4", "as 0.4.9"},
    {"0.4.4", "source (read) and logs: plain KV and MLA; memory fractions by ranks"},
    {"0.4.9", "source (read) and logs: plain KV and MLA; memory fractions by the GPU's size"},
    {"0.5.8", "executed: arguments and pools of plain KV, MLA, windows, states; three state slots per request"},
    {"0.5.14",
     "as 0.5.16, but source (read) and logs of 0.5.13: DeepSeek-V4's sums of ratio 128 follow its window pool"},
    {"0.5.16", "as 0.5.18, but source (read) and a log: the padding slots of states are outside the budget"},
    {"0.5.18", "source (read): a part of an image model's budget is reserved; smaller chunks on GPUs of 24 and 32 GB"},
    {"0.5.20", "source (read): larger chunks on GPUs of 24 and 32 GB"},
    {"0.5.23",
     "executed: arguments and pools of plain KV, MLA, sparse MLA, two pools, states, DeepSeek-V4. Only from source: "
     "FP4 "
     "and MXFP8 KV, drafts, LoRA slots. Not checked: HiCache, ROCm, disaggregation"},
    {"0.5", "as 0.5.23, the newest that was executed"},
};

// SGLang's list of supported platforms: CUDA from compute capability 7.5, ROCm on Instinct and Strix Halo, XPU.
static bool runs_on_card(const Gpu& card) {
  constexpr unsigned kOldest = 75;
  constexpr unsigned kRocm[] = {0x90a, 0x942, 0x950, 0x1151};
  if (card.capability == 0) return true;
  if (card.vendor == "NVIDIA") return card.capability >= kOldest;
  return card.vendor == "AMD" && std::find(std::begin(kRocm), std::end(kRocm), card.capability) != std::end(kRocm);
}

Engine sglang_engine() {
  Engine out{"sglang", "", "token pools sized at start", kVersions, 0.88, sglang_types, sglang_layout, sglang_overhead};
  out.cache_budget = sglang_cache_budget;
  out.rules = sglang_rule_rows;
  out.numbers_patches = true;
  out.names_latents = sglang_names_latents;
  out.start = Start::kAnything;
  out.assumed_length = Tokens(2048);  // hf_transformers_utils.py, get_context_length
  out.utilization_of = sglang_share;
  out.spelling =
      "--max-model-len=--context-length --max-num-seqs=--max-running-requests "
      "--max-num-batched-tokens=--chunked-prefill-size";
  out.share_option = "--mem-fraction-static";
  out.oldest_recent = "0.5.6";
  out.settings = sglang_settings;
  out.parallel.cuts_towers = true;
  out.loading.counted = CountedAs::kReserved;  // "mem usage" in its log: the difference in free memory
  out.has_window_ratio = true;
  out.loading.made_at_load = "fp8 fp8-channel bnb-nf4";
  out.loading.rotary_in_float32 = true;
  out.loading.rotary_table = sglang_rotary_table;
  out.loading.make_tensors = sglang_tensors;
  out.loading.makes_by = sglang_makes_by;
  out.loading.keeps_types = true;
  out.loading.mxfp4_layout = sglang_mxfp4_layout;
  out.parallel.pads_vocab = true;
  out.parallel.cuts = sglang_cuts;
  out.refusal = sglang_refusal;
  out.loading.halves_float32 = true;  // model_config.py _get_and_verify_dtype
  out.parallel.stages = [](std::uint64_t num_layers, const Request& request) {
    return stage_shares(num_layers, request.parallel, StageSplit::kLastFirst);
  };
  out.kv_choices = "bfloat16 fp8_e4m3 nvfp4";
  out.parallel.expert = true;
  out.options =
      "--block-size --enforce-eager --mamba-ssm-cache-dtype --enable-dp-attention "
      "--enable-expert-parallel --num-redundant-experts --cpu-offload-gb --speculative-num-draft-tokens --enable-lora "
      "--max-loras --max-lora-rank --max-cpu-loras --lora-targets --mamba-scheduler-strategy "
      "--disable-radix-cache --swa-full-tokens-ratio --mamba-full-memory-ratio --max-mamba-cache-size "
      "--max-total-tokens --disable-hybrid-swa-memory --cuda-graph-max-bs --attention-backend --pp-layer-partition "
      "--enable-hierarchical-cache --hicache-ratio --hicache-size --enable-eplb --moe-a2a-backend";
  out.makers = "NVIDIA AMD Intel";
  out.supports = runs_on_card;
  out.extras.eagle_is_own = true;  // server_args.py
  out.extras.draft_methods = "draft_model eagle eagle3 mtp ngram dflash dspark";
  out.extras.lora = LoraStorage::kSlots;
  out.extras.lora_slots = sglang_lora_slots;
  out.log.lines = sglang_log_lines;
  out.launch = sglang_launch;
  out.command = sglang_command();
  return out;
}

}  // namespace kvplan
