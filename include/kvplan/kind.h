// What reports say about a kind of attention, and about the other models next to the decoder.
#pragma once

#include <cstdint>
#include <string_view>

#include "kvplan/strings.h"

namespace kvplan {

// One row of the table of kinds (`kvplan formulas`, formulas/README.md).
struct KindInfo {
  std::string_view name;     // as the report spells it
  std::string_view title;    // in words
  std::string_view formula;  // elements, per layer
  std::string_view keys;     // the config keys behind the symbols
  std::string_view growth;   // what makes it grow
  std::string_view source;   // paper or engine file
};

// A dimension of the formula with its value and the config key it comes from.
struct Symbol {
  std::string_view symbol;
  std::uint64_t value;
  std::string_view key;
};

// Models next to the decoder (vision, audio, encoders), each described by an object in the config.
enum class TowerKind : std::uint8_t { kVision, kAudio, kEncoder, kTextEncoder };

// "vision tower", "audio encoder", "encoder", "text encoder".
inline std::string_view name(TowerKind side) {
  return nth_word(side, "vision tower|audio encoder|encoder|text encoder", '|');
}

}  // namespace kvplan
