#include "plan/steps.h"

#include <algorithm>
#include <vector>

#include "engines/estimates.h"
#include "engines/lora_slots.h"
#include "kvplan/error.h"
#include "kvplan/strings.h"
#include "plan/rank_weights.h"
#include "weights/lora.h"

namespace kvplan {

static std::uint64_t largest_rank(const std::vector<AdapterFile>& adapters) {
  std::uint64_t out = 0;
  for (const AdapterFile& adapter : adapters) out = std::max(out, adapter.rank);
  return out;
}

// vLLM and SGLang adapt fused layers as a whole, so an adapter of q_proj also takes slots for k and v.
static std::vector<std::string> fused_targets(const std::vector<std::string>& targets) {
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

static LoraQuestion question_of(const ModelSpec& model, const std::vector<AdapterFile>& adapters) {
  LoraQuestion out{model.known_as->id, model.vocab_size, largest_rank(adapters), {}};
  for (const AdapterFile& adapter : adapters)
    out.targets.insert(out.targets.end(), adapter.targets.begin(), adapter.targets.end());
  return out;
}

static LoraRequest request_of(const LoraSlots& slots, const std::vector<std::string>& asked) {
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

static void add_slots(const ModelSpec& model, const EngineInput& input, const LoraSlots& slots, ExtraLines& out,
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

static void add_files(const std::vector<AdapterFile>& adapters, LoraStorage storage, ExtraLines& out) {
  for (const AdapterFile& adapter : adapters) {
    const bool wide = storage == LoraStorage::kFloat32Files;
    const Bytes bytes = wide && adapter.elements > Elements(0) ? Bytes(adapter.elements.count()) * 4 : adapter.bytes;
    // The slots are distributed over the stages like the layers.
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

// An adapter may have modules that the model lacks. vLLM and llama.cpp refuse any such module, PEFT refuses if no
// module matches.
static void note_strangers(const ModelSpec& model, const std::vector<AdapterFile>& adapters, std::vector<Note>& notes) {
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

// Adds the slots or adapters to each stage's lines, and the copies in host memory to `host`.
static void add_lora(const ModelSpec& model, const EngineInput& input, ExtraLines& out, std::vector<Note>& notes) {
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

// The names of the engines for which `has` is true, except the logical one.
template <class Has>
static std::string engines_with(const Has& has) {
  std::string out;
  for (const Engine& engine : engines())
    if (!engine.is_logical && has(engine)) out += (out.empty() ? "" : ", ") + std::string(engine.name);
  return out;
}

// All weights of a draft on a rank, as one line.
static LedgerLine one_line_of(const std::vector<LedgerLine>& lines, const ModelSpec& draft, const Template& what) {
  LedgerLine out{Section::kWeights, what, Bytes(0), Bytes(0), Bytes(0), {}, draft.source, LineId::kDraftWeights};
  for (const LedgerLine& line : lines) {
    out.bytes += line.bytes;
    out.low += line.low;
    out.high += line.high;
    if (!out.formula.empty()) out.formula += " + ";
    out.formula += line.what + Template(" {bytes} B", {{"bytes", line.bytes}});
  }
  return out;
}

static std::string draft_name(DraftMethod method) {
  switch (method) {
    case DraftMethod::kEagle: return "EAGLE head";
    case DraftMethod::kEagle3: return "EAGLE-3 head";
    case DraftMethod::kDflash: return "DFlash draft";
    case DraftMethod::kDspark: return "DSpark draft";
    case DraftMethod::kMedusa: return "Medusa heads";
    default: return "draft model";
  }
}

// Notes on pairs of model and draft that engines refuse. kvplan plans them anyway.
static void note_mismatch(const ModelSpec& model, const EngineInput& input, std::vector<Note>& notes) {
  constexpr std::uint64_t kVocabSlack = 128;  // as llama.cpp allows; vLLM and SGLang allow none
  const ModelSpec& draft = *input.request.extras.draft;
  const DraftHead head = draft.draft_head.value_or(DraftHead{});
  const auto apart = [](std::uint64_t a, std::uint64_t b) { return a > b ? a - b : b - a; };
  if (*input.draft_method == DraftMethod::kModel && model.vocab_size > 0 && draft.vocab_size > 0 &&
      apart(model.vocab_size, draft.vocab_size) > kVocabSlack)
    warn(notes, "draft_vocabulary",
         {"the draft has a vocabulary of {draft} and the model of {model}: engines refuse this pair",
          {{"draft", draft.vocab_size}, {"model", model.vocab_size}}});
  if (!draft.draft_head) return;
  const std::uint64_t width = head.target_hidden_size > 0 ? head.target_hidden_size : draft.hidden_size;
  if (model.hidden_size > 0 && width > 0 && width != model.hidden_size)
    warn(notes, "draft_width",
         {"the head reads hidden states of {head} and the model has {model}: it belongs to another model",
          {{"head", width}, {"model", model.hidden_size}}});
  // A draft head may have a smaller vocabulary, but it uses the model's token ids.
  const std::uint64_t words = head.target_vocab_size > 0 ? head.target_vocab_size : draft.vocab_size;
  if (model.vocab_size > 0 && words > 0 && words != model.vocab_size)
    warn(notes, "draft_vocabulary",
         {"the head is for a vocabulary of {head} words and the model has {model}: it belongs to another model",
          {{"head", words}, {"model", model.vocab_size}}});
}

static void add_draft(const ModelSpec& model, const EngineInput& input, ExtraLines& out, std::vector<Note>& notes) {
  const std::shared_ptr<const ModelSpec>& draft = input.request.extras.draft;
  if (draft == nullptr || !input.draft_method) return;
  note_mismatch(model, input, notes);
  const Request request = draft_request(input.request);
  std::vector<Note> own;
  const RankWeights weights = rank_weights(as_made(*draft, request), request, own);
  for (Note& note : own)
    if (note.level == NoteLevel::kWarning)
      notes.push_back({note.level, note.code, Template("the draft: ") + note.message});
  if (!weights.is_known) {
    warn(notes, "unknown_weights", "the draft's config does not size its weights");
    return;
  }
  const Template what("{draft}: weights", {{"draft", draft_name(*input.draft_method)}});
  // Either every rank has a part, as of the model, or the last stage has all of it.
  const std::size_t first = out.stages.size() - std::min(out.stages.size(), weights.lines.size());
  for (std::size_t i = 0; i < weights.lines.size() && first + i < out.stages.size(); ++i)
    if (!weights.lines[i].empty()) out.stages[first + i].push_back(one_line_of(weights.lines[i], *draft, what));
}

// llama.cpp warms up its image encoder with one image: of the fixed size, or 1472 x 1472 if any size is allowed.
static void add_projector(const Request& request, ExtraLines& out) {
  const std::optional<ProjectorFile>& file = request.extras.projector;
  if (!file || out.stages.empty()) return;
  std::vector<LedgerLine>& lines = request.extras.projector_on_host ? out.host : out.stages.front();
  lines.push_back(of_kind(LineId::kImageProjector,
                          exact_line(Section::kWeights, "image projector (mmproj)", file->bytes,
                                     {"{tensors} tensors as stored", {{"tensors", file->tensors}}}, file->source)));
  const auto buffer = engine_of(request).extras.image_buffer;
  if (auto line = buffer != nullptr ? buffer(request, *file) : std::nullopt) lines.push_back(std::move(*line));
}

// ollama's own models come with their image encoders in 16 bit. What those compute is in the range: logs show 1.3
// and 2.3 times the weights (ollama#17482, atineiatte/deep-research-at-home#14).
static void add_own_projector(const ModelSpec& model, const Request& request, ExtraLines& out) {
  if (!engine_of(request).extras.brings_projector || request.extras.projector || model.is_gguf || out.stages.empty())
    return;
  Elements elements;
  for (const TensorGroup& group : model.tensors)
    if (is_tower(group.component)) elements += group.stored();
  for (const UnknownTensors& part : model.unknown_tensors)
    if (is_tower(part.component)) elements += part.estimate;
  if (elements == Elements(0)) return;
  const Bytes bytes(checked_mul(elements.count(), 2, "the image encoder"));
  out.stages.front().push_back(
      of_kind(LineId::kImageProjector,
              estimate_line(Section::kWeights, "image encoder", bytes, {1, 2.3},
                            {"{elements} elements * 2 B", {{"elements", elements.count()}}}, "ollama's models")));
}

std::optional<DraftMethod> draft_method_of(const Request& request) {
  const std::optional<DraftMethod>& asked = request.extras.draft_method;
  if (const auto& draft = request.extras.draft; draft != nullptr)
    return draft->draft_head ? draft->draft_head->method : asked.value_or(DraftMethod::kModel);
  if (request.mtp && asked != DraftMethod::kDspark) return DraftMethod::kMtp;
  return asked;
}

Request draft_request(const Request& request) {
  Request out = request;
  if (!engine_of(request).parallel.deals_draft) out.parallel.pipeline = 1;
  out.parallel.layers.clear();
  out.weights = request.extras.draft_weights;
  out.mtp = false;
  out.num_speculative_tokens = 0;
  out.llama_cpp.gpu_layers.reset();
  if (engine_of(request).parallel.deals_draft) {
    out.cache_type_k = request.extras.draft_cache_type_k;
    out.cache_type_v = request.extras.draft_cache_type_v;
  }
  out.extras = {};
  return out;
}

void check_extras(const ModelSpec& model, const Request& request) {
  const Engine& engine = engine_of(request);
  const std::string engine_name(engine.name);
  const ExtrasRequest& extras = request.extras;
  if (const auto method = draft_method_of(request)) {
    const std::string word(name(*method));
    if (!has_word(engine.extras.draft_methods, word) && !(request.mtp && model.num_nextn_layers == 0))
      refuse("--speculative-method: " + engine_name + " has no speculative decoding of the kind " + word,
             "it belongs to " + engines_with([&](const Engine& e) { return has_word(e.extras.draft_methods, word); }));
    if (request.mtp && extras.draft != nullptr)
      refuse("--draft names a model, and --mtp uses the model's own MTP layers", "use one or the other");
    const bool needs_draft = !request.mtp && *method != DraftMethod::kNgram;
    if (needs_draft && extras.draft == nullptr)
      refuse("--speculative-method " + word + " needs separate weights", "name them with --draft MODEL");
    if (!needs_draft && extras.draft != nullptr)
      refuse("--draft names a model, and " + word + " needs none", "use one or the other");
  }
  if (extras.num_beams > 1 && !engine.extras.has_beams)
    refuse("--num-beams: " + engine_name + " has no beam search",
           "it belongs to " + engines_with([](const Engine& e) { return e.extras.has_beams; }));
  if (extras.projector && engine.extras.image_buffer == nullptr && !engine.is_logical)
    refuse("--mmproj: " + engine_name + " reads no projector file: its checkpoints include the image encoder",
           "leave it out; it belongs to " +
               engines_with([](const Engine& e) { return e.extras.image_buffer != nullptr; }));
  if (!extras.adapters.empty() && engine.extras.lora == LoraStorage::kNone)
    refuse("--lora: " + engine_name + " takes no LoRA adapters",
           "it belongs to " + engines_with([](const Engine& e) { return e.extras.lora != LoraStorage::kNone; }));
}

ExtraLines extra_lines(const ModelSpec& model, const EngineInput& input, std::vector<Note>& notes) {
  ExtraLines out;
  out.stages.resize(input.request.parallel.pipeline);
  add_draft(model, input, out, notes);
  add_lora(model, input, out, notes);
  add_projector(input.request, out);
  add_own_projector(model, input.request, out);
  const ExtrasRequest& extras = input.request.extras;
  if (input.draft_method == DraftMethod::kNgram)
    inform(notes, "ngram", "drafting from the text itself needs no weights and no cache on the GPU");
  if (extras.copies() > 1)
    inform(notes, "copies",
           {"{sequences} sequences for each request ({beams} beams x {samples} samples), each at full length; a paged "
            "engine stores the prompt's full pages once",
            {{"sequences", extras.copies()}, {"beams", extras.num_beams}, {"samples", extras.num_samples}}});
  return out;
}

}  // namespace kvplan
