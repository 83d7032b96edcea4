// The page of `kvplan explain`: each kind of layer with its formula and numbers, the keys and defaults that were used,
// the memory item by item, and the operations of a decoded token with and without the cache.
#include <fmt/format.h>

#include <algorithm>

#include "kvplan/storage.h"
#include "kvplan/strings.h"
#include "report/pages/pages.h"

namespace kvplan {

static std::string in_bytes(Bytes bytes) {
  return grouped(bytes.count()) + " B";
}

// A block of facts about one thing: names, and words that are not figures.
static Block described(const std::string& title, const Rows& rows) {
  return {title, Detail::kComment, titled_table({"", ""}, 0, rows), {}};
}

static std::string shape_text(const TermFacts& term) {
  const Shape& shape = term.shape;
  std::string out;
  const auto factor = [&out](std::uint64_t n) { out += (out.empty() ? "" : " * ") + std::to_string(n); };
  if (shape.columns > 0) out = fmt::format("({} - 1)", shape.columns);
  if (shape.units > 1) factor(shape.units);
  if (shape.vectors > 1) factor(shape.vectors);
  factor(shape.width);
  return out;
}

static std::string growth_text(const TermFacts& term) {
  switch (term.growth) {
    case Growth::kSequence: return "sequence";
    case Growth::kSourceToken: return "source token";
    case Growth::kToken: break;
  }
  std::string out = term.stride == 1 ? "token" : fmt::format("{} tokens", term.stride);
  if (term.token_limit) out += fmt::format(", up to {}", grouped(*term.token_limit));
  return out;
}

static void add_layer(const LayerFacts& layer, const std::string& whose, Page& page) {
  Rows rows{{"layers", layer.indices}, {"formula", layer.kind.formula}};
  const std::string values = join(layer.symbols, ", ", [](const Symbol& symbol) {
    return fmt::format("{} = {} ({})", symbol.symbol, symbol.value, symbol.key);
  });
  if (!values.empty()) rows.push_back({"with", values});
  rows.push_back({"source", layer.kind.source});
  std::string title = fmt::format("{}{} x {}", whose, layer.count, layer.kind.title);
  if (!layer.variant.empty()) title += fmt::format(" [{}]", layer.variant);
  page.blocks.push_back(described(title, rows));

  Rows terms;
  Bytes sum;
  for (const TermFacts& term : layer.terms) {
    const Bytes bytes = term.entry * term.entries;
    sum += bytes;
    terms.push_back({term.name, shape_text(term), grouped(term.elements), growth_text(term), term.dtype,
                     grouped(term.entry.count()), grouped(term.entries), human_bytes(bytes)});
  }
  if (terms.empty()) return;
  page.add(
      "", Detail::kComment,
      titled_table({"term", "shape", "elements", "for each", "type", "B/entry", "entries", "bytes"}, 0b11100100, terms,
                   {1}),
      {fmt::format("{} x {} = {}", human_bytes(sum), plural(layer.count, "layer"), human_bytes(sum * layer.count))});
}

static std::string_view origin_text(Origin origin) {
  return nth_word(origin, "file|file, by another name|class default|computed", '|');
}

static void add_config(const std::string& title, const std::vector<ConfigFact>& config, Page& page) {
  Rows rows;
  for (const ConfigFact& fact : config)
    rows.push_back({one_line(fact.key, 100), one_line(fact.value, 100), origin_text(fact.origin)});
  if (!rows.empty()) page.add(title, Detail::kComment, titled_table({"field", "value", "from"}, 0, rows));
}

// The draft's layers at its own types, and the values read from its config.
static void add_draft(const Plan& plan, Page& page) {
  if (plan.request.extras.draft == nullptr || !plan.draft_method) return;
  for (const LayerFacts& layer : plan.explanation.draft_layers) add_layer(layer, "draft: ", page);
  add_config(
      fmt::format("Draft {} ({}): config fields used", one_line(plan.draft_source, 200), name(*plan.draft_method)),
      plan.explanation.draft_config, page);
}

// The files that are loaded in addition to the model.
static void add_companions(const ExtrasRequest& extras, Page& page) {
  for (const AdapterFile& adapter : extras.adapters) {
    const std::string targets = join(adapter.targets);
    page.blocks.push_back(described("LoRA adapter " + one_line(adapter.source, 200),
                                    {{"rank", std::to_string(adapter.rank)},
                                     {"elements", grouped(adapter.elements.count())},
                                     {"size", human_bytes(adapter.bytes)},
                                     {"modules", targets.empty() ? "not named" : targets}}));
  }
  if (!extras.projector) return;
  const auto& projector = *extras.projector;
  page.blocks.push_back(described("Image projector " + one_line(projector.source, 200),
                                  {{"kind", fmt::format("{}", projector.projector)},
                                   {"tensors", fmt::format("{}", projector.tensors)},
                                   {"size", human_bytes(projector.bytes)},
                                   {"image size", fmt::format("{}", projector.image_size)},
                                   {"patch size", fmt::format("{}", projector.patch_size)}}));
}

// What multi-head attention would cache, if the model caches less.
static void add_multi_head(const Plan& plan, Page& page) {
  constexpr std::uint64_t kUsualHead = 128;
  const double tokens =
      static_cast<double>(plan.tokens_of_sequence().count()) * static_cast<double>(plan.load.num_seqs);
  const double bytes = static_cast<double>(plan.explanation.multi_head.count()) * tokens *
                       bytes_per_element(info(plan.types.key).key, kUsualHead);
  const auto own = static_cast<double>(plan.kv_cache.logical.count());
  if (own <= 0 || bytes < 1.05 * own || bytes > 1e18) return;
  page.add(
      "", Detail::kComment,
      Sentences{fmt::format("Multi-head attention (a key and a value for every head and token) would cache {}, {:.3g} "
                            "times as much.",
                            human_bytes(Bytes(static_cast<std::uint64_t>(bytes))), bytes / own)});
}

static void add_gap(const Plan& plan, Page& page) {
  const KvCachePlan& kv = plan.kv_cache;
  if (kv.gap.empty()) return;
  const bool is_share = plan.memory.size() > 1 || kv.logical_per_gpu != kv.logical;
  const std::string share = is_share ? ", per GPU (largest)" : "";
  Rows rows{{"needed by the architecture" + share, in_bytes(kv.logical_per_gpu)}};
  for (const GapLine& line : kv.gap)
    rows.push_back({(line.bytes >= 0 ? "+ " : "- ") + in_words(line.reason), in_bytes(without_sign(line.bytes))});
  rows.push_back({"allocated by " + plan.engine + share, in_bytes(kv.reserved)});
  PageTable table = facts_table(rows);
  table.rows.back().tone = Tone::kStrong;
  page.add("KV cache, from need to allocation", Detail::kComment, std::move(table));
}

static void add_items(const std::string& title, const std::vector<LedgerLine>& lines, Bytes total, Page& page) {
  Rows rows;
  for (const LedgerLine& line : lines)
    rows.push_back(
        {in_words(line.what), human_bytes(line.bytes), range_text(line), in_words(line.formula), line.source});
  rows.push_back({"total", human_bytes(total), "", "", ""});
  PageTable table = titled_table({"what", "bytes", "range", "formula", "source"}, 0b00010, rows);
  for (const std::size_t below : {3U, 4U}) table.columns[below].kind = Column::Kind::kBelow;
  table.rows.back().tone = Tone::kStrong;
  page.add(title, Detail::kComment, std::move(table));
}

static void add_ledger(const Plan& plan, Page& page) {
  for (const GpuMemory& gpu : plan.memory) {
    if (gpu.gpu > 0 && gpu.total == plan.memory[gpu.gpu - 1].total) continue;
    add_items(fmt::format("Memory of GPU {}, item by item", gpu.gpu), gpu.lines, gpu.total, page);
  }
  if (!plan.host.empty()) add_items("Host memory, item by item", plan.host, plan.host_total(), page);
}

// How the cache's budget is computed, with its numbers.
static void add_budget(const Plan& plan, Rows& rows) {
  const Capacity& capacity = *plan.capacity;
  if (plan.request.kv_cache_memory_bytes) {
    rows.push_back({"KV cache budget per GPU", in_bytes(capacity.kv_cache_memory), "--kv-cache-memory-bytes"});
    return;
  }
  const Bytes card = plan.card.value_or(Bytes(0));
  const Bytes beside = plan.fullest().total - plan.kv_cache.reserved;
  const double share = plan.usable_share.value_or(1);
  rows.push_back({"GPU memory", in_bytes(card), ""});
  rows.push_back({"usable share", fmt::format("{:.4g}", share), "--gpu-memory-utilization"});
  rows.push_back({"everything but KV", in_bytes(beside), "weights, activations, runtime"});
  const Bytes usable(static_cast<std::uint64_t>(static_cast<double>(card.count()) * share));
  const std::int64_t rest =
      signed_difference(usable.count(), beside.count()) - static_cast<std::int64_t>(capacity.kv_cache_memory.count());
  rows.push_back({"KV cache budget per GPU", in_bytes(capacity.kv_cache_memory),
                  rest >= -1 && rest <= 1 ? "memory x share - everything but KV" : "by the engine's rule"});
}

// Equal groups share a row.
static void add_blocks(const Plan& plan, Rows& rows) {
  std::vector<std::pair<const CacheGroup*, std::uint64_t>> groups;
  for (const CacheGroup& group : plan.kv_cache.groups) {
    if (!group.block_size) continue;
    const auto same = std::find_if(groups.begin(), groups.end(), [&](const auto& other) {
      const CacheGroup& o = *other.first;
      return o.kind == group.kind && o.layers == group.layers && o.block_size == group.block_size &&
             o.page_bytes == group.page_bytes;
    });
    if (same == groups.end())
      groups.emplace_back(&group, 1);
    else
      ++same->second;
  }
  for (const auto& [group, count] : groups)
    rows.push_back({"a block of " + group->kind, in_bytes(group->page_bytes * group->layers),
                    fmt::format("{} of {}{}", plural(group->layers, "layer"), plural(*group->block_size, "token"),
                                count > 1 ? fmt::format(", {} groups", count) : "")});
}

static void add_capacity(const Plan& plan, Page& page) {
  if (!plan.capacity) return;
  const Capacity& capacity = *plan.capacity;
  Rows rows;
  add_budget(plan, rows);
  add_blocks(plan, rows);
  if (capacity.num_blocks) rows.push_back({"blocks", grouped(*capacity.num_blocks), "whole blocks in the budget"});
  if (capacity.tokens) rows.push_back({"GPU KV cache size", grouped(*capacity.tokens) + " tokens", ""});
  rows.push_back({"max concurrency at " + plural(plan.load.max_model_len.count(), "token"),
                  fmt::format("{:.2f}x", capacity.max_concurrency), ""});
  rows.push_back({"allocated for the request", in_bytes(plan.kv_cache.reserved), ""});
  page.add("Capacity", Detail::kComment, facts_table(rows));
}

// The lower bound of the hidden states, and the scores of naive attention, without and with chunks.
static void add_prefill(const Plan& plan, Page& page) {
  const std::uint64_t chunk = plan.explanation.prefill_chunk;
  const std::uint64_t length = plan.load.tokens_of_sequence().count();
  Rows rows;
  rows.push_back({"hidden states", human_bytes(Bytes(chunk) * plan.model->hidden_size * 2),
                  fmt::format("{} tokens of a chunk * {} * 2 B", grouped(chunk), plan.model->hidden_size)});
  if (const std::uint64_t heads = plan.explanation.num_heads; heads > 0) {
    const Bytes row = Bytes(length) * heads * 4;
    rows.push_back({"naive attention scores, one pass", human_bytes(row * length),
                    fmt::format("{} heads * 4 B * {} tokens squared", heads, grouped(length))});
    rows.push_back({"naive attention scores, by chunks", human_bytes(row * std::min(chunk, length)), ""});
    rows.push_back({"FlashAttention", "0 B", "never writes the scores to memory"});
  }
  page.add("Prefill: lower bound on activations", Detail::kScreen, facts_table(rows));
}

static void add_work(const Plan& plan, Page& page) {
  const auto tokens = static_cast<double>(plan.load.max_model_len.count());
  const double attention = plan.explanation.attention_flops;
  // Two operations for each parameter that a token uses.
  const Parameters& parameters = plan.model->parameters;
  const double matrices = parameters.is_known ? 2 * static_cast<double>(parameters.active) : 0;
  // Without a cache every earlier token is computed again. That is n times the matrices, and attention for every
  // position, which is about half of n times the last position's.
  const double with = matrices + attention;
  const double without = matrices * tokens + attention * tokens / 2;
  const double times = with > 0 ? without / with : 1.0;
  Rows rows;
  rows.push_back({"with the KV cache", fmt::format("{:.3g} FLOPs", with),
                  fmt::format("2 x active parameters = {:.3g}, attention over the cache {:.3g}", matrices, attention)});
  const std::string factor =
      times < 1e15 ? grouped(static_cast<std::uint64_t>(std::max(0.0, times) + 0.5)) : fmt::format("{:.3g}", times);
  rows.push_back({"recomputing the whole prefix", fmt::format("{:.3g} FLOPs", without), factor + "x"});
  page.add(fmt::format("Compute per decoded token after {}{}", plural(plan.load.max_model_len.count(), "token"),
                       parameters.is_known ? "" : " (attention only: the parameters are not known)"),
           Detail::kScreen, facts_table(rows));
}

static Page explain_page(const Plan& plan) {
  Page page = page_about(plan);
  page.about.insert(page.about.begin(), Text("recognised as: " + plan.model->family));
  for (const LayerFacts& layer : plan.layers) add_layer(layer, "", page);
  add_multi_head(plan, page);
  add_draft(plan, page);
  add_companions(plan.request.extras, page);
  add_gap(plan, page);
  add_ledger(plan, page);
  add_capacity(plan, page);
  add_prefill(plan, page);
  add_work(plan, page);
  add_speed(plan, true, page);
  add_config("Config fields used", plan.model->config, page);
  page.notes = notes_of(plan.notes);
  return page;
}

Reply explained(const Plan& plan) {
  return reply_with(explain_page, plan);
}

}  // namespace kvplan
