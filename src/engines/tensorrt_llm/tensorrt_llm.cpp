// TensorRT-LLM: one pool of KV blocks, sized from the memory that is free after a trial run.
//
// Source: TensorRT-LLM 1.x, tensorrt_llm/_torch/pyexecutor/resource_manager.py and llmapi/llm_args.py (read);
// kvCacheManager's start-up line "Allocated X GiB for max tokens in paged KV cache (N)" of two runs, 64 and 32 tokens a
// block, for models of plain attention.
// - tokens = budget / bytes per token, rounded up to whole blocks (kvCacheManager.cpp, calculateMaxNumBlocks).
// - free_gpu_memory_fraction (0.9) is a fraction of what is free, not of the GPU.
// - Window layers store every token unless max_attention_window is given, which kvplan has no option for.
#include "engines/estimates.h"
#include "engines/launch_input.h"
#include "engines/layer_buffers.h"
#include "engines/lora_slots.h"
#include "engines/parallel.h"
#include "kvplan/error.h"

namespace kvplan {

namespace {

constexpr EngineVersion kVersions[] = {
    {"0.9", "logs: plain KV in blocks of 64, the last one rounded up"},
    {"1.0",
     "source (read) and log: plain KV in blocks of 32. Only from source: MLA, the fraction of free memory. Not "
     "checked: windows by max_attention_window, states of hybrid models, draft models"},
};

struct TensorrtRules {
  std::uint64_t block_size = 64;
};
constexpr Rule<TensorrtRules> kRules[] = {
    {&TensorrtRules::block_size,
     32,
     {0, 20},
     kNoEnd,
     "tokens_per_block, if the user sets none; 64 before",
     "start-up logs; in nearby releases it depends on a build option"},
};
TensorrtRules rules_of(const Request& request) {
  return resolve_rules(kRules, release_of(request), request.turned_rule);
}
std::vector<RuleRow> rules() {
  return rule_rows(kRules);
}

constexpr double kFreeShare = 0.9;
constexpr Tokens kMaxNumTokens{8192};

CacheTypes resolve(const ModelShape& model, const Request& request) {
  CacheTypes types = resolve_default_types(model, request);
  refuse_types(types, "tensorrt-llm",
               {Dtype::kBfloat16, Dtype::kFloat16, Dtype::kFloat32, Dtype::kFp8E4m3, Dtype::kNvfp4});
  return types;
}

std::unique_ptr<CacheLayout> layout(const EngineInput& input, std::vector<Note>& notes) {
  check_heads("TensorRT-LLM", input.model, input.request.parallel.tensor);
  const std::uint64_t block = input.request.block_size.value_or(rules_of(input.request).block_size);
  if ((block & (block - 1)) != 0)
    refuse("--block-size " + std::to_string(block) + ": TensorRT-LLM's tokens_per_block is a power of two",
           "use 32 or 64");
  const CacheTypes types = input.types;
  LayerBufferRules rules;
  rules.block_size = block;
  rules.last_block_up = true;
  rules.one_pool = true;
  rules.source = "TensorRT-LLM resource_manager.py";
  rules.hold = [=](const LayerCache&, const Term& term, std::uint64_t units) {
    return block_buffer(term, types, units, block);
  };
  if (has_windows(input))
    notes.push_back({NoteLevel::kInfo, "windows_kept_whole",
                     "TensorRT-LLM keeps every token of sliding layers unless max_attention_window is given"});
  if (has_states(input)) notes.push_back(unverified_note("TensorRT-LLM", "recurrent states"));
  return layer_buffers_layout(input, rules);
}

Bytes cache_budget(const BudgetInput& in) {
  const Bytes taken = in.weights + in.activation + in.runtime;
  if (taken >= in.gpu_memory) return Bytes(0);
  const double share = in.engine->request.memory_utilization.value_or(kFreeShare);
  return Bytes(static_cast<std::uint64_t>(static_cast<double>((in.gpu_memory - taken).count()) * share));
}

std::uint64_t sampled_rows(const Request& request, const Load& load) {
  return request.max_num_seqs.value_or(std::max<std::uint64_t>(load.num_seqs, 64));
}

EngineSettings settings(const EngineInput& input, const Load& load) {
  EngineSettings out;
  out.max_num_batched_tokens = input.request.max_num_batched_tokens.value_or(kMaxNumTokens).count();
  out.max_num_seqs = sampled_rows(input.request, load);
  out.memory_fraction = input.request.memory_utilization.value_or(kFreeShare);
  return out;
}

std::vector<LedgerLine> overhead(const OverheadInput& in) {
  const EngineInput& input = *in.engine;
  const std::uint64_t tokens = input.request.max_num_batched_tokens.value_or(kMaxNumTokens).count();
  std::vector<LedgerLine> out{mlp_activations(input, tokens, "a full batch of max_num_tokens")};
  const std::uint64_t rows = sampled_rows(input.request, in.load);
  out.push_back(logits_line(input, rows, {0.5, 2}, "estimate: the sampled rows of a batch"));
  out.push_back({Section::kRuntime, "driver context, communication and workspaces", Bytes(1024 * kMiB),
                 Bytes(512 * kMiB), Bytes(3072 * kMiB), "allowance of 1 GiB per GPU",
                 "estimate; no log was read for it", LineId::kContext});
  if (has_states(input)) out.push_back(unverified_line(in));
  return out;
}

// llmapi LoraConfig.
LoraSlots lora_slots(const LoraQuestion& asked, const Request& request, std::vector<Note>&) {
  LoraSlots out;
  out.source = "estimate: TensorRT-LLM llmapi LoraConfig";
  out.slots = request.extras.max_loras.value_or(4);
  out.rank = std::max(request.extras.max_lora_rank.value_or(64), asked.largest_rank);
  out.low = 0.5;
  out.high = 2;
  return out;
}

}  // namespace

Engine tensorrt_llm_engine() {
  Engine out{"tensorrt-llm", "trtllm trt-llm", "blocks from the memory that is free", kVersions, 1.0, resolve,
             layout,         overhead};
  out.rules = rules;
  out.cache_budget = cache_budget;
  out.loading.reads_quant_file_first = true;  // _torch/model_config.py
  out.settings = settings;
  out.start = Start::kAnything;
  out.kv_choices = "bfloat16 fp8_e4m3 nvfp4";
  out.parallel.expert = true;
  // TensorRT-LLM's support matrix: only CUDA, from Ampere on.
  out.options =
      "--block-size --mamba-ssm-cache-dtype --enable-expert-parallel --enable-lora --max-loras "
      "--max-lora-rank --max-cpu-loras --lora-targets";
  out.makers = "NVIDIA";
  out.supports = [](const Gpu& card) { return card.capability == 0 || card.capability >= 80; };
  // llmapi/llm_args.py of 1.0: MTP, Medusa, Eagle (eagle3 by an option), NGram, DraftTarget. Its Lookahead is not
  // planned.
  out.extras.draft_methods = "draft_model eagle eagle3 mtp medusa ngram";
  out.extras.lora = LoraStorage::kSlots;
  out.extras.lora_slots = lora_slots;
  out.log.lines = tensorrt_llm_log_lines;
  out.launch = tensorrt_llm_launch;
  out.command = tensorrt_llm_command();
  out.extras.has_beams = true;
  return out;
}

}  // namespace kvplan
