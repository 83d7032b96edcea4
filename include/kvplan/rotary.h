// How positions are rotated: the tables of cosines and sines that engines keep beside the weights, and the settings
// that YaRN scales.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace kvplan {

// The table of one setting of the rotation: positions x width elements (cosines and sines of width / 2 frequencies).
struct RotaryTable {
  std::uint64_t positions = 0;
  std::uint64_t width = 0;     // rotated elements of a head
  std::uint64_t setting = 0;   // distinguishes settings of the same shape
  bool is_multimodal = false;  // positions in time, height and width (M-RoPE)
  bool is_yarn = false;
  bool of_indexer = false;  // pairs elements differently from the attention beside it
  friend bool operator==(const RotaryTable&, const RotaryTable&) = default;
};

// For a model with one rotation and no scaling: the settings that YaRN can extend to a longer context.
struct PlainRotation {
  double theta = 10000;
  std::optional<double> share;  // fraction of a head that is rotated, if the config gives it
  std::string section;          // the config's section with this key: "" or "text_config"
};

}  // namespace kvplan
