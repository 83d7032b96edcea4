#include "plan/steps.h"

#include <algorithm>

#include "kvplan/gpus.h"
#include "plan/calibrate.h"

namespace kvplan {

static std::uint64_t state_groups(const Mixer& mixer) {
  if (const auto* ssm = std::get_if<Ssm>(&mixer)) return ssm->version == Ssm::Version::kMamba2 ? ssm->n_groups : 0;
  const auto* linear = std::get_if<Linear>(&mixer);
  return linear != nullptr ? linear->num_key_heads : 0;
}

// The rules are long lists, and only the weights need them: of them only the experts' type stays.
static QuantDeclaration without_rules(const QuantDeclaration& declared) {
  QuantDeclaration out;
  out.dialect = declared.dialect;
  out.is_known = declared.is_known;
  out.names_method = declared.names_method;
  out.has_embedding = declared.has_embedding;
  out.has_head = std::any_of(declared.rules.begin(), declared.rules.end(),
                             [](const SchemeRule& rule) { return rule.scheme && rule.pattern.ends_with("lm_head"); });
  out.experts_only = declared.experts_only;
  out.scheme = declared.scheme;
  out.expert_scheme = declared.expert_scheme;
  out.head_scheme = declared.head_scheme;
  for (const SchemeRule& rule : declared.rules)
    if (!out.expert_scheme && rule.scheme && rule.pattern.find(".experts") != std::string::npos)
      out.expert_scheme = rule.scheme;
  return out;
}

// The part that depends only on the model.
static void fill_model(const ModelSpec& model, EngineInput& input) {
  ModelShape& shape = input.model;
  shape.arch = model.known_as->id;
  shape.traits = model.known_as->traits;
  shape.is_gguf = model.is_gguf;
  shape.model_type = model.model_type;
  shape.root_type = model.root_type;
  shape.architecture = model.architecture;
  shape.expanded_latents = model.expanded_latents;
  shape.num_layers = model.layers.size();
  shape.num_nextn_layers = model.num_nextn_layers;
  shape.hidden_size = model.hidden_size;
  shape.vocab_size = model.vocab_size;
  shape.intermediate_size = model.intermediate_size;
  shape.experts = model.experts;
  shape.graph = model.graph;
  shape.tensors = model.tensors;
  shape.facts = model.facts;
  shape.max_model_len = shape.longest = model.max_model_len;
  for (const RotaryTable& table : model.rotary_tables) shape.longest = std::max(shape.longest, Tokens(table.positions));
  shape.quantization = without_rules(model.quantization);
  shape.source_tokens = model.source_tokens;
  shape.dtype = model.dtype;
  shape.declared_kv_dtype = model.declared_kv_dtype;
  shape.declared_state_dtype = model.declared_state_dtype;
  shape.tags_kv_by_word = model.tags_kv_by_word;
  input.caches.reserve(model.layers.size());
  std::vector<std::pair<const Mixer*, std::size_t>> seen;  // layers with known terms: most layers are equal
  for (std::uint64_t i = 0; i < model.layers.size(); ++i) {
    for (const Mixer& mixer : model.layers[i].mixers) {
      const auto same =
          std::find_if(seen.begin(), seen.end(), [&](const auto& known) { return *known.first == mixer; });
      if (same != seen.end()) {
        LayerCache copy = input.caches[same->second];
        copy.layer = i;
        input.caches.push_back(std::move(copy));
        continue;
      }
      seen.emplace_back(&mixer, input.caches.size());
      shape.num_heads = std::max(shape.num_heads, num_heads(mixer));
      shape.state_groups = std::max(shape.state_groups, state_groups(mixer));
      LayerCache& cache = input.caches.emplace_back();
      cache.layer = i;
      cache.kind = kind_info(mixer).name;
      cache.compact = cache_terms(mixer, Form::kCompact);
      cache.expanded = cache_terms(mixer, Form::kExpanded);
      if (cache.expanded == cache.compact) cache.expanded = cache.compact;  // share one list
    }
  }
  for (const TowerModel& side : model.towers) {
    shape.has_audio = shape.has_audio || side.what == TowerKind::kAudio;
    if (side.what == TowerKind::kEncoder) shape.encoder_layers = side.num_layers;
    if (side.what == TowerKind::kVision && !shape.vision)
      shape.vision = VisionShape{side.width,  side.intermediate, side.patches,         side.image_tokens,
                                 side.copies, side.both_ways,    side.declared_layers, side.declared_width};
  }
}

std::optional<Bytes> card_memory(const Request& request) {
  if (request.card.memory) return request.card.memory;
  if (const auto memory = calibrated_memory(request)) return memory;
  if (request.card.gpu) return request.card.gpu->budget();
  return std::nullopt;
}

EngineInput engine_input(const ModelSpec& model, const Request& request, const EngineInput* known) {
  EngineInput input;
  input.request = request;
  input.request.card.memory = card_memory(request);
  if (known != nullptr) {
    input.model = known->model;
    input.caches = known->caches;
    input.model.tensors = model.tensors;
    input.model.facts = model.facts;
    input.model.quantization = without_rules(model.quantization);
    input.model.declared_kv_dtype = model.declared_kv_dtype;
  } else {
    fill_model(model, input);
  }
  const Engine& engine = engine_of(request);
  // An engine that ignores the quantization ignores the declared cache type too.
  if (engine.loading.asks_quant_method && is_declared(model.quantization) && !model.quantization.names_method)
    input.model.declared_kv_dtype.reset();
  input.types = engine.resolve_types(input.model, request);
  input.draft_method = draft_method_of(request);
  if (const auto& draft = request.extras.draft; draft != nullptr && input.draft_method && !draft->layers.empty()) {
    Request of_draft = draft_request(request);
    // vLLM resolves `auto` once, from the main model's declaration, and uses the result for the draft too
    // (engine/arg_utils.py, resolve_kv_cache_dtype_string).
    if (engine.loading.asks_quant_method && !of_draft.cache_type_k)
      of_draft.cache_type_k = of_draft.cache_type_v = input.model.declared_kv_dtype;
    input.draft = std::make_shared<const EngineInput>(engine_input(*draft, of_draft));
  }
  return input;
}

std::optional<Tokens> longest_of(Tokens own, const Engine& engine) {
  const Tokens out = own > Tokens(0) ? own : engine.assumed_length;
  return out > Tokens(0) ? std::optional(out) : std::nullopt;
}

std::uint64_t longest_context(std::uint64_t by_memory, Tokens own, const Engine& engine) {
  const std::optional<Tokens> most = longest_of(own, engine);
  return most ? std::min(by_memory, most->count()) : by_memory;
}

Load load_of(const ModelSpec& model, const Request& request) {
  Load load;
  load.num_seqs = ceil_div(request.sequences(), request.parallel.data);
  const auto slot_tokens = engine_of(request).slot_tokens;
  load.pooled = request.llama_cpp.kv_unified && slot_tokens != nullptr;
  if (request.max_model_len)
    load.max_model_len = *request.max_model_len;
  else if (request.llama_cpp.ctx_size)
    load.max_model_len =
        slot_tokens == nullptr ? *request.llama_cpp.ctx_size : slot_tokens(*request.llama_cpp.ctx_size, request);
  else
    load.max_model_len = longest_of(model.max_model_len, engine_of(request)).value_or(Tokens(kDefaultContext));
  if (const auto context = engine_of(request).default_context;
      context != nullptr && !request.max_model_len && !request.llama_cpp.ctx_size)
    load.max_model_len = std::min(load.max_model_len, context(request, card_memory(request)));
  if (engine_of(request).caps_context && model.max_model_len > Tokens(0))
    load.max_model_len = std::min(load.max_model_len, model.max_model_len);
  load.source_tokens = request.encoder_len.value_or(model.source_tokens);
  return load;
}

}  // namespace kvplan
