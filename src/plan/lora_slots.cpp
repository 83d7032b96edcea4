// PEFT casts adapters to float32 when it loads them; the modules that get slots are in engines/lora_slots.cpp.
#include "plan/lora_slots.h"

#include <algorithm>

#include "engines/lora_slots.h"
#include "kvplan/error.h"
#include "kvplan/strings.h"
#include "plan/rank_weights.h"
#include "weights/lora.h"

namespace kvplan {

namespace {

std::uint64_t largest_rank(const std::vector<AdapterFile>& adapters) {
  std::uint64_t out = 0;
  for (const AdapterFile& adapter : adapters) out = std::max(out, adapter.rank);
  return out;
}

// vLLM and SGLang wrap their fused layers: an adapter of q_proj also takes slots for k and v.
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

LoraQuestion question_of(const ModelSpec& model, const std::vector<AdapterFile>& adapters) {
  LoraQuestion out{model.known_as->id, model.vocab_size, largest_rank(adapters), {}};
  for (const AdapterFile& adapter : adapters)
    out.targets.insert(out.targets.end(), adapter.targets.begin(), adapter.targets.end());
  return out;
}

LoraRequest request_of(const LoraSlots& slots, const std::vector<std::string>& asked) {
  LoraRequest out;
  out.slots = slots.slots;
  out.rank = slots.rank;
  out.targets = asked.empty() ? slots.targets : asked;
  if (slots.fuses) out.targets = fused_targets(out.targets);
  out.with_experts = slots.with_experts;
  out.with_embedding = slots.with_embedding;
  out.with_head = slots.with_head;
  out.extra_vocab = slots.extra_vocab;
  out.vocab_padding = slots.vocab_padding;
  out.head_is_cut = slots.head_is_cut;
  return out;
}

void add_slots(const ModelSpec& model, const EngineInput& input, const LoraSlots& slots, ExtraLines& out,
               std::vector<Note>& notes) {
  const Request& request = input.request;
  if (model.tensors.empty()) {
    warn(notes, "unknown_lora", "the config does not name its modules: LoRA slots are not planned");
    return;
  }
  LoraRequest lora = request_of(slots, request.extras.lora_targets);
  if (lora.slots == 0 || lora.rank == 0)
    refuse("--max-loras and --max-lora-rank must be at least 1", "give a positive number");
  constexpr std::uint64_t kMost = 1 << 16;
  if (lora.slots > kMost || lora.rank > kMost)
    refuse("--max-loras and --max-lora-rank must be at most 65536", "give a smaller number");
  lora.fully_sharded = request.extras.fully_sharded_loras;
  if (lora.fully_sharded && lora.rank % request.parallel.tensor != 0)
    refuse("--fully-sharded-loras: " + std::to_string(request.parallel.tensor) + " ranks do not divide the LoRA rank " +
               std::to_string(lora.rank),
           "use a --max-lora-rank that they divide");
  lora.share.tensor_parallel = request.parallel.tensor;
  lora.share.attention_parallel = tensor_cuts(request).attention;
  if (request.parallel.expert) lora.share.expert_parallel = request.parallel.tensor;
  const std::string source(slots.source);
  const std::vector<StageShare> shares = layer_stages(model.layers.size(), request);
  std::uint64_t matched = 0;
  for (std::size_t stage = 0; stage < shares.size() && stage < out.stages.size(); ++stage) {
    set_stage(shares[stage], lora.share);
    if (shares.size() == 1) lora.share.layers.reset();
    const LoraReport report = weigh_lora(model, lora);
    matched += report.modules;
    const Template formula{
        "{slots:slot} of rank {rank} for {modules} modules: rank x (inputs + outputs) each, {elements} elements",
        {{"slots", lora.slots}, {"rank", lora.rank}, {"modules", report.modules}, {"elements", report.elements}}};
    LedgerLine line =
        of_kind(LineId::kLora, exact_line(Section::kWeights, "LoRA slots", report.bytes, formula, source));
    if (slots.low != slots.high) {
      line.low = Bytes(checked_scale(report.bytes.count(), slots.low, "LoRA slots"));
      line.high = Bytes(checked_scale(report.bytes.count(), slots.high, "LoRA slots"));
    }
    if (report.bytes > Bytes(0)) out.stages[stage].push_back(std::move(line));
  }
  if (matched == 0)
    refuse(request.extras.lora_targets.empty() ? "--lora: the model has none of the adapter's modules"
                                               : "--lora-targets: the model has no such module",
           request.extras.lora_targets.empty() ? "give an adapter of this model"
                                               : "name modules of it, for example q_proj,v_proj");
  // Host memory has the whole adapters.
  LoraRequest whole = lora;
  whole.share = {};
  whole.slots = 1;
  whole.fully_sharded = whole.head_is_cut = false;
  const Bytes each = weigh_lora(model, whole).bytes;
  const std::uint64_t waiting = std::max<std::uint64_t>(request.extras.max_cpu_loras.value_or(lora.slots), 1);
  if (waiting < lora.slots)
    refuse("--max-cpu-loras " + std::to_string(waiting) + " is less than --max-loras " + std::to_string(lora.slots),
           "raise it; every adapter on the GPU has its copy in host memory");
  out.host.push_back({Section::kWeights,
                      "LoRA adapters",
                      each * waiting,
                      Bytes(0),
                      each * waiting,
                      {"{adapters} adapters of rank {rank} at most, {each} B each",
                       {{"adapters", waiting}, {"rank", lora.rank}, {"each", each}}},
                      source,
                      LineId::kLora});
}

void add_files(const std::vector<AdapterFile>& adapters, LoraStorage storage, ExtraLines& out) {
  for (const AdapterFile& adapter : adapters) {
    const bool wide = storage == LoraStorage::kFloat32Files;
    const Bytes bytes = wide && adapter.elements > Elements(0) ? Bytes(adapter.elements.count()) * 4 : adapter.bytes;
    // Distributed over the stages as the layers are.
    const std::uint64_t stages = out.stages.size();
    for (std::vector<LedgerLine>& stage : out.stages)
      stage.push_back(
          of_kind(LineId::kLora,
                  exact_line(Section::kWeights, "LoRA adapter", Bytes(ceil_div(bytes.count(), stages)),
                             Template(wide ? "{tensors} tensors, {elements} elements in float32"
                                           : "{tensors} tensors, {elements} elements as stored",
                                      {{"tensors", adapter.tensors}, {"elements", adapter.elements}}) +
                                 (stages > 1 ? Template(", over {stages} stages", {{"stages", stages}}) : Template()),
                             adapter.source)));
  }
}

// vLLM and llama.cpp refuse an adapter with an unknown module, PEFT one in which no module fits.
void note_strangers(const ModelSpec& model, const std::vector<AdapterFile>& adapters, std::vector<Note>& notes) {
  if (model.tensors.empty()) return;
  for (const AdapterFile& adapter : adapters) {
    std::string strangers;
    for (const std::string& target : adapter.targets) {
      const std::vector<std::string> one{target};
      const bool found = std::any_of(model.tensors.begin(), model.tensors.end(),
                                     [&](const TensorGroup& group) { return lora_targets(one, group.module); });
      if (!found) strangers += (strangers.empty() ? "" : ", ") + target;
    }
    if (!strangers.empty())
      warn(notes, "lora_modules",
           {"the adapter names modules that the model's config does not imply: {modules}",
            {{"modules", one_line(strangers, 80)}}});
  }
}

}  // namespace

void add_lora(const ModelSpec& model, const EngineInput& input, ExtraLines& out, std::vector<Note>& notes) {
  const Request& request = input.request;
  const Engine& engine = engine_of(request);
  const bool wanted = request.extras.wants_lora();
  const std::vector<AdapterFile>& adapters = request.extras.adapters;
  if (!wanted && adapters.empty()) return;
  note_strangers(model, adapters, notes);
  const bool files = engine.extras.lora == LoraStorage::kFiles || engine.extras.lora == LoraStorage::kFloat32Files ||
                     (engine.extras.lora == LoraStorage::kSlotsOrFiles && !wanted);
  if (files) return add_files(adapters, engine.extras.lora, out);
  if (engine.extras.lora_slots == nullptr) return;
  add_slots(model, input, engine.extras.lora_slots(question_of(model, adapters), request, notes), out, notes);
}

}  // namespace kvplan
