// The first screen: what the model is, the verdict, the parts as bars, the cache per token and for the request, a
// ladder of contexts, one line per kind of layer.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "report/extras_text.h"
#include "report/measurement.h"
#include "report/report.h"
#include "report/rows.h"
#include "report/speed.h"
#include "report/text.h"

namespace kvplan {

namespace {

// Very wide terminals do not make sentences easier to read.
std::size_t width_of(const ReportOptions& options) {
  return static_cast<std::size_t>(std::clamp(options.width, 40, 120));
}

std::string heading(const Plan& plan, const ReportOptions& options) {
  const bool color = options.color;
  const ModelFacts& model = *plan.model;
  const std::string name = title_of(model);
  std::string facts = fmt::format("{} layers, {}, {}", model.num_layers, plan.attention, kvplan::name(model.dtype));
  if (model.max_model_len > Tokens(0))
    facts += fmt::format(", up to {} tokens", tokens_text(model.max_model_len.count()));
  const bool one_line_each = text_width(name) + 2 + text_width(facts) > width_of(options);
  std::string out = tinted(name, Tint::kBold, color) + (one_line_each ? "\n  " : "  ") + facts + "\n";
  out += tinted(one_line(model.source, 100), Tint::kDim, color) + "\n";
  for (const SideFacts& side : model.sides) {
    const std::string layers = side.num_layers > 0 ? fmt::format(", {} layers", side.num_layers) : "";
    out += tinted(fmt::format("beside it: {}{}{} (no cache)", side.what,
                              side.model_type.empty() ? "" : " " + one_line(side.model_type, 40), layers),
                  Tint::kDim, color) +
           "\n";
  }
  return out;
}

std::string verdict_line(const Plan& plan, const ReportOptions& options) {
  const VerdictReport& verdict = plan.verdict;
  if (verdict.status == Verdict::kUnknown) return "";
  const bool fits = verdict.status == Verdict::kFits;
  const std::string_view word = fits ? "FITS" : "DOES NOT FIT";
  std::string text = std::string(word) + ": " + verdict.reason;
  if (verdict.headroom) text += "; " + headroom_text(verdict);
  text = wrapped(text, width_of(options)).substr(word.size());
  std::string out = tinted(word, fits ? Tint::kGreen : Tint::kRed, options.color) + text + "\n";
  if (verdict.close) {
    const std::string close = wrapped(close_text(verdict), width_of(options));
    out += tinted(close, Tint::kYellow, options.color) + "\n";
  } else if (!verdict.advice.empty()) {
    out += tinted(wrapped(verdict.advice, width_of(options)), Tint::kYellow, options.color) + "\n";
  }
  return out;
}

std::string bar(Bytes part, Bytes whole, std::size_t width) {
  if (whole == Bytes(0)) return "";
  const double share = static_cast<double>(part.count()) / static_cast<double>(whole.count());
  const auto filled = static_cast<std::size_t>(std::round(share * static_cast<double>(width)));
  std::string out;
  for (std::uint64_t i = 0; i < std::min<std::uint64_t>(filled, width); ++i) out += "█";
  return out;
}

std::string parts(const Plan& plan, const ReportOptions& options) {
  const GpuMemory* fullest = &plan.fullest();
  struct Row {
    std::string_view what;
    std::optional<Bytes> bytes;
    Tint tint;
    Section section;
  };
  const std::array rows{
      Row{"weights", fullest->weights, Tint::kBlue, Section::kWeights},
      Row{"KV cache", fullest->kv_cache, Tint::kGreen, Section::kKvCache},
      Row{"activations", fullest->activation, Tint::kYellow, Section::kActivation},
      Row{"runtime", fullest->runtime, Tint::kMagenta, Section::kRuntime},
  };
  const auto bar_width = static_cast<std::size_t>(std::clamp(options.width - 52, 10, 48));
  std::string out =
      plan.memory.size() == 1 ? "Memory\n" : fmt::format("Memory of the fullest of {} GPUs\n", plan.memory.size());
  for (const Row& row : rows) {
    if (!row.bytes) {
      out += fmt::format("  {:<12}{:>12}  not known yet: no part of the total\n", row.what, "-");
      continue;
    }
    Bytes low;
    Bytes high;
    for (const LedgerLine& line : fullest->lines) {
      if (line.part != row.section) continue;
      low += line.low;
      high += line.high;
    }
    const std::string least = gib_number(low);
    const std::string most = gib_number(high);
    const std::string range = least == most ? "" : least + "-" + most;
    out += fmt::format("  {:<12}{:>12}  {:<13} {}\n", row.what, gib(*row.bytes), range,
                       tinted(bar(*row.bytes, fullest->total, bar_width), row.tint, options.color));
  }
  out += fmt::format("  {:<12}{}\n", "total",
                     tinted(fmt::format("{:>12}", gib(fullest->total)), Tint::kBold, options.color));
  return out;
}

// Of all GPUs together: where a request, a model or an engine keeps nothing there, no section.
std::string host_lines(const Plan& plan) {
  if (plan.host_total() == Bytes(0)) return "";
  std::vector<std::vector<std::string>> rows;
  for (const LedgerLine& line : plan.host)
    if (line.bytes > Bytes(0)) rows.push_back({line.what, human_bytes(line.bytes)});
  if (rows.size() > 1) rows.push_back({"total", human_bytes(plan.host_total())});
  return "Host memory\n" + columns(rows, 0b10);
}

std::string cache_lines(const Plan& plan) {
  const KvCachePlan& kv = plan.kv_cache;
  std::vector<std::vector<std::string>> rows;
  // In bytes both, to be compared.
  rows.push_back({"one more token", grouped(kv.bytes_per_token.count()) + " B"});
  if (kv.bytes_per_token_in_window != kv.bytes_per_token)
    rows.push_back({"  while every window grows", grouped(kv.bytes_per_token_in_window.count()) + " B"});
  if (kv.bytes_per_sequence > Bytes(0))
    rows.push_back({"fixed state of a sequence", human_bytes(kv.bytes_per_sequence)});
  rows.push_back({"the request needs", human_bytes(kv.logical)});
  if (kv.reserved != kv.logical) {
    rows.push_back({plan.memory.size() > 1 ? "the fullest GPU's share" : "the same", human_bytes(kv.logical_per_gpu)});
    for (const GapLine& line : kv.gap) {
      if (line.bytes == 0) continue;
      const bool more = line.bytes > 0;
      const Bytes size(static_cast<std::uint64_t>(more ? line.bytes : -line.bytes));
      rows.push_back({(more ? "  + " : "  - ") + line.reason, human_bytes(size)});
    }
    rows.push_back({plan.request.engine + (plan.memory.size() > 1 ? " reserves on a GPU" : " reserves"),
                    human_bytes(kv.reserved)});
  }
  return "KV cache\n" + columns(rows, 0b10);
}

std::string capacity_lines(const Plan& plan) {
  if (!plan.capacity) return "";
  const Capacity& capacity = *plan.capacity;
  std::vector<std::vector<std::string>> rows;
  rows.push_back({"for the cache, per GPU", gib(capacity.kv_cache_memory), ""});
  if (capacity.num_blocks) rows.push_back({"blocks", grouped(*capacity.num_blocks), ""});
  if (capacity.tokens) rows.push_back({"tokens", grouped(*capacity.tokens), ""});
  rows.push_back({"sequences of " + plural(plan.load.max_model_len.count(), "token"),
                  fmt::format("{:.2f}", capacity.max_concurrency), ""});
  rows.push_back({"longest of " + plural(plan.request.num_seqs, "sequence"),
                  capacity.max_model_len >= kAnyCount ? "any length" : grouped(capacity.max_model_len), ""});
  if (const auto start = plan.taken_at_start) {
    const Bytes card = plan.card.value_or(Bytes(0));
    rows.push_back({"taken at start, per GPU", gib(*start),
                    card == Bytes(0) ? ""
                                     : fmt::format("{:.0f} % of the card", 100 * static_cast<double>(start->count()) /
                                                                               static_cast<double>(card.count()))});
  }
  return "Room\n" + columns(rows, 0b10);
}

std::string ladder(const Plan& plan) {
  const CacheCurve& curve = plan.contexts;
  std::vector<std::vector<std::string>> rows{{"tokens"}, {"KV GiB"}};
  // Wide ladders keep every other rung.
  const std::size_t keep = curve.tokens.size() > 8 ? 2 : 1;
  for (std::size_t i = 0; i < curve.tokens.size(); ++i) {
    if ((curve.tokens.size() - 1 - i) % keep != 0) continue;
    rows[0].push_back(tokens_text(curve.tokens[i]));
    rows[1].push_back(gib_number(curve.bytes[i]));
  }
  return fmt::format("Contexts ({}{}{})\n", plan.load.pooled ? "a pool of " : "",
                     plural(plan.load.num_seqs, "sequence"), plan.memory.size() > 1 ? ", fullest GPU" : "") +
         columns(rows, ~std::uint64_t{1});
}

std::string layer_lines(const Plan& plan, const ReportOptions& options) {
  std::vector<std::vector<std::string>> rows{{"layers", "kind", "B/token", "B/sequence", "stops at", "which"}};
  const std::size_t most = width_of(options) > 100 ? 44 : 20;
  for (const LayerFacts& layer : plan.layers) {
    std::string which = layer.indices;
    if (which.size() > most) which = which.substr(0, most - 3) + "...";
    rows.push_back({std::to_string(layer.count), kind_of(layer),
                    layer.bytes_per_token > 0 ? grouped(layer.bytes_per_token) : "-",
                    layer.bytes_per_sequence > 0 ? grouped(layer.bytes_per_sequence) : "-",
                    layer.token_limit ? grouped(*layer.token_limit) : "-", which});
  }
  return "Layers (bytes of one)\n" + columns_within(rows, 0b011101, "  ", width_of(options), {5});
}

std::string note_lines(const Plan& plan, const ReportOptions& options) {
  std::string out;
  for (const Note& note : plan.notes) {
    const bool warning = note.level == NoteLevel::kWarning;
    const std::string_view label = warning ? "warning:" : "note:";
    const std::string text = wrapped(std::string(label) + " " + one_line(note.message), width_of(options));
    out += tinted(label, warning ? Tint::kYellow : Tint::kDim, options.color) + text.substr(label.size()) + "\n";
  }
  return out;
}

}  // namespace

std::string plan_table(const Plan& plan, const ReportOptions& options) {
  std::string out = heading(plan, options);
  out += wrapped(request_text(plan), width_of(options)) + "\n";
  out += verdict_line(plan, options);
  out += "\n" + parts(plan, options);
  if (const std::string extras = extra_lines_text(plan); !extras.empty()) out += "\n" + extras;
  out += "\n" + cache_lines(plan);
  if (const std::string room = capacity_lines(plan); !room.empty()) out += "\n" + room;
  if (const std::string mix = mix_lines(plan); !mix.empty()) out += "\n" + mix;
  if (const std::string host = host_lines(plan); !host.empty()) out += "\n" + host;
  if (const std::string speed = speed_lines(plan); !speed.empty()) out += "\n" + speed;
  if (const std::string seen = measurement_lines(plan, options); !seen.empty()) out += "\n" + seen;
  if (const std::string learned = calibration_lines(plan, options); !learned.empty()) out += "\n" + learned;
  out += "\n" + ladder(plan);
  out += "\n" + layer_lines(plan, options);
  if (const std::string notes = note_lines(plan, options); !notes.empty()) out += "\n" + notes;
  return out;
}

std::string fleet_table(const std::vector<FleetEntry>& entries, const ReportOptions& options) {
  std::vector<std::vector<std::string>> rows{{"model", "attention", "layers", "B/token", "B/sequence", "tokens",
                                              "KV GiB", "total GiB", "host GiB", "verdict"}};
  std::string errors;
  bool has_host = false;
  bool verdicts = false;
  const std::size_t widest = width_of(options) > 100 ? 48 : 24;
  // Long names lose the folder that all of them lie in.
  std::size_t shared = std::string::npos;
  bool is_long = false;
  for (const FleetEntry& entry : entries) {
    const std::string& first = entries.front().source;
    const auto differs = std::mismatch(first.begin(), first.end(), entry.source.begin(), entry.source.end()).first;
    const auto same = static_cast<std::size_t>(differs - first.begin());
    const std::size_t slash = std::string_view(first).substr(0, same).find_last_of('/');
    shared = std::min(shared, slash == std::string::npos ? 0 : slash + 1);
    is_long = is_long || entry.source.size() > widest;
  }
  if (!is_long || entries.size() < 2) shared = 0;
  for (const FleetEntry& entry : entries) {
    if (!entry.plan) {
      errors += tinted("not planned:", Tint::kRed, options.color) +
                wrapped("not planned: " + one_line(entry.error), width_of(options)).substr(12) + "\n";
      continue;
    }
    const Plan& plan = *entry.plan;
    const KvCachePlan& kv = plan.kv_cache;
    has_host = has_host || plan.host_total() > Bytes(0);
    verdicts = verdicts || plan.verdict.status != Verdict::kUnknown;
    rows.push_back({end_of(one_line(entry.source.substr(std::min(shared, entry.source.size())), 200), widest),
                    plan.attention, std::to_string(plan.model->num_layers), grouped(kv.bytes_per_token.count()),
                    grouped(kv.bytes_per_sequence.count()), tokens_text(plan.load.max_model_len.count()),
                    gib_number(kv.reserved_total), gib_number(plan.total.bytes), gib_number(plan.host_total()),
                    plan.verdict.status == Verdict::kUnknown ? "-"
                    : plan.verdict.status == Verdict::kFits  ? "fits"
                                                             : "no"});
  }
  if (rows.size() == 1) return errors;
  if (!verdicts)
    for (auto& row : rows) row.pop_back();
  constexpr std::size_t kHost = 8;
  if (!has_host)
    for (auto& row : rows) row.erase(row.begin() + kHost);
  // What is left out on a narrow terminal stands in every other form.
  return columns_within(rows, has_host ? 0b0111111100 : 0b011111100, "", width_of(options), {2, 4, 5}) +
         (errors.empty() ? "" : "\n" + errors);
}

}  // namespace kvplan
