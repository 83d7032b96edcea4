// The fields of comparisons with reality: measurements, calibrations, logs.
#include "report/fields_speed.h"
#include "report/fields_tables.h"
#include "report/report.h"

namespace kvplan {

namespace {

struct DeviceOf {
  const Measurement* seen;
};

}  // namespace

template <>
const Table<DeviceOf>& table() {
  using T = DeviceOf;
  using D = DeviceFacts;
  static constexpr auto rows = rows_of<T>(
      {{"id", at<&T::seen, &Measurement::device, &D::id>},
       {"name", at<&T::seen, &Measurement::device, &D::name>},
       {"driver", or_null<&T::seen, &Measurement::device, &D::driver>},
       {"nominal_bytes", or_null<&T::seen, &Measurement::device, &D::nominal>, "that the driver's own tools report"},
       {"usable_bytes", at<&T::seen, &Measurement::device, &D::usable>, "that a program sees in all"},
       {"context_bytes", at<&T::seen, &Measurement::device, &D::context>, "taken by opening the device"},
       {"granularity_bytes", at<&T::seen, &Measurement::device, &D::granularity>, "of an allocation"},
       {"free_bytes", at<&T::seen, &Measurement::free>, "before anything was allocated"},
       {"used_by_others_bytes", at<&T::seen, &Measurement::used_by_others>},
       {"other_processes", at<&T::seen, &Measurement::other_processes>}});
  static constexpr Table<T> fields("", "", rows);
  return fields;
}

template <>
const Table<MeasuredLine>& table() {
  using T = MeasuredLine;
  static constexpr auto rows = rows_of<T>({{"what", at<&T::what>},
                                           {"buffers", at<&T::buffers>},
                                           {"planned_bytes", at<&T::planned>},
                                           {"rounding_bytes", at<&T::rounding>, "at most, by the granularity"},
                                           {"measured_bytes", at<&T::measured>},
                                           {"difference_bytes", at<&T::difference>},
                                           {"reason", or_null<&T::reason>}});
  static constexpr Table<T> fields("", "", rows);
  return fields;
}

template <>
const Table<MeasuredSpeed>& table() {
  using T = MeasuredSpeed;
  static constexpr auto rows = rows_of<T>({{"n", at<&T::figure, &Figure::n>},
                                           {"low", [](const T& of) { return of.figure.low / 1e9; }},
                                           {"high", [](const T& of) { return of.figure.high / 1e9; }},
                                           {"mean", [](const T& of) { return of.figure.mean / 1e9; }}});
  static constexpr Table<T> fields("", "", rows);
  return fields;
}

template <>
const Table<MeasuredMaximum>& table() {
  using T = MeasuredMaximum;
  static constexpr auto rows = rows_of<T>({{"max_model_len", at<&T::max_model_len>},
                                           {"num_seqs", at<&T::num_seqs>},
                                           {"bytes", at<&T::bytes>},
                                           {"tries", at<&T::tries>},
                                           {"limited_by", at<&T::limited_by>}});
  static constexpr Table<T> fields("", "", rows);
  return fields;
}

template <>
const Table<BlockSize>& table() {
  using T = BlockSize;
  static constexpr auto rows = rows_of<T>({{"bytes", at<&T::bytes>}, {"count", at<&T::count>}});
  static constexpr Table<T> fields("", "", rows);
  return fields;
}

template <>
const Table<RehearsedStep>& table() {
  using T = RehearsedStep;
  static constexpr auto rows = rows_of<T>({{"what", at<&T::what>},
                                           {"planned_bytes", at<&T::planned>},
                                           {"asked_bytes", at<&T::asked>, "in the blocks of the engine's allocator"},
                                           {"blocks", at<&T::blocks>},
                                           {"held", at<&T::held>, "blocks that were to be had"},
                                           {"sizes", at<&T::sizes>, "of the blocks, in the order of the first"}});
  static constexpr Table<T> fields("", "", rows);
  return fields;
}

template <>
const Table<Rehearsal>& table() {
  using T = Rehearsal;
  static constexpr auto rows =
      rows_of<T>({{"status", at<&T::status>},
                  {"free_bytes", at<&T::free>, "before the first step"},
                  {"spare_bytes", at<&T::spare>, "left of them behind the last step"},
                  {"missing_bytes", at<&T::missing>, "that all steps ask for beyond them"},
                  {"stopped_at", or_null<&T::stopped>, "the block that was not to be had, or that the margin kept"},
                  {"reason", or_null<&T::reason>, "the driver's words"},
                  {"steps", at<&T::steps>, "in the engine's order"}});
  static constexpr Table<T> fields("", "", rows);
  return fields;
}

template <>
const Table<Measurement>& table() {
  using T = Measurement;
  static constexpr auto speed = [](const T& seen) { return speed_of(seen.bandwidth); };
  static constexpr auto rows =
      rows_of<T>({{"device", [](const T& seen) { return DeviceOf{&seen}; }},
                  {"planned_context_bytes", at<&T::planned_context>, "what the plan says of opening the device"},
                  {"gpu", at<&T::gpu>, "of the plan: the one whose share was allocated"},
                  {"max_model_len", at<&T::max_model_len>, "as measured"},
                  {"num_seqs", at<&T::num_seqs>},
                  {"scaled", or_null<&T::scaled>, "why that is less than the plan"},
                  {"lines", at<&T::lines>},
                  {"planned_bytes", at<&T::planned>},
                  {"measured_bytes", at<&T::measured>},
                  {"left_bytes", at<&T::others_moved>,
                   "what the device's counter had changed by when all was freed: memory of others"},
                  {"difference", at<&T::difference>, "of measured from planned, as a share"},
                  {"tolerance", at<&T::tolerance>},
                  {"bandwidth_gb_s", speed, "read and written, streaming the cache; null where it is too small to say"},
                  {"maximum", at<&T::maximum>, "--measure-max: the largest context whose cache allocates"},
                  {"rehearsal", at<&T::rehearsal>, "what the engine takes at its start, held on the device"},
                  {"status", at<&T::status>},
                  {"reason", or_null<&T::reason>}});
  static constexpr Table<T> fields("measurement", "", rows);
  return fields;
}

template <>
const Table<AppliedFigure>& table() {
  using T = AppliedFigure;
  static constexpr auto rows = rows_of<T>({{"name", at<&T::name>},
                                           {"what", at<&T::what>, "the line that it changed"},
                                           {"n", at<&T::figure, &Figure::n>},
                                           {"low", at<&T::figure, &Figure::low>},
                                           {"high", at<&T::figure, &Figure::high>},
                                           {"mean", at<&T::figure, &Figure::mean>},
                                           {"source", at<&T::source>}});
  static constexpr Table<T> fields("", "", rows);
  return fields;
}

template <>
const Table<CalibrationOf>& table() {
  using T = CalibrationOf;
  static constexpr auto file = [](const T& of) { return of.plan->request.calibration->path; };
  static constexpr auto figures = [](const T& of) -> const std::vector<AppliedFigure>& { return of.plan->calibrated; };
  static constexpr auto rows = rows_of<T>({{"file", file}, {"figures", figures}});
  static constexpr Table<T> fields("calibration", "", rows);
  return fields;
}

template <>
const Table<NamedFigure>& table() {
  using T = NamedFigure;
  static constexpr auto rows = rows_of<T>({{"name", at<&T::name>},
                                           {"n", at<&T::figure, &Figure::n>, "runs", limit(kFromOne)},
                                           {"low", at<&T::figure, &Figure::low_bytes>},
                                           {"high", at<&T::figure, &Figure::high_bytes>},
                                           {"mean", at<&T::figure, &Figure::mean_bytes>}});
  static constexpr Table<T> fields("", "", rows);
  return fields;
}

template <>
const Table<CalibrationRecord>& table() {
  using T = CalibrationRecord;
  static constexpr auto rows = rows_of<T>(
      {{"device", at<&T::device>, "as the driver or the catalogue names it"},
       {"device_memory_bytes", or_null<&T::memory>},
       {"driver", or_null<&T::driver>},
       {"engine", or_null<&T::engine>, "null for figures of the card"},
       {"engine_version", or_null<&T::engine_version>},
       {"model", or_null<&T::model>, "the model and options that the figures hold for; null for figures of the card"},
       {"source", at<&T::source>, "", limit(R"("enum": ["measure", "log"])")},
       {"date", at<&T::date>, "of the newest run"},
       {"figures", at<&T::figures>}});
  static constexpr Table<T> fields("", "", rows);
  return fields;
}

template <>
const Table<Calibration>& table() {
  using T = Calibration;
  static constexpr auto rows = rows_of<T>({{"calibration", at<&T::records>}});
  static constexpr Table<T> fields("calibration_file", "what --save-calibration writes", rows, TableKind::kReport);
  return fields;
}

template <>
const Table<LogLine>& table() {
  using T = LogLine;
  using O = Observation;
  static constexpr auto rows = rows_of<T>(
      {{"line_number", at<&T::seen, &O::line_number>, "from 1", limit(kFromOne)},
       {"what", at<&T::seen, &O::what>},
       {"value", at<&T::seen, &O::value>, "in the unit"},
       {"unit", [](const T& line) { return unit_name(line.seen.unit); }, "GiB, tokens ...; empty for a share"},
       {"device", or_null<&T::seen, &O::device>},
       {"rank", at<&T::seen, &O::rank>},
       {"predicted", at<&T::predicted>, "by the plan, in the unit; null where it says nothing of it"},
       {"exact", at<&T::exact>, "arithmetic: a difference is a disagreement"},
       {"reason", or_null<&T::reason>}});
  static constexpr Table<T> fields("", "", rows);
  return fields;
}

template <>
const Table<LogPart>& table() {
  using T = LogPart;
  static constexpr auto rows = rows_of<T>({{"what", at<&T::what>},
                                           {"part", at<&T::part>},
                                           {"observed_bytes", at<&T::observed>},
                                           {"predicted_bytes", at<&T::predicted>},
                                           {"low_bytes", at<&T::low>},
                                           {"high_bytes", at<&T::high>}});
  static constexpr Table<T> fields("", "", rows);
  return fields;
}

template <>
const Table<LogTotal>& table() {
  using T = LogTotal;
  static constexpr auto rows = rows_of<T>({{"observed_bytes", at<&T::observed>},
                                           {"predicted_bytes", at<&T::predicted>},
                                           {"low_bytes", at<&T::low>},
                                           {"high_bytes", at<&T::high>},
                                           {"parts", at<&T::parts>}});
  static constexpr Table<T> fields("", "", rows);
  return fields;
}

// Null where no model was given.
template <class T>
std::optional<T> if_planned(const LogCheck& check, const T& value) {
  return check.has_plan ? std::optional(value) : std::nullopt;
}

template <>
const Table<LogValue>& table() {
  using T = LogValue;
  static constexpr auto rows = rows_of<T>({{"name", at<&T::name>},
                                           {"text", or_null<&T::text>, "as the log prints it; null: worked out"},
                                           {"value", at<&T::value>, "in the unit; 0 for a word"},
                                           {"unit", [](const T& value) { return unit_name(value.unit); }}});
  static constexpr Table<T> fields("", "", rows);
  return fields;
}

template <>
const Table<LogEvent>& table() {
  using T = LogEvent;
  static constexpr auto rows = rows_of<T>({{"id", at<&T::id>},
                                           {"line_number", at<&T::line_number>, "from 1"},
                                           {"words", at<&T::words>, "of the log"},
                                           {"values", at<&T::values>}});
  static constexpr Table<T> fields("", "", rows);
  return fields;
}

template <>
const Table<LogRemedy>& table() {
  using T = LogRemedy;
  static constexpr auto rows =
      rows_of<T>({{"cure", at<&T::cure>},
                  {"option", or_null<&T::option>, "of the engine; null where none does it"},
                  {"value", or_null<&T::value>, "null where the log does not tell which"},
                  {"figure", at<&T::figure>, "tokens, ranks or a share: what the cure is about"},
                  {"fits", at<&T::fits>, "whether a plan with it fits; null where none was made"}});
  static constexpr Table<T> fields("", "", rows);
  return fields;
}

template <>
const Table<Diagnosis>& table() {
  using T = Diagnosis;
  static constexpr auto rows =
      rows_of<T>({{"verdict", at<&T::verdict>},
                  {"phase", at<&T::phase>, "what the engine was at when it failed"},
                  {"cause", at<&T::cause>, "null where nothing went wrong"},
                  {"missing_bytes", at<&T::missing>, "memory that is short; null where the log does not tell"},
                  {"figures", at<&T::figures>, "worked out of the log's own"},
                  {"remedies", at<&T::remedies>, "least loss first"},
                  {"other_events", at<&T::other_events>, "what else the log tells, and no fault"}});
  static constexpr Table<T> fields("", "", rows);
  return fields;
}

template <>
const Table<LogCheck>& table() {
  using T = LogCheck;
  static constexpr auto rows = rows_of<T>(
      {{"engine", [](const T& check) { return if_any(std::string_view(check.engine)); }, "null where no line tells"},
       {"engine_version", [](const T& check) { return if_planned(check, check.plan.engine_version); }},
       {"log_version", or_null<&T::options, &LogOptions::version>, "the release that the log names"},
       {"max_model_len", [](const T& check) { return if_planned(check, check.plan.load.max_model_len); }},
       {"tensor_parallel_size", [](const T& check) { return if_planned(check, check.plan.request.parallel.tensor); }},
       {"diagnosis", at<&T::diagnosis>, "what became of the start, and why"},
       {"read", at<&T::read>, "options that the log tells"},
       {"assumed", at<&T::assumed>, "what it does not tell"},
       {"lines", at<&T::lines>},
       {"total", at<&T::total>, "one GPU's memory beside the cache; null where the log prints none of it"},
       {"compared", at<&T::compared>, "exact lines that the plan has a figure for"},
       {"disagreements", at<&T::disagreements>, "exact lines that are off by more than what rounding leaves"},
       {"remarks", at<&T::remarks>}});
  static constexpr Table<T> fields("check_log", "kvplan check-log [MODEL] LOG", rows, TableKind::kReport);
  return fields;
}

void define_measurements(Json& definitions) {
  table<Calibration>().schema(definitions);
  table<LogCheck>().schema(definitions);
}

std::string calibration_json(const Calibration& calibration) {
  return table<Calibration>().text(calibration);
}

std::string check_log_json(const LogCheck& check) {
  return table<LogCheck>().text(check);
}

}  // namespace kvplan
