// The pages of several models, one row per model, and of one model in several engines.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "kvplan/strings.h"
#include "report/pages/pages.h"

namespace kvplan {

// The length of the folder with which all names begin. It is left out if at least one name is long.
static std::size_t left_out(const std::vector<FleetEntry>& entries) {
  constexpr std::size_t kLong = 24;
  std::vector<std::string_view> sources;
  for (const FleetEntry& entry : entries) sources.push_back(entry.source);
  const bool is_long =
      std::any_of(sources.begin(), sources.end(), [](std::string_view source) { return source.size() > kLong; });
  return is_long && sources.size() > 1 ? shared_folder(sources) : 0;
}

static std::string short_name(const FleetEntry& entry, std::size_t shared) {
  const std::string name = entry.source.substr(std::min(shared, entry.source.size()));
  return end_of(one_line(name + (entry.variant.empty() ? "" : " (" + entry.variant + ")"), 200), 48);
}

static std::vector<const OptionValues*> commands_of(const std::vector<FleetEntry>& entries) {
  std::vector<const OptionValues*> out;
  for (const FleetEntry& entry : entries)
    if (entry.plan) out.push_back(&entry.plan->command);
  return out;
}

static Reply fleet_reply(Fleet fleet, std::function<Page()> page) {
  return {std::move(page), [fleet] { return json_of(fleet); }, [fleet] { return csv_of(fleet); }};
}

// "25 window + 5 gqa" for a hybrid.
static std::string attention_text(const Plan& plan) {
  if (plan.attention != "hybrid") return plan.attention;
  std::map<std::string_view, std::uint64_t> layers;
  for (const LayerFacts& layer : plan.layers)
    layers[layer.kind.name == "sliding_window" ? "window" : layer.kind.name] += layer.count;
  return join(layers, " + ", [](const auto& each) { return fmt::format("{} {}", each.second, each.first); });
}

static Tone tone_of(const Plan& plan) {
  if (plan.verdict.status == Verdict::kUnknown) return Tone::kPlain;
  if (plan.verdict.status == Verdict::kPartlyOnCpu) return Tone::kCareful;
  return plan.verdict.status == Verdict::kFits ? Tone::kGood : Tone::kBad;
}

// A curve for each model, up to the end of the curve or of the chart.
static void add_contexts(const std::vector<FleetEntry>& entries, std::size_t shared, Page& page) {
  constexpr std::size_t kMost = 12;
  Chart chart;
  for (const FleetEntry& entry : entries)
    if (entry.plan && entry.plan->contexts.tokens.size() > chart.x.size())
      chart.x.assign(entry.plan->contexts.tokens.begin(), entry.plan->contexts.tokens.end());
  for (const FleetEntry& entry : entries) {
    if (!entry.plan || chart.series.size() == kMost) continue;
    const CacheCurve& curve = entry.plan->contexts;
    ChartSeries series{short_name(entry, shared), {}};
    for (std::size_t i = 0; i < curve.tokens.size() && static_cast<double>(curve.tokens[i]) == chart.x[i]; ++i)
      series.y.push_back(static_cast<double>(curve.bytes[i].count()) / kGiB);
    if (std::any_of(series.y.begin(), series.y.end(), [](double y) { return y > 0; }))
      chart.series.push_back(std::move(series));
  }
  if (chart.series.size() < 2) return;
  chart.title = "KV cache against context, a curve for each model";
  chart.x_title = "tokens of a sequence";
  chart.y_title = "KV GiB of the fullest GPU";
  chart.log_x = chart.log_y = chart.x_is_tokens = true;
  page.add("KV cache against context", Detail::kDocument, std::move(chart));
}

static Page fleet_page(const std::vector<FleetEntry>& entries) {
  Page page;
  page.title = plural(entries.size(), "model");
  Rows rows;
  Bars bars;
  std::vector<Tone> tones;
  const std::size_t shared = left_out(entries);
  for (const FleetEntry& entry : entries) {
    if (!entry.plan) {
      page.notes.push_back(not_planned(entry.error, entry.source));
      continue;
    }
    const Plan& plan = *entry.plan;
    if (rows.empty()) page.facts = engine_text(plan) + (plan.card ? ", " + card_text(plan) : "");
    if (page.file.empty() || plan.verdict.status == Verdict::kDoesNotFit) page.file = plan.model->source;
    const KvCachePlan& kv = plan.kv_cache;
    rows.push_back(
        {short_name(entry, shared), attention_text(plan), std::to_string(plan.model->num_layers),
         grouped(kv.bytes_per_token.count()), grouped(kv.bytes_per_sequence.count()),
         tokens_text(plan.load.max_model_len.count()), gib_number(kv.reserved_total), gib_number(plan.total.bytes),
         plan.host_total() > Bytes(0) ? gib_number(plan.host_total()) : std::string("-"),
         plan.memory.size() > 1 ? layout_name(plan.request.parallel) : std::string("-"), verdict_word(plan.verdict)});
    tones.push_back(tone_of(plan));
    bars.rows.push_back(stacked(short_name(entry, shared), plan.fullest()));
    if (!bars.budget) set_limits(plan, bars);
    for (const Headline& headline : headlines_of(plan.verdict, plan))
      if (headline.tone == Tone::kBad)
        page.notes.push_back({Tone::kBad, headline.word, short_name(entry, shared) + ": " + headline.says.str()});
  }
  if (rows.empty()) return page;
  PageTable table =
      without_columns_of("-", titled_table({"model", "attention", "layers", "B/token", "fixed B/seq", "tokens",
                                            "KV GiB", "total GiB", "host GiB", "layout", "verdict"},
                                           0b00111111100, rows, {2, 4, 5}, tones));
  page.add("", Detail::kComment, std::move(table), how_to_repeat(commands_of(entries)));
  page.add("Memory of the fullest GPU", Detail::kDocument, std::move(bars));
  add_contexts(entries, shared, page);
  return page;
}

static Page shared_page(const SharedCard& shared) {
  Page page;
  page.title = plural(shared.models.size(), "model") + " on one GPU";
  page.facts = (shared.card.empty() ? "a GPU" : shared.card) + ": " + gib(shared.memory);
  page.file = shared.models.front().plan->model->source;
  const bool fits = shared.status == Verdict::kFits;
  const std::string sum = fmt::format("{} {} of {}", shared.asleep ? "one awake, the others asleep:" : "together",
                                      gib(shared.total), gib(shared.usable));
  const std::int64_t left = signed_difference(shared.usable.count(), shared.total.count());
  const bool unknown = shared.status == Verdict::kUnknown;
  page.headlines.push_back({fits      ? Tone::kGood
                            : unknown ? Tone::kCareful
                                      : Tone::kBad,
                            fits      ? "FITS"
                            : unknown ? "UNKNOWN"
                                      : "DOES NOT FIT",
                            sum + ": " + human_bytes(without_sign(left)) + (left < 0 ? " short" : " free")});
  Rows rows;
  std::vector<Tone> tones;
  Bars bars;
  for (const FleetEntry& entry : shared.models) {
    const Plan& plan = *entry.plan;
    const GpuMemory& gpu = plan.fullest();
    const std::string name = end_of(one_line(plan.model->name, 200), 24);
    rows.push_back(
        {name, engine_text(plan),
         fmt::format("{} x {}", tokens_text(plan.load.max_model_len.count()), plan.request.num_seqs),
         part_text(gpu.weights), gib_number(plan.kv_cache.reserved), gib_number(gpu.total),
         plan.request.memory_utilization ? fmt::format("{:.2f}", *plan.request.memory_utilization) : "-",
         plan.request.vllm.sleeps ? gib_number(kept_asleep(plan)) : std::string("-"),
         plan.capacity && plan.kv_cache.bytes_per_token > Bytes(0) ? count_text(plan.capacity->max_model_len) : "-",
         verdict_word(plan.verdict)});
    tones.push_back(tone_of(plan));
    bars.rows.push_back(stacked(name, gpu));
    if (!plan.verdict.fails()) continue;
    page.notes.push_back({Tone::kBad, name, reason_of(plan.verdict)});
  }
  PageTable table =
      without_columns_of("-", titled_table({"model", "engine", "tokens x seqs", "weights GiB", "KV GiB", "total GiB",
                                            "utilization", "asleep GiB", "max context", "fits"},
                                           0b0111111000, rows, {3, 4, 8, 2}, tones));
  page.add("", Detail::kComment, std::move(table));
  page.add("Memory of the GPU", Detail::kDocument, std::move(bars));
  return page;
}

static Page engines_page(const std::vector<FleetEntry>& entries) {
  const FleetEntry* first = nullptr;
  for (const FleetEntry& entry : entries)
    if (entry.plan && first == nullptr) first = &entry;
  Page page;
  if (first == nullptr) {
    for (const FleetEntry& entry : entries) page.notes.push_back(not_planned(entry.error, entry.source));
    return page;
  }
  page.title = title_of(*first->plan->model);
  page.facts = fmt::format("{} x {}, GiB of the fullest GPU", plural(first->plan->load.max_model_len.count(), "token"),
                           plural(first->plan->request.num_seqs, "sequence"));
  page.file = first->plan->model->source;
  Rows rows;
  Rows reasons;
  for (const FleetEntry& entry : entries) {
    if (!entry.plan) {
      page.notes.push_back(not_planned(entry.error, entry.source));
      continue;
    }
    const Plan& plan = *entry.plan;
    const GpuMemory& gpu = plan.fullest();
    rows.push_back({plan.engine + " " + plan.engine_version, cache_types_name(plan.types),
                    gib_number(plan.kv_cache.logical_per_gpu), gib_number(plan.kv_cache.reserved),
                    part_text(gpu.weights), part_text(gpu.activation), part_text(gpu.runtime), gib_number(gpu.total),
                    plan.host_total() > Bytes(0) ? gib_number(plan.host_total()) : "-",
                    plan.capacity && plan.capacity->tokens ? grouped(*plan.capacity->tokens) : "-",
                    verdict_word(plan.verdict)});
    const std::size_t before = reasons.size();
    const auto because = [&](std::string why) {
      reasons.push_back({reasons.size() == before ? plan.engine : "", std::move(why)});
    };
    if (cache_types_name(plan.types) != cache_types_name(first->plan->types))
      because("KV in " + cache_types_name(plan.types));
    if (plan.types.state != first->plan->types.state && plan.kv_cache.bytes_per_sequence > Bytes(0))
      because(fmt::format("states in {}", name(plan.types.state)));
    for (const GapLine& line : plan.kv_cache.gap) because(signed_size(line.bytes) + " " + in_words(line.reason));
    if (reasons.size() == before) because("no overhead");
  }
  page.add("", Detail::kComment,
           without_columns_of("-", titled_table({"engine", "KV type", "needs", "KV", "weights", "activ.", "runtime",
                                                 "total", "host", "tokens", "verdict"},
                                                0b01111111100, rows, {2, 1})),
           how_to_repeat(commands_of(entries)));
  page.add("What explains the differences", Detail::kScreen, titled_table({"", ""}, 0, reasons));
  return page;
}

Reply reply_of(const std::vector<FleetEntry>& entries) {
  return fleet_reply({entries}, [&entries] { return fleet_page(entries); });
}

Reply side_by_side(const std::vector<FleetEntry>& entries) {
  return fleet_reply({entries}, [&entries] { return engines_page(entries); });
}

Reply reply_of(const SharedCard& shared) {
  return fleet_reply({shared.models, &shared}, [&shared] { return shared_page(shared); });
}

}  // namespace kvplan
