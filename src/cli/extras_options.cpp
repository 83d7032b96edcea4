#include "cli/extras_options.h"

#include "cli/shell.h"
#include "cli/sizes.h"
#include "engines/engine.h"
#include "formats/fields.h"
#include "formats/file.h"
#include "kvplan/error.h"
#include "kvplan/strings.h"
#include "plan/search.h"
#include "sources/catalogue.h"
#include "sources/companions.h"
#include "weights/weigh.h"

namespace kvplan {

using std::string_view;

static void use_method(Invocation& call, DraftMethod method) {
  if (method == DraftMethod::kEagle && call.draft.empty() && engine_of(call.request).extras.eagle_is_own)
    method = DraftMethod::kMtp;
  call.request.extras.draft_method = method;
  if (method == DraftMethod::kMtp) call.request.mtp = true;
}

void apply_speculative_method(Invocation& call, string_view value, string_view name) {
  const auto method = find_draft_method(value);
  if (!method)
    fail(std::string(name) + ": unknown method \"" + one_line(value, 40) + "\"", "use one of " + known_draft_methods());
  use_method(call, *method);
}

void apply_speculative_config(Invocation& call, string_view value, string_view name) {
  with_source(name, [&] {
    const SpeculativeConfig config = parse_speculative_config(value);
    if (config.method) use_method(call, *config.method);
    if (!config.model.empty()) call.draft = config.model;
    if (config.num_tokens > 0) call.request.num_speculative_tokens = config.num_tokens;
    if (config.weights) {
      check_weight_type(*config.weights, "\"quantization\"");
      call.request.extras.draft_weights = config.weights;
    }
    for (const std::string& key : config.unread)
      call.notes.push_back({NoteLevel::kWarning,
                            "speculative_config",
                            {"{option}: kvplan ignores \"{key}\"", {{"option", name}, {"key", one_line(key, 40)}}}});
  });
}

void apply_lora_targets(Invocation& call, string_view value, string_view name) {
  std::vector<std::string>& targets = call.request.extras.lora_targets;
  targets.clear();
  for (const string_view part : split(value, ','))
    for (const string_view target : split(part)) targets.emplace_back(target);
  if (targets.empty()) fail(std::string(name) + ": an empty list", "name modules, for example q_proj,v_proj");
}

// "image=2,video=0", or vLLM's JSON object; a bare number is for images.
void apply_overrides(Invocation& call, std::string_view value, std::string_view name) {
  try {
    Fields::parse(value);
  } catch (const Error&) {
    fail(std::string(name) + ": not a JSON object", "write it as '{\"key\": value}'");
  }
  call.source.read.overrides = value;
}

void apply_backend(Invocation& call, std::string_view value, std::string_view name) {
  using enum LlamaBackend;
  call.request.llama_cpp.backend = chosen<LlamaBackend>(
      value, name, {{"cuda", kCuda}, {"rocm", kRocm}, {"vulkan", kVulkan}, {"sycl", kSycl}, {"metal", kMetal}});
}

void apply_task(Invocation& call, std::string_view value, std::string_view name) {
  using Task = std::string_view;
  call.task = chosen<Task>(value, name,
                           {{"chat", "chat"},
                            {"code", "code"},
                            {"vision", "vision"},
                            {"embedding", "embedding"},
                            {"reranking", "reranking"},
                            {"speech", "speech"}});
}

void apply_mm_limits(Invocation& call, string_view value, string_view name) {
  auto& limits = call.request.extras.mm_limits;
  limits.clear();
  std::string text(value);
  std::erase_if(text, [](char c) { return c == '{' || c == '}' || c == '"' || c == ' '; });
  std::string what = "image";
  for (const string_view item : split(text, ',')) {
    // "image:2", "image:count:2" and, for the same item, "width:768"
    std::vector<string_view> parts = split(item, ':');
    if (parts.size() == 1) parts = split(item, '=');
    const bool is_item = has_word("image video audio", parts.front());
    if (!is_item && parts.size() > 1 && !has_word("count width height num_frames length", parts.front()))
      fail(std::string(name) + ": \"" + one_line(parts.front(), 40) + "\" is not image, video or audio",
           "write image=2,video=0");
    if (is_item) what = parts.front();
    const bool is_count = parts.size() == (is_item ? 2 : 1) || parts[parts.size() - 2] == "count";
    if (is_count) limits.emplace_back(what, parts.back() == "0" ? 0 : parse_count(parts.back(), name));
  }
  if (limits.empty() && value != "{}") fail(std::string(name) + ": an empty list", "write image=2,video=0");
}

// A command may name a model on another machine, so the error explains how to name a local one.
static ModelSpec load_named(const std::string& argument, const Invocation& call) {
  try {
    return load_model(argument, call.source);
  } catch (const Error& error) {
    const bool is_absent = error.code() == Exit::kHub || !exists(argument);
    if (call.pasted == nullptr || !is_absent) throw;
    Error out(error.code(), error.what(), "name the model with --model-source MODEL");
    out.set_source(error.source());
    throw out;
  }
}

// A tag of ollama's library or a repository of GGUF files means a file that is not here. It is planned in the type that
// ends its name, or in the usual type.
static void use_type_of_tag(const std::string& argument, const Invocation& call, ModelAndRequest& asked) {
  const CatalogueName known = find_published(argument);
  if ((!known.is_tag && !known.is_gguf) || asked.model.is_gguf || asked.request.weights || !call.weights.empty())
    return;
  if (!known.type.empty()) {
    with_source(argument, [&] { check_weight_type(known.type, known.is_tag ? "its tag" : "its name"); });
    asked.request.weights = known.type;
  } else if (const auto& scheme = asked.model.quantization.scheme; !scheme || scheme->type != "mxfp4") {
    asked.request.weights = "q4_k_m";
    inform(asked.model.notes, "usual_type",
           "planned as q4_k_m, the usual type, without reading the GGUF file; --weights plans another type");
  }
}

ModelAndRequest load_model_and_request(const std::string& argument, const Invocation& call) {
  ModelAndRequest out{load_named(argument, call), call.request};
  if (!call.engine_given) {
    std::string_view implied = implied_engine(argument);
    // Only engines for GGUF files distribute layers unevenly, which different GPUs need.
    if (implied.empty() && (out.model.is_gguf || !call.request.card.mixed.empty())) implied = implied_engine(".gguf");
    if (!implied.empty()) find_engine(implied, out.request);
  }
  use_type_of_tag(argument, call, out);
  out.model.notes.insert(out.model.notes.end(), call.notes.begin(), call.notes.end());
  out.request = with_source(out.model.source,
                            [&] { return with_workload(call.workload, out.model, out.request, out.model.notes); });
  ExtrasRequest& extras = out.request.extras;
  if (!call.draft.empty())
    extras.draft =
        std::make_shared<const ModelSpec>(load_draft(call.draft, call.source, extras.draft_method, out.model));
  for (const std::string& path : call.loras) extras.adapters.push_back(load_adapter(path, call.source));
  if (!call.mmproj.empty()) extras.projector = load_projector(call.mmproj, call.source);
  // If engines, GPUs or types are listed, each has its own longest context.
  out.request.longest = call.longest_context;
  if (call.longest_context && call.engines.empty() && call.gpus.empty() && call.weights.empty())
    out.request = with_source(out.model.source, [&] {
      PlanCache cache(out.model);
      return with_longest_context(cache, out.request);
    });
  return out;
}

std::vector<std::string_view> parts_of(std::string_view list, char separator) {
  std::vector<std::string_view> out;
  for (;;) {
    const auto end = list.find(separator);
    out.push_back(list.substr(0, end));
    if (end == std::string_view::npos) return out;
    list.remove_prefix(end + 1);
  }
}

std::optional<Dtype> type_or_auto(std::string_view value, std::string_view name) {
  if (value == "auto") return std::nullopt;
  return parse_dtype(value, name);
}

// "vllm", or several: "vllm,sglang".
void set_engines(Invocation& call, std::string_view list, std::string_view) {
  call.engines.clear();
  call.engine_given = true;
  if (list.find(',') == std::string_view::npos) {
    find_engine(list, call.request);
    return;
  }
  for (const std::string_view name : parts_of(list, ',')) {
    find_engine(name, call.request);
    call.engines.emplace_back(name);
  }
}

void set_weights(Invocation& call, std::string_view list, std::string_view option) {
  call.weights.clear();
  call.request.weights.reset();
  if (list.find(',') == std::string_view::npos) {
    check_weight_type(list, option);
    call.request.weights = std::string(list);
    return;
  }
  for (const std::string_view name : parts_of(list, ',')) {
    check_weight_type(name, option);
    call.weights.emplace_back(name);
  }
}

// "fp8", or several for compare: "auto,fp8".
void set_kv_types(Invocation& call, std::string_view list, std::string_view option) {
  call.kv_types.clear();
  call.request.cache_type_k = call.request.cache_type_v = std::nullopt;
  for (const std::string_view name : parts_of(list, ',')) {
    const std::optional<Dtype> type = type_or_auto(name, option);
    call.kv_types.emplace_back(type ? kvplan::name(*type) : "auto");
    call.request.cache_type_k = call.request.cache_type_v = type;
  }
  if (call.kv_types.size() == 1) return call.kv_types.clear();
  call.request.cache_type_k = call.request.cache_type_v = std::nullopt;
}

}  // namespace kvplan
