#include "plan/changes.h"

#include "kvplan/error.h"
#include "kvplan/strings.h"
#include "plan/plan_cache.h"

namespace kvplan {

Request with_context(Request request, std::uint64_t tokens) {
  request.max_model_len = Tokens(tokens);
  request.ctx_size.reset();
  return request;
}

Request with_seqs(Request request, std::uint64_t seqs) {
  request.num_seqs = seqs;
  return request;
}

namespace {

// A figure of an option; where any number fits, the plan beside it is of a usual one.
std::string option_count(std::uint64_t n) {
  return n >= kAnyCount ? "any" : std::to_string(n);
}

}  // namespace

std::pair<std::string, std::string> context_option(const Request& request, std::uint64_t tokens) {
  // Where --ctx-size is another name of it, the two must agree.
  const bool is_alias = request.ctx_size && engine_of(request).slot_tokens == nullptr;
  return {is_alias ? "--ctx-size" : "--max-model-len", option_count(tokens)};
}

std::pair<std::string, std::string> seqs_option(std::uint64_t seqs) {
  return {"--num-seqs", option_count(seqs)};
}

std::vector<Change> type_changes(const Request& request, const Plan& asked) {
  std::vector<Change> out;
  const Engine& engine = engine_of(request);
  for (const std::string_view name : split(engine.kv_choices)) {
    const std::string word(name);
    const auto type = find_dtype(word);
    if (!type || *type == asked.types.key) continue;
    Request changed = request;
    changed.cache_type_k = changed.cache_type_v = *type;
    // The types of K and V go over --kv-cache-dtype.
    OptionValues options{{"--kv-cache-dtype", word}};
    if (request.cache_type_k != request.cache_type_v) options = {{"--cache-type-k", word}, {"--cache-type-v", word}};
    out.push_back({std::move(options), changed});
  }
  for (const std::string_view name : split(engine.weight_choices)) {
    const std::string word(name);
    if (word == asked.weights_dtype) continue;
    Request changed = request;
    changed.weights = word;
    out.push_back({{{"--weights", word}}, changed});
  }
  return out;
}

std::optional<Change> twice_the_cards(PlanCache& cache, const Request& request) {
  if (!request.rig.empty()) return std::nullopt;  // which cards would be added is not known
  for (const bool by_heads : {true, false}) {
    Request doubled = request;
    if (searches_layouts(request)) {
      doubled.gpu_count *= 2;
    } else {
      (by_heads ? doubled.tensor_parallel : doubled.pipeline_parallel) *= 2;
      doubled.gpu_count = doubled.gpus();
      doubled.layout_given = true;
    }
    try {
      make_plan(cache, doubled);
      return Change{layout_options(request, doubled), doubled};
    } catch (const Error& error) {
      take_as_misfit(error);
      continue;
    }
  }
  return std::nullopt;
}

OptionValues layout_options(const Request& before, const Request& after) {
  OptionValues out;
  const auto add = [&](const char* option, std::uint64_t value) { out.emplace_back(option, std::to_string(value)); };
  if (after.layout_given && after.tensor_parallel != before.tensor_parallel) add("-tp", after.tensor_parallel);
  if (after.layout_given && after.pipeline_parallel != before.pipeline_parallel) add("-pp", after.pipeline_parallel);
  if ((before.gpu_count_given || searches_layouts(before)) && after.gpu_count != before.gpu_count)
    add("--gpu-count", after.gpu_count);
  return out;
}

std::string options_text(const OptionValues& options) {
  std::string out;
  for (const auto& [option, value] : options)
    out += (out.empty() ? "" : " ") + option + (value.empty() ? "" : " " + value);
  return out;
}

}  // namespace kvplan
