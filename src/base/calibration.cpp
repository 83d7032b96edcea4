#include "kvplan/calibration.h"

#include <algorithm>
#include <cmath>

namespace kvplan {

static Bytes whole(double value) {
  constexpr double kMost = 9e18;
  return Bytes(static_cast<std::uint64_t>(std::round(std::clamp(value, 0.0, kMost))));
}

void Figure::add(double value) {
  merge({1, value, value, value});
}

void Figure::merge(const Figure& other) {
  if (other.n == 0) return;
  if (n == 0) {
    *this = other;
    return;
  }
  low = std::min(low, other.low);
  high = std::max(high, other.high);
  const double all = static_cast<double>(n) + static_cast<double>(other.n);
  // Added step by step, so that sums of large numbers cannot overflow. Clamped, because rounding may leave the range.
  mean = std::clamp(mean + (other.mean - mean) * (static_cast<double>(other.n) / all), low, high);
  n = checked_add(n, other.n, "the runs of a calibration");
}

Bytes Figure::low_bytes() const {
  return whole(low);
}
Bytes Figure::high_bytes() const {
  return whole(high);
}
Bytes Figure::mean_bytes() const {
  return whole(mean);
}

const Figure* CalibrationRecord::find(std::string_view name) const {
  for (const NamedFigure& each : figures)
    if (each.name == name && each.figure.n > 0) return &each.figure;
  return nullptr;
}

void CalibrationRecord::add(std::string_view name, double value) {
  for (NamedFigure& each : figures)
    if (each.name == name) return each.figure.add(value);
  figures.push_back({std::string(name), {}});
  figures.back().figure.add(value);
}

bool CalibrationRecord::same_subject(const CalibrationRecord& other) const {
  return device == other.device && engine == other.engine && model == other.model && source == other.source;
}

void Calibration::merge(const CalibrationRecord& record) {
  for (CalibrationRecord& known : records) {
    if (!known.same_subject(record)) continue;
    if (known.driver != record.driver || known.engine_version != record.engine_version) {
      known = record;
      return;
    }
    known.date = std::max(known.date, record.date);
    if (record.memory > Bytes(0)) known.memory = record.memory;
    for (const NamedFigure& each : record.figures) {
      const auto same = std::find_if(known.figures.begin(), known.figures.end(),
                                     [&](const NamedFigure& have) { return have.name == each.name; });
      if (same == known.figures.end())
        known.figures.push_back(each);
      else
        same->figure.merge(each.figure);
    }
    return;
  }
  records.push_back(record);
}

}  // namespace kvplan
