#include "plan/extras.h"

#include <algorithm>
#include <array>

#include "engines/parallel.h"
#include "kvplan/error.h"
#include "kvplan/strings.h"
#include "plan/lora_slots.h"
#include "plan/rank_weights.h"

namespace kvplan {

namespace {

// The names of the engines for which `has` is true, without the logical one.
template <class Has>
std::string engines_with(const Has& has) {
  std::string out;
  for (const Engine& engine : engines())
    if (!engine.is_logical && has(engine)) out += (out.empty() ? "" : ", ") + std::string(engine.name);
  return out;
}

// All weights of a draft on a rank as one line.
LedgerLine one_line_of(const std::vector<LedgerLine>& lines, const ModelSpec& draft, const Template& what) {
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

std::string draft_name(DraftMethod method) {
  switch (method) {
    case DraftMethod::kEagle: return "EAGLE head";
    case DraftMethod::kEagle3: return "EAGLE-3 head";
    case DraftMethod::kDflash: return "DFlash draft";
    case DraftMethod::kDspark: return "DSpark draft";
    case DraftMethod::kMedusa: return "Medusa heads";
    default: return "draft model";
  }
}

// Notes on pairs of model and draft that engines refuse; they are still planned.
void note_mismatch(const ModelSpec& model, const EngineInput& input, std::vector<Note>& notes) {
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
  // A draft head may have a smaller vocabulary than the model, but its token ids are the model's.
  const std::uint64_t words = head.target_vocab_size > 0 ? head.target_vocab_size : draft.vocab_size;
  if (model.vocab_size > 0 && words > 0 && words != model.vocab_size)
    warn(notes, "draft_vocabulary",
         {"the head is for a vocabulary of {head} words and the model has {model}: it belongs to another model",
          {{"head", words}, {"model", model.vocab_size}}});
}

void add_draft(const ModelSpec& model, const EngineInput& input, ExtraLines& out, std::vector<Note>& notes) {
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
  // On every rank, split like the model, or whole on the last stage.
  const std::size_t first = out.stages.size() - std::min(out.stages.size(), weights.lines.size());
  for (std::size_t i = 0; i < weights.lines.size() && first + i < out.stages.size(); ++i)
    if (!weights.lines[i].empty()) out.stages[first + i].push_back(one_line_of(weights.lines[i], *draft, what));
}

// llama.cpp warms up its image encoder with one image: of the fixed size, or 1472 x 1472 where the encoder takes any.
void add_projector(const Request& request, ExtraLines& out) {
  const std::optional<ProjectorFile>& file = request.extras.projector;
  if (!file || out.stages.empty()) return;
  std::vector<LedgerLine>& lines = request.extras.projector_on_host ? out.host : out.stages.front();
  lines.push_back(of_kind(LineId::kImageProjector,
                          exact_line(Section::kWeights, "image projector (mmproj)", file->bytes,
                                     {"{tensors} tensors as stored", {{"tensors", file->tensors}}}, file->source)));
  const auto buffer = engine_of(request).extras.image_buffer;
  if (auto line = buffer != nullptr ? buffer(request, *file) : std::nullopt) lines.push_back(std::move(*line));
}

}  // namespace

std::optional<DraftMethod> draft_method_of(const Request& request) {
  const std::optional<DraftMethod>& asked = request.extras.draft_method;
  if (const auto& draft = request.extras.draft; draft != nullptr)
    return draft->draft_head ? draft->draft_head->method : asked.value_or(DraftMethod::kModel);
  if (request.mtp) return DraftMethod::kMtp;
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
    const bool needs_draft = *method != DraftMethod::kMtp && *method != DraftMethod::kNgram;
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
