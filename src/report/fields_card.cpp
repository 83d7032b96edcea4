// The fields of a card's measurement.
#include "kvplan/card_measurement.h"
#include "report/fields_speed.h"
#include "report/fields_tables.h"
#include "report/report.h"

namespace kvplan {

template <>
const Table<ContextStage>& table() {
  using T = ContextStage;
  static constexpr auto rows = rows_of<T>({{"what", at<&T::what>}, {"bytes", at<&T::took>}});
  static constexpr Table<T> fields("", "", rows);
  return fields;
}

template <>
const Table<SizeProbe>& table() {
  using T = SizeProbe;
  static constexpr auto rows = rows_of<T>({{"asked_bytes", at<&T::asked>}, {"took_bytes", at<&T::took>}});
  static constexpr Table<T> fields("", "", rows);
  return fields;
}

template <>
const Table<CardMeasurement>& table() {
  using T = CardMeasurement;
  using F = CardFacts;
  static constexpr auto rows = rows_of<T>(
      {{"id", at<&T::id>},
       {"name", at<&T::name>},
       {"driver", or_null<&T::driver>},
       {"uuid", or_null<&T::facts, &F::uuid>},
       {"is_slice", at<&T::facts, &F::is_slice>, "of a card that is cut (MIG)"},
       {"is_integrated", at<&T::facts, &F::is_integrated>, "its memory is the machine's"},
       {"is_wsl", at<&T::facts, &F::is_wsl>},
       {"corrects_errors", at<&T::facts, &F::corrects_errors>, "ECC"},
       {"nominal_bytes", or_null<&T::nominal>, "that the driver's own tools report"},
       {"reserved_bytes", at<&T::facts, &F::reserved>, "that the driver keeps"},
       {"usable_bytes", at<&T::usable>, "that a program sees in all"},
       {"free_bytes", at<&T::free>},
       {"used_by_others_bytes", at<&T::used_by_others>},
       {"other_processes", at<&T::other_processes>},
       {"context_bytes", at<&T::context>, "the least of three openings"},
       {"context_is_by_process", at<&T::facts, &F::is_by_process>, "else what the card's counter grew by"},
       {"context_stages", at<&T::facts, &F::stages>},
       {"granularity_bytes", at<&T::granularity>, "as the driver says"},
       {"probes", at<&T::probes>, "what the counter grew by"},
       {"block_bytes", or_null<&T::block>, "that was read and copied"},
       {"read_gb_s", [](const T& of) { return speed_of(of.read); }, "by a kernel"},
       {"copy_gb_s", [](const T& of) { return speed_of(of.copy); }, "read and written, by the driver's copy"},
       {"is_disturbed", at<&T::is_disturbed>, "others moved memory: nothing is kept"},
       {"remarks", at<&T::remarks>}});
  static constexpr Table<T> fields("measured_card", "kvplan measure card", rows, TableKind::kReport);
  return fields;
}

void define_card(Json& definitions) {
  table<CardMeasurement>().schema(definitions);
}

std::string card_json(const CardMeasurement& seen) {
  return table<CardMeasurement>().text(seen);
}

}  // namespace kvplan
