#include "plan/questions.h"

#include <algorithm>
#include <set>

#include "engines/estimates.h"
#include "engines/release.h"
#include "formulas/heads.h"
#include "formulas/kinds.h"
#include "kvplan/error.h"
#include "kvplan/gpus.h"
#include "kvplan/strings.h"
#include "plan/search.h"
#include "plan/steps.h"

namespace kvplan {

// The bytes that `layout` reserves, for longer and longer contexts.
static CacheCurve curve_of(const CacheLayout& layout, const CacheTypes& types, const Load& load,
                           const std::vector<std::uint64_t>& tokens) {
  CacheCurve out{cache_types_name(types), tokens, {}};
  Load here = load;
  for (const std::uint64_t n : tokens) {
    here.max_model_len = Tokens(std::max<std::uint64_t>(n, 1));
    out.bytes.push_back(layout.reserved(here));
  }
  return out;
}

// Contexts from 4,096 to the model's maximum, each twice the one before.
static std::vector<std::uint64_t> ladder(std::uint64_t most) {
  constexpr std::size_t kMostSteps = 12;
  std::vector<std::uint64_t> out;
  for (std::uint64_t tokens = kDefaultContext; tokens < most && out.size() < kMostSteps; tokens *= 2)
    out.push_back(tokens);
  out.push_back(most);
  return out;
}

static std::vector<std::uint64_t> evenly(std::uint64_t most) {
  constexpr std::uint64_t kPoints = 96;
  std::vector<std::uint64_t> out;
  for (std::uint64_t i = 0; i <= kPoints; ++i)
    out.push_back(static_cast<std::uint64_t>(static_cast<double>(most) * static_cast<double>(i) / kPoints));
  return out;
}

static std::vector<CacheCurve> curves_of(const ModelSpec& model, const Plan& plan, std::uint64_t most) {
  std::vector<CacheTypes> seen;
  std::vector<CacheCurve> out;
  const auto add = [&](const Request& request) {
    try {
      const EngineInput input = engine_input(model, request);
      if (std::find(seen.begin(), seen.end(), input.types) != seen.end()) return;
      seen.push_back(input.types);
      std::vector<Note> notes;
      out.push_back(curve_of(*engine_of(request).layout(input, notes), input.types, plan.load, evenly(most)));
    } catch (const Error& error) {
      take_as_misfit(error);  // this engine or model lacks the type: no curve
    }
  };
  add(plan.request);
  for (const std::string_view type : split(engine_of(plan.request).kv_choices)) {
    Request other = plan.request;
    other.cache_type_k = other.cache_type_v = parse_dtype(type, "--kv-cache-dtype");
    add(other);
  }
  return out;
}

static ContextsBySequences contexts_by_sequences(const ModelSpec& model, const Plan& plan) {
  constexpr std::uint64_t kMostSeqs = 256;
  ContextsBySequences out;
  if (!plan.capacity) return out;
  PlanCache cache(model);
  for (std::uint64_t seqs = 1; seqs <= kMostSeqs; seqs *= 2) {
    Request request = with_seqs(plan.request, seqs);
    request.parallel.given = true;
    const std::optional<LayoutFigures> held = held_by(cache, request);
    if (!held || held->longest == 0 || held->longest >= kAnyCount) break;
    out.emplace_back(seqs, held->longest);
  }
  return out;
}

// Every engine that runs on the GPU, except those that wrap another engine: they have the same numbers.
static std::vector<EngineVerdict> engine_verdicts(const ModelSpec& model, const Request& request) {
  std::vector<EngineVerdict> out;
  for (const Engine& engine : engines()) {
    if (engine.is_logical || engine.wraps_engine || !request.card.gpu || !runs_on(engine, *request.card.gpu)) continue;
    Request here = request;
    here.engine = &engine;
    here.engine_version.clear();
    EngineVerdict& row = out.emplace_back();
    row.engine = engine.name;
    try {
      Plan plan = make_plan(model, here);
      row.engine_version = std::move(plan.engine_version);
      row.verdict = std::move(plan.verdict);
      row.total = plan.fullest().total;
      if (plan.capacity) row.max_model_len = plan.capacity->max_model_len;
    } catch (const Error& error) {
      take_as_misfit(error);
      row.error = error.what();
    }
  }
  return out;
}

static Elements multi_head(const std::vector<LayerGroup>& groups) {
  Elements out;
  for (const LayerGroup& group : groups) {
    std::uint64_t of_layer = 0;
    if (const Latent* latent = latent_of(*group.mixer); latent != nullptr)
      of_layer =
          head_macs({latent->num_heads, 0, checked_add(latent->qk_nope_head_dim, latent->qk_rope_head_dim, "a head"),
                     latent->v_head_dim, 0});
    if (const Heads* heads = heads_of(*group.mixer); heads != nullptr) of_layer = head_macs(*heads);
    if (of_layer == 0 && macs_per_entry(*group.mixer) > 0) return {};
    out += Elements(of_layer) * group.indices.size();
  }
  return out;
}

static Explanation explanation_of(const ModelSpec& model, const EngineInput& input, const Plan& plan) {
  Explanation out;
  if (const auto& draft = plan.request.extras.draft; draft != nullptr && plan.draft_method) {
    if (input.draft != nullptr) out.draft_layers = layer_facts(group_layers(*draft), input.draft->types, plan.load);
    out.draft_config = draft->facts;
  }
  out.prefill_chunk = prefill_chunk(plan.request, plan.load);
  if (const std::uint64_t usual = engine_of(plan.request).micro_batch; usual > 0)
    out.prefill_chunk = std::min(out.prefill_chunk, plan.request.llama_cpp.n_ubatch.value_or(usual));
  const std::vector<LayerGroup> groups = group_layers(model);
  out.num_heads = most_heads(groups);
  out.attention_flops = decode_attention_flops(groups, plan.load);
  out.multi_head = multi_head(groups);
  return out;
}

// If lengths vary, llama.cpp's slots can share a pool that fits the given lengths, and each of them may exceed the
// mean.
static void suggest_pool(PlanCache& cache, Plan& plan) {
  const Request own = plan.as_asked();
  const Engine& engine = engine_of(own);
  if (engine.slot_tokens == nullptr || !engine.loading.places_parts || own.llama_cpp.kv_unified || !own.avg_len ||
      own.num_seqs < 2)
    return;
  const std::uint64_t pool = checked_mul(own.avg_len->count(), own.num_seqs, "the pool");
  Request shared = with_context(with_reserve(own), pool);
  shared.llama_cpp.kv_unified = true;
  if (pool >= checked_mul(plan.load.max_model_len.count(), own.num_seqs, "the slots") ||
      !verdict_of(cache, on_gpus(shared)).holds())
    return;
  shared.limits.reserve = own.limits.reserve;
  const Plan made = make_plan(cache, shared);
  plan.verdict.suggestions.insert(plan.verdict.suggestions.begin(),
                                  {{{"--kv-unified", ""}, {"--max-model-len", std::to_string(pool)}},
                                   made.request.card.count,
                                   made.fullest().total,
                                   made.verdict.headroom,
                                   made.host_total()});
}

void suggest(const ModelSpec& model, Plan& plan) {
  PlanCache cache(model);
  if (plan.request.users && plan.card) {
    Request any = plan.as_asked();
    any.card.count_given = false;
    if (const auto users = layouts_for_users(cache, any); !users.empty())
      inform(plan.notes, "users", sentence_of(users.front()));
  }
  const bool is_moved = plan.verdict.status == Verdict::kPartlyOnCpu && placed_otherwise(plan.unplaced(), plan.request);
  if (plan.verdict.status != Verdict::kDoesNotFit && !is_moved) return;
  std::vector<Remedy>& found = plan.verdict.suggestions;
  found = remedies(cache, plan);
  suggest_pool(cache, plan);
  plan.verdict.has_sought = true;
}

static std::optional<Plan> plan_if_possible(const ModelSpec& model, const Request& request) {
  try {
    return make_plan(model, request);
  } catch (const Error& error) {
    take_as_misfit(error);
    return std::nullopt;
  }
}

// If the releases of the last year differ by more than 2 %, adds a note with their range.
static void compare_releases(const ModelSpec& model, Request request, Plan& plan) {
  constexpr double kWorthTelling = 0.02;
  const Engine& engine = engine_of(request);
  const Bytes newest = plan.fullest().total;
  Bytes least = newest, most = newest;
  std::string oldest;
  std::set<Release> releases{parse_release(engine.oldest_recent)};
  for (const RuleRow& row : engine.rules())
    for (const Release changed : {parse_release(row.since), parse_release(row.until)})
      if (changed > *releases.begin()) releases.insert(changed);
  for (const Release release : releases) {
    request.engine_version = format_release(release);
    const auto older = plan_if_possible(model, request);
    // The older release may lack the model or something else in the request.
    if (!older || (older->verdict.refusal && !plan.verdict.refusal)) continue;
    least = std::min(least, older->fullest().total);
    most = std::max(most, older->fullest().total);
    if (oldest.empty()) oldest = request.engine_version;
  }
  if (static_cast<double>((most - least).count()) <= kWorthTelling * static_cast<double>(newest.count())) return;
  inform(plan.notes, "releases_differ",
         {"{engine} {oldest} to {newest} take {least:size} to {most:size} per GPU for this request; name yours with "
          "--engine {engine}@RELEASE",
          {{"engine", engine.name},
           {"oldest", oldest},
           {"newest", format_release(std::max(*releases.rbegin(), parse_release(engine.versions.back().version)))},
           {"least", least},
           {"most", most}}});
}

// For each rule that may have changed before or after the named release: what the request takes either way.
static void turn_uncertain_rules(const ModelSpec& model, Request request, Plan& plan) {
  const Release release = parse_release(request.engine_version);
  const auto tokens = [](const Plan& of) { return of.capacity ? of.capacity->tokens.value_or(0) : 0; };
  for (const RuleRow& row : engine_of(request).rules()) {
    if (!row.between.has(release)) continue;
    request.turned_rule = row.what;
    const auto other = plan_if_possible(model, request);
    const Plan& turned = other ? *other : plan;
    const auto [least, most] = std::minmax({plan.fullest().total, turned.fullest().total});
    const auto [fewest, all] = std::minmax({tokens(plan), tokens(turned)});
    const bool may_fail = !other || plan.verdict.starts != turned.verdict.starts;
    if (least == most && fewest == all && !may_fail) continue;
    const std::string range = least != most   ? format_bytes(least) + " to " + format_bytes(most) + " per GPU"
                              : fewest != all ? std::to_string(fewest) + " to " + std::to_string(all) + " tokens of KV"
                                              : "the engine may not start";
    inform(plan.notes, "date_not_known",
           {"{range}: kvplan does not know in which release between {after} and {by} this changed: {what}",
            {{"range", range},
             {"after", format_release(row.between.after)},
             {"by", format_release(row.between.by)},
             {"what", row.what}}});
  }
}

void complete(const ModelSpec& model, const Wanted& wanted, Plan& plan) {
  if (wanted.launch && plan.verdict.needs_fewer_seqs) {  // suggest a command that starts
    PlanCache cache(model);
    Request fewer = plan.as_asked();
    fewer.max_num_seqs = plan.verdict.largest_seqs_cap;
    plan = make_plan(cache, fewer);
  }
  constexpr std::size_t kMost = 4096;  // for a hostile config every release takes as long as the plan
  const Engine& engine = engine_of(plan.request);
  if (engine.rules != nullptr && model.quantization.rules.size() + model.layers.size() <= kMost) {
    Request same = plan.unplaced();
    same.parallel.given = true;
    if (!same.engine_version.empty()) turn_uncertain_rules(model, same, plan);
    if (same.engine_version.empty() && !engine.oldest_recent.empty()) compare_releases(model, same, plan);
  }
  const EngineInput input = engine_input(model, plan.request);
  std::vector<Note> notes_of_layout;
  const auto layout = engine_of(plan.request).layout(input, notes_of_layout);
  const std::uint64_t most = std::max(model.max_model_len.count(), plan.load.max_model_len.count());
  plan.contexts = curve_of(*layout, plan.types, plan.load, ladder(most));
  plan.explanation = explanation_of(model, input, plan);
  if (wanted.curves) {
    plan.curves = curves_of(model, plan, most);
    plan.contexts_by_sequences = contexts_by_sequences(model, plan);
  }
  if (wanted.engines) plan.engines = engine_verdicts(model, plan.as_asked());
  if (wanted.launch) plan.launch = launch_of(model, plan);
}

}  // namespace kvplan
