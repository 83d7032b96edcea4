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
const Table<ModelOf> Schema<ModelOf>::table;
template <>
const Table<RequestOf> Schema<RequestOf>::table;
template <>
const Table<Note> Schema<Note>::table;
template <>
const Table<KvCachePlan> Schema<KvCachePlan>::table;
template <>
const Table<GpuMemory> Schema<GpuMemory>::table;
template <>
const Table<TotalReport> Schema<TotalReport>::table;
template <>
const Table<Capacity> Schema<Capacity>::table;
template <>
const Table<VerdictReport> Schema<VerdictReport>::table;
template <>
const Table<MeasuredSpeed> Schema<MeasuredSpeed>::table;
template <>
const Table<Measurement> Schema<Measurement>::table;
template <>
const Table<CalibrationOf> Schema<CalibrationOf>::table;

// The reports.
template <>
const Table<Plan> Schema<Plan>::table;
template <>
const Table<Fleet> Schema<Fleet>::table;
template <>
const Table<Answers> Schema<Answers>::table;
template <>
const Table<std::vector<FitEntry>> Schema<std::vector<FitEntry>>::table;
template <>
const Table<Grid> Schema<Grid>::table;
template <>
const Table<PlanDiff> Schema<PlanDiff>::table;
template <>
const Table<Calibration> Schema<Calibration>::table;
template <>
const Table<LogCheck> Schema<LogCheck>::table;
template <>
const Table<WatchReport> Schema<WatchReport>::table;
template <>
const Table<CardMeasurement> Schema<CardMeasurement>::table;
template <>
const Table<std::span<const Gpu>> Schema<std::span<const Gpu>>::table;
template <>
const Table<ModelList> Schema<ModelList>::table;
template <>
const Table<Pick> Schema<Pick>::table;
template <>
const Table<std::span<const EngineRow>> Schema<std::span<const EngineRow>>::table;
template <>
const Table<std::span<const EngineRule>> Schema<std::span<const EngineRule>>::table;
template <>
const Table<std::span<const DtypeInfo>> Schema<std::span<const DtypeInfo>>::table;
template <>
const Table<std::span<const KindInfo>> Schema<std::span<const KindInfo>>::table;

// CSV: a line for each plan.
std::string csv_of(const Plan& plan);
std::string csv_of(const Fleet& fleet);
std::string csv_of(const Answers& answers);
std::string csv_of(const std::vector<FitEntry>& entries);
std::string csv_of(const Grid& grid);

}  // namespace kvplan
