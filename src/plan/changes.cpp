#include "plan/search.h"

#include "kvplan/error.h"
#include "kvplan/gpus.h"
#include "kvplan/strings.h"
#include "plan/plan_cache.h"
#include "weights/types.h"

namespace kvplan {

Request with_context(Request request, std::uint64_t tokens) {
  request.max_model_len = Tokens(tokens);
  request.llama_cpp.ctx_size.reset();
  return request;
}

Request with_seqs(Request request, std::uint64_t seqs) {
  request.num_seqs = seqs;
  return request;
}

std::pair<std::string, std::string> context_option(const Request& request, std::uint64_t tokens) {
  // llama.cpp's option is the total of all slots.
  if (engine_of(request).slot_tokens != nullptr && !request.max_model_len)
    return {"-c", std::to_string(request.llama_cpp.kv_unified
                                     ? tokens
                                     : checked_mul(tokens, request.sequences(), "the total context"))};
  // If --ctx-size means the same, both options must agree.
  const bool is_alias = request.llama_cpp.ctx_size.has_value();
  return {is_alias ? "--ctx-size" : "--max-model-len", std::to_string(tokens)};
}

std::pair<std::string, std::string> seqs_option(std::uint64_t seqs) {
  return {"--num-seqs", std::to_string(seqs)};
}

std::pair<std::string, std::string> seqs_cap_option(std::uint64_t cap) {
  return {"--max-num-seqs", std::to_string(cap)};
}

bool same_type(std::string_view a, std::string_view b) {
  const WeightType* type = find_weight_type(a);
  return a == b || (type != nullptr && type == find_weight_type(b));
}

bool needs_other_checkpoint(const ModelSpec& model, const Plan& asked, std::string_view type) {
  const Engine& engine = engine_of(asked.request);
  if (engine.is_logical || same_type(type, asked.weights_dtype)) return false;
  const WeightType* own = find_weight_type(asked.weights_dtype);
  const bool is_plain = own != nullptr && own->scope == Scope::kEverything && !is_declared(model.quantization);
  return model.is_gguf || !is_plain || !has_word(engine.loading.made_at_load, type);
}

std::vector<Change> type_changes(const Request& request, const Plan& asked, bool with_small) {
  std::vector<Change> out;
  const Engine& engine = engine_of(request);
  for (const std::string_view name : split(engine.kv_choices)) {
    const std::string word(name);
    const auto type = find_dtype(word);
    if (!type || *type == asked.types.key) continue;
    Request changed = request;
    changed.cache_type_k = changed.cache_type_v = *type;
    // llama.cpp's -ctk and -ctv override --kv-cache-dtype.
    OptionValues options{{"--kv-cache-dtype", word}};
    if (engine.loading.places_parts)
      options = {{"-ctk", word}, {"-ctv", word}};  // llama.cpp's own options
    else if (request.cache_type_k != request.cache_type_v)
      options = {{"--cache-type-k", word}, {"--cache-type-v", word}};
    out.push_back({std::move(options), changed});
  }
  std::vector<std::string_view> weights = split(engine.weight_choices);
  if (with_small)
    for (const std::string_view word : split(engine.small_weight_choices)) weights.push_back(word);
  for (const std::string_view name : weights) {
    const std::string word(name);
    if (word == asked.weights_dtype) continue;
    Request changed = request;
    changed.weights = word;
    out.push_back({{{"--weights", word}}, changed});
  }
  return out;
}

std::optional<Change> on_more_cards(PlanCache& cache, const Request& request, std::uint64_t count) {
  if (!request.card.mixed.empty()) return std::nullopt;  // the user did not say which GPUs would be added
  // With unified memory another GPU is another machine, and kvplan does not plan two machines here.
  if (request.card.is_unified() && request.card.count == 1 && !request.parallel.given) return std::nullopt;
  Request more = request;
  more.card.count = count;
  more.parallel.given = false;
  more.parallel.tensor = more.parallel.pipeline = 1;
  more.parallel.layers.clear();
  return unless_misfit([&]() -> std::optional<Change> {
    more = chosen_layout(cache, more);
    // llama.cpp distributes layers over all GPUs that it sees, so no layout option is needed.
    const Engine& engine = engine_of(request);
    const bool deals_layers =
        (engine.loading.embedding_on_host || engine.parallel.layers_first) && !request.parallel.given;
    return Change{deals_layers && count != request.card.count ? OptionValues{{"--gpu-count", std::to_string(count)}}
                                                              : layout_options(request, more),
                  more};
  });
}

OptionValues layout_options(const Request& before, const Request& after) {
  OptionValues out;
  const Parallel& from = before.parallel;
  const Parallel& to = after.parallel;
  const auto add = [&](const char* option, std::uint64_t value) { out.emplace_back(option, std::to_string(value)); };
  const bool names_ranks = to.given && (searches_layouts(before) || to.tensor != from.tensor ||
                                        to.pipeline != from.pipeline || to.data != from.data);
  if (names_ranks) add("-tp", to.tensor);
  if (to.given && (to.pipeline != from.pipeline || (searches_layouts(before) && to.pipeline > 1)))
    add("-pp", to.pipeline);
  if (to.data != from.data) add("-dp", to.data);
  if (to.decode_context != from.decode_context) add("-dcp", to.decode_context);
  if (to.dp_attention && !from.dp_attention) out.emplace_back("--enable-dp-attention", "");
  if (to.expert && !from.expert) out.emplace_back("--enable-expert-parallel", "");
  if ((before.card.count_given || searches_layouts(before)) && after.card.count != before.card.count)
    add("--gpu-count", after.card.count);
  return out;
}

}  // namespace kvplan
