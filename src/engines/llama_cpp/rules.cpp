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

constexpr Rule<L> kRules[] = {
    since(build(5131), &L::caches_latents, "MLA's latent is cached; before, the keys and values that it expands to.",
          "a log of b5130 (April 2025)"),
    since(build(6325), &L::chooses_flash_attention,
          "-fa is auto: flash attention if the backend has a kernel; before, off by default.",
          "ggml-org/llama.cpp#15434; about that build: b6673 has it, b6122 does not"),
    since(build(7690), &L::vulkan_pipelines, "Several GPUs run as a pipeline with Vulkan too.",
          "ggml-vulkan.cpp of b7698: device props, events; not in b6673"),
    since(build(7790), &L::metal_latents, "Metal has flash attention for MLA's latents.",
          "ggml-org/llama.cpp#18950; about that build: b8179 has it, b6673 does not"),
    since(build(8240), &L::sycl_flash_attention, "SYCL has flash attention.",
          "ggml-org/llama.cpp#20190; about that build: b8352 has it, b8179 does not"),
    since(build(8500), &L::metal_wide_heads, "Metal has flash attention for heads of 320 and 512.",
          "ggml-org/llama.cpp#20549, #20902; about that build: v0.4.0 has both, b8179 none"),
    since(build(8720), &L::sycl_wide_heads, "SYCL has flash attention for heads of 512.",
          "ggml-org/llama.cpp#21654; about that build"),
    since(build(6560), &L::chunks_buffers,
          "A compute buffer above the limit of a backend is allocated in pieces, each tensor in one.",
          "ggml-alloc.c: vbuffer; around that build: b6673 has it, b6122 does not"),
    since(build(6700), &L::saves_prompts, "llama-server keeps states of prompts in host memory: --cache-ram, 8192 MiB.",
          "ggml-org/llama.cpp#16391; around that build"),
    since(build(6940), &L::encoder_flash_attention, "Image encoders use flash attention as -fa says.",
          "ggml-org/llama.cpp#16837; around that build: b7698 has it, b6673 does not"),
    since(build(6980), &L::fixed_padding, "Cells are padded to 256; before, to 32 where flash attention is off.",
          "start-up logs (November 2025)"),
    since(build(7410), &L::fits, "A model larger than the GPUs is placed by --fit: context, layers, experts.",
          "ggml-org/llama.cpp#16653; around that build"),
    since(build(7690), &L::selects_inputs,
          "A graph takes tokens or embeddings, and has the inputs of both; before, those of the batch.",
          "llama-graph.cpp build_inp_embd: ggml_build_forward_select; b7698 has it, b6673 does not"),
    since(build(7830), &L::caches_latents_once, "MLA's latent is cached only as K; before, as V too.",
          "ggml-org/llama.cpp#19067; around that build"),
    since(build(9360), &L::half_masks,
          "With flash attention the mask is an input in 16 bit; before, in 32 bit, with a 16 bit copy beside it.",
          "ggml-org/llama.cpp#23764 (27 May 2026); around that build: b9093 casts, b9518 does not"),
    since(build(9400), &L::limits_outputs,
          "A graph has one row of logits for each slot; before, for each token of a batch.",
          "ggml-org/llama.cpp#23861 (30 May 2026); around that build"),
    since(k05, &L::chooses_late, "Some architectures select the rows of logits after the last layer.",
          "src/models of v0.5.0"),
    since(build(6190), &L::keeps_checkpoints,
          "llama-server keeps copies of a slot's states and windows in host memory: at most 8.",
          "ggml-org/llama.cpp#15293; about that build: b6673 has 3, b7698 has 8, b6122 none"),
    since(build(8000), &L::spaces_checkpoints, "At most 32 such copies, usually 8192 tokens apart.",
          "common/common.h of b8352 and v0.5.0; about that build"),
    since(build(8600), &L::splits_tensors, "--split-mode tensor divides every tensor and the cache.",
          "llama-model.cpp llama_meta_device_get_split_state; about that build: b9093 has it, b8352 does not"),
    {&L::splits_rows, 1, Release{}, build(9890),
     "--split-mode row divides matrices by rows with CUDA; later only with SYCL.", "ggml-org/llama.cpp#24216, #25884"},
    since(build(9518), &L::fits_extras, "--fit counts image encoders, drafts and MTP contexts.",
          "tools/server/server-context.cpp of b9518, not of b9093"),
    since(build(9518), &L::whole_draft,
          "A draft's context has the model's length and number of sequences; before, one sequence of one slot.",
          "common/speculative.cpp of b9518; not in b9093"),
    since(build(9093), &L::speculative_names, "Options of drafts have their own names, and the old ones are refused.",
          "common/arg.cpp of b9093"),
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

LlamaRules llama_rules(const Request& request) {
  const std::string_view text = request.engine_version;
  const bool is_build = text.size() > 1 && text.front() == 'b';
  return resolve_rules(kRules, is_build ? release_of_build(whole_number(text.substr(1)).value_or(0))
                                        : release_of(*engine_named("llama.cpp"), request));
}

std::vector<RuleRow> llama_rule_rows() {
  std::vector<RuleRow> out = rule_rows(kRules);
  constexpr std::string_view kBuild = "0.0.";
  for (RuleRow& row : out)
    if (row.since.starts_with(kBuild)) row.since = "b" + row.since.substr(kBuild.size());
  return out;
}

}  // namespace kvplan
