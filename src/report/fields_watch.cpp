// The fields of a watched start.
#include "report/fields_tables.h"
#include "report/report.h"

namespace kvplan {

template <>
const Table<MemorySample>& table() {
  using T = MemorySample;
  static constexpr auto rows = rows_of<T>({{"seconds", at<&T::seconds>}, {"bytes", at<&T::memory>}});
  static constexpr Table<T> fields("", "", rows);
  return fields;
}

template <>
const Table<WatchedStage>& table() {
  using T = WatchedStage;
  static constexpr auto rows = rows_of<T>({{"stage", at<&T::stage>},
                                           {"seconds", at<&T::seconds>, "when it was over"},
                                           {"before_bytes", at<&T::before>},
                                           {"after_bytes", at<&T::after>},
                                           {"peak_bytes", at<&T::peak>}});
  static constexpr Table<T> fields("", "", rows);
  return fields;
}

template <>
const Table<WatchedLine>& table() {
  using T = WatchedLine;
  static constexpr auto rows = rows_of<T>({{"stage", at<&T::stage>},
                                           {"is_whole", at<&T::is_whole>, "all stages behind the process's own"},
                                           {"planned_bytes", at<&T::planned>, "over all GPUs"},
                                           {"low_bytes", at<&T::low>},
                                           {"high_bytes", at<&T::high>},
                                           {"logged_bytes", at<&T::logged>, "as the engine printed it"},
                                           {"watched_bytes", at<&T::seen>, "what the counter grew by"},
                                           {"is_judged", at<&T::is_judged>, "the verdict rests on it"},
                                           {"is_inside", at<&T::is_inside>, "of the range"}});
  static constexpr Table<T> fields("", "", rows);
  return fields;
}

template <>
const Table<Watched>& table() {
  using T = Watched;
  static constexpr auto rows = rows_of<T>({{"status", at<&T::status>},
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
  static constexpr Table<T> fields("", "", rows);
  return fields;
}

template <>
const Table<WatchReport>& table() {
  using T = WatchReport;
  static constexpr auto rows = rows_of<T>({{"model", [](const T& of) { return ModelOf{&of.plan}; }},
                                           {"request", [](const T& of) { return RequestOf{&of.plan}; }},
                                           {"watched", at<&T::seen>},
                                           {"lines", at<&T::lines>, "stages beside the plan"},
                                           {"agrees", at<&T::agrees>},
                                           {"check_log", at<&T::check>, "the engine's own lines beside the plan"}});
  static constexpr Table<T> fields("watched_start", "kvplan measure MODEL --watch", rows, TableKind::kReport);
  return fields;
}

void define_watched(Json& definitions) {
  table<WatchReport>().schema(definitions);
}

std::string watch_json(const WatchReport& report) {
  return table<WatchReport>().text(report);
}

}  // namespace kvplan
