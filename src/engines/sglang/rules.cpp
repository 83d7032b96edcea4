#include "engines/sglang/rules.h"

#include "engines/kernel_table.h"
#include "engines/sglang/sglang.h"

namespace kvplan {

// 0.5.8 and 0.5.23 were executed.
// clang-format off
constexpr Rule<SglangRules> kRules[] = {
    {.sets = &SglangRules::share_of_eight_ranks, .to = 0.83, .until = {0, 4},
     .what = "the fraction of GPU memory with 8 to 15 ranks; 0.81 later", .evidence = "start-up logs"},
    {.sets = &SglangRules::sizes_by_card, .since = {0, 4, 9},
     .what = "the GPU's memory, not only the ranks, sets the memory fraction, the prefill chunk and the captured batches",
     .evidence = "server_args.py of 0.4.9; most releases called 0.4 do not"},
    {.sets = &SglangRules::sums_reserve, .since = {0, 5, 5},
     .what = "the memory left free besides the static fraction is a sum of parts, not one figure for the GPU's size",
     .evidence = "server_args.py, _handle_gpu_memory_settings"},
    {.sets = &SglangRules::small_chunks, .until = {0, 5, 20},
     .what = "GPUs of 20 to 35 GiB have prefill chunks of 2,048 tokens and capture at most 24 sequences, 80 with TP 4",
     .evidence = "arg_groups/memory_hook.py of 0.5.19 and 0.5.20", .basis = RuleBasis::kExecuted},
    {.sets = &SglangRules::prefill_graphs, .since = {0, 5, 12},
     .what = "CUDA graphs of prefills are captured by default", .evidence = "handle_cuda_graph_config",
     .basis = RuleBasis::kExecuted},
    {.sets = &SglangRules::prefill_graphs_with_images, .since = {0, 5, 16},
     .what = "some classes with images have CUDA graphs of prefills too",
     .evidence = "sgl-project/sglang#30620; not in 0.5.15", .basis = RuleBasis::kExecuted},
    {.sets = &SglangRules::counts_unused_graphs, .until = {0, 5, 14},
     .what = "the reserve counts decode graphs even where they are switched off",
     .evidence = "server_args.py of 0.5.8; executed in 0.5.13 too",
     .basis = RuleBasis::kExecuted},
    {.sets = &SglangRules::reserves_for_drafts, .until = {0, 5, 14},
     .what = "the reserve includes a draft; later releases count the draft with the weights",
     .evidence = "server_args.py, _handle_gpu_memory_settings"},
    {.sets = &SglangRules::one_draft_reserve, .since = {0, 5, 12},
     .what = "that part is 4 GiB for every draft; before, 6 GiB for a draft model and 2 for other drafts",
     .evidence = "server_args.py, _handle_gpu_memory_settings"},
    {.sets = &SglangRules::keeps_back_for_images, .since = {0, 5, 18},
     .what = "a part of an image model's budget is reserved for allocations after the pools are sized",
     .evidence = "mm_runtime_reservation_gb", .basis = RuleBasis::kExecuted},
    {.sets = &SglangRules::amd_long_contexts, .since = {0, 5, 14},
     .what = "on AMD GPUs contexts beyond 8,192 tokens leave 15 % of the fraction free",
     .evidence = "attention_hook.py; logs of MI355X, and of 0.5.8 without"},
    {.sets = &SglangRules::requests_limit_graphs, .since = {0, 5, 22},
     .what = "--max-running-requests limits the captured batches", .evidence = "not in 0.5.21",
     .basis = RuleBasis::kExecuted},
    {.sets = &SglangRules::weak_graph_references, .since = {0, 5, 6},
     .what = "graphs keep weak references to their outputs, so that all sizes share one pool", .evidence = "logs"},
    {.sets = &SglangRules::graph_kib, .to = 1344, .since = {0, 4, 9},
     .what = "KiB of a captured size and layer; 2,048 before", .evidence = "estimate from start-up logs"},
    {.sets = &SglangRules::graph_kib, .to = 310, .since = {0, 5, 6},
     .what = "KiB of a captured size and layer", .evidence = "estimate from start-up logs"},

    {.sets = &SglangRules::index_in_every_layer, .until = {0, 5},
     .what = "layers that use another layer's indexer have index keys too", .evidence = "memory_pool.py of 0.4"},
    {.sets = &SglangRules::fixed_slots_without_tree, .until = {0, 5, 9},
     .what = "without a radix cache there are 512 state slots; later they get a fraction of the memory",
     .evidence = "model_runner_kv_cache_mixin.py of 0.5.8 and 0.5.9", .basis = RuleBasis::kExecuted},
    {.sets = &SglangRules::buffers_states, .since = {0, 5, 14},
     .what = "the strategy \"auto\" for states is extra_buffer: five state slots a request, three before",
     .evidence = "server_args.py", .basis = RuleBasis::kExecuted},
    {.sets = &SglangRules::kimi_linear_has_tree, .since = {0, 5, 14},
     .what = "Kimi Linear has a radix cache", .evidence = "server_args.py", .basis = RuleBasis::kExecuted},
    {.sets = &SglangRules::budgets_padding_slots, .since = {0, 5, 17},
     .what = "the padding slots of states come out of their pool's part; before, they are outside the budget",
     .evidence = "sgl-project/sglang#32184 of 23 July 2026", .basis = RuleBasis::kExecuted},
    {.sets = &SglangRules::sums_by_request, .since = {0, 5, 15},
     .what = "DeepSeek-V4's compressor sums of ratio 128 are stored per request, not per token of the window pool",
     .evidence = "sgl-project/sglang#28612; DeepSeek-V4-Pro at a ratio of 0.15 has 32781.44 B per token in a log of "
      "0.5.13, 13735.04 in one of 0.5.15"},
    {.sets = &SglangRules::sums_by_page, .since = {0, 5, 21},
     .what = "DeepSeek-V4's sums of ratio 4 follow the window pool by the page, and the budget counts a page's padding",
     .evidence = "0.5.23 prints 7086.75 B per token for Flash at a ratio of 0.1, 0.5.20 has 7705.45 by its formula"},
    {.sets = &SglangRules::index_pages_as_latents, .since = {0, 5, 22},
     .what = "DeepSeek-V4's index keys have as many pages as the latents beside them",
     .evidence = "_num_dsv4_physical_kv_pages; not in 0.5.21", .basis = RuleBasis::kExecuted},
    {.sets = &SglangRules::counts_latent_scales, .since = {0, 5, 17},
     .what = "the budget counts the scales of FP8 latents",
     .evidence = "calculate_mla_kv_cache_dim; get_cell_size_per_token before", .basis = RuleBasis::kExecuted},
    {.sets = &SglangRules::bare_latents_on_blackwell, .since = {0, 5, 10},
     .what = "FP8 latents of sparse attention have no scales on Blackwell, where TRT-LLM's kernels read them",
     .evidence = "calculate_mla_kv_cache_dim; FlashMLA in 0.5.9", .basis = RuleBasis::kExecuted},
    {.sets = &SglangRules::places_in_pools, .until = {0, 5, 17},
     .what = "the pools include the table of each token's place in the window pool",
     .evidence = "full_to_swa_index_mapping, executed in 0.5.8 and 0.5.13; since 0.5.17 the executed pools are without "
                 "their allocator, which has it",
     .basis = RuleBasis::kExecuted},
    {.sets = &SglangRules::splits_tokens_first, .until = {0, 5, 11},
     .what = "two pools divide whole tokens of all layers, rounded down twice",
     .evidence = "set_num_token_hybrid of 0.5.8; HybridSWAPoolConfigurator is not in 0.5.10",
     .basis = RuleBasis::kExecuted},
    {.sets = &SglangRules::requests_before_split, .until = {0, 5, 10},
     .what = "the request table is sized by the tokens that one pool for all layers would hold",
     .evidence = "init_memory_pool of 0.5.9", .basis = RuleBasis::kExecuted},
    {.sets = &SglangRules::pads_request_table, .since = {0, 5, 11},
     .what = "the request table has a row for padding", .evidence = "not in 0.5.10", .basis = RuleBasis::kExecuted},
    {.sets = &SglangRules::windows_by_request, .since = {0, 5, 14},
     .what = "without a radix cache --max-running-requests sizes the window pool",
     .evidence = "sgl-project/sglang#28755; not in 0.5.13"},
    {.sets = &SglangRules::frees_windows_early, .since = {0, 5, 11},
     .what = "a prefilled request keeps only its window in the window pool; before, the tokens of its last chunk",
     .evidence = "PrefillAdder._swa_budget_for_req; not in 0.5.10", .basis = RuleBasis::kExecuted},
    {.sets = &SglangRules::chunk_takes_row, .since = {0, 5, 12}, .until = {0, 5, 23},
     .what = "where state slots limit the requests, one fewer runs: the row of a prompt that continues is not counted "
             "as free",
     .evidence = "get_num_allocatable_reqs of 0.5.11, 0.5.12, 0.5.22 and 0.5.23", .basis = RuleBasis::kExecuted},
    {.sets = &SglangRules::gpt_oss_pools_on_blackwell, .since = {0, 5, 10},
     .what = "gpt-oss has a window pool on Blackwell too", .evidence = "one pool with TRT-LLM's kernels in 0.5.9",
     .basis = RuleBasis::kExecuted},
    {.sets = &SglangRules::needs_windows, .since = {0, 5, 9},
     .what = "a class with a window pool is refused where the config names no sliding layer",
     .evidence = "set_num_token_hybrid of 0.5.9: swa_layers_num > 0; 0.5.8 starts", .basis = RuleBasis::kExecuted},
    {.sets = &SglangRules::nemotron_h_pages, .since = {0, 5, 19},
     .what = "Nemotron-H has pages of 64 tokens on Blackwell; one token before, as all models with states",
     .evidence = "server_args.py", .basis = RuleBasis::kExecuted},

    {.sets = &SglangRules::exaone_backends, .since = {0, 5, 9},
     .what = "EXAONE-4 with windows starts only with the backends fa3, triton and trtllm_mha",
     .evidence = "server_args.py of 0.5.8 and 0.5.9; arg_groups/model_hook.py of 0.5.23"},
    {.sets = &SglangRules::exaone_default, .since = {0, 5, 22},
     .what = "EXAONE-4 has one of them by default on every GPU; before, it is refused without --attention-backend",
     .evidence = "_exaone_overrides of 0.5.21 and 0.5.22"},
    {.sets = &SglangRules::trtllm_beyond_sm100, .since = {0, 5, 19},
     .what = "trtllm_mha runs on Hopper and SM120", .evidence = "the messages of 0.5.18 and 0.5.19",
     .basis = RuleBasis::kExecuted},
    {.sets = &SglangRules::tokenspeed_is_cutedsl, .since = {0, 5, 23},
     .what = "tokenspeed_mla is another name of cutedsl_mla, which runs only on SM100; before, it also runs on SM120, "
             "and only with an FP8 cache",
     .evidence = "arg_groups/serving_hook.py; the messages of 0.5.12 and 0.5.22", .basis = RuleBasis::kExecuted},
    {.sets = &SglangRules::cutlass_pages_of_128, .until = {0, 5, 20},
     .what = "cutlass_mla has pages of 128 tokens", .evidence = "overrides.py of 0.5.19; 0.5.20 has no such backend"},
    {.sets = &SglangRules::fa4_pages_of_128, .since = {0, 5, 15},
     .what = "fa4 has pages of 128 tokens on Blackwell; before, only as --prefill-attention-backend",
     .evidence = "_fa4_page_constraint of 0.5.15; server_args.py of 0.5.14"},
    {.sets = &SglangRules::nvfp4_for_latents, .until = {0, 5, 16},
     .what = "an NVFP4 KV cache is for latents too", .evidence = "\"fp4_e2m1\" of 0.5.14"},
    {.sets = &SglangRules::indexes_on_sm120, .since = {0, 5, 17},
     .what = "DeepSeek sparse attention has kernels for compute capability 12",
     .evidence = "dsa_backend.py imports flash_mla_sm120; not in 0.5.16, where deep_gemm says Unsupported architecture "
                 "(sgl-project/sglang#29562)"},
    {.sets = &SglangRules::compresses_on_sm120, .since = {0, 5, 13},
     .what = "DeepSeek-V4 has kernels for compute capability 12",
     .evidence = "deepseek_v4_backend.py imports flash_mla_sm120; not in 0.5.12"},
    {.sets = &SglangRules::picks_mxfp4_runner, .since = {0, 5, 19},
     .what = "DeepSeek-V4's MXFP4 experts use FlashInfer's runner; before, Triton's, which does not support them",
     .evidence = "arg_groups/model_overrides/deepseek_v4.py; not in 0.5.18 (sgl-project/sglang#27497, #33693)"},

    {.sets = &SglangRules::has_library_classes, .since = {0, 5},
     .what = "a model that SGLang has no class for runs with transformers' own", .evidence = "model_loader/utils.py"},
    {.sets = &SglangRules::cuts_embedding, .since = {0, 5},
     .what = "with DP attention the ranks of a copy split the embedding; before, every rank had all of it",
     .evidence = "pull request 17403 of January 2026"},
    {.sets = &SglangRules::pads_vocab, .since = {0, 5, 8},
     .what = "vocabulary rows are padded to 64 on one rank too", .evidence = "VocabParallelEmbedding of 0.5.8"},

    {.sets = &SglangRules::reserves_for_exchange, .since = {0, 5, 15},
     .what = "the default fraction leaves 2 GiB for DeepEP's buffers", .evidence = "server_args.py of 0.5.14 and 0.5.15"},
    {.sets = &SglangRules::has_expert_size, .since = {0, 5},
     .what = "--ep-size distributes experts; before, the flag --enable-ep-moe", .evidence = "server_args.py"},
    {.sets = &SglangRules::renamed_strategy, .since = {0, 5, 14},
     .what = "--mamba-scheduler-strategy is called --mamba-radix-cache-strategy",
     .evidence = "0.5.12 has the old name only", .basis = RuleBasis::kExecuted},
    {.sets = &SglangRules::names_block_types, .since = {0, 5, 16},
     .what = "--kv-cache-dtype has nvfp4 and mxfp8; before, fp4_e2m1", .evidence = "0.5.14 has one FP4 type",
     .basis = RuleBasis::kExecuted},
    {.sets = &SglangRules::graph_options_by_phase, .since = {0, 5, 14},
     .what = "--cuda-graph-max-bs is called --cuda-graph-max-bs-decode",
     .evidence = "0.5.13 has one name for all graphs; the old name is gone in 0.5.20", .basis = RuleBasis::kExecuted},
};
// clang-format on

SglangRules sglang_rules(const Request& request) {
  Release release = release_of(request);
  // "0.4" means what most of its releases did; "0.5" means the newest 0.5.
  if (release < Release{0, 5} && release.patch == kAnyCount) release.patch = 0;
  return resolve_rules(kRules, release);
}

std::vector<RuleRow> sglang_rule_rows() {
  std::vector<RuleRow> out = rule_rows(kRules);
  const std::vector<RuleRow> tensors = sglang_tensor_rule_rows();
  out.insert(out.end(), tensors.begin(), tensors.end());
  const std::vector<RuleRow> kernels = kernel_rule_rows(sglang_kernel_rows());
  out.insert(out.end(), kernels.begin(), kernels.end());
  return out;
}

}  // namespace kvplan
