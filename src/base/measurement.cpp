#include "kvplan/measurement.h"

#include <algorithm>

namespace kvplan {

std::int64_t MeasuredLine::difference() const {
  return signed_difference(measured.count(), planned.count());
}

Bytes MeasuredLine::unexplained() const {
  if (measured < planned) return planned - measured;
  const Bytes most = planned + rounding;
  return measured > most ? measured - most : Bytes(0);
}

double Measurement::difference() const {
  if (planned == Bytes(0)) return measured == Bytes(0) ? 0 : 1;
  return static_cast<double>(measured.count()) / static_cast<double>(planned.count()) - 1;
}

}  // namespace kvplan
