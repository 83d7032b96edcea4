// The public API: load, plan, report.
#include "formulas/model.h"
#include "kvplan/kvplan.h"
#include "plan/questions.h"
#include "report/report.h"
#include "report/words.h"
#include "sources/load.h"

namespace kvplan {

static SourceOptions source_options(const LoadOptions& options) {
  SourceOptions out;
  out.read.assume = options.assume;
  out.hub = {options.offline, options.revision, options.token};
  return out;
}

static Plan plan_for(const ModelSpec& model, std::string_view engine, Request request) {
  return with_source(model.source, [&] {
    find_engine(engine, request);
    return make_plan(model, request);
  });
}

Model Model::load(const std::string& name, const LoadOptions& options) {
  return Model(std::make_shared<const ModelSpec>(load_model(name, source_options(options))));
}

Model Model::from_config(std::string_view config, const std::string& name, const LoadOptions& options) {
  return with_source(name, [&] {
    return Model(std::make_shared<const ModelSpec>(read_config(config, "", name, source_options(options).read)));
  });
}

MemoryPlan Model::plan(std::string_view engine, const Request& request) const {
  Plan plan = plan_for(*spec_, engine, request);
  MemoryPlan out;
  out.engine = engine_of(plan.request).name;
  out.engine_version = std::move(plan.engine_version);
  out.kv_cache = std::move(plan.kv_cache);
  out.memory = std::move(plan.memory);
  out.total = plan.total;
  out.capacity = std::move(plan.capacity);
  out.reason = reason_of(plan.verdict);
  out.verdict = std::move(plan.verdict);
  out.notes = std::move(plan.notes);
  return out;
}

std::string Model::report(std::string_view engine, const Request& request, std::string_view format) const {
  Plan plan = plan_for(*spec_, engine, request);
  const ReportForm& form = find_format(format);
  complete(*spec_, {form.has_curves, form.has_launch}, plan);
  return written(reply_of(plan), format, "a plan", {});
}

}  // namespace kvplan
