// The fields of comparisons with reality: measurements, calibrations, logs, watched starts, GPUs.
#include "report/fields_tables.h"
#include "report/report.h"

namespace kvplan {

namespace {

struct DeviceOf {
  const Measurement* seen;
};
template <auto... members>
constexpr auto of_device = at<&DeviceOf::seen, &Measurement::device, members...>;

// Null if no model was given.
template <class Value>
std::optional<Value> where_planned(const LogCheck& check, const Value& value) {
  return check.has_plan ? std::optional(value) : std::nullopt;
}

}  // namespace

template <>
const Table<DeviceOf> Schema<DeviceOf>::table(
    {{"id", of_device<&DeviceFacts::id>},
     {"name", of_device<&DeviceFacts::name>},
     {"driver", or_null<&T::seen, &Measurement::device, &DeviceFacts::driver>},
     {"nominal_bytes", or_null<&T::seen, &Measurement::device, &DeviceFacts::nominal>,
      "memory that the driver's tools report"},
     {"usable_bytes", of_device<&DeviceFacts::usable>, "memory that a program sees"},
     {"context_bytes", of_device<&DeviceFacts::context>, "memory taken by opening the device"},
     {"granularity_bytes", of_device<&DeviceFacts::granularity>, "allocations are multiples of it"},
     {"free_bytes", at<&T::seen, &Measurement::free>, "before anything was allocated"},
     {"used_by_others_bytes", at<&T::seen, &Measurement::used_by_others>},
     {"other_processes", at<&T::seen, &Measurement::other_processes>}});

template <>
const Table<MeasuredLine> Schema<MeasuredLine>::table({{"what", at<&T::what>},
                                                       {"buffers", at<&T::buffers>},
                                                       {"planned_bytes", at<&T::planned>},
                                                       {"rounding_bytes", at<&T::rounding>,
                                                        "at most this much, from the granularity"},
                                                       {"measured_bytes", at<&T::measured>},
                                                       {"difference_bytes", at<&T::difference>},
                                                       {"reason", or_null<&T::reason>}});

template <>
const Table<MeasuredSpeed> Schema<MeasuredSpeed>::table({{"n", at<&T::figure, &Figure::n>},
                                                         {"low", [](const T& of) { return of.figure.low / 1e9; }},
                                                         {"high", [](const T& of) { return of.figure.high / 1e9; }},
                                                         {"mean", [](const T& of) { return of.figure.mean / 1e9; }}});

template <>
const Table<MeasuredMaximum> Schema<MeasuredMaximum>::table({{"max_model_len", at<&T::max_model_len>},
                                                             {"num_seqs", at<&T::num_seqs>},
                                                             {"bytes", at<&T::bytes>},
                                                             {"tries", at<&T::tries>},
                                                             {"limited_by", at<&T::limited_by>}});

template <>
const Table<BlockSize> Schema<BlockSize>::table({{"bytes", at<&T::bytes>}, {"count", at<&T::count>}});

template <>
const Table<RehearsedStep> Schema<RehearsedStep>::table(
    {{"what", at<&T::what>},
     {"planned_bytes", at<&T::planned>},
     {"asked_bytes", at<&T::asked>, "in whole blocks of the engine's allocator"},
     {"blocks", at<&T::blocks>},
     {"held", at<&T::held>, "blocks that were allocated"},
     {"sizes", at<&T::sizes>, "block sizes, in the order of the first of each"}});

template <>
const Table<Rehearsal> Schema<Rehearsal>::table(
    {{"status", at<&T::status>},
     {"free_bytes", at<&T::free>, "before the first step"},
     {"spare_bytes", at<&T::spare>, "left after the last step"},
     {"missing_bytes", at<&T::missing>, "what all steps need beyond them"},
     {"stopped_at", or_null<&T::stopped>, "the block that could not be allocated, or that the safety margin kept back"},
     {"reason", or_null<&T::reason>, "the driver's message"},
     {"steps", at<&T::steps>, "in the engine's order"}});

template <>
const Table<Measurement> Schema<Measurement>::table(
    "measurement", "",
    {{"device", [](const T& seen) { return DeviceOf{&seen}; }},
     {"planned_context_bytes", at<&T::planned_context>, "planned for opening the device"},
     {"gpu", at<&T::gpu>, "the planned GPU whose memory was allocated"},
     {"max_model_len", at<&T::max_model_len>, "as measured"},
     {"num_seqs", at<&T::num_seqs>},
     {"scaled", or_null<&T::scaled>, "why less was measured than planned"},
     {"lines", at<&T::lines>},
     {"planned_bytes", at<&T::planned>},
     {"measured_bytes", at<&T::measured>},
     {"left_bytes", at<&T::others_moved>,
      "change of the device's counter after everything was freed: memory of other programs"},
     {"difference", at<&T::difference>, "(measured - planned) / planned"},
     {"tolerance", at<&T::tolerance>},
     {"bandwidth_gb_s", [](const T& seen) { return speed_of(seen.bandwidth); },
      "reading and writing the cache; null if the cache is too small to tell"},
     {"maximum", at<&T::maximum>, "--measure-max: the largest context whose cache allocates"},
     {"rehearsal", at<&T::rehearsal>, "what the engine allocates at its start, allocated on the device"},
     {"status", at<&T::status>},
     {"reason", or_null<&T::reason>}});

template <>
const Table<AppliedFigure> Schema<AppliedFigure>::table({{"name", at<&T::name>},
                                                         {"what", at<&T::what>, "the line that it changed"},
                                                         {"n", at<&T::figure, &Figure::n>},
                                                         {"low", at<&T::figure, &Figure::low>},
                                                         {"high", at<&T::figure, &Figure::high>},
                                                         {"mean", at<&T::figure, &Figure::mean>},
                                                         {"source", at<&T::source>}});

template <>
const Table<CalibrationOf> Schema<CalibrationOf>::table(
    "calibration", "",
    {{"file", [](const T& of) { return of.plan->request.calibration->path; }},
     {"figures", at<&T::plan, &Plan::calibrated>}});

template <>
const Table<NamedFigure> Schema<NamedFigure>::table({{"name", at<&T::name>},
                                                     {"n", at<&T::figure, &Figure::n>, "runs", limit(kFromOne)},
                                                     {"low", at<&T::figure, &Figure::low_bytes>},
                                                     {"high", at<&T::figure, &Figure::high_bytes>},
                                                     {"mean", at<&T::figure, &Figure::mean_bytes>}});

template <>
const Table<CalibrationRecord> Schema<CalibrationRecord>::table(
    {{"device", at<&T::device>, "as the driver or the catalogue names it"},
     {"device_memory_bytes", or_null<&T::memory>},
     {"driver", or_null<&T::driver>},
     {"engine", or_null<&T::engine>, "null for figures of the GPU"},
     {"engine_version", or_null<&T::engine_version>},
     {"model", or_null<&T::model>, "the model and options that were measured; null for figures of the GPU"},
     {"source", at<&T::source>, limit(R"("enum": ["measure", "log"])")},
     {"date", at<&T::date>, "of the newest run"},
     {"figures", at<&T::figures>}});

template <>
const Table<Calibration> Schema<Calibration>::table("calibration_file", "what --save-calibration writes",
                                                    {{"calibration", at<&T::records>}}, TableKind::kReport);

template <>
const Table<LogLine> Schema<LogLine>::table(
    {{"line_number", at<&T::seen, &Observation::line_number>, "from 1", limit(kFromOne)},
     {"what", at<&T::seen, &Observation::what>},
     {"value", at<&T::seen, &Observation::value>, "in the unit"},
     {"unit", [](const T& line) { return unit_name(line.seen.unit); }, "GiB, tokens ...; empty for a fraction"},
     {"device", or_null<&T::seen, &Observation::device>},
     {"rank", at<&T::seen, &Observation::rank>},
     {"predicted", at<&T::predicted>, "the plan's value, in the unit; null if the plan has none"},
     {"exact", at<&T::exact>, "not an estimate: any difference is a disagreement"},
     {"outside", [](const T& line) { return line.is_outside(); }, "outside the estimate's range"},
     {"reason", or_null<&T::reason>}});

template <>
const Table<LogPart> Schema<LogPart>::table({{"what", at<&T::what>},
                                             {"part", at<&T::part>},
                                             {"observed_bytes", at<&T::observed>},
                                             {"predicted_bytes", at<&T::predicted>},
                                             {"low_bytes", at<&T::low>},
                                             {"high_bytes", at<&T::high>}});

template <>
const Table<LogTotal> Schema<LogTotal>::table({{"observed_bytes", at<&T::observed>},
                                               {"predicted_bytes", at<&T::predicted>},
                                               {"low_bytes", at<&T::low>},
                                               {"high_bytes", at<&T::high>},
                                               {"parts", at<&T::parts>}});

template <>
const Table<LogValue> Schema<LogValue>::table({{"name", at<&T::name>},
                                               {"text", or_null<&T::text>, "as the log prints it; null: computed"},
                                               {"value", at<&T::value>, "in the unit; 0 for a word"},
                                               {"unit", [](const T& value) { return unit_name(value.unit); }}});

template <>
const Table<LogEvent> Schema<LogEvent>::table({{"id", at<&T::id>},
                                               {"line_number", at<&T::line_number>, "from 1"},
                                               {"words", at<&T::words>, "the log's line"},
                                               {"values", at<&T::values>}});

template <>
const Table<LogRemedy> Schema<LogRemedy>::table(
    {{"cure", at<&T::cure>},
     {"option", or_null<&T::option>, "the engine's option; null if there is none"},
     {"value", or_null<&T::value>, "null if the log does not give it"},
     {"figure", at<&T::figure>, "tokens, ranks or a fraction, depending on the cure"},
     {"fits", at<&T::fits>, "whether a plan with it fits; null if not planned"},
     {"effect", or_null<&T::effect>, "what it does, for the cure `other`"}});

template <>
const Table<Diagnosis> Schema<Diagnosis>::table(
    {{"verdict", at<&T::verdict>},
     {"phase", at<&T::phase>, "what the engine was doing when it failed"},
     {"cause", at<&T::cause>, "null if nothing went wrong"},
     {"missing_bytes", at<&T::missing>, "memory that is short; null if the log does not tell"},
     {"figures", at<&T::figures>, "computed from the log's figures"},
     {"other_failures", at<&T::other_failures>, "other lines that report a failure"},
     {"hints", at<&T::hints>, "other lines that help to explain the cause"},
     {"remedies", at<&T::remedies>, "first what the log suggests, then the smallest change first"},
     {"other_events", at<&T::other_events>, "other events in the log, not faults"}});

template <>
const Table<LogCheck> Schema<LogCheck>::table(
    "check_log", "kvplan check-log [MODEL] LOG",
    {{"engine", or_null<&T::engine>, "null if no line names it"},
     {"engine_version", [](const T& check) { return where_planned(check, check.plan.engine_version); }},
     {"log_version", or_null<&T::options, &LogOptions::version>, "the release that the log names"},
     {"max_model_len", [](const T& check) { return where_planned(check, check.plan.load.max_model_len); }},
     {"tensor_parallel_size", [](const T& check) { return where_planned(check, check.plan.request.parallel.tensor); }},
     {"diagnosis", at<&T::diagnosis>, "how the start went, and why"},
     {"read", at<&T::read>, "options read from the log"},
     {"assumed", at<&T::assumed>, "options that the log does not give"},
     {"lines", at<&T::lines>},
     {"total", at<&T::total>, "one GPU's memory without the KV cache; null if the log prints none of it"},
     {"compared", at<&T::compared>, "exact lines that the plan has a value for"},
     {"disagreements", at<&T::disagreements>, "exact lines that differ by more than rounding"},
     {"outside", at<&T::outside>, "estimates outside their range"},
     {"agrees_with", or_null<&T::agrees_with>, "an option or release with which they are inside their range"},
     {"remarks", at<&T::remarks>}},
    TableKind::kReport);

template <>
const Table<ContextStage> Schema<ContextStage>::table({{"what", at<&T::what>}, {"bytes", at<&T::took>}});

template <>
const Table<SizeProbe> Schema<SizeProbe>::table({{"asked_bytes", at<&T::asked>}, {"took_bytes", at<&T::took>}});

template <>
const Table<CardMeasurement> Schema<CardMeasurement>::table(
    "measured_card", "kvplan measure card",
    {{"id", at<&T::id>},
     {"name", at<&T::name>},
     {"driver", or_null<&T::driver>},
     {"uuid", or_null<&T::facts, &CardFacts::uuid>},
     {"is_slice", at<&T::facts, &CardFacts::is_slice>, "part of a GPU (MIG)"},
     {"is_integrated", at<&T::facts, &CardFacts::is_integrated>, "uses main memory"},
     {"is_wsl", at<&T::facts, &CardFacts::is_wsl>},
     {"corrects_errors", at<&T::facts, &CardFacts::corrects_errors>, "ECC"},
     {"nominal_bytes", or_null<&T::nominal>, "memory that the driver's tools report"},
     {"reserved_bytes", at<&T::facts, &CardFacts::reserved>, "kept by the driver"},
     {"usable_bytes", at<&T::usable>, "memory that a program sees"},
     {"free_bytes", at<&T::free>},
     {"used_by_others_bytes", at<&T::used_by_others>},
     {"other_processes", at<&T::other_processes>},
     {"context_bytes", at<&T::context>, "the smallest of three measurements"},
     {"context_is_by_process", at<&T::facts, &CardFacts::is_by_process>,
      "otherwise by the growth of the GPU's counter"},
     {"context_stages", at<&T::facts, &CardFacts::stages>},
     {"granularity_bytes", at<&T::granularity>, "as the driver reports it"},
     {"probes", at<&T::probes>, "growth of the counter"},
     {"block_bytes", or_null<&T::block>, "block that was read and copied"},
     {"read_gb_s", [](const T& of) { return speed_of(of.read); }, "by a kernel"},
     {"copy_gb_s", [](const T& of) { return speed_of(of.copy); }, "reading and writing, by the driver's copy"},
     {"is_disturbed", at<&T::is_disturbed>, "other programs changed memory: nothing is saved"},
     {"remarks", at<&T::remarks>}},
    TableKind::kReport);

template <>
const Table<MemorySample> Schema<MemorySample>::table({{"seconds", at<&T::seconds>}, {"bytes", at<&T::memory>}});

template <>
const Table<WatchedStage> Schema<WatchedStage>::table({{"stage", at<&T::stage>},
                                                       {"seconds", at<&T::seconds>, "at its end"},
                                                       {"before_bytes", at<&T::before>},
                                                       {"after_bytes", at<&T::after>},
                                                       {"peak_bytes", at<&T::peak>}});

template <>
const Table<WatchedLine> Schema<WatchedLine>::table({{"stage", at<&T::stage>},
                                                     {"is_whole", at<&T::is_whole>,
                                                      "all stages after the process itself"},
                                                     {"planned_bytes", at<&T::planned>, "over all GPUs"},
                                                     {"low_bytes", at<&T::low>},
                                                     {"high_bytes", at<&T::high>},
                                                     {"logged_bytes", at<&T::logged>, "as the engine printed it"},
                                                     {"watched_bytes", at<&T::seen>, "growth of the counter"},
                                                     {"is_judged", at<&T::is_judged>, "the verdict depends on it"},
                                                     {"is_inside", at<&T::is_inside>, "inside the range"}});

template <>
const Table<Watched> Schema<Watched>::table({{"status", at<&T::status>},
                                             {"counter", at<&T::counter>, "what is counted"},
                                             {"pid", at<&T::pid>},
                                             {"exit_code", at<&T::exit_code>},
                                             {"signal", at<&T::signal>},
                                             {"seconds", at<&T::seconds>},
                                             {"num_samples", at<&T::samples>},
                                             {"peak_bytes", at<&T::peak>},
                                             {"last_bytes", at<&T::last>},
                                             {"stages", at<&T::stages>},
                                             {"samples", at<&T::curve>, "a selection, evenly spaced"},
                                             {"log_file", or_null<&T::log_file>},
                                             {"remarks", at<&T::remarks>}});

template <>
const Table<WatchReport> Schema<WatchReport>::table("watched_start", "kvplan measure MODEL --watch",
                                                    {{"model", [](const T& of) { return ModelOf{&of.plan}; }},
                                                     {"request", [](const T& of) { return RequestOf{&of.plan}; }},
                                                     {"watched", at<&T::seen>},
                                                     {"lines", at<&T::lines>, "stages compared with the plan"},
                                                     {"agrees", at<&T::agrees>},
                                                     {"check_log", at<&T::check>,
                                                      "the engine's log compared with the plan"}},
                                                    TableKind::kReport);

std::string calibration_json(const Calibration& calibration) {
  return json_of(calibration);
}

}  // namespace kvplan
