// Models beside the decoder (vision, audio, encoders), each described by an object of the config.
#pragma once

#include <cstdint>
#include <string_view>

namespace kvplan {

enum class TowerKind : std::uint8_t { kVision, kAudio, kEncoder, kTextEncoder };

// "vision tower", "audio encoder", "encoder", "text encoder".
constexpr std::string_view name(TowerKind side) {
  switch (side) {
    case TowerKind::kVision: return "vision tower";
    case TowerKind::kAudio: return "audio encoder";
    case TowerKind::kEncoder: return "encoder";
    case TowerKind::kTextEncoder: return "text encoder";
  }
  return "";
}

}  // namespace kvplan
