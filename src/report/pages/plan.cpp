#include <fmt/format.h>

#include <algorithm>

#include "kvplan/ranges.h"
#include "report/pages/pages.h"

namespace kvplan {

Sentences command_lines(std::string_view command) {
  constexpr std::size_t kWidth = 74;
  std::vector<std::string> lines{""};
  bool quoted = false;
  for (std::size_t at = 0, end = 0; at < command.size(); at = end) {
    for (end = at + 1; end < command.size(); ++end) {
      if (command[end] == '\'') quoted = !quoted;
      if (!quoted && command.substr(end, 2) == " -") break;
    }
    const std::string_view piece = command.substr(at, end - at);
    if (lines.back().size() + piece.size() > kWidth && !lines.back().empty()) {
      lines.back() += " \\";
      lines.push_back(" " + std::string(piece));
    } else {
      lines.back() += piece;
    }
  }
  return {lines.begin(), lines.end()};
}

static std::string range_text(Bytes low, Bytes high) {
  const std::string least = gib_number(low);
  const std::string most = gib_number(high);
  return least == most ? "" : least + " to " + most;
}

// Adds the contents of the parts, from the lines of a GPU or of the host.
static void add_part_rows(const std::vector<LedgerLine>& lines, const GpuMemory* gpu, Bars& bars) {
  Bytes total;
  for (const PartName& part : kParts) {
    RangeSum sum;
    Bytes bytes;
    for (const LedgerLine& line : lines) {
      if (line.part != part.part) continue;
      sum.add(line.bytes, {line.low, line.high});
      bytes += line.bytes;
    }
    if (gpu != nullptr && !(gpu->*part.bytes)) {
      bars.rows.push_back({part.name, "-", "not known", {}, {}});
      continue;
    }
    const auto [least, most] = sum.range();
    total += bytes;
    if (gpu == nullptr && bytes == Bytes(0)) continue;
    bars.rows.push_back({part.name, gib_number(bytes), range_text(least, most), {{part.part, bytes}}, {}});
  }
  const Range all = range_of(lines);
  bars.rows.push_back({"total", gib_number(total), range_text(all.low, all.high), {}, Tone::kStrong});
}

static void add_parts(const Plan& plan, Page& page) {
  const GpuMemory& gpu = plan.fullest();
  const bool on_host = gpu.total == Bytes(0) && plan.host_total() > Bytes(0);
  Bars bars;
  bars.value_title = "GiB";
  if (on_host && plan.request.card.host_memory) {
    bars.budget = plan.request.card.host_memory;
    bars.budget_name = "host memory " + gib_number(*bars.budget);
  } else if (!on_host) {
    set_limits(plan, bars);
  }
  add_part_rows(on_host ? plan.host : gpu.lines, on_host ? nullptr : &gpu, bars);
  if (std::any_of(bars.rows.begin(), bars.rows.end(), [](const BarRow& row) { return !row.range.empty(); }))
    bars.range_title = "range";
  const std::string title = on_host ? "Host memory: nothing on a GPU"
                            : plan.memory.size() == 1
                                ? "Memory"
                                : fmt::format("Memory of the fullest of {} GPUs", plan.memory.size());
  Block& block = page.add(title, Detail::kComment, std::move(bars));
  if (const Bytes spared = plan.verdict.spared; spared > Bytes(0)) {
    const bool lengths = plan.request.avg_len || !plan.request.seq_lens.empty();
    block.remarks.push_back(
        lengths ? fmt::format("Sized for the lengths you gave. If every sequence grows to {} tokens you need {} more.",
                              grouped(plan.load.max_model_len.count()), gib(spared))
                : fmt::format("The shared prefix is counted once. Without it you need {} more.", gib(spared)));
  }
  if (plan.taken_at_start && plan.verdict.starts != false) {
    std::string claim = fmt::format("{} claims {} at start-up", plan.engine, gib(*plan.taken_at_start));
    if (plan.card && *plan.card > Bytes(0))
      claim += fmt::format(", {:.0f} % of the GPU", 100 * static_cast<double>(plan.taken_at_start->count()) /
                                                        static_cast<double>(plan.card->count()));
    block.remarks.push_back(claim);
  }
  if (plan.capacity && plan.capacity->tokens && plan.verdict.starts == true &&
      plan.verdict.status == Verdict::kDoesNotFit)
    block.remarks.push_back(fmt::format("KV cache budget {}: {} tokens, max concurrency {:.2f}x",
                                        gib(plan.capacity->kv_cache_memory), grouped(*plan.capacity->tokens),
                                        plan.capacity->max_concurrency));
}

static bool same_parts(const GpuMemory& a, const GpuMemory& b) {
  return std::all_of(kParts.begin(), kParts.end(), [&](const PartName& p) { return a.*p.bytes == b.*p.bytes; });
}

// Consecutive GPUs with equal figures are one row.
static void add_gpus(const Plan& plan, Page& page) {
  if (plan.memory.size() < 2) return;
  Bars bars;
  bars.value_title = "GiB";
  set_limits(plan, bars);
  Rows rows;
  for (std::size_t first = 0; first < plan.memory.size();) {
    std::size_t end = first + 1;
    const std::vector<const Gpu*>& mixed = plan.request.card.mixed;
    while (mixed.empty() && end < plan.memory.size() && same_parts(plan.memory[first], plan.memory[end])) ++end;
    std::string label = end == first + 1 ? fmt::format("GPU {}", first) : fmt::format("GPU {} to {}", first, end - 1);
    if (first < mixed.size()) label += ", " + std::string(mixed[first]->name);
    const GpuMemory& gpu = plan.memory[first];
    bars.rows.push_back(stacked(label, gpu));
    std::vector<Text> row{label};
    for (const PartName& part : kParts) row.push_back(part_text(gpu.*part.bytes));
    row.push_back(gib_number(gpu.total));
    if (!mixed.empty() && plan.card) row.push_back(gib_number(plan.card_of(first, *plan.card)));
    rows.push_back(std::move(row));
    first = end;
  }
  const bool differ = !plan.request.card.mixed.empty();  // compare each with its own GPU
  page.add("Memory of each GPU", Detail::kDocument, std::move(bars));
  std::vector<std::string> titles{"", "weights GiB", "KV cache GiB", "activations GiB", "runtime GiB", "total GiB"};
  if (differ) titles = {"", "weights", "KV cache", "activations", "runtime", "total GiB", "of"};
  page.add(differ ? "Each GPU" : "", differ ? Detail::kComment : Detail::kDocument,
           titled_table(titles, differ ? 0b1111110 : 0b111110, rows));
}

// If the user named no engine, the figures above are an estimate for the architecture. These are what each engine takes
// on the GPU.
static void add_engines(const Plan& plan, Page& page) {
  if (plan.engines.empty()) return;
  Rows rows;
  std::vector<Tone> tones;
  for (const EngineVerdict& row : plan.engines) {
    if (!row.error.empty()) {
      rows.push_back({row.engine, "refuses", "", "", row.error});
      tones.push_back(Tone::kFaint);
      continue;
    }
    const VerdictReport& verdict = row.verdict;
    const bool fits = verdict.status == Verdict::kFits;
    const bool unknown = !verdict.no_verdict.empty();
    std::string word = fits                     ? "fits"
                       : verdict.holds()        ? "partly on the CPU"
                       : unknown                ? "unknown"
                       : verdict.refusal        ? "refuses"
                       : verdict.starts == true ? "not all at once"
                                                : "does not fit";
    if (verdict.close) word += ", close";
    rows.push_back({row.engine + " " + row.engine_version, word, gib_number(row.total),
                    row.max_model_len ? count_text(*row.max_model_len) : "-",
                    verdict.refusal ? in_words(verdict.refusal->words) : in_words(verdict.no_verdict)});
    tones.push_back(fits ? Tone::kGood : unknown || verdict.holds() ? Tone::kCareful : Tone::kBad);
  }
  page.add("With an engine (--engine NAME)", Detail::kComment,
           titled_table({"engine", "", "GiB needed", "max context", ""}, 0b01100, rows, {}, tones));
}

void add_remedies(const Plan& plan, Page& page) {
  const bool is_moved = plan.verdict.status == Verdict::kPartlyOnCpu && plan.verdict.has_sought;
  if (plan.verdict.status != Verdict::kDoesNotFit && !is_moved) return;
  Rows rows;
  constexpr std::size_t kMost = 4;
  for (const Remedy& remedy : plan.verdict.suggestions) {
    if (rows.size() == kMost) break;
    std::string left;
    if (remedy.headroom && *remedy.headroom >= 0) left = human_bytes(without_sign(*remedy.headroom)) + " free";
    if (remedy.gpus != plan.request.card.count && remedy.gpus > 1) left += fmt::format(" on {} GPUs", remedy.gpus);
    constexpr std::uint64_t kNoticeable = 256 * kMiB;  // other differences in additional buffers are smaller
    if (remedy.host > plan.host_total() + Bytes(kNoticeable))
      left += fmt::format(", {} in host memory", gib(remedy.host));
    if (!remedy.cost.empty()) left += (left.empty() ? "" : ", ") + in_words(remedy.cost);
    rows.push_back({options_text(remedy.changes, plan.verdict.spelling), gib(remedy.total), left});
    page.remedies.push_back(options_text(remedy.changes, plan.verdict.spelling));
  }
  if (rows.empty() && is_moved) return;
  if (rows.empty())
    page.add("", Detail::kComment, Sentences{"No single change makes it fit."});
  else
    page.add(is_moved ? "To keep it all on the GPU" : "To make it fit", Detail::kComment, facts_table(rows));
  for (const Remedy& remedy : plan.verdict.suggestions) {
    if (remedy.command.empty()) continue;
    page.add("Run this instead (changed: " + options_text(remedy.changes, plan.verdict.spelling) + ")",
             Detail::kComment, command_lines(remedy.command));
    break;
  }
}

static void add_extras(const Plan& plan, Page& page) {
  Rows rows;
  bool asked = false;  // an encoder cache always exists, so it is only in the ledger
  for (const LedgerLine& line : plan.fullest().lines) {
    if (!is_extra(line.id) || line.bytes == Bytes(0)) continue;
    asked = asked || line.id != LineId::kEncoderCache;
    rows.push_back({in_words(line.what), human_bytes(line.bytes), range_text(line)});
  }
  if (asked) page.add("Extras, part of the above", Detail::kScreen, facts_table(rows));
}

static void add_cache(const Plan& plan, Detail detail, Page& page) {
  if (plan.attention == "none") return;  // an encoder
  const KvCachePlan& kv = plan.kv_cache;
  const std::string engine = plan.engine;
  Rows rows;
  rows.push_back({"per token", grouped(kv.bytes_per_token.count()) + " B"});
  if (kv.bytes_per_token_in_window != kv.bytes_per_token)
    rows.push_back(
        {"per token, until the sliding windows are full", grouped(kv.bytes_per_token_in_window.count()) + " B"});
  if (kv.bytes_per_sequence > Bytes(0)) rows.push_back({"fixed, per sequence", human_bytes(kv.bytes_per_sequence)});
  rows.push_back({"needed by the architecture", human_bytes(kv.logical)});
  if (kv.reserved != kv.logical) {
    if (kv.logical_per_gpu != kv.logical && kv.logical_per_gpu > Bytes(0))
      rows.push_back({"per GPU (largest)", human_bytes(kv.logical_per_gpu)});
    for (const GapLine& line : kv.gap)
      if (line.bytes != 0)
        rows.push_back({(line.bytes > 0 ? "+ " : "- ") + in_words(line.reason), human_bytes(without_sign(line.bytes))});
    if (kv.reserved > Bytes(0))
      rows.push_back(
          {"allocated by " + engine + (plan.memory.size() > 1 ? ", per GPU" : ""), human_bytes(kv.reserved)});
  }
  page.add("KV cache", detail, facts_table(rows));
}

static void add_capacity(const Plan& plan, Detail detail, Page& page) {
  if (!plan.capacity) return;
  const Capacity& capacity = *plan.capacity;
  Rows rows;
  rows.push_back({"KV cache budget per GPU", gib(capacity.kv_cache_memory)});
  if (capacity.tokens)
    rows.push_back({"GPU KV cache size", grouped(*capacity.tokens) + " tokens",
                    capacity.num_blocks ? grouped(*capacity.num_blocks) + " blocks" : ""});
  const std::optional<std::uint64_t>& running = plan.verdict.runs_at_once;
  const bool has_cache = plan.attention != "none";
  const std::uint64_t copies = plan.request.parallel.data;  // each with its own cache
  if (has_cache)
    rows.push_back({"max concurrency at " + plural(plan.load.max_model_len.count(), "token"),
                    fmt::format("{:.2f}x", capacity.max_concurrency),
                    running && *running < kAnyCount
                        ? fmt::format("runs {} at once{}", grouped(*running),
                                      copies > 1 ? fmt::format(" in {} copies", copies) : "")
                        : ""});
  if (plan.verdict.largest_seqs_cap)
    rows.push_back({"largest --max-num-seqs", grouped(*plan.verdict.largest_seqs_cap), "one state per sequence"});
  rows.push_back({"max context, " + plural(plan.request.num_seqs, "sequence"),
                  count_text(capacity.max_model_len) + " tokens",
                  capacity.max_model_len_by_memory == capacity.max_model_len
                      ? ""
                      : "by memory only " + count_text(capacity.max_model_len_by_memory)});
  if (!has_cache) {
    rows.front() = {"free per GPU", gib(capacity.kv_cache_memory)};
    rows.push_back(
        {"max sequences at " + plural(plan.load.max_model_len.count(), "token"), count_text(capacity.max_num_seqs)});
  }
  page.add("Capacity", detail, facts_table(rows));
}

static std::string wasted(Bytes taken, Bytes needed) {
  if (taken == Bytes(0)) return "-";
  return fmt::format("{:.1f} %",
                     100.0 * static_cast<double>((taken - needed).count()) / static_cast<double>(taken.count()));
}

static void add_mix(const Plan& plan, Page& page) {
  if (!plan.mix) return;
  const MixReport& mix = *plan.mix;
  const std::uint64_t copies = plan.request.parallel.data;
  Rows rows;
  rows.push_back({"needed", gib_number(mix.needed), "-", ""});
  rows.push_back({"contiguous", gib_number(mix.slab), wasted(mix.slab, mix.needed),
                  fmt::format("{} tokens for every sequence", grouped(plan.load.max_model_len.count()))});
  rows.push_back(
      {"paged", gib_number(mix.pages), wasted(mix.pages, mix.needed),
       fmt::format("pages of {} tokens{}", mix.block_size, mix.engine_pages ? "" : " (the engine has none)")});
  rows.push_back({"page tables", gib_number(mix.page_table), "", human_bytes(mix.page_table)});
  if (mix.shared_prefix > Tokens(0))
    rows.push_back(
        {"paged, prefix shared", gib_number(mix.pages - mix.shared_saving), "",
         fmt::format("{} tokens stored once save {}", grouped(mix.shared_prefix.count()), gib(mix.shared_saving))});
  page.add(fmt::format("Mix of {}, {} ({})", plural(mix.sequences, "sequence"), plural(mix.tokens.count(), "token"),
                       copies > 1 ? fmt::format("each of {} copies", copies) : "all GPUs"),
           // A mean says nothing that the plan does not say.
           plan.request.seq_lens.empty() && mix.shared_prefix == Tokens(0) ? Detail::kDocument : Detail::kScreen,
           titled_table({"", "KV GiB", "wasted", ""}, 0b0110, rows));
}

static void add_contexts(const Plan& plan, Detail detail, Page& page) {
  const CacheCurve& curve = plan.contexts;
  const bool on_host = std::all_of(curve.bytes.begin(), curve.bytes.end(), [](Bytes b) { return b == Bytes(0); });
  if (curve.tokens.empty() || on_host) return;
  PageTable table{{{"tokens"}}, {{{"KV GiB"}}}};
  // Of a long series, every second value is shown.
  const std::size_t keep = curve.tokens.size() > 8 ? 2 : 1;
  for (std::size_t i = 0; i < curve.tokens.size(); ++i) {
    if ((curve.tokens.size() - 1 - i) % keep != 0) continue;
    table.columns.push_back({tokens_text(curve.tokens[i]), Column::Kind::kNumber});
    table.rows[0].cells.push_back(gib_number(curve.bytes[i]));
  }
  page.add(fmt::format("KV cache by context ({}{}{})", plan.load.pooled ? "a pool of " : "",
                       plural(plan.load.num_seqs, "sequence"), plan.memory.size() > 1 ? ", fullest GPU" : ""),
           detail, std::move(table));
}

static void add_layers(const Plan& plan, Detail detail, Page& page) {
  Rows rows;
  for (const LayerFacts& layer : plan.layers) {
    constexpr std::size_t kMost = 44;
    std::string indices = layer.indices;
    if (indices.size() > kMost) indices = indices.substr(0, kMost - 3) + "...";
    rows.push_back({std::to_string(layer.count), kind_of(layer),
                    layer.bytes_per_token > 0 ? grouped(layer.bytes_per_token) : "-",
                    layer.bytes_per_sequence > 0 ? grouped(layer.bytes_per_sequence) : "-",
                    layer.token_limit ? grouped(*layer.token_limit) : "-", indices});
  }
  page.add("Layers (bytes per layer)", detail,
           titled_table({"layers", "kind", "B/token", "fixed B/seq", "window", "layer indices"}, 0b011101, rows, {5}));
}

static double in_gib(Bytes bytes) {
  return static_cast<double>(bytes.count()) / kGiB;
}

// KV on the fullest GPU by context: a curve for the plan's KV type, and one for each other type in use with the engine.
static void add_curves(const Plan& plan, Page& page) {
  if (plan.curves.empty()) return;
  const std::uint64_t asked = plan.load.max_model_len.count();
  Chart chart;
  chart.title = "KV cache against context, a curve for each KV type";
  chart.x_title = plan.load.pooled ? "tokens of the pool" : "tokens of a sequence";
  chart.y_title = fmt::format("KV GiB{}, {}", plan.memory.size() > 1 ? " of the fullest GPU" : "",
                              plural(plan.load.num_seqs, "sequence"));
  chart.x_is_tokens = true;
  for (const CacheCurve& curve : plan.curves) {
    if (chart.x.empty()) chart.x.assign(curve.tokens.begin(), curve.tokens.end());
    ChartSeries& series = chart.series.emplace_back(ChartSeries{curve.types, {}});
    for (const Bytes bytes : curve.bytes) series.y.push_back(in_gib(bytes));
  }
  if (plan.capacity) {
    chart.limit = in_gib(plan.capacity->kv_cache_memory);
    chart.limit_name = fmt::format("KV cache budget: {}", gib(plan.capacity->kv_cache_memory));
  }
  if (asked < plan.model->max_model_len.count()) {
    chart.marked = static_cast<double>(asked);
    chart.marked_name = fmt::format("the request, {} tokens", grouped(asked));
  }
  page.add("KV cache against context", Detail::kDocument, std::move(chart));
}

static void add_lines(const Plan& plan, Page& page) {
  for (std::size_t g = 0; g < plan.memory.size(); ++g) {
    if (g > 0 && same_parts(plan.memory[g - 1], plan.memory[g])) continue;
    const GpuMemory& gpu = plan.memory[g];
    Rows rows;
    for (const PartName& part : kParts)
      for (const LedgerLine& line : gpu.lines)
        if (line.part == part.part)
          rows.push_back({in_words(line.what), part.name, gib_number(line.bytes), grouped(line.bytes.count()),
                          range_text(line.low, line.high), in_words(line.formula), line.source});
    page.add(fmt::format("Memory of GPU {}, item by item: {}", g, gib(gpu.total)), Detail::kDocument,
             titled_table({"what", "part", "GiB", "bytes", "range GiB", "formula", "source"}, 0b1100, rows))
        .is_folded = g > 0;
  }
}

static void add_next(const Plan& plan, Page& page) {
  if (plan.model->source == "-") return;
  const Request& request = plan.request;
  std::string options = " " + shell_word(plan.model->source);
  if (!plan.is_logical) options += " --engine " + plan.engine;
  if (request.card.gpu) options += " --gpu " + shell_word(request.card.name_or(""));
  page.next.push_back((request.card.gpu ? "kvplan fit" : "kvplan explain") + options +
                      (request.card.gpu ? " (or compare, explain)" : " (or compare, fit)"));
}

static void add_calibration(const Plan& plan, Page& page) {
  if (plan.calibrated.empty() || !plan.request.calibration) return;
  Rows rows;
  for (const AppliedFigure& each : plan.calibrated)
    rows.push_back({each.what, human_bytes(each.figure.mean_bytes()), each.source});
  page.add("Calibrated by " + one_line(plan.request.calibration->path, 200), Detail::kScreen, facts_table(rows));
}

static Page plan_page(const Plan& plan) {
  Page page = page_about(plan);
  // Without an engine, fitting does not mean that an engine starts.
  const bool is_floor = !plan.engines.empty();
  if (is_floor) {
    for (Headline& headline : page.headlines)
      if (headline.tone == Tone::kGood) headline = {Tone::kPlain, "no engine given", headline.says};
    page.headlines.push_back({Tone::kPlain, "", "an estimate for the architecture; engines are listed below"});
  }
  // With --users the answer is the number of GPUs. The plan for the given GPUs follows it.
  for (const Note& note : plan.notes)
    if (note.code == "users") page.headlines.push_back({Tone::kStrong, "", in_words(note.message)});
  add_parts(plan, page);
  add_engines(plan, page);
  if (!is_floor) add_remedies(plan, page);
  add_gpus(plan, page);
  add_extras(plan, page);
  // A plan that does not fit shows remedies. Everything else is in `explain`.
  const bool fits = plan.verdict.status != Verdict::kDoesNotFit;
  const Detail more = fits || !plan.card ? Detail::kComment : Detail::kDocument;
  add_cache(plan, is_floor ? Detail::kDocument : more, page);
  add_capacity(plan, is_floor ? Detail::kDocument : more, page);
  add_mix(plan, page);
  add_host(plan, page);
  if (fits && !is_floor) add_speed(plan, false, page);
  add_calibration(plan, page);
  if (plan.measurement) add_measurement(plan, page);
  add_curves(plan, page);
  add_contexts_by_sequences(plan.contexts_by_sequences, page);
  // With a GPU the question is whether the plan fits, so only `explain` shows the layers.
  const Detail beyond = plan.card ? Detail::kDocument : Detail::kScreen;
  add_contexts(plan, beyond, page);
  add_layers(plan, beyond, page);
  add_lines(plan, page);
  std::vector<Note> notes = plan.notes;
  std::erase_if(notes, [](const Note& note) { return note.code == "users"; });
  const std::vector<PageNote> lines = notes_of(notes);
  page.notes.insert(page.notes.end(), lines.begin(), lines.end());
  add_next(plan, page);
  return page;
}

Reply reply_of(const Plan& plan) {
  Reply out = reply_with(plan_page, plan);
  if (plan.launch) {
    out.plan = &plan;
    out.warning = launch_warning(plan);
  }
  return out;
}

}  // namespace kvplan
