// Sources: vLLM, lora/layers/*.py (create_lora_weights), lora/model_manager.py, config/lora.py; SGLang,
// srt/lora/mem_pool.py and server_args.py; PEFT casts adapters to float32 where they are loaded.
#include "plan/lora_slots.h"

#include <algorithm>
#include <array>

#include "engines/parallel.h"
#include "kvplan/error.h"
#include "kvplan/words.h"
#include "weights/lora.h"

namespace kvplan {

namespace {

constexpr std::array<std::uint64_t, 9> kVllmRanks{1, 8, 16, 32, 64, 128, 256, 320, 512};
// Classes with embedding_modules in vLLM's model_executor/models: the embedding and the head are wrapped, too. Phi-3
// and Mistral are Llama's class there. Qwen, Gemma and most others have none.
constexpr std::string_view kVllmEmbeds =
    "llama mistral phi3 phimoe granite granitemoe granitemoehybrid exaone exaone4 nemotron solar minicpm falcon_h1 "
    "jamba "
    "bamba mixtral";
constexpr std::uint64_t kVllmNoExtraVocab = 12;  // releases before kept 256 more words; experts are wrapped since
constexpr std::uint64_t kVllmExtraVocab = 256;
constexpr std::uint64_t kVllmMostVocab = 258048;
constexpr std::uint64_t kDefaultRank = 16;

std::string number(std::uint64_t n) {
  return std::to_string(n);
}

std::uint64_t largest_rank(const ModelSpec& model) {
  std::uint64_t out = 0;
  for (const AdapterFile& adapter : model.adapters) out = std::max(out, adapter.rank);
  return out;
}

// vLLM and SGLang wrap their fused layers: an adapter of q_proj alone takes slots for k and v, too.
std::vector<std::string> fused_targets(const std::vector<std::string>& targets) {
  std::vector<std::string> out;
  for (const std::string& target : targets) {
    std::string word = target;
    if (has_word("q_proj k_proj v_proj attn_q attn_k attn_v", target)) word = "qkv_proj";
    if (has_word("gate_proj up_proj ffn_gate ffn_up", target)) word = "gate_up_proj";
    if (has_word("q_a_proj kv_a_proj_with_mqa", target)) word = "fused_qkv_a_proj_with_mqa";
    if (std::find(out.begin(), out.end(), word) == out.end()) out.push_back(word);
  }
  return out;
}

struct Slots {
  LoraRequest request;
  std::string source;
};

Slots vllm_slots(const ModelSpec& model, const Request& request, std::vector<Note>& notes) {
  const ExtrasRequest& extras = request.extras;
  Slots out;
  out.source = "vLLM lora/layers/*.py create_lora_weights";
  LoraRequest& lora = out.request;
  const std::uint64_t needed = largest_rank(model);
  lora.slots = extras.max_loras.value_or(1);
  lora.rank = extras.max_lora_rank.value_or(kDefaultRank);
  if (needed > lora.rank) {
    const auto wide = std::find_if(kVllmRanks.begin(), kVllmRanks.end(), [&](std::uint64_t r) { return r >= needed; });
    if (extras.max_lora_rank || wide == kVllmRanks.end())
      fail("the adapter's rank " + number(needed) + " is more than --max-lora-rank " + number(lora.rank),
           wide == kVllmRanks.end() ? "vLLM's largest is 512" : "use --max-lora-rank " + number(*wide));
    lora.rank = *wide;
    notes.push_back({NoteLevel::kInfo, "max_lora_rank",
                     "planned with --max-lora-rank " + number(lora.rank) + ", for the adapter's rank of " +
                         number(needed) + "; vLLM's default is 16"});
  }
  if (std::find(kVllmRanks.begin(), kVllmRanks.end(), lora.rank) == kVllmRanks.end())
    fail("--max-lora-rank " + number(lora.rank) + ": vLLM knows 1, 8, 16, 32, 64, 128, 256, 320 and 512",
         "use the next of them");
  const bool newer = engine_version(engine_of(request), request) >= kVllmNoExtraVocab;
  lora.with_experts = newer && !request.expert_parallel;
  lora.with_embedding = lora.with_head = has_word(kVllmEmbeds, model.model_type);
  lora.extra_vocab = newer ? 0 : kVllmExtraVocab;
  lora.vocab_padding = newer ? 1 : kVllmExtraVocab;
  if (lora.with_head && extras.lora_targets.empty() && model.vocab_size > kVllmMostVocab)
    fail("vLLM takes LoRA adapters for vocabularies of up to " + number(kVllmMostVocab) + " words, and this one has " +
             number(model.vocab_size),
         "choose another engine");
  return out;
}

Slots sglang_slots_of(const ModelSpec& model, const Request& request) {
  constexpr std::uint64_t kSlots = 8;
  const ExtrasRequest& extras = request.extras;
  Slots out;
  out.source = "SGLang srt/lora/mem_pool.py";
  LoraRequest& lora = out.request;
  lora.slots = extras.max_loras.value_or(kSlots);
  const std::uint64_t needed = largest_rank(model);
  lora.rank = extras.max_lora_rank.value_or(needed);
  if (lora.rank == 0)
    fail("SGLang takes the rank of its LoRA slots from the adapters, and none is named",
         "use --max-lora-rank N, or --lora FILE");
  if (needed > lora.rank)
    fail("the adapter's rank " + number(needed) + " is more than --max-lora-rank " + number(lora.rank),
         "use --max-lora-rank " + number(needed));
  if (extras.lora_targets.empty())
    for (const AdapterFile& adapter : model.adapters)
      lora.targets.insert(lora.targets.end(), adapter.targets.begin(), adapter.targets.end());
  lora.head_is_cut = true;
  return out;
}

// TensorRT-LLM's LoraConfig; and the logical engine, where slots are asked for.
Slots plain_slots(const ModelSpec& model, const Request& request, std::uint64_t slots, std::uint64_t rank) {
  Slots out;
  out.source =
      request.engine == "logical" ? "pairs for every linear layer" : "estimate: TensorRT-LLM llmapi LoraConfig";
  out.request.slots = request.extras.max_loras.value_or(slots);
  out.request.rank = std::max(request.extras.max_lora_rank.value_or(rank), largest_rank(model));
  return out;
}

void add_slots(const ModelSpec& model, const EngineInput& input, Slots slots, ExtraLines& out,
               std::vector<Note>& notes) {
  const Request& request = input.request;
  const Engine& engine = engine_of(request);
  if (model.tensors.empty()) {
    notes.push_back(
        {NoteLevel::kWarning, "unknown_lora", "the config does not name its modules: LoRA slots are not planned"});
    return;
  }
  LoraRequest& lora = slots.request;
  if (lora.slots == 0 || lora.rank == 0)
    fail("--max-loras and --max-lora-rank are 1 or more", "name a positive number");
  if (!request.extras.lora_targets.empty()) lora.targets = request.extras.lora_targets;
  if (engine.name == "vllm" || engine.name == "sglang") lora.targets = fused_targets(lora.targets);
  lora.fully_sharded = request.extras.fully_sharded_loras;
  if (lora.fully_sharded && lora.rank % request.tensor_parallel != 0)
    fail("--fully-sharded-loras: " + number(request.tensor_parallel) + " ranks do not divide the LoRA rank " +
             number(lora.rank),
         "use a --max-lora-rank that they divide");
  lora.share.tensor_parallel = request.tensor_parallel;
  lora.share.attention_parallel = tensor_cuts(request).attention;
  if (request.expert_parallel) lora.share.expert_parallel = request.tensor_parallel;
  const std::uint64_t layers = model.layers.size();
  const std::uint64_t stages = request.pipeline_parallel;
  std::vector<StageShare> shares{{0, layers, true, true}};
  if (stages > 1)
    shares = engine.stages != nullptr ? engine.stages(layers, request)
                                      : stage_shares(layers, stages, StageSplit::kSpareLast);
  std::uint64_t matched = 0;
  for (std::size_t stage = 0; stage < shares.size() && stage < out.stages.size(); ++stage) {
    lora.share.first_layer = shares[stage].first_layer;
    lora.share.layers = stages > 1 ? std::optional(shares[stage].layers) : std::nullopt;
    lora.share.first_stage = shares[stage].has_embedding;
    lora.share.last_stage = shares[stage].has_head;
    const LoraReport report = weigh_lora(model, lora);
    matched += report.modules;
    const std::string formula = number(lora.slots) + (lora.slots == 1 ? " slot" : " slots") + " of rank " +
                                number(lora.rank) + " for " + number(report.modules) + " modules: rank x (inputs + " +
                                "outputs) each, " + number(report.elements.count()) + " elements";
    LedgerLine line = exact_line(Section::kWeights, "LoRA slots", report.bytes, formula, slots.source);
    if (engine.name == "tensorrt-llm") {
      line.low = Bytes(report.bytes.count() / 2);
      line.high = report.bytes * 2;
    }
    if (report.bytes > Bytes(0)) out.stages[stage].push_back(std::move(line));
  }
  if (matched == 0)
    fail(request.extras.lora_targets.empty() ? "--lora: the model has none of the adapter's modules"
                                             : "--lora-targets: the model has no such module",
         request.extras.lora_targets.empty() ? "give an adapter of this model"
                                             : "name modules of it, for example q_proj,v_proj");
  // Adapters wait whole in host memory.
  LoraRequest whole = lora;
  whole.share = {};
  whole.slots = 1;
  whole.fully_sharded = whole.head_is_cut = false;
  const Bytes each = weigh_lora(model, whole).bytes;
  const std::uint64_t waiting = std::max<std::uint64_t>(request.extras.max_cpu_loras.value_or(lora.slots), 1);
  if (waiting < lora.slots)
    fail("--max-cpu-loras " + number(waiting) + " is less than --max-loras " + number(lora.slots),
         "raise it; every adapter on the GPU has its copy in host memory");
  out.host.push_back(
      {Section::kWeights, "LoRA adapters", each * waiting, Bytes(0), each * waiting,
       number(waiting) + " adapters of rank " + number(lora.rank) + " at most, " + number(each.count()) + " B each",
       slots.source});
}

void add_files(const ModelSpec& model, LoraHolding holding, ExtraLines& out) {
  for (const AdapterFile& adapter : model.adapters) {
    const bool wide = holding == LoraHolding::kFloat32Files;
    const Bytes bytes = wide && adapter.elements > Elements(0) ? Bytes(adapter.elements.count()) * 4 : adapter.bytes;
    // Dealt to the stages as the layers are.
    const std::uint64_t stages = out.stages.size();
    for (std::vector<LedgerLine>& stage : out.stages)
      stage.push_back(exact_line(Section::kWeights, "LoRA adapter", Bytes(ceil_div(bytes.count(), stages)),
                                 number(adapter.tensors) + " tensors, " + number(adapter.elements.count()) +
                                     " elements" + (wide ? " in float32" : " as stored") +
                                     (stages > 1 ? ", over " + number(stages) + " stages" : ""),
                                 adapter.source));
  }
}

// vLLM and llama.cpp refuse an adapter with one module too many, PEFT one without any that fits.
void note_strangers(const ModelSpec& model, std::vector<Note>& notes) {
  if (model.tensors.empty()) return;
  for (const AdapterFile& adapter : model.adapters) {
    std::string strangers;
    for (const std::string& target : adapter.targets) {
      const std::vector<std::string> one{target};
      const bool found = std::any_of(model.tensors.begin(), model.tensors.end(),
                                     [&](const TensorGroup& group) { return lora_targets(one, group.module); });
      if (!found) strangers += (strangers.empty() ? "" : ", ") + target;
    }
    if (!strangers.empty())
      notes.push_back({NoteLevel::kWarning, "lora_modules",
                       "the adapter names modules that the model's config does not imply: " + one_line(strangers, 80)});
  }
}

}  // namespace

void add_lora(const ModelSpec& model, const EngineInput& input, ExtraLines& out, std::vector<Note>& notes) {
  const Request& request = input.request;
  const Engine& engine = engine_of(request);
  const bool wanted = request.extras.wants_lora();
  if (!wanted && model.adapters.empty()) return;
  note_strangers(model, notes);
  const bool files = engine.lora == LoraHolding::kFiles || engine.lora == LoraHolding::kFloat32Files ||
                     (engine.name == "logical" && !wanted);
  if (files) return add_files(model, engine.lora, out);
  if (engine.lora != LoraHolding::kSlots) return;
  if (engine.name == "vllm") return add_slots(model, input, vllm_slots(model, request, notes), out, notes);
  if (engine.name == "sglang") return add_slots(model, input, sglang_slots_of(model, request), out, notes);
  const bool logical = engine.name == "logical";
  add_slots(model, input, plain_slots(model, request, logical ? 1 : 4, logical ? kDefaultRank : 64), out, notes);
}

}  // namespace kvplan
