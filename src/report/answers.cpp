// Answers of compare and fit as tables: for people and as Markdown.
#include <fmt/format.h>

#include <algorithm>

#include "report/report.h"
#include "report/rows.h"
#include "report/text.h"

namespace kvplan {

namespace {

std::string count_cell(std::uint64_t n) {
  return n >= kAnyCount ? "any" : grouped(n);
}

std::string verdict_cell(const Plan& plan) {
  if (plan.verdict.status == Verdict::kUnknown) return "-";
  return plan.verdict.status == Verdict::kFits ? (plan.verdict.close ? "close" : "yes") : "no";
}

// The shorter of an option's names: the cells of a table are narrow.
std::string_view short_option(std::string_view option) {
  if (option == "--tensor-parallel-size") return "-tp";
  if (option == "--pipeline-parallel-size") return "-pp";
  if (option == "--kv-cache-dtype") return "--kv";
  if (option == "--max-model-len") return "--context";
  return option;
}

std::string changes_text(const Answer& answer) {
  std::string out;
  for (const auto& [option, value] : answer.changes)
    out += (out.empty() ? "" : " ") + std::string(short_option(option)) + " " + value;
  return out;
}

std::string heading_of(const Answers& answers) {
  return title_of(*answers.asked.model) + "  " + request_text(answers.asked);
}

std::string sentences_text(const Answers& answers, std::string_view prefix, std::size_t width = 1000) {
  std::string out;
  for (const std::string& sentence : answers.sentences) out += wrapped(std::string(prefix) + sentence, width) + "\n";
  return out;
}

}  // namespace

std::string markdown_rows(const Rows& rows, std::size_t left) {
  std::string out;
  for (std::size_t r = 0; r < rows.size(); ++r) {
    out += "|";
    for (const std::string& cell : rows[r]) out += " " + cell + " |";
    out += "\n";
    if (r > 0) continue;
    out += "|";
    for (std::size_t c = 0; c < rows[0].size(); ++c) out += c < left ? "---|" : "---:|";
    out += "\n";
  }
  return out;
}

Rows compare_rows(const Answers& answers) {
  const bool rooms = answers.asked.capacity.has_value();
  Rows rows{{"weights", "KV", "weights GiB", "KV GiB", "total GiB"}};
  if (rooms) {
    for (const char* title : {"fits", "longest", "seqs"}) rows[0].emplace_back(title);
  }
  const bool has_quality = std::any_of(answers.answers.begin(), answers.answers.end(), [](const Answer& answer) {
    const std::string_view loss = answer.plan.weights_loss;
    return !loss.empty() && loss != "none";
  });
  if (has_quality) rows[0].emplace_back("rough loss");
  for (const Answer& answer : answers.answers) {
    const Plan& plan = answer.plan;
    const GpuMemory& gpu = plan.fullest();
    std::vector<std::string> row{(answer.changes.empty() ? "* " : "  ") + plan.weights_dtype,
                                 std::string(name(plan.types.key)), gpu.weights ? gib_number(*gpu.weights) : "-",
                                 gib_number(plan.kv_cache.reserved), gib_number(gpu.total)};
    if (rooms) {
      row.push_back(verdict_cell(plan));
      row.push_back(plan.capacity ? count_cell(plan.capacity->max_model_len) : "-");
      row.push_back(plan.capacity ? count_cell(plan.capacity->max_num_seqs) : "-");
    }
    if (has_quality) row.emplace_back(plan.weights_loss);
    rows.push_back(std::move(row));
  }
  return rows;
}

Rows fit_rows(const Answers& answers) {
  Rows rows{{"answer", "options", "weights GiB", "KV GiB", "total GiB", "left GiB"}};
  for (const Answer& answer : answers.answers) {
    const GpuMemory& gpu = answer.plan.fullest();
    std::string title = answer.name;
    std::replace(title.begin(), title.end(), '_', ' ');
    rows.push_back({title, changes_text(answer), gpu.weights ? gib_number(*gpu.weights) : "-",
                    gib_number(answer.plan.kv_cache.reserved), gib_number(gpu.total),
                    answer.plan.verdict.headroom
                        ? fmt::format("{:.2f}", static_cast<double>(*answer.plan.verdict.headroom) / kGiB)
                        : "-"});
  }
  return rows;
}

std::string compare_table(const Answers& answers, const ReportOptions& options) {
  const bool rooms = answers.asked.capacity.has_value();
  std::string out =
      tinted(wrapped(heading_of(answers), static_cast<std::size_t>(options.width)), Tint::kBold, options.color) +
      "\n\n";
  const auto width = static_cast<std::size_t>(options.width);
  const std::size_t loss = rooms ? 8 : 5;
  std::vector<std::size_t> drop;
  if (compare_rows(answers).front().size() > loss) drop.push_back(loss);
  if (rooms) drop.push_back(2);
  std::string body = columns_within(compare_rows(answers), rooms ? 0b11011100U : 0b00011100U, "", width, drop);
  if (options.color && rooms) {
    // The cells that fit stand out: whole rows, so that alignment is not disturbed.
    std::string tinted_body;
    for (std::size_t at = 0, row = 0; at < body.size(); ++row) {
      const std::size_t end = body.find('\n', at);
      const std::string line = body.substr(at, end - at);
      const bool fits = row > 0 && answers.answers[row - 1].plan.verdict.status == Verdict::kFits;
      tinted_body += tinted(line, fits ? Tint::kGreen : Tint::kNone, true) + "\n";
      at = end + 1;
    }
    body = tinted_body;
  }
  out += body + "\n* as the checkpoint is";
  if (body.find("rough loss") != std::string::npos)
    out += "\n" + wrapped(
                      "rough loss: of benchmark scores, by the weight type alone, as its makers publish it; what the "
                      "KV type costs is not in it",
                      width);
  return out + "\n" + sentences_text(answers, "", width);
}

std::string compare_markdown(const Answers& answers, const ReportOptions&) {
  return "### " + heading_of(answers) + "\n\n" + markdown_rows(compare_rows(answers), 2) + "\n" +
         sentences_text(answers, "- ");
}

std::string fit_table(const Answers& answers, const ReportOptions& options) {
  const auto width = static_cast<std::size_t>(options.width);
  std::string out = tinted(wrapped(heading_of(answers), width), Tint::kBold, options.color) + "\n";
  const VerdictReport& verdict = answers.asked.verdict;
  if (verdict.status != Verdict::kUnknown) {
    const bool fits = verdict.status == Verdict::kFits;
    const std::string word = fits ? "FITS" : "DOES NOT FIT";
    const std::string text =
        wrapped(word + ": " + verdict.reason + (verdict.headroom ? "; " + headroom_text(verdict) : ""), width);
    out += tinted(word, fits ? Tint::kGreen : Tint::kRed, options.color) + text.substr(word.size()) + "\n";
  }
  out += sentences_text(answers, "", width);
  return out + "\n" + columns_within(fit_rows(answers), 0b111100, "", width, {2, 3});
}

std::string fit_markdown(const Answers& answers, const ReportOptions&) {
  return "### " + heading_of(answers) + "\n\n" + sentences_text(answers, "- ") + "\n" +
         markdown_rows(fit_rows(answers), 2);
}

}  // namespace kvplan
