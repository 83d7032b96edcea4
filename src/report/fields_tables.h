// Tables that several files use, and parts of an answer with their own table.
#pragma once

#include <optional>
#include <span>

#include "kvplan/card_measurement.h"
#include "kvplan/published.h"
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
struct Fleet {
  std::span<const FleetEntry> entries;
  const SharedCard* shared = nullptr;
};

// In GB/s; null if it was not measured.
struct MeasuredSpeed {
  Figure figure;  // bytes per second
};
inline std::optional<MeasuredSpeed> speed_of(const Figure& figure) {
  return figure.n > 0 ? std::optional(MeasuredSpeed{figure}) : std::nullopt;
}

template <>
const Table<ModelOf> Fields<ModelOf>::table;
template <>
const Table<RequestOf> Fields<RequestOf>::table;
template <>
const Table<Note> Fields<Note>::table;
template <>
const Table<KvCachePlan> Fields<KvCachePlan>::table;
template <>
const Table<GpuMemory> Fields<GpuMemory>::table;
template <>
const Table<TotalReport> Fields<TotalReport>::table;
template <>
const Table<Capacity> Fields<Capacity>::table;
template <>
const Table<VerdictReport> Fields<VerdictReport>::table;
template <>
const Table<MeasuredSpeed> Fields<MeasuredSpeed>::table;
template <>
const Table<Measurement> Fields<Measurement>::table;
template <>
const Table<CalibrationOf> Fields<CalibrationOf>::table;

// The reports.
template <>
const Table<Plan> Fields<Plan>::table;
template <>
const Table<Fleet> Fields<Fleet>::table;
template <>
const Table<Answers> Fields<Answers>::table;
template <>
const Table<std::vector<FitEntry>> Fields<std::vector<FitEntry>>::table;
template <>
const Table<Grid> Fields<Grid>::table;
template <>
const Table<PlanDiff> Fields<PlanDiff>::table;
template <>
const Table<Calibration> Fields<Calibration>::table;
template <>
const Table<LogCheck> Fields<LogCheck>::table;
template <>
const Table<WatchReport> Fields<WatchReport>::table;
template <>
const Table<CardMeasurement> Fields<CardMeasurement>::table;
template <>
const Table<std::span<const Gpu>> Fields<std::span<const Gpu>>::table;
template <>
const Table<ModelList> Fields<ModelList>::table;
template <>
const Table<Pick> Fields<Pick>::table;
template <>
const Table<std::span<const EngineRow>> Fields<std::span<const EngineRow>>::table;
template <>
const Table<std::span<const EngineRule>> Fields<std::span<const EngineRule>>::table;
template <>
const Table<std::span<const DtypeInfo>> Fields<std::span<const DtypeInfo>>::table;
template <>
const Table<std::span<const KindInfo>> Fields<std::span<const KindInfo>>::table;

// CSV: a line for each plan.
std::string csv_of(const Plan& plan);
std::string csv_of(const Fleet& fleet);
std::string csv_of(const Answers& answers);
std::string csv_of(const std::vector<FitEntry>& entries);
std::string csv_of(const Grid& grid);

}  // namespace kvplan
