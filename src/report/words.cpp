#include "report/words.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "kvplan/quantity.h"
#include "kvplan/strings.h"
#include "report/report.h"

namespace kvplan {

constexpr std::array<PartName, 4> kParts{PartName{Section::kWeights, "weights", &GpuMemory::weights},
                                         PartName{Section::kKvCache, "KV cache", &GpuMemory::kv_cache},
                                         PartName{Section::kActivation, "activations", &GpuMemory::activation},
                                         PartName{Section::kRuntime, "runtime", &GpuMemory::runtime}};

std::string title_of(const ModelFacts& model) {
  if (!model.name.empty() && model.name != "-") return model.name;
  const std::string& name = model.architecture.empty() ? model.model_type : model.architecture;
  return name.empty() ? "a model without a name" : name;
}

// "671B", "8.03B", "494M".
static std::string parameters_text(std::uint64_t n) {
  const auto count = static_cast<double>(n);
  if (count >= 1e11) return fmt::format("{:.0f}B", count / 1e9);
  if (count >= 1e9) return fmt::format("{:.3g}B", count / 1e9);
  return count >= 1e6 ? fmt::format("{:.3g}M", count / 1e6) : grouped(n);
}

std::string facts_of_plan(const Plan& plan) {
  const ModelFacts& model = *plan.model;
  std::string out;
  if (model.parameters.is_known) {
    out = parameters_text(model.parameters.total) + " parameters";
    if (model.parameters.active != model.parameters.total)
      out += fmt::format(" ({} active)", parameters_text(model.parameters.active));
    out += ", ";
  }
  out += fmt::format("{}, {}, {}", plural(model.num_layers, "layer"), plan.attention, name(model.dtype));
  if (model.max_model_len > Tokens(0))
    out += fmt::format(", up to {} tokens", tokens_text(model.max_model_len.count()));
  for (const TowerFacts& side : model.towers)
    out += fmt::format(", plus {} {}",
                       side.what == TowerKind::kVision || side.what == TowerKind::kTextEncoder ? "a" : "an",
                       name(side.what));
  return out;
}

std::string engine_text(const Plan& plan) {
  if (plan.is_logical) return "no engine (architecture only)";
  return plan.engine + " " + plan.engine_version;
}

std::string request_text(const Plan& plan) {
  const Request& request = plan.request;
  const std::string seqs = request.users ? plural(request.num_seqs, "user") : plural(request.num_seqs, "sequence");
  const std::string tokens = plural(plan.load.max_model_len.count(), "token");
  std::string out = tokens + " x " + seqs;
  if (request.avg_len)
    out = fmt::format("{} with {} on average (at most {})", seqs, plural(request.avg_len->count(), "token"), tokens);
  if (!request.seq_lens.empty()) {
    const auto [shortest, longest] = std::minmax_element(request.seq_lens.begin(), request.seq_lens.end());
    out = fmt::format("{} of {}{} (up to {})", plural(request.seq_lens.size(), "sequence"),
                      *shortest == *longest ? "" : grouped(shortest->count()) + " to ",
                      plural(longest->count(), "token"), tokens);
  }
  out += ", " + engine_text(plan);
  if (!plan.weights_dtype.empty()) out += ", weights " + plan.weights_dtype;
  out += ", KV " + cache_types_name(plan.types);
  return out + (request.parallel.gpus() > 1 ? ", " + layout_name(request.parallel) : "");
}

std::string card_text(const Plan& plan) {
  if (!plan.card) return "";
  if (!plan.request.card.mixed.empty()) {
    std::string sizes;
    for (std::size_t i = 0; i < plan.request.card.mixed.size(); ++i)
      sizes += (i > 0 ? " + " : "") + gib_number(plan.card_of(i, *plan.card));
    return join(plan.request.card.mixed_names(), " + ") + ": " + sizes + " GiB";
  }
  const std::size_t cards = plan.memory.size();
  std::string out;
  if (!plan.request.card.memory && plan.request.card.gpu)
    out = (cards > 1 ? fmt::format("{} x ", cards) : "") + std::string(plan.request.card.gpu->name);
  else
    out = cards > 1 ? fmt::format("{} GPUs", cards) : "a GPU";
  const double share = plan.usable_share.value_or(1);
  if (share == 1) return out + ": " + gib(*plan.card);
  return out + fmt::format(": {:.2f} of {} ({:.4g} %)", share * static_cast<double>(plan.card->count()) / kGiB,
                           gib(*plan.card), share * 100);
}

std::string kind_of(const LayerFacts& layer) {
  std::string out(layer.kind.name);
  if (!layer.variant.empty()) out += " (" + std::string(layer.variant) + ")";
  return out;
}

// Prints two sizes with enough digits that they differ.
static std::string size_beside(Bytes bytes, Bytes other) {
  const bool alike = bytes != other && gib(bytes) == gib(other);
  return alike || bytes < Bytes(kGiB / 10) ? human_bytes(bytes) : gib(bytes);
}

static std::string_view subject_of(VerdictLimit limit) {
  switch (limit) {
    case VerdictLimit::kCacheBudget: return "KV cache needs ";
    case VerdictLimit::kSharedMemory: return "GPU and CPU together need ";
    case VerdictLimit::kHostMemory: return "host memory: needs ";
    default: return "needs ";
  }
}

// "needs 26.70 GiB, 23.52 GiB available: 3.18 GiB short".
static std::string need_text(const VerdictReport& verdict) {
  const std::string need = std::string(subject_of(verdict.limit)) + size_beside(verdict.needed, verdict.budget);
  const std::string budget = size_beside(verdict.budget, verdict.needed);
  const std::string option = verdict.limit == VerdictLimit::kMaxVram ? " (--max-vram)" : "";
  if (verdict.holds() && verdict.needed == Bytes(0) && verdict.limit == VerdictLimit::kCacheBudget)
    return human_bytes(verdict.budget) + " free";  // there is no cache
  if (verdict.holds())
    return need + " of " + budget + option + ": " +
           human_bytes(verdict.budget - std::min(verdict.needed, verdict.budget)) + " free";
  // The bytes may fit although whole blocks do not.
  if (verdict.needed <= verdict.budget) return need + " of " + budget + ", " + reason_of(verdict);
  return need + ", " + budget + " available" + option + ": " + human_bytes(verdict.needed - verdict.budget) + " short";
}

static std::string_view name_of(VerdictLimit limit) {
  return nth_word(limit,
                  "|the memory of a GPU|the usable memory of a GPU|the cache's budget|"
                  "the memory that GPU and CPU share|the host memory||--max-vram",
                  '|');
}

static std::string reason_of_limit(const VerdictReport& verdict) {
  const bool fits = verdict.holds();
  if (verdict.limit == VerdictLimit::kNoOffload) return in_words(verdict.on_cpu) + ", and --no-offload forbids it";
  if (verdict.limit == VerdictLimit::kMinContext || verdict.limit == VerdictLimit::kMinSeqs) {
    const bool is_context = verdict.limit == VerdictLimit::kMinContext;
    const bool one = verdict.count == 1;
    return fmt::format("{} {}, {} {} {}", counted(verdict.count, is_context ? "token" : "sequence"),
                       verdict.counts_room ? (one ? "fits" : "fit") : (one ? "is requested" : "are requested"),
                       fits ? "at least" : "fewer than", is_context ? "--min-context" : "--min-seqs", verdict.least);
  }
  if (!fits && verdict.limit == VerdictLimit::kCacheBudget) return in_words(verdict.shortfall);
  const std::string needed = format_gib(verdict.needed);
  const std::string budget = format_gib(verdict.budget);
  std::string out =
      fmt::format("{} {} {} of {}", needed, fits ? "fits" : "is more than", name_of(verdict.limit), budget);
  if (!fits && needed == budget) out += " by " + format_bytes(verdict.needed - verdict.budget);
  return out;
}

// "the experts of 31 of 48 layers are in main memory, which takes 10.70 GiB"
static std::string on_cpu_text(const VerdictReport& verdict) {
  const std::string out = in_words(verdict.on_cpu) + ", which takes " + gib(verdict.host_needed);
  return verdict.starts ? out : out + "; add --host-memory SIZE to check that the machine has it";
}

// "3.18 GiB short", or the engine's message if the bytes fit but whole blocks do not.
static std::string short_text(const VerdictReport& verdict) {
  if (verdict.needed <= verdict.budget) return reason_of(verdict);
  return human_bytes(verdict.needed - verdict.budget) + " short";
}

std::string reason_of(const VerdictReport& verdict) {
  if (!verdict.no_verdict.empty()) return in_words(verdict.no_verdict);
  if (verdict.status == Verdict::kUnknown)
    return verdict.limit == VerdictLimit::kNone ? "no GPU, size or limit was given"
                                                : "the known parts fit, but the weights are not known";
  std::string out = verdict.refusal ? in_words(verdict.refusal->words) + "; " + in_words(verdict.refusal->cure)
                                    : reason_of_limit(verdict);
  if (verdict.status == Verdict::kPartlyOnCpu) return on_cpu_text(verdict) + "; " + out;
  if (!verdict.has_sought || verdict.holds()) return out;
  // A refusal includes its remedy.
  if (verdict.suggestions.empty()) return verdict.refusal ? out : out + "; no single change makes it fit";
  const Remedy& first = verdict.suggestions.front();
  out += "; " + options_text(first.changes, verdict.spelling);
  if (first.gpus != verdict.asked_gpus) out += fmt::format(" ({} GPUs)", first.gpus);
  return out + " makes it fit";
}

std::vector<Headline> headlines_of(const VerdictReport& verdict, const Plan& plan) {
  std::vector<Headline> out;
  if (!verdict.no_verdict.empty()) return {{Tone::kCareful, "UNKNOWN", reason_of(verdict)}};
  if (verdict.status == Verdict::kUnknown) return out;
  if (verdict.refusal)
    return {{Tone::kBad, "DOES NOT START", in_words(verdict.refusal->words)},
            {Tone::kPlain, "", in_words(verdict.refusal->cure)}};
  const bool fits = verdict.holds();
  const bool of_counts = verdict.limit == VerdictLimit::kMinContext || verdict.limit == VerdictLimit::kMinSeqs;
  const std::string says = of_counts ? reason_of(verdict) : need_text(verdict);
  const bool runs_some = !fits && verdict.starts == true && verdict.runs_at_once && *verdict.runs_at_once > 0 &&
                         *verdict.runs_at_once < plan.request.num_seqs;
  if (verdict.status == Verdict::kPartlyOnCpu) {
    out.push_back({Tone::kCareful, "PARTLY ON THE CPU", on_cpu_text(verdict)});
    const std::string speed =
        plan.roofline ? fmt::format("; at most {:.3g} tokens/s", plan.roofline->tokens_per_s) : "";
    out.push_back({Tone::kPlain, "", "GPU: " + says + speed});
  } else if (fits)
    out.push_back({Tone::kGood, "FITS", says});
  else if (verdict.limit == VerdictLimit::kNoOffload)
    out.push_back({Tone::kBad, "DOES NOT FIT", reason_of_limit(verdict)});
  else if (runs_some)
    out.push_back({Tone::kBad, "NOT ALL AT ONCE",
                   fmt::format("it starts and runs {} of {} sequences; the others wait: {}",
                               grouped(*verdict.runs_at_once), grouped(plan.request.num_seqs), short_text(verdict))});
  else
    out.push_back({Tone::kBad, "DOES NOT FIT", says});
  if (verdict.close) {
    out.front().tone = fits ? Tone::kCareful : Tone::kBad;
    out.front().word = "TOO CLOSE TO CALL";
    std::string error = fmt::format("estimates may be off by {}", human_bytes(verdict.either_way));
    if (!verdict.advice.empty()) error += "; " + in_words(verdict.advice);
    out.push_back({Tone::kCareful, "", error});
  } else if (!verdict.advice.empty()) {
    out.push_back({Tone::kCareful, "", in_words(verdict.advice)});
  }
  return out;
}

std::string_view verdict_word(const VerdictReport& verdict) {
  if (verdict.status == Verdict::kUnknown) return verdict.no_verdict.empty() ? "-" : "unknown";
  if (verdict.status == Verdict::kPartlyOnCpu) return "partly";
  return verdict.status == Verdict::kFits ? (verdict.close ? "close" : "fits") : "no";
}

std::optional<std::string> command_text(const OptionValues& command) {
  if (command.empty()) return std::nullopt;
  return join(command, " ",
              [](const auto& each) { return each.first + (each.second.empty() ? "" : " " + shell_word(each.second)); });
}

std::optional<std::string> replay_text(const OptionValues& command) {
  OptionValues named = command;
  if (!named.empty()) named.front().second = "MODEL";
  return command_text(named);
}

Sentences how_to_repeat(const std::vector<const OptionValues*>& commands) {
  constexpr std::pair<std::string_view, std::string_view> kColumns[] = {
      {"kvplan", "MODEL"}, {"--engine", "ENGINE"}, {"--gpu", "GPU"}, {"--weights", "WEIGHTS"}};
  if (commands.empty() || commands.front()->empty()) return {};
  const auto in_all = [&](const auto& has) {
    return std::all_of(commands.begin(), commands.end(),
                       [&](const OptionValues* each) { return std::any_of(each->begin(), each->end(), has); });
  };
  OptionValues shared;
  for (const auto& option : *commands.front()) {
    const bool is_same = in_all([&](const auto& other) { return other == option; });
    const auto column = std::find_if(std::begin(kColumns), std::end(kColumns),
                                     [&](const auto& each) { return each.first == option.first; });
    if (is_same)
      shared.push_back(option);
    else if (column != std::end(kColumns) && in_all([&](const auto& other) { return other.first == option.first; }))
      shared.emplace_back(option.first, column->second);
  }
  const bool is_whole = std::all_of(commands.begin(), commands.end(),
                                    [&](const OptionValues* each) { return each->size() == shared.size(); });
  return {"To plan a row: " + command_text(shared).value_or("") + (is_whole ? "" : ", plus the row's own options")};
}

std::string count_text(std::uint64_t n) {
  return n >= kAnyCount ? "any" : grouped(n);
}

std::string part_text(const std::optional<Bytes>& part) {
  return part ? gib_number(*part) : "-";
}

Bytes without_sign(std::int64_t bytes) {
  return Bytes(static_cast<std::uint64_t>(std::llabs(bytes)));
}

std::string signed_size(std::int64_t bytes) {
  return (bytes < 0 ? "-" : "+") + human_bytes(without_sign(bytes));
}

std::string range_text(const LedgerLine& line) {
  return line.low == line.high ? "" : human_bytes(line.low) + " to " + human_bytes(line.high);
}

std::vector<PageNote> notes_of(const std::vector<Note>& notes) {
  std::vector<PageNote> out;
  for (const Note& note : notes) {
    const bool warning = note.level == NoteLevel::kWarning;
    out.push_back({warning ? Tone::kCareful : Tone::kFaint, warning ? "warning:" : "note:", in_words(note.message)});
  }
  return out;
}

PageNote not_planned(std::string_view error, std::string_view source) {
  return {Tone::kBad, "not planned:", error, source};
}

Block machine_block(std::string_view cards, Bytes memory, Bytes used, const Plan& plan) {
  Sentences says;
  for (const Headline& headline : headlines_of(plan.verdict, plan))
    says.push_back(headline.word.str() + (headline.word.empty() ? "" : "  ") + headline.says.str());
  if (memory >= used && memory > Bytes(0))
    says.push_back(gib(memory - used) + " of " + gib(memory) +
                   " are free now. --gpu auto plans for it, --gpu none hides this.");
  return {"On this machine: " + std::string(cards), Detail::kScreen, std::move(says), {}};
}

Page page_about(const Plan& plan) {
  Page page;
  page.title = title_of(*plan.model);
  page.facts = facts_of_plan(plan);
  page.file = plan.model->source;
  page.about.push_back(request_text(plan));
  if (const std::string card = card_text(plan); !card.empty()) page.about.push_back(card);
  page.headlines = headlines_of(plan.verdict, plan);
  return page;
}

std::size_t shared_folder(const std::vector<std::string_view>& paths) {
  const std::string_view first = paths.front();
  std::size_t shared = first.size();
  for (const std::string_view path : paths) {
    const auto differs = std::mismatch(first.begin(), first.end(), path.begin(), path.end()).first;
    const auto same = static_cast<std::size_t>(differs - first.begin());
    const std::size_t slash = first.substr(0, same).find_last_of('/');
    shared = std::min(shared, slash == std::string_view::npos ? 0 : slash + 1);
  }
  return shared;
}

BarRow stacked(std::string_view label, const GpuMemory& gpu) {
  BarRow out{label, gib_number(gpu.total), {}, {}, {}};
  for (const PartName& part : kParts)
    if (gpu.*part.bytes) out.slices.push_back({part.part, *(gpu.*part.bytes)});
  return out;
}

void set_limits(const Plan& plan, Bars& bars) {
  if (plan.verdict.limit == VerdictLimit::kMaxVram)
    bars.budget = plan.verdict.budget;
  else if (plan.card)
    bars.budget =
        Bytes(static_cast<std::uint64_t>(plan.usable_share.value_or(1) * static_cast<double>(plan.card->count())));
  if (bars.budget) bars.budget_name = "budget " + gib_number(*bars.budget);
  if (plan.card && plan.card != bars.budget) {
    bars.card = plan.card;
    bars.card_name = "the GPU's " + gib(*plan.card);
  }
}

static std::vector<TableRow> rows_of(const Rows& rows) {
  std::vector<TableRow> out;
  for (const std::vector<Text>& row : rows) out.push_back({row, Tone::kPlain});
  return out;
}

PageTable facts_table(const Rows& rows) {
  return {{{}, {{}, Column::Kind::kNumber}, {}}, rows_of(rows)};
}

PageTable titled_table(const std::vector<std::string>& titles, std::uint64_t numbers, const Rows& rows,
                       const std::vector<std::size_t>& goes, const std::vector<Tone>& tones) {
  PageTable out{{}, rows_of(rows)};
  for (std::size_t c = 0; c < titles.size(); ++c)
    out.columns.push_back({titles[c], (numbers >> c & 1U) != 0 ? Column::Kind::kNumber : Column::Kind::kText});
  for (std::size_t i = 0; i < tones.size(); ++i) out.rows[i].tone = tones[i];
  for (std::size_t turn = 0; turn < goes.size(); ++turn) out.columns[goes[turn]].goes = static_cast<unsigned>(turn) + 1;
  return out;
}

PageTable without_columns_of(std::string_view empty, PageTable table) {
  for (std::size_t c = table.columns.size(); c-- > 0;) {
    const bool is_empty = std::all_of(table.rows.begin(), table.rows.end(),
                                      [&](const TableRow& row) { return row.cells[c].str() == empty; });
    if (!is_empty) continue;
    const auto at = static_cast<std::ptrdiff_t>(c);
    table.columns.erase(table.columns.begin() + at);
    for (TableRow& row : table.rows) row.cells.erase(row.cells.begin() + at);
  }
  return table;
}

}  // namespace kvplan
