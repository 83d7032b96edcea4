// Figures that --measure and check-log found for a GPU, or for an engine with a model on it, with their range. Later
// plans for the same GPU use them instead of estimates.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "kvplan/quantity.h"

namespace kvplan {

// A measured value: the number of runs, the smallest and largest, and the mean.
struct Figure {
  std::uint64_t n = 0;
  double low = 0, high = 0, mean = 0;

  void add(double value);
  void merge(const Figure& other);
  Bytes low_bytes() const;
  Bytes high_bytes() const;
  Bytes mean_bytes() const;
};

// The names of the figures in the file. Figures of a GPU and its driver, whatever runs on it:
constexpr std::string_view kContextFigure = "context_bytes";  // memory used by opening the GPU, before any allocation
constexpr std::string_view kUsableFigure = "usable_bytes";    // the GPU's whole memory, as a program sees it
// Bytes read and written while streaming through the cache.
constexpr std::string_view kBandwidthFigure = "bandwidth_bytes_s";
// Of an engine:
constexpr std::string_view kNonTorchFigure = "non_torch_bytes";  // context growth and libraries
// Of an engine with a model and its options:
constexpr std::string_view kActivationFigure = "activation_bytes";
constexpr std::string_view kGraphsFigure = "graphs_bytes";

struct NamedFigure {
  std::string name;
  Figure figure;
};

struct CalibrationRecord {
  std::string device;  // as the driver spells it ("NVIDIA H100 80GB HBM3"), or as the catalogue does
  Bytes memory;        // memory that a program sees; 0: not known
  std::string driver;  // "" if the source names none
  std::string engine, engine_version;
  std::string model;   // the model and options to which the figures apply; "" for figures of the GPU
  std::string source;  // "measure" or "log"
  std::string date;    // of the newest run, "2026-11-21"
  std::vector<NamedFigure> figures;

  const Figure* find(std::string_view name) const;
  void add(std::string_view name, double value);
  // Whether both are for the same GPU, driver, engine, model and way of measuring: their figures are then combined.
  bool same_subject(const CalibrationRecord& other) const;
};

struct Calibration {
  std::string path;    // "" for a calibration that is not saved yet
  bool named = false;  // named by --calibration; else found in the user's folder
  std::vector<CalibrationRecord> records;

  // Adds a run to the record of the same subject, or adds a new record. Drops a record of the same subject under
  // another driver or engine version, because its figures may be outdated.
  void merge(const CalibrationRecord& record);
};

}  // namespace kvplan
