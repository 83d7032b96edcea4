// What fits in several engines, or on several cards: a row each.
#include <fmt/format.h>

#include <algorithm>

#include "report/report.h"
#include "report/rows.h"
#include "report/text.h"

namespace kvplan {

namespace {

std::string figure_of(const Answer& answer, std::uint64_t n) {
  return answer.changes.front().second == "any" ? "any" : grouped(n);
}

const Answer* find_answer(const Answers& answers, std::string_view name) {
  for (const Answer& answer : answers.answers)
    if (answer.name == name) return &answer;
  return nullptr;
}

std::string cards_text(const Answers& answers) {
  std::string out;
  for (const Answer& answer : answers.answers)
    if (answer.name == "card" && std::count(out.begin(), out.end(), ',') < 2)
      out += (out.empty() ? answer.changes[1].second + " x " : ", ") + answer.changes[0].second;
  return out.empty() ? "none" : out;
}

Rows fits_rows(const std::vector<FitEntry>& entries) {
  bool any_card = false;
  for (const FitEntry& entry : entries) any_card = any_card || (entry.answers && entry.answers->asked.capacity);
  Rows rows;
  if (any_card)
    rows.push_back({"engine", "card", "KV type", "fits", "longest", "most seqs", "GPUs", "buys most"});
  else
    rows.push_back({"engine", "KV type", "KV GiB", "total GiB", "smallest cards that hold it"});
  for (const FitEntry& entry : entries) {
    if (!entry.answers) continue;
    const Answers& answers = *entry.answers;
    const Plan& asked = answers.asked;
    const std::string engine = asked.request.engine + " " + asked.engine_version;
    if (!any_card) {
      rows.push_back({engine, cache_types_name(asked.types), gib_number(asked.kv_cache.reserved),
                      gib_number(asked.fullest().total), cards_text(answers)});
      continue;
    }
    const Answer* longest = find_answer(answers, "longest_context");
    const Answer* most = find_answer(answers, "most_sequences");
    const Answer* layout = find_answer(answers, "layout");
    std::string card = asked.request.gpu.value_or("-");
    if (asked.request.tensor_parallel > 1) card += fmt::format(" TP {}", asked.request.tensor_parallel);
    if (asked.request.pipeline_parallel > 1) card += fmt::format(" PP {}", asked.request.pipeline_parallel);
    rows.push_back({engine, card, cache_types_name(asked.types),
                    asked.verdict.status == Verdict::kFits ? (asked.verdict.close ? "close" : "yes") : "no",
                    longest != nullptr ? figure_of(*longest, longest->plan.load.max_model_len.count()) : "0",
                    most != nullptr ? figure_of(*most, most->plan.request.num_seqs) : "0",
                    layout != nullptr ? std::to_string(layout->plan.memory.size()) : "-",
                    answers.buys_most.empty() ? "-" : answers.buys_most});
  }
  return rows;
}

std::string heading_of(const std::vector<FitEntry>& entries) {
  for (const FitEntry& entry : entries) {
    if (!entry.answers) continue;
    const Plan& asked = entry.answers->asked;
    return fmt::format("{}  {} tokens x {}", title_of(*asked.model), grouped(asked.load.max_model_len.count()),
                       plural(asked.request.num_seqs, "sequence"));
  }
  return "";
}

}  // namespace

std::string fits_table(const std::vector<FitEntry>& entries, const ReportOptions& options) {
  const auto width = static_cast<std::size_t>(options.width);
  std::string errors;
  for (const FitEntry& entry : entries)
    if (!entry.answers)
      errors += tinted("not planned:", Tint::kRed, options.color) +
                wrapped("not planned: " + one_line(entry.error), width).substr(12) + "\n";
  const Rows rows = fits_rows(entries);
  if (rows.size() == 1) return errors;
  const bool cards = rows.front().size() > 5;
  // Most narrow terminals: the card and the KV type stand in every other form.
  const std::string body = columns_within(rows, cards ? 0b01110000U : 0b01100U, "", width,
                                          cards ? std::vector<std::size_t>{2, 6} : std::vector<std::size_t>{2, 1});
  const bool has_gpus = body.substr(0, body.find('\n')).find("GPUs") != std::string::npos;
  std::string out = tinted(heading_of(entries), Tint::kBold, options.color) + "\n\n" + body;
  if (cards)
    out += "\n" +
           wrapped(std::string("longest: context in tokens at the requested sequences; most seqs: sequences at the "
                               "requested context") +
                       (has_gpus ? "; GPUs: the fewest that hold the request" : ""),
                   width) +
           "\n";
  return out + (errors.empty() ? "" : "\n" + errors);
}

std::string fits_markdown(const std::vector<FitEntry>& entries, const ReportOptions&) {
  const Rows rows = fits_rows(entries);
  std::string out = "### " + heading_of(entries) + "\n\n" + markdown_rows(rows, 3);
  for (const FitEntry& entry : entries)
    if (!entry.answers) out += "\n> " + one_line(entry.error) + "\n";
  return out;
}

}  // namespace kvplan
