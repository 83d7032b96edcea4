// The forms of the answer. One file for each form, one row in the table of forms.
#ifndef KVPLAN_REPORT_REPORT_H_
#define KVPLAN_REPORT_REPORT_H_

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kvplan/error.h"
#include "plan/answer.h"

namespace kvplan {

struct ReportOptions {
  bool color = false;
  int width = 80;
};

// A question that a form has no answer for is a null pointer: require_form says so.
struct ReportForm {
  std::string_view name;
  std::string_view help;
  std::string (*plan)(const Plan& plan, const ReportOptions& options) = nullptr;
  std::string (*fleet)(const std::vector<FleetEntry>& entries, const ReportOptions& options) = nullptr;
  std::string (*compare)(const Answers& answers, const ReportOptions& options) = nullptr;
  std::string (*fit)(const Answers& answers, const ReportOptions& options) = nullptr;
  std::string (*grid)(const Grid& grid, const ReportOptions& options) = nullptr;
  bool draws = false;     // it shows the curves of an answer
  bool launches = false;  // it shows the engine's command line
};

std::span<const ReportForm> forms();
// Error that lists the known forms.
const ReportForm& find_format(std::string_view name);
// Error(kBadInput) where the form has no answer for `command`; `others` have one.
template <class Render>
Render require_form(Render render, std::string_view format, std::string_view command,
                    std::string_view others = "table or json") {
  if (render == nullptr)
    fail("--format: " + std::string(command) + " has no form \"" + std::string(format) + "\"",
         "use " + std::string(others));
  return render;
}
// The answer of the form of that name, or Error(kBadInput) with those that have one.
template <class Render>
Render answer_of(std::string_view format, Render ReportForm::*answer, std::string_view command) {
  std::string others;
  for (const ReportForm& form : forms())
    if (form.*answer != nullptr) others += (others.empty() ? "" : ", ") + std::string(form.name);
  return require_form(find_format(format).*answer, format, command, others);
}

// The forms' own files.
std::string plan_json(const Plan& plan, const ReportOptions& options);
std::string fleet_json(const std::vector<FleetEntry>& entries, const ReportOptions& options);
std::string plan_table(const Plan& plan, const ReportOptions& options);
std::string fleet_table(const std::vector<FleetEntry>& entries, const ReportOptions& options);
// Engines side by side for one model, as a table for people.
std::string engines_table(const std::vector<FleetEntry>& entries, const ReportOptions& options);
// The mix of lengths of a plan; "" where it has none.
std::string mix_lines(const Plan& plan);
std::string plan_markdown(const Plan& plan, const ReportOptions& options);
std::string fleet_markdown(const std::vector<FleetEntry>& entries, const ReportOptions& options);

std::string answers_json(const Answers& answers, const ReportOptions& options);
std::string compare_table(const Answers& answers, const ReportOptions& options);
std::string fit_table(const Answers& answers, const ReportOptions& options);
std::string compare_markdown(const Answers& answers, const ReportOptions& options);
std::string fit_markdown(const Answers& answers, const ReportOptions& options);
std::string plan_github(const Plan& plan, const ReportOptions& options);
std::string fleet_github(const std::vector<FleetEntry>& entries, const ReportOptions& options);
std::string plan_args(const Plan& plan, const ReportOptions& options);
std::string plan_k8s(const Plan& plan, const ReportOptions& options);
std::string plan_csv(const Plan& plan, const ReportOptions& options);
std::string fleet_csv(const std::vector<FleetEntry>& entries, const ReportOptions& options);
std::string answers_csv(const Answers& answers, const ReportOptions& options);
std::string plan_html(const Plan& plan, const ReportOptions& options);
std::string fleet_html(const std::vector<FleetEntry>& entries, const ReportOptions& options);
std::string compare_html(const Answers& answers, const ReportOptions& options);
std::string fit_html(const Answers& answers, const ReportOptions& options);

// fit for several engines or cards, side by side.
std::string fits_table(const std::vector<FitEntry>& entries, const ReportOptions& options);
std::string fits_json(const std::vector<FitEntry>& entries, const ReportOptions& options);
std::string fits_markdown(const std::vector<FitEntry>& entries, const ReportOptions& options);
std::string fits_csv(const std::vector<FitEntry>& entries, const ReportOptions& options);

// Models against cards.
std::string grid_table(const Grid& grid, const ReportOptions& options);
std::string grid_json(const Grid& grid, const ReportOptions& options);
std::string grid_markdown(const Grid& grid, const ReportOptions& options);
std::string grid_csv(const Grid& grid, const ReportOptions& options);
std::string grid_html(const Grid& grid, const ReportOptions& options);

// Every layer, every formula with its numbers put in, and where each number came from.
std::string explain_text(const Plan& plan, const ReportOptions& options);

// The sentence a reviewer reads: "+3.1 GiB: num_key_value_heads 4 -> 8".
std::string diff_headline(const PlanDiff& diff);
std::string diff_text(const PlanDiff& diff, const ReportOptions& options);
std::string diff_json(const PlanDiff& diff);
std::string diff_markdown(const PlanDiff& diff);
std::string diff_github(const PlanDiff& diff);

// The JSON Schema of all of them.
std::string schema_json();

std::string check_log_text(const LogCheck& check, const ReportOptions& options);
std::string check_log_json(const LogCheck& check);

// A calibration file.
std::string calibration_json(const Calibration& calibration);

// The built-in tables: kinds (also as Markdown, for formulas/README.md), types, engines, cards.
std::string kinds_text(std::span<const KindInfo> kinds);
std::string kinds_markdown(std::span<const KindInfo> kinds);
std::string dtypes_text();
std::string engines_text(std::span<const EngineRow> rows);
std::string gpus_text(std::span<const Gpu> cards);
std::string gpus_json(std::span<const Gpu> cards);

}  // namespace kvplan

#endif  // KVPLAN_REPORT_REPORT_H_
