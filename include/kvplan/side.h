// Models beside the decoder, which a config describes in objects of their own.
#ifndef KVPLAN_SIDE_H_
#define KVPLAN_SIDE_H_

#include <cstdint>
#include <string_view>

namespace kvplan {

enum class SideKind : std::uint8_t { kVision, kAudio, kEncoder, kTextEncoder };

// "vision tower", "audio encoder", "encoder", "text encoder".
constexpr std::string_view name(SideKind side) {
  switch (side) {
    case SideKind::kVision: return "vision tower";
    case SideKind::kAudio: return "audio encoder";
    case SideKind::kEncoder: return "encoder";
    case SideKind::kTextEncoder: return "text encoder";
  }
  return "";
}

}  // namespace kvplan

#endif  // KVPLAN_SIDE_H_
