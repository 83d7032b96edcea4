#include "cli/extras_options.h"

#include <algorithm>
#include <cmath>

#include "cli/shell.h"
#include "engines/engine.h"
#include "formats/fields.h"
#include "formats/file.h"
#include "kvplan/error.h"
#include "kvplan/gpus.h"
#include "kvplan/strings.h"
#include "measure/detect.h"
#include "plan/search.h"
#include "sources/catalogue.h"
#include "sources/load.h"
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
      warn(call.notes, "speculative_config",
           {"{option}: kvplan ignores \"{key}\"", {{"option", name}, {"key", one_line(key, 40)}}});
  });
}

void apply_lora_targets(Invocation& call, string_view value, string_view name) {
  std::vector<std::string>& targets = call.request.extras.lora_targets;
  targets.clear();
  for (const string_view part : split(value, ','))
    for (const string_view target : split(part)) targets.emplace_back(target);
  if (targets.empty()) fail(std::string(name) + ": an empty list", "name modules, for example q_proj,v_proj");
}

// "image=2,video=0", or vLLM's JSON object. A number without a name is for images.
void apply_overrides(Invocation& call, std::string_view value, std::string_view name) {
  try {
    Fields::parse(value);
  } catch (const Error&) {
    fail(std::string(name) + ": not a JSON object", "write it as '{\"key\": value}'");
  }
  call.source.read.overrides = value;
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

// A pasted command may name a model on another machine, so the error says how to name a local one.
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

// A tag of ollama's library, or a repository of GGUF files, means a file that is not here. It is planned in the type at
// the end of its name, or in the usual type.
static void use_type_of_tag(const std::string& argument, const Invocation& call, ModelAndRequest& asked) {
  const CatalogueName known = find_published(argument);
  if ((!known.is_tag && !known.is_gguf) || asked.model.is_gguf || asked.request.weights || !call.weights.empty())
    return;
  const auto& scheme = asked.model.quantization.scheme;
  const bool is_mxfp4 = scheme && scheme->type == "mxfp4";
  if (!known.type.empty()) {
    with_source(argument, [&] {
      if (known.type == "cloud") fail("the model runs on ollama.com and takes no memory here", "leave out -cloud");
      check_weight_type(known.type, known.is_tag ? "its tag" : "its name");
    });
    asked.request.weights = known.type;
  } else if (!is_mxfp4 || argument.starts_with("ggml-org/")) {  // whose files have other matrices in q8_0
    const std::string usual = is_mxfp4 ? "mxfp4_moe" : "q4_k_m";
    asked.request.weights = usual;
    inform(asked.model.notes, "usual_type",
           {"planned as {type}, the usual type, without reading the GGUF file; --weights plans another type",
            {{"type", usual}}});
  }
}

ModelAndRequest load_model_and_request(const std::string& argument, const Invocation& call) {
  ModelAndRequest out{load_named(argument, call), call.request};
  if (!call.engine_given) {
    std::string_view implied = implied_engine(argument);
    // Different GPUs need an uneven distribution of layers, which only engines for GGUF files have.
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
  else if (extras.draft_method == DraftMethod::kDspark && out.model.num_nextn_layers > 0)
    out.request.mtp = true;  // a checkpoint that includes its DSpark layers
  for (const std::string& path : call.loras) extras.adapters.push_back(load_adapter(path, call.source));
  if (!call.mmproj.empty()) extras.projector = load_projector(call.mmproj, call.source);
  // If engines, GPUs or types are listed, each one has its own longest context.
  out.request.longest = call.longest_context;
  if (call.longest_context && call.engines.empty() && call.gpus.empty() && call.weights.empty())
    out.request = with_source(out.model.source, [&] {
      PlanCache cache(out.model);
      return with_longest_context(cache, out.request);
    });
  return out;
}

std::optional<Dtype> type_or_auto(std::string_view value, std::string_view name) {
  if (value == "auto") return std::nullopt;
  return parse_dtype(value, name);
}

// "vllm", or several: "vllm,sglang".
void set_engines(Invocation& call, std::string_view list, std::string_view) {
  call.engines.clear();
  call.engine_given = true;
  for (const std::string_view name : parts_of(list, ',')) {
    find_engine(name, call.request);
    call.engines.emplace_back(name);
  }
  if (call.engines.size() == 1) call.engines.clear();
}

void set_weights(Invocation& call, std::string_view list, std::string_view option) {
  call.weights.clear();
  for (const std::string_view name : parts_of(list, ',')) {
    check_weight_type(name, option);
    call.weights.emplace_back(name);
  }
  call.request.weights.reset();
  if (call.weights.size() > 1) return;
  call.request.weights = call.weights.front();
  call.weights.clear();
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

// Removes "2x" from "2x4090" and returns 2. Returns 1 if there is no number.
static std::uint64_t take_count(string_view& text) {
  const std::size_t digits = text.find_first_not_of("0123456789");
  if (digits == 0 || digits == string_view::npos || digits > 4) return 0;
  string_view rest = trimmed(text.substr(digits));
  if (rest.empty() || (rest[0] != 'x' && rest[0] != 'X' && rest[0] != '*')) return 0;
  rest = trimmed(rest.substr(1));
  if (rest.empty()) return 0;
  const std::uint64_t count = parse_count(text.substr(0, digits), "--gpu");
  text = rest;
  return count;
}

// "rtx-4090+2x3060": different GPUs, each with layers in proportion to its memory.
static void set_mixed_cards(Request& request, string_view list) {
  constexpr std::size_t kMostCards = 64;
  request.card.mixed.clear();
  std::vector<double> shares;
  for (string_view text : parts_of(list, '+')) {
    const std::uint64_t count =
        request.card.known().find(text) == nullptr ? std::max<std::uint64_t>(1, take_count(text)) : 1;
    const Gpu& card = request.card.known().parse(text);
    if (request.card.mixed.size() + count > kMostCards) fail("--gpu: more than 64 GPUs", "name fewer");
    for (std::uint64_t i = 0; i < count; ++i) {
      request.card.mixed.push_back(&card);
      shares.push_back(std::round(static_cast<double>(card.budget().count()) / kGiB * 10) / 10);
    }
    if (!request.card.gpu || card.budget() < request.card.gpu->budget()) request.card.gpu = &card;
  }
  if (request.llama_cpp.tensor_split.empty()) request.llama_cpp.tensor_split = shares;
  request.card.count = request.parallel.pipeline = request.card.mixed.size();
  request.card.count_given = request.parallel.given = true;
}

// "rtx-4090", "2x4090", or a size: "24GiB".
static void set_gpu(Invocation& call, string_view text) {
  Request& request = call.request;
  const GpuCatalogue& known = request.card.known();
  if (text.find('+') != string_view::npos && known.find(text) == nullptr) return set_mixed_cards(request, text);
  if (known.find(text) == nullptr)
    if (const std::uint64_t count = take_count(text); count > 0) {
      request.card.count = count;
      request.card.count_given = true;
    }
  const bool is_size = known.find(text) == nullptr && !text.empty() && text[0] >= '0' && text[0] <= '9' &&
                       text.find_first_not_of("0123456789.") != string_view::npos &&
                       text.find('-') == string_view::npos;
  if (!is_size) {
    request.card.gpu = &known.parse(text);
    if (const auto others = known.other_sizes(text); !others.empty())
      inform(call.notes, "card_sizes",
             {"--gpu {asked} is planned as {card}; there is also {others}",
              {{"asked", one_line(text, 20)}, {"card", request.card.gpu->name}, {"others", join(others)}}});
    return;
  }
  request.card.memory = parse_size(text, "--gpu");
  if (lower(text).ends_with("gb"))
    inform(call.notes, "decimal_size",
           {"--gpu {asked} means {memory:GiB}. A GPU sold as {asked} has a little more: name it (kvplan gpus)",
            {{"asked", one_line(text, 20)}, {"memory", *request.card.memory}}});
}

// "rtx-4090", "auto", or several: "rtx-4090,l40s".
void set_gpus(Invocation& call, string_view list, string_view) {
  call.gpus.clear();
  call.request.card.gpu = nullptr;
  if (list == "none") {
    call.ignores_machine = true;
    return;
  }
  if (list == "auto") return use_cards(detect_cards(), call.request);
  if (list.find(',') == string_view::npos) return set_gpu(call, list);
  for (const string_view name : parts_of(list, ',')) {
    if (name == "auto") fail("--gpu: auto cannot be combined with names", "use one or the other");
    const Gpu* const card = &call.request.card.known().parse(name);
    if (std::find(call.gpus.begin(), call.gpus.end(), card) == call.gpus.end()) call.gpus.push_back(card);
  }
}

}  // namespace kvplan
