#include "engines/llama_cpp/rules.h"

#include "kvplan/strings.h"

namespace kvplan {

namespace {

using L = LlamaRules;

// A build from before the first version, b6980.
constexpr Release build(std::uint64_t number) {
  return {0, 0, number};
}
constexpr Release k05{0, 5, 0}, k06{0, 6, 0};

// The first build of each version. Earlier builds have only a number.
struct Tag {
  std::uint64_t build;
  Release release;
};
constexpr Tag kTags[] = {{11434, k06}, {11000, k05}};  // v0.5.0 is about b11000

constexpr Rule<L> since(Release release, bool L::*sets, std::string_view what, std::string_view evidence,
                        RuleBasis basis = RuleBasis::kRead) {
  return {sets, 1, release, kNoEnd, what, evidence, basis};
}
// A change between two builds whose source was read, probably at `about`.
constexpr Rule<L> between(std::uint64_t after, std::uint64_t by, std::uint64_t about, bool L::*sets,
                          std::string_view what, std::string_view evidence) {
  return {sets, 1, build(about), kNoEnd, what, evidence, RuleBasis::kRead, {build(after), build(by)}};
}

constexpr Rule<L> kRules[] = {
    between(5130, 5640, 5131, &L::caches_latents,
            "MLA's latent is cached; before, the keys and values that it expands to.", "a log of b5130 (April 2025)"),
    between(6122, 6673, 6325, &L::chooses_flash_attention,
            "-fa is auto: flash attention if the backend has a kernel; before, off by default.",
            "ggml-org/llama.cpp#15434"),
    between(6673, 7698, 7690, &L::vulkan_pipelines, "Several GPUs run as a pipeline with Vulkan too.",
            "ggml-vulkan.cpp: device props, events"),
    between(7698, 8179, 7790, &L::metal_latents, "Metal has flash attention for MLA's latents.",
            "ggml-org/llama.cpp#18950"),
    between(8179, 8352, 8240, &L::sycl_flash_attention, "SYCL has flash attention.", "ggml-org/llama.cpp#20190"),
    between(8352, 11003, 8500, &L::metal_wide_heads, "Metal has flash attention for heads of 320 and 512.",
            "ggml-org/llama.cpp#20549, #20902"),
    between(8352, 11003, 8720, &L::sycl_wide_heads, "SYCL has flash attention for heads of 512.",
            "ggml-org/llama.cpp#21654"),
    between(6122, 6673, 6560, &L::chunks_buffers,
            "A compute buffer above the limit of a backend is allocated in pieces, each tensor in one.",
            "ggml-alloc.c: vbuffer"),
    between(6673, 7698, 6700, &L::saves_prompts,
            "llama-server keeps states of prompts in host memory: --cache-ram, 8192 MiB.", "ggml-org/llama.cpp#16391"),
    between(6673, 7698, 6940, &L::encoder_flash_attention, "Image encoders use flash attention as -fa says.",
            "ggml-org/llama.cpp#16837"),
    between(6673, 7698, 6980, &L::fixed_padding, "Cells are padded to 256; before, to 32 where flash attention is off.",
            "start-up logs (November 2025)"),
    between(6673, 7698, 7410, &L::fits, "A model larger than the GPUs is placed by --fit: context, layers, experts.",
            "ggml-org/llama.cpp#16653"),
    between(7698, 8179, 7820, &L::selects_inputs,
            "A graph takes tokens or embeddings, and has the inputs of both; before, those of the batch.",
            "ggml-org/llama.cpp#18898; build_inp_embd: ggml_build_forward_select"),
    between(7698, 8179, 7700, &L::divides_hybrid_cells,
            "Sequences of a model with states divide the cells of --ctx-size; before, each has all of them.",
            "llama-model.cpp attn_kv_size: n_ctx in b7698, n_ctx_seq in b8179"),
    between(7698, 8179, 7830, &L::caches_latents_once, "MLA's latent is cached only as K; before, as V too.",
            "ggml-org/llama.cpp#19067"),
    between(9093, 9518, 9360, &L::half_masks,
            "With flash attention the mask is an input in 16 bit; before, in 32 bit, with a 16 bit copy beside it.",
            "ggml-org/llama.cpp#23764 (27 May 2026)"),
    between(9445, 9518, 9450, &L::limits_outputs,
            "A graph has one row of logits for each slot; before, for each token of a batch.",
            "ggml-org/llama.cpp#23861 (June 2026)"),
    since(k05, &L::one_latent_type, "The caches of K and V of a model with latents have one type.",
          "v0.5.0 says \"model does not support different K and V cache types\"; b9445 starts", RuleBasis::kExecuted),
    {&L::chooses_late,
     1,
     k05,
     kNoEnd,
     "Some architectures select the rows of logits after the last layer.",
     "inp_out_ids in src/models",
     RuleBasis::kRead,
     {build(8352), k05}},
    between(6122, 6673, 6190, &L::keeps_checkpoints,
            "llama-server keeps copies of a slot's states and windows in host memory: at most 8.",
            "ggml-org/llama.cpp#15293"),
    between(8179, 8352, 8200, &L::spaces_checkpoints, "At most 32 such copies, usually 8192 tokens apart.",
            "common/common.h: 32 in b8352, 8 in b8179"),
    between(8352, 9093, 8600, &L::splits_tensors, "--split-mode tensor divides every tensor and the cache.",
            "llama-model.cpp llama_meta_device_get_split_state"),
    {&L::splits_rows,
     1,
     Release{},
     build(9890),
     "--split-mode row divides matrices by rows with CUDA; later only with SYCL.",
     "ggml-org/llama.cpp#24216, #25884",
     RuleBasis::kRead,
     {build(8352), build(11003)}},
    between(9093, 9518, 9518, &L::fits_extras, "--fit counts image encoders, drafts and MTP contexts.",
            "tools/server/server-context.cpp"),
    between(9093, 9518, 9518, &L::whole_draft,
            "A draft's context has the model's length and number of sequences; before, one sequence of one slot.",
            "common/speculative.cpp"),
    between(8352, 9093, 9093, &L::speculative_names,
            "Options of drafts have their own names, and the old ones are refused.", "common/arg.cpp"),
    since(k06, &L::pooled_keys, "An index row has its own key and that of its pool.", "llama-kv-cache.cpp of b11739",
          RuleBasis::kExecuted),
    since(k06, &L::mixes_batches, "A batch may mix tokens and embeddings, whose rows the graph then has twice.",
          "llm_arch_supports_mixed_batch", RuleBasis::kExecuted),
    since(k06, &L::gathers_states, "The states of all sequences are gathered at once.", "llama-graph.cpp build_rs",
          RuleBasis::kExecuted),
    since(k06, &L::copies_unused_inputs, "A pipeline of GPUs also copies inputs that no node reads.",
          "ggml-backend.cpp of v0.6.0", RuleBasis::kExecuted),
    since(k06, &L::looks_up_layers_first,
          "Gemma 4 looks up the layers' own embeddings first, and scales them where it adds them.",
          "src/models/gemma4.cpp of v0.6.0", RuleBasis::kExecuted),
};

Release release_of_build(std::uint64_t number) {
  for (const Tag& tag : kTags)
    if (number >= tag.build) return tag.release;
  return build(number);
}

}  // namespace

Release llama_release(std::string_view text) {
  const bool is_build = text.size() > 1 && text.front() == 'b';
  return is_build ? release_of_build(whole_number(text.substr(1)).value_or(0)) : parse_release(text);
}

Release llama_release(const Request& request) {
  if (request.engine_version.starts_with('b')) return llama_release(request.engine_version);
  return release_of(*engine_named("llama.cpp"), request);
}

LlamaRules llama_rules(const Request& request) {
  return resolve_rules(kRules, llama_release(request), request.turned_rule);
}

std::vector<RuleRow> llama_rule_rows() {
  return rule_rows(kRules);
}

}  // namespace kvplan
