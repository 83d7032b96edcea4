// How positions are rotated: tables of cosines and sines that engines keep beside the weights, and what YaRN starts
// from.
#ifndef KVPLAN_ROTARY_H_
#define KVPLAN_ROTARY_H_

#include <cstdint>
#include <optional>
#include <string>

namespace kvplan {

// Of one distinct setting of the rotation: positions x width elements (cosines and sines of width / 2 frequencies).
struct RotaryTable {
  std::uint64_t positions = 0;
  std::uint64_t width = 0;     // rotated elements of a head
  std::uint64_t setting = 0;   // tells apart settings that have the same shape
  bool is_multimodal = false;  // positions in time, height and width (M-RoPE)
  bool is_yarn = false;
  bool of_indexer = false;  // pairs elements otherwise than the attention beside it
  friend bool operator==(const RotaryTable&, const RotaryTable&) = default;
};

// Of a model that rotates in one way and scales nothing: what YaRN may stretch to a longer context.
struct PlainRotation {
  double theta = 10000;
  std::optional<double> share;  // of a head that is rotated, where the config says
  std::string section;          // of the config that has it: "" or "text_config"
};

}  // namespace kvplan

#endif  // KVPLAN_ROTARY_H_
