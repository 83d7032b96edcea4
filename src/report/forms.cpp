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
    ReportForm{.name = "args", .help = "the engine's own command line", .plan = plan_args, .launches = true},
    ReportForm{.name = "k8s", .help = "a container's arguments and resources", .plan = plan_k8s, .launches = true},
    ReportForm{"csv", "for a spreadsheet", plan_csv, fleet_csv, answers_csv, answers_csv, grid_csv},
    ReportForm{.name = "html",
               .help = "one page to share, without network",
               .plan = plan_html,
               .fleet = fleet_html,
               .compare = compare_html,
               .fit = fit_html,
               .grid = grid_html,
               .draws = true},
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
