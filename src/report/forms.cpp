#include <array>

#include "kvplan/strings.h"
#include "report/renderers/renderers.h"
#include "report/report.h"

namespace kvplan {

template <std::string (*render)(const Page&)>
static std::string as_page(const Reply& reply, const ReportOptions&) {
  return reply.page ? render(reply.page()) : std::string();
}
static std::string as_table(const Reply& reply, const ReportOptions& options) {
  return reply.page ? terminal(reply.page(), options) : std::string();
}
template <std::function<std::string()> Reply::*text>
static std::string as_text(const Reply& reply, const ReportOptions&) {
  return reply.*text ? (reply.*text)() : std::string();
}
template <std::string (*launch)(const Plan&)>
static std::string as_launch(const Reply& reply, const ReportOptions&) {
  return reply.plan != nullptr ? launch(*reply.plan) : std::string();
}

constexpr std::array kForms{
    ReportForm{.name = "table", .write = as_table, .is_for_people = true},
    ReportForm{.name = "json", .write = as_text<&Reply::json>},
    ReportForm{.name = "markdown", .write = as_page<markdown>, .is_for_people = true},
    ReportForm{.name = "github", .write = as_page<github>},
    ReportForm{.name = "args", .write = as_launch<launch_args>, .has_launch = true},
    ReportForm{.name = "k8s", .write = as_launch<launch_k8s>, .has_launch = true},
    ReportForm{.name = "csv", .write = as_text<&Reply::csv>},
    ReportForm{.name = "html", .write = as_page<html>, .is_for_people = true, .has_curves = true},
    ReportForm{.name = "svg", .write = as_page<svg>, .is_for_people = true, .has_curves = true},
};

std::span<const ReportForm> forms() {
  return kForms;
}

const ReportForm& find_format(std::string_view name) {
  std::vector<std::string_view> known;
  for (const ReportForm& form : kForms) {
    if (form.name == name) return form;
    known.push_back(form.name);
  }
  fail("--format: unknown format \"" + one_line(name, 40) + "\"", nearest_remedy(name, known));
}

std::string written(const Reply& reply, std::string_view format, std::string_view question,
                    const ReportOptions& options) {
  std::string out = find_format(format).write(reply, options);
  if (!out.empty()) return out;
  std::vector<std::string_view> others;
  for (const ReportForm& form : kForms)
    if (!form.write(reply, options).empty()) others.push_back(form.name);
  usage_error("--format: " + std::string(question) + " has no format \"" + std::string(format) + "\"",
              "use " + join(others));
}

}  // namespace kvplan
