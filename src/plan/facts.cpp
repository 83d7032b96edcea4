#include "plan/steps.h"

#include <algorithm>
#include <filesystem>
#include <string_view>

#include "kvplan/strings.h"
#include "sources/hub_settings.h"
#include "sources/local_stores.h"
#include "weights/weigh.h"

namespace kvplan {

static TermFacts term_facts(const Term& term, const CacheTypes& types, const Load& load) {
  TermFacts out;
  out.name = term.name;
  out.role = term.role;
  out.shape = term.shape;
  out.elements = term.elements().count();
  out.growth = term.growth;
  out.stride = term.stride;
  if (term.limit.kind != LimitKind::kNone) out.token_limit = term.limit.total().count();
  out.dtype = term_dtype_name(term, types);
  out.entry = entry_bytes(term, types);
  out.entries = term.entries(load.max_model_len, load.source_tokens);
  return out;
}

static LayerFacts facts_of(const LayerGroup& group, const CacheTypes& types, const Load& load) {
  const Mixer& mixer = *group.mixer;
  LayerFacts out;
  out.kind = kind_info(mixer);
  out.variant = kind_variant(mixer);
  out.count = group.indices.size();
  out.indices = index_ranges(group.indices);
  out.symbols = symbols(mixer);
  for (const Term& term : cache_terms(mixer)) {
    const TermFacts& facts = out.terms.emplace_back(term_facts(term, types, load));
    if (term.growth == Growth::kToken) out.bytes_per_token += facts.entry.count() / term.stride;
    if (term.growth == Growth::kSequence) out.bytes_per_sequence += facts.entry.count();
    if (term.role != Role::kState && !out.token_limit) out.token_limit = facts.token_limit;
  }
  return out;
}

// A config.json is named after its folder. Other files have their own name without the ending.
std::string name_of(std::string_view source) {
  if (source == "-") return "standard input";
  if (source == "." || source == "./config.json" || source.ends_with("..")) {  // the name of the current folder
    std::error_code error;
    const std::filesystem::path folder = std::filesystem::weakly_canonical(source, error);
    return (source.ends_with("json") ? folder.parent_path() : folder).filename().string();
  }
  if (is_hub_url(source)) {
    source = source.substr(0, source.find_first_of("?#"));
    if (!source.ends_with(".gguf"))
      for (const std::string_view page : {"/tree/", "/blob/", "/resolve/"})
        source = source.substr(0, source.find(page));
  }
  for (const std::string_view file : {"/config.json", "/params.json", "/"})
    if (source.ends_with(file)) source.remove_suffix(file.size());
  if (is_in_store(source)) source.remove_prefix(source.find(':') + 1);
  // "qwen3:8b" is a name and its tag, "org/name-GGUF:file.gguf" a file.
  const std::string_view marks = source.ends_with(".gguf") && source.find('/') != std::string_view::npos ? "/:" : "/";
  if (const auto slash = source.find_last_of(marks); slash != std::string_view::npos && slash + 1 < source.size())
    source.remove_prefix(slash + 1);
  for (const std::string_view ending : {".json", ".gguf"})
    if (source.ends_with(ending) && source.size() > ending.size()) source.remove_suffix(ending.size());
  return std::string(source.substr(0, source.find('@')));
}

std::shared_ptr<const ModelFacts> facts_of(const ModelSpec& model) {
  ModelFacts out;
  out.source = model.source;
  out.name = name_of(model.source);
  out.model_type = model.model_type;
  out.architecture = model.architecture;
  out.family = model.family;
  out.checked = model.known_as->checked;
  out.dtype = model.dtype;
  out.num_layers = model.layers.size();
  out.hidden_size = model.hidden_size;
  out.max_model_len = model.max_model_len;
  out.parameters = count_parameters(model);
  out.config = model.facts;
  for (const TowerModel& side : model.towers) out.towers.push_back({side.what, side.model_type, side.num_layers});
  return std::make_shared<const ModelFacts>(std::move(out));
}

std::vector<LayerFacts> layer_facts(const std::vector<LayerGroup>& groups, const CacheTypes& types, const Load& load) {
  std::vector<LayerFacts> out;
  for (const LayerGroup& group : groups) out.push_back(facts_of(group, types, load));
  return out;
}

std::uint64_t num_heads(const Mixer& mixer) {
  std::uint64_t out = 0;
  for (const Symbol& symbol : symbols(mixer))
    if (symbol.symbol == "H") out = std::max(out, symbol.value);
  return out;
}

std::uint64_t most_heads(const std::vector<LayerGroup>& groups) {
  std::uint64_t out = 0;
  for (const LayerGroup& group : groups) out = std::max(out, num_heads(*group.mixer));
  return out;
}

Template unknown_release(const Engine& engine, const Request& request) {
  if (request.engine_version.empty()) return {};
  for (const EngineVersion& known : engine.versions)
    if (known.version == request.engine_version) return {};
  Request other = request;
  const auto number = [&](std::string_view version) {
    other.engine_version = version;
    return engine_version(engine, other);
  };
  const std::uint64_t wanted = engine_version(engine, request);
  std::string_view oldest = engine.versions.front().version;
  std::string_view newest = engine.versions.back().version;
  const bool older = wanted < number(oldest);
  // llama.cpp's builds ("b6900") are numbered separately from its versions. A build after the last known one counts as
  // the newest.
  const auto build = [](std::string_view version) {
    return version.starts_with('b') ? whole_number(version.substr(1)).value_or(0) : 0;
  };
  constexpr std::uint64_t kBuildsOfRow = 100;
  const bool newer = build(request.engine_version) >= build(oldest) + kBuildsOfRow || wanted > number(newest);
  const bool is_older = older || (build(request.engine_version) > 0 && build(request.engine_version) < build(oldest));
  if (!is_older && !newer) return {};
  const bool is_python = engine.rules != nullptr && engine.slot_tokens == nullptr;  // kvplan verify runs its code
  return {!is_python ? "{engine} {release} is not known: planned as {known}"
                     : "{engine} {release} is not known: planned as {known}; kvplan verify checks the installed engine",
          {{"engine", engine.name}, {"release", request.engine_version}, {"known", newer ? newest : oldest}}};
}

}  // namespace kvplan
