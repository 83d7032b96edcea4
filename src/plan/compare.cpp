#include <algorithm>
#include <cmath>
#include <tuple>

#include "kvplan/error.h"
#include "kvplan/strings.h"
#include "plan/plan_cache.h"
#include "plan/questions.h"
#include "plan/search.h"
#include "weights/types.h"

namespace kvplan {

static void add_unique(std::vector<std::string>& list, std::string_view word) {
  if (std::find(list.begin(), list.end(), word) == list.end()) list.emplace_back(word);
}

// How often 16 bit is halved: 0 for 16 bit and more, 1 for 8, 2 for 4.
static double halvings(double bits) {
  return bits > 0 && bits < 16 ? std::log2(16 / bits) : 0;
}

static double bits_of(Dtype type) {
  constexpr std::uint64_t kUsualHead = 128;
  return bytes_per_element(info(type).key, kUsualHead) * 8;
}

// A rough order of quality: each halving of the weights or of the cache counts four times as much. The checkpoint's own
// types count nothing.
static double loss_of(const Answer& answer, const Plan& asked) {
  const auto lost = [](double halved) { return halved > 0 ? std::exp2(2 * halved) : 0; };
  double out = 0;
  if (!same_type(answer.plan.weights_dtype, asked.weights_dtype))
    if (const WeightType* type = find_weight_type(answer.plan.weights_dtype))
      out += lost(halvings(type->millibits / 1000.0));
  if (answer.plan.types.key != asked.types.key) out += lost(halvings(bits_of(answer.plan.types.key)));
  return out;
}

// Letters and digits only, in lower case.
static std::string bare(std::string_view text) {
  std::string out;
  for (const char c : lower(text))
    if ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9')) out += c;
  return out;
}

// Whether a stored model's name shows that it is `model` in that weight type: "qwen3-32b" in "Qwen/Qwen3-32B-AWQ".
static bool has_weights(std::string_view stored, std::string_view model, std::string_view weights) {
  const WeightType* type = find_weight_type(weights);
  const std::string there = bare(stored);
  const auto at = there.find(bare(model));
  if (at == std::string::npos) return false;
  const std::string rest = there.substr(at + bare(model).size());
  std::vector<std::string_view> names{weights};  // a GGUF mixture is not a type in the table
  if (type != nullptr)
    for (const std::string_view alias : split(type->aliases)) names.push_back(alias);
  return std::any_of(names.begin(), names.end(),
                     [&](std::string_view name) { return rest.find(bare(name)) != std::string::npos; });
}

Answers compare_types(const ModelSpec& model, const Request& request, const TypeLists& lists) {
  PlanCache cache(model);
  Answers out;
  out.asked = make_plan(cache, request);
  const Engine& engine = engine_of(request);
  const std::string own_weights = out.asked.weights_dtype;
  const std::string own_kv(name(out.asked.types.key));
  std::vector<std::string> weights{own_weights};
  std::vector<std::string> kvs{own_kv};
  for (const std::string& word : lists.weights) add_unique(weights, same_type(word, own_weights) ? own_weights : word);
  for (const std::string& word : lists.kv) add_unique(kvs, word == "auto" ? own_kv : word);
  if (lists.weights.empty())
    for (const std::string_view word : split(engine.weight_choices))
      if (!same_type(word, own_weights)) add_unique(weights, word);
  if (lists.kv.empty())
    for (const std::string_view word : split(engine.kv_choices)) add_unique(kvs, word);

  std::vector<std::string> refused_types;
  std::string refused_weight;  // the last weight type that is refused with any KV type: its own KV type comes first
  for (std::size_t w = 0; w < weights.size(); ++w) {
    const std::string weight = weights[w];
    for (const std::string& kv : kvs) {
      // All types are compared in one layout.
      Request changed = out.asked.unplaced();
      Answer answer;
      answer.name = weight + " x " + kv;
      if (weight != own_weights) {
        changed.weights = weight;
        answer.changes.emplace_back("--weights", weight);
      }
      if (kv != own_kv) {
        changed.cache_type_k = changed.cache_type_v = parse_dtype(kv, "--kv-cache-dtype");
        // -ctk and -ctv override --kv-cache-dtype.
        if (engine.loading.places_parts)
          answer.changes.insert(answer.changes.end(), {{"-ctk", kv}, {"-ctv", kv}});  // llama.cpp's own options
        else if (request.cache_type_k == request.cache_type_v)
          answer.changes.emplace_back("--kv-cache-dtype", kv);
        else
          answer.changes.insert(answer.changes.end(), {{"--cache-type-k", kv}, {"--cache-type-v", kv}});
      }
      try {
        const OptionValues cap = lower_seqs_cap(cache, changed);
        answer.changes.insert(answer.changes.end(), cap.begin(), cap.end());
        answer.plan = make_plan(cache, changed);
      } catch (const Error& error) {
        take_as_misfit(error);
        continue;  // the engine or the model has no such type
      }
      // Types that the engine refuses are left out. If it refuses for another reason, only the requested plan says so.
      const std::optional<Refusal>& refused = answer.plan.verdict.refusal;
      if (refused && !answer.changes.empty() && !out.asked.verdict.refusal) {
        const bool is_weight = kv == own_kv || refused_weight == weight;
        if (is_weight) refused_weight = weight;
        add_unique(refused_types, is_weight ? "weights " + weight : "KV " + kv);
        continue;
      }
      const OptionValues layout = layout_options(request, changed);
      answer.changes.insert(answer.changes.end(), layout.begin(), layout.end());
      answer.other_checkpoint = needs_other_checkpoint(model, out.asked, answer.plan.weights_dtype);
      if (answer.other_checkpoint)
        for (const std::string& stored : lists.stored)
          if (has_weights(stored, out.asked.model->name, answer.plan.weights_dtype)) answer.stored.push_back(stored);
      out.rows.push_back(std::move(answer));
    }
    const bool is_last = w + 1 == weights.size() && lists.weights.empty();
    if (is_last && std::none_of(out.rows.begin(), out.rows.end(),
                                [](const Answer& row) { return row.plan.verdict.status == Verdict::kFits; }))
      for (const std::string_view word : split(engine.small_weight_choices)) add_unique(weights, word);
  }
  if (!refused_types.empty()) {
    std::string names;
    for (const std::string& type : refused_types) names += (names.empty() ? "" : ", ") + type;
    out.sentences.push_back(
        {"not listed, because {engine} refuses it here: {types}", {{"engine", engine.name}, {"types", names}}});
  }
  // Smallest loss first; among equals, first those that need no other checkpoint.
  const auto rank = [&](const Answer& a) { return std::tuple(loss_of(a, out.asked), a.other_checkpoint); };
  std::stable_sort(out.rows.begin(), out.rows.end(),
                   [&](const Answer& a, const Answer& b) { return rank(a) < rank(b); });
  if (out.asked.verdict.status == Verdict::kDoesNotFit) {
    const auto first = std::find_if(out.rows.begin(), out.rows.end(),
                                    [](const Answer& a) { return a.plan.verdict.status == Verdict::kFits; });
    if (first == out.rows.end())
      out.sentences.push_back("no combination of types fits");
    else
      out.sentences.push_back(
          {first->other_checkpoint ? "{options} makes it fit (another checkpoint)" : "{options} makes it fit",
           {{"options", options_text(first->changes, engine.spelling)}}});
  }
  return out;
}

}  // namespace kvplan
