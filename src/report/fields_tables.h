// Tables that several files use, and parts of an answer with their own table.
#ifndef KVPLAN_REPORT_FIELDS_TABLES_H_
#define KVPLAN_REPORT_FIELDS_TABLES_H_

#include "plan/answer.h"
#include "report/fields_values.h"

namespace kvplan {

struct ModelOf {
  const Plan* plan;
};
struct RequestOf {
  const Plan* plan;
};
struct CalibrationOf {
  const Plan* plan;
};

template <>
const Table<Plan>& table();
template <>
const Table<ModelOf>& table();
template <>
const Table<RequestOf>& table();
template <>
const Table<KvCachePlan>& table();
template <>
const Table<GpuMemory>& table();
template <>
const Table<TotalReport>& table();
template <>
const Table<Capacity>& table();
template <>
const Table<VerdictReport>& table();
template <>
const Table<Note>& table();
template <>
const Table<Measurement>& table();
template <>
const Table<CalibrationOf>& table();
template <>
const Table<LogCheck>& table();

// Adds a plan's report to the schema's definitions, with all definitions that it refers to.
void define_plan(Json& definitions);
void define_answers(Json& definitions);
void define_measurements(Json& definitions);
void define_watched(Json& definitions);
void define_card(Json& definitions);
void define_lists(Json& definitions);

}  // namespace kvplan

#endif  // KVPLAN_REPORT_FIELDS_TABLES_H_
