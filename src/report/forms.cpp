#include <array>

#include "kvplan/did_you_mean.h"
#include "kvplan/strings.h"
#include "report/pages/pages.h"
#include "report/renderers/renderers.h"
#include "report/report.h"

namespace kvplan {

namespace {

std::string as_json(const Reply& reply, const ReportOptions&) {
  return reply.json ? reply.json() : std::string();
}
std::string as_csv(const Reply& reply, const ReportOptions&) {
  return reply.csv ? reply.csv() : std::string();
}
std::string as_markdown(const Reply& reply, const ReportOptions&) {
  return reply.page ? markdown(reply.page()) : std::string();
}
std::string as_html(const Reply& reply, const ReportOptions&) {
  return reply.page ? html(reply.page()) : std::string();
}
std::string as_github(const Reply& reply, const ReportOptions&) {
  return reply.page ? github(reply.page()) : std::string();
}
std::string as_table(const Reply& reply, const ReportOptions& options) {
  return reply.page ? terminal(reply.page(), options) : std::string();
}
std::string as_args(const Reply& reply, const ReportOptions&) {
  return reply.plan != nullptr ? launch_args(*reply.plan) : std::string();
}
std::string as_k8s(const Reply& reply, const ReportOptions&) {
  return reply.plan != nullptr ? launch_k8s(*reply.plan) : std::string();
}

constexpr std::array kForms{
    ReportForm{.name = "table", .help = "for people (default)", .write = as_table, .is_for_people = true},
    ReportForm{"json", "for machines", as_json},
    ReportForm{.name = "markdown", .help = "for a pull-request comment", .write = as_markdown, .is_for_people = true},
    ReportForm{"github", "workflow annotations", as_github},
    ReportForm{.name = "args", .help = "the engine's own command line", .write = as_args, .has_launch = true},
    ReportForm{.name = "k8s", .help = "a container's arguments and resources", .write = as_k8s, .has_launch = true},
    ReportForm{"csv", "for a spreadsheet", as_csv},
    ReportForm{.name = "html",
               .help = "one page to share, without network",
               .write = as_html,
               .is_for_people = true,
               .has_curves = true},
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

std::string written(const Reply& reply, std::string_view format, std::string_view question,
                    const ReportOptions& options) {
  std::string out = find_format(format).write(reply, options);
  if (!out.empty()) return out;
  std::vector<std::string_view> others;
  for (const ReportForm& form : kForms)
    if ((form.write != as_json || reply.json) && (form.write != as_csv || reply.csv) &&
        (!form.has_launch || reply.plan != nullptr))
      others.push_back(form.name);
  Error error(Exit::kBadInput, "--format: " + std::string(question) + " has no form \"" + std::string(format) + "\"",
              "use " + join(others));
  error.set_source("command line");
  throw error;
}

Reply reply_of(const Plan& plan) {
  Reply out{[&plan] { return plan_page(plan); }, [&plan] { return plan_json(plan, {}); },
            [&plan] { return plan_csv(plan, {}); }, plan.launch ? &plan : nullptr};
  if (plan.launch) out.warning = launch_warning(plan);
  return out;
}

Reply explained(const Plan& plan) {
  return {[&plan] { return explain_page(plan); }, [&plan] { return plan_json(plan, {}); },
          [&plan] { return plan_csv(plan, {}); }};
}

Reply reply_of(const std::vector<FleetEntry>& entries) {
  return {[&entries] { return fleet_page(entries); }, [&entries] { return fleet_json(entries, {}); },
          [&entries] { return fleet_csv(entries, {}); }};
}

Reply reply_of(const SharedCard& shared) {
  return {[&shared] { return shared_page(shared); }, [&shared] { return shared_json(shared, {}); },
          [&shared] { return fleet_csv(shared.models, {}); }};
}

Reply side_by_side(const std::vector<FleetEntry>& entries) {
  Reply out = reply_of(entries);
  out.page = [&entries] { return engines_page(entries); };
  return out;
}

Reply compared(const Answers& answers) {
  return {[&answers] { return compare_page(answers); }, [&answers] { return answers_json(answers, {}); },
          [&answers] { return answers_csv(answers, {}); }};
}

Reply fitted(const Answers& answers) {
  Reply out = compared(answers);
  out.page = [&answers] { return fit_page(answers); };
  if (answers.asked.launch) {
    out.plan = &answers.asked;
    out.warning = launch_warning(answers.asked);
  }
  for (const Answer& answer : answers.rows) {
    if (!answer.plan.launch) continue;
    out.plan = &answer.plan;
    const auto option = [](const auto& change) {
      return change.second.empty() ? change.first : change.first + " " + change.second;
    };
    const std::string more = launch_warning(answer.plan);
    out.warning = "the command is of another request, with " + join(answer.changes, " ", option) +
                  (more.empty() ? "" : "; " + more);
  }
  return out;
}

Reply reply_of(const std::vector<FitEntry>& entries) {
  return {[&entries] { return fits_page(entries); }, [&entries] { return fits_json(entries, {}); },
          [&entries] { return fits_csv(entries, {}); }};
}

Reply reply_of(const Grid& grid) {
  return {[&grid] { return grid_page(grid); }, [&grid] { return grid_json(grid, {}); },
          [&grid] { return grid_csv(grid, {}); }};
}

Reply reply_of(const PlanDiff& diff) {
  return {[&diff] { return diff_page(diff); }, [&diff] { return diff_json(diff); }, {}};
}

Reply reply_of(const LogCheck& check) {
  return {[&check] { return check_log_page(check); }, [&check] { return check_log_json(check); }, {}};
}

Reply reply_of(const WatchReport& report) {
  return {[&report] { return watch_page(report); }, [&report] { return watch_json(report); }, {}};
}

Reply reply_of(const CardMeasurement& seen) {
  return {[&seen] { return card_page(seen); }, [&seen] { return card_json(seen); }, {}};
}

Reply reply_of(std::span<const KindInfo> kinds) {
  return {[kinds] { return kinds_page(kinds); }, [kinds] { return kinds_json(kinds); }, {}};
}

Reply reply_of(const KindInfo& kind, const std::vector<std::string>& derivation, std::span<const KindInfo> beside) {
  return {[&kind, &derivation, beside] { return kind_page(kind, derivation, beside); },
          [&kind] {
            return kinds_json({&kind, 1});
          },
          {}};
}

Reply dtypes_reply() {
  return {dtypes_page, dtypes_json, {}};
}

Reply reply_of(std::span<const EngineRow> rows) {
  return {[rows] { return engine_table_page(rows); }, [rows] { return engines_json(rows); }, {}};
}

Reply reply_of(std::span<const Gpu> cards) {
  return {[cards] { return gpus_page(cards); }, [cards] { return gpus_json(cards); }, {}};
}

}  // namespace kvplan
