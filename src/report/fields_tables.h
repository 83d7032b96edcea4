// Tables that several files ask for, and the parts of an answer that have a table of their own.
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

// Adds what a report is called in the schema, with all that it names.
void define_plan(Json& definitions);
void define_answers(Json& definitions);
void define_measurements(Json& definitions);
void define_watched(Json& definitions);
void define_card(Json& definitions);
void define_lists(Json& definitions);

}  // namespace kvplan

#endif  // KVPLAN_REPORT_FIELDS_TABLES_H_
