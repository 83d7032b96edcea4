#include <array>

#include "kvplan/mistake.h"
#include "report/report.h"

namespace kvplan {

namespace {
constexpr std::array kForms{
    ReportForm{"table", "for people (default)", plan_table, fleet_table, compare_table, fit_table, grid_table},
    ReportForm{"json", "for machines", plan_json, fleet_json, answers_json, answers_json, grid_json},
    ReportForm{"markdown", "for a pull-request comment", plan_markdown, fleet_markdown, compare_markdown, fit_markdown,
               grid_markdown},
    ReportForm{"github", "workflow annotations", plan_github, fleet_github, nullptr, nullptr},
    ReportForm{"args", "the engine's own command line", plan_args, nullptr, nullptr, nullptr},
    ReportForm{"k8s", "a container's arguments and resources", plan_k8s, nullptr, nullptr, nullptr},
    ReportForm{"csv", "for a spreadsheet", plan_csv, fleet_csv, answers_csv, answers_csv, grid_csv},
    ReportForm{"html", "one page to share, without network", plan_html, fleet_html, compare_html, fit_html, grid_html},
};
}  // namespace

std::span<const ReportForm> forms() {
  return kForms;
}

const ReportForm& find_format(std::string_view name) {
  for (const ReportForm& form : kForms)
    if (form.name == name) return form;
  std::vector<std::string_view> known;
  for (const ReportForm& form : kForms) known.push_back(form.name);
  fail("--format: there is no form \"" + one_line(name, 40) + "\"", nearest_remedy(name, known));
}

}  // namespace kvplan
