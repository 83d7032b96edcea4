// The fields of comparisons with reality: measurements, calibrations, logs, watched starts, cards.
#include "report/fields_tables.h"
#include "report/report.h"

namespace kvplan {

namespace {

struct DeviceOf {
  const Measurement* seen;
};
template <auto... members>
constexpr auto of_device = at<&DeviceOf::seen, &Measurement::device, members...>;

// Null where no model was given.
template <class Value>
std::optional<Value> where_planned(const LogCheck& check, const Value& value) {
  return check.has_plan ? std::optional(value) : std::nullopt;
}

}  // namespace

template <>
const Table<DeviceOf> Fields<DeviceOf>::table(
    {{"id", of_device<&DeviceFacts::id>},
     {"name", of_device<&DeviceFacts::name>},
     {"driver", or_null<&T::seen, &Measurement::device, &DeviceFacts::driver>},
     {"nominal_bytes", or_null<&T::seen, &Measurement::device, &DeviceFacts::nominal>,
      "that the driver's own tools report"},
     {"usable_bytes", of_device<&DeviceFacts::usable>, "that a program sees in all"},
     {"context_bytes", of_device<&DeviceFacts::context>, "taken by opening the device"},
     {"granularity_bytes", of_device<&DeviceFacts::granularity>, "of an allocation"},
     {"free_bytes", at<&T::seen, &Measurement::free>, "before anything was allocated"},
     {"used_by_others_bytes", at<&T::seen, &Measurement::used_by_others>},
     {"other_processes", at<&T::seen, &Measurement::other_processes>}});

template <>
const Table<MeasuredLine> Fields<MeasuredLine>::table({{"what", at<&T::what>},
                                                       {"buffers", at<&T::buffers>},
                                                       {"planned_bytes", at<&T::planned>},
                                                       {"rounding_bytes", at<&T::rounding>,
                                                        "at most, by the granularity"},
                                                       {"measured_bytes", at<&T::measured>},
                                                       {"difference_bytes", at<&T::difference>},
                                                       {"reason", or_null<&T::reason>}});

template <>
const Table<MeasuredSpeed> Fields<MeasuredSpeed>::table({{"n", at<&T::figure, &Figure::n>},
                                                         {"low", [](const T& of) { return of.figure.low / 1e9; }},
                                                         {"high", [](const T& of) { return of.figure.high / 1e9; }},
                                                         {"mean", [](const T& of) { return of.figure.mean / 1e9; }}});

template <>
const Table<MeasuredMaximum> Fields<MeasuredMaximum>::table({{"max_model_len", at<&T::max_model_len>},
                                                             {"num_seqs", at<&T::num_seqs>},
                                                             {"bytes", at<&T::bytes>},
                                                             {"tries", at<&T::tries>},
                                                             {"limited_by", at<&T::limited_by>}});

template <>
const Table<BlockSize> Fields<BlockSize>::table({{"bytes", at<&T::bytes>}, {"count", at<&T::count>}});

template <>
const Table<RehearsedStep> Fields<RehearsedStep>::table(
    {{"what", at<&T::what>},
     {"planned_bytes", at<&T::planned>},
     {"asked_bytes", at<&T::asked>, "in the blocks of the engine's allocator"},
     {"blocks", at<&T::blocks>},
     {"held", at<&T::held>, "blocks that were to be had"},
     {"sizes", at<&T::sizes>, "of the blocks, in the order of the first"}});

template <>
const Table<Rehearsal> Fields<Rehearsal>::table(
    {{"status", at<&T::status>},
     {"free_bytes", at<&T::free>, "before the first step"},
     {"spare_bytes", at<&T::spare>, "left of them behind the last step"},
     {"missing_bytes", at<&T::missing>, "that all steps ask for beyond them"},
     {"stopped_at", or_null<&T::stopped>, "the block that was not to be had, or that the margin kept"},
     {"reason", or_null<&T::reason>, "the driver's words"},
     {"steps", at<&T::steps>, "in the engine's order"}});

template <>
const Table<Measurement> Fields<Measurement>::table(
    "measurement", "",
    {{"device", [](const T& seen) { return DeviceOf{&seen}; }},
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
     {"bandwidth_gb_s", [](const T& seen) { return speed_of(seen.bandwidth); },
      "read and written, streaming the cache; null where it is too small to say"},
     {"maximum", at<&T::maximum>, "--measure-max: the largest context whose cache allocates"},
     {"rehearsal", at<&T::rehearsal>, "what the engine takes at its start, held on the device"},
     {"status", at<&T::status>},
     {"reason", or_null<&T::reason>}});

template <>
const Table<AppliedFigure> Fields<AppliedFigure>::table({{"name", at<&T::name>},
                                                         {"what", at<&T::what>, "the line that it changed"},
                                                         {"n", at<&T::figure, &Figure::n>},
                                                         {"low", at<&T::figure, &Figure::low>},
                                                         {"high", at<&T::figure, &Figure::high>},
                                                         {"mean", at<&T::figure, &Figure::mean>},
                                                         {"source", at<&T::source>}});

template <>
const Table<CalibrationOf> Fields<CalibrationOf>::table(
    "calibration", "",
    {{"file", [](const T& of) { return of.plan->request.calibration->path; }},
     {"figures", at<&T::plan, &Plan::calibrated>}});

template <>
const Table<NamedFigure> Fields<NamedFigure>::table({{"name", at<&T::name>},
                                                     {"n", at<&T::figure, &Figure::n>, "runs", limit(kFromOne)},
                                                     {"low", at<&T::figure, &Figure::low_bytes>},
                                                     {"high", at<&T::figure, &Figure::high_bytes>},
                                                     {"mean", at<&T::figure, &Figure::mean_bytes>}});

template <>
const Table<CalibrationRecord> Fields<CalibrationRecord>::table(
    {{"device", at<&T::device>, "as the driver or the catalogue names it"},
     {"device_memory_bytes", or_null<&T::memory>},
     {"driver", or_null<&T::driver>},
     {"engine", or_null<&T::engine>, "null for figures of the card"},
     {"engine_version", or_null<&T::engine_version>},
     {"model", or_null<&T::model>, "the model and options that the figures hold for; null for figures of the card"},
     {"source", at<&T::source>, limit(R"("enum": ["measure", "log"])")},
     {"date", at<&T::date>, "of the newest run"},
     {"figures", at<&T::figures>}});

template <>
const Table<Calibration> Fields<Calibration>::table("calibration_file", "what --save-calibration writes",
                                                    {{"calibration", at<&T::records>}}, TableKind::kReport);

template <>
const Table<LogLine> Fields<LogLine>::table(
    {{"line_number", at<&T::seen, &Observation::line_number>, "from 1", limit(kFromOne)},
     {"what", at<&T::seen, &Observation::what>},
     {"value", at<&T::seen, &Observation::value>, "in the unit"},
     {"unit", [](const T& line) { return unit_name(line.seen.unit); }, "GiB, tokens ...; empty for a share"},
     {"device", or_null<&T::seen, &Observation::device>},
     {"rank", at<&T::seen, &Observation::rank>},
     {"predicted", at<&T::predicted>, "by the plan, in the unit; null where it says nothing of it"},
     {"exact", at<&T::exact>, "arithmetic: a difference is a disagreement"},
     {"outside", [](const T& line) { return line.is_outside(); }, "an estimate that misses its own range"},
     {"reason", or_null<&T::reason>}});

template <>
const Table<LogPart> Fields<LogPart>::table({{"what", at<&T::what>},
                                             {"part", at<&T::part>},
                                             {"observed_bytes", at<&T::observed>},
                                             {"predicted_bytes", at<&T::predicted>},
                                             {"low_bytes", at<&T::low>},
                                             {"high_bytes", at<&T::high>}});

template <>
const Table<LogTotal> Fields<LogTotal>::table({{"observed_bytes", at<&T::observed>},
                                               {"predicted_bytes", at<&T::predicted>},
                                               {"low_bytes", at<&T::low>},
                                               {"high_bytes", at<&T::high>},
                                               {"parts", at<&T::parts>}});

template <>
const Table<LogValue> Fields<LogValue>::table({{"name", at<&T::name>},
                                               {"text", or_null<&T::text>, "as the log prints it; null: worked out"},
                                               {"value", at<&T::value>, "in the unit; 0 for a word"},
                                               {"unit", [](const T& value) { return unit_name(value.unit); }}});

template <>
const Table<LogEvent> Fields<LogEvent>::table({{"id", at<&T::id>},
                                               {"line_number", at<&T::line_number>, "from 1"},
                                               {"words", at<&T::words>, "of the log"},
                                               {"values", at<&T::values>}});

template <>
const Table<LogRemedy> Fields<LogRemedy>::table(
    {{"cure", at<&T::cure>},
     {"option", or_null<&T::option>, "of the engine; null where none does it"},
     {"value", or_null<&T::value>, "null where the log does not tell which"},
     {"figure", at<&T::figure>, "tokens, ranks or a share: what the cure is about"},
     {"fits", at<&T::fits>, "whether a plan with it fits; null where none was made"},
     {"effect", or_null<&T::effect>, "what it does, for the cure `other`"}});

template <>
const Table<Diagnosis> Fields<Diagnosis>::table(
    {{"verdict", at<&T::verdict>},
     {"phase", at<&T::phase>, "what the engine was at when it failed"},
     {"cause", at<&T::cause>, "null where nothing went wrong"},
     {"missing_bytes", at<&T::missing>, "memory that is short; null where the log does not tell"},
     {"figures", at<&T::figures>, "worked out of the log's own"},
     {"other_failures", at<&T::other_failures>, "lines that failed beside the cause"},
     {"hints", at<&T::hints>, "other lines that say why it came to that"},
     {"remedies", at<&T::remedies>, "what the log suggests, then least loss first"},
     {"other_events", at<&T::other_events>, "what else the log tells, and no fault"}});

template <>
const Table<LogCheck> Fields<LogCheck>::table(
    "check_log", "kvplan check-log [MODEL] LOG",
    {{"engine", or_null<&T::engine>, "null where no line tells"},
     {"engine_version", [](const T& check) { return where_planned(check, check.plan.engine_version); }},
     {"log_version", or_null<&T::options, &LogOptions::version>, "the release that the log names"},
     {"max_model_len", [](const T& check) { return where_planned(check, check.plan.load.max_model_len); }},
     {"tensor_parallel_size", [](const T& check) { return where_planned(check, check.plan.request.parallel.tensor); }},
     {"diagnosis", at<&T::diagnosis>, "what became of the start, and why"},
     {"read", at<&T::read>, "options that the log tells"},
     {"assumed", at<&T::assumed>, "what it does not tell"},
     {"lines", at<&T::lines>},
     {"total", at<&T::total>, "one GPU's memory beside the cache; null where the log prints none of it"},
     {"compared", at<&T::compared>, "exact lines that the plan has a figure for"},
     {"disagreements", at<&T::disagreements>, "exact lines that are off by more than what rounding leaves"},
     {"outside", at<&T::outside>, "estimates that miss their own range"},
     {"agrees_with", or_null<&T::agrees_with>, "an option or release with which they are inside it"},
     {"remarks", at<&T::remarks>}},
    TableKind::kReport);

template <>
const Table<ContextStage> Fields<ContextStage>::table({{"what", at<&T::what>}, {"bytes", at<&T::took>}});

template <>
const Table<SizeProbe> Fields<SizeProbe>::table({{"asked_bytes", at<&T::asked>}, {"took_bytes", at<&T::took>}});

template <>
const Table<CardMeasurement> Fields<CardMeasurement>::table(
    "measured_card", "kvplan measure card",
    {{"id", at<&T::id>},
     {"name", at<&T::name>},
     {"driver", or_null<&T::driver>},
     {"uuid", or_null<&T::facts, &CardFacts::uuid>},
     {"is_slice", at<&T::facts, &CardFacts::is_slice>, "of a card that is cut (MIG)"},
     {"is_integrated", at<&T::facts, &CardFacts::is_integrated>, "its memory is the machine's"},
     {"is_wsl", at<&T::facts, &CardFacts::is_wsl>},
     {"corrects_errors", at<&T::facts, &CardFacts::corrects_errors>, "ECC"},
     {"nominal_bytes", or_null<&T::nominal>, "that the driver's own tools report"},
     {"reserved_bytes", at<&T::facts, &CardFacts::reserved>, "that the driver keeps"},
     {"usable_bytes", at<&T::usable>, "that a program sees in all"},
     {"free_bytes", at<&T::free>},
     {"used_by_others_bytes", at<&T::used_by_others>},
     {"other_processes", at<&T::other_processes>},
     {"context_bytes", at<&T::context>, "the least of three openings"},
     {"context_is_by_process", at<&T::facts, &CardFacts::is_by_process>, "else what the card's counter grew by"},
     {"context_stages", at<&T::facts, &CardFacts::stages>},
     {"granularity_bytes", at<&T::granularity>, "as the driver says"},
     {"probes", at<&T::probes>, "what the counter grew by"},
     {"block_bytes", or_null<&T::block>, "that was read and copied"},
     {"read_gb_s", [](const T& of) { return speed_of(of.read); }, "by a kernel"},
     {"copy_gb_s", [](const T& of) { return speed_of(of.copy); }, "read and written, by the driver's copy"},
     {"is_disturbed", at<&T::is_disturbed>, "others moved memory: nothing is kept"},
     {"remarks", at<&T::remarks>}},
    TableKind::kReport);

template <>
const Table<MemorySample> Fields<MemorySample>::table({{"seconds", at<&T::seconds>}, {"bytes", at<&T::memory>}});

template <>
const Table<WatchedStage> Fields<WatchedStage>::table({{"stage", at<&T::stage>},
                                                       {"seconds", at<&T::seconds>, "when it was over"},
                                                       {"before_bytes", at<&T::before>},
                                                       {"after_bytes", at<&T::after>},
                                                       {"peak_bytes", at<&T::peak>}});

template <>
const Table<WatchedLine> Fields<WatchedLine>::table({{"stage", at<&T::stage>},
                                                     {"is_whole", at<&T::is_whole>,
                                                      "all stages behind the process's own"},
                                                     {"planned_bytes", at<&T::planned>, "over all GPUs"},
                                                     {"low_bytes", at<&T::low>},
                                                     {"high_bytes", at<&T::high>},
                                                     {"logged_bytes", at<&T::logged>, "as the engine printed it"},
                                                     {"watched_bytes", at<&T::seen>, "what the counter grew by"},
                                                     {"is_judged", at<&T::is_judged>, "the verdict rests on it"},
                                                     {"is_inside", at<&T::is_inside>, "of the range"}});

template <>
const Table<Watched> Fields<Watched>::table({{"status", at<&T::status>},
                                             {"counter", at<&T::counter>, "what is counted"},
                                             {"pid", at<&T::pid>},
                                             {"exit_code", at<&T::exit_code>},
                                             {"signal", at<&T::signal>},
                                             {"seconds", at<&T::seconds>},
                                             {"num_samples", at<&T::samples>},
                                             {"peak_bytes", at<&T::peak>},
                                             {"last_bytes", at<&T::last>},
                                             {"stages", at<&T::stages>},
                                             {"samples", at<&T::curve>, "some of them, evenly"},
                                             {"log_file", or_null<&T::log_file>},
                                             {"remarks", at<&T::remarks>}});

template <>
const Table<WatchReport> Fields<WatchReport>::table("watched_start", "kvplan measure MODEL --watch",
                                                    {{"model", [](const T& of) { return ModelOf{&of.plan}; }},
                                                     {"request", [](const T& of) { return RequestOf{&of.plan}; }},
                                                     {"watched", at<&T::seen>},
                                                     {"lines", at<&T::lines>, "stages beside the plan"},
                                                     {"agrees", at<&T::agrees>},
                                                     {"check_log", at<&T::check>,
                                                      "the engine's own lines beside the plan"}},
                                                    TableKind::kReport);

std::string calibration_json(const Calibration& calibration) {
  return json_of(calibration);
}

}  // namespace kvplan
