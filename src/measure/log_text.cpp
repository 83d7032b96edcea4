#include "measure/log_text.h"

namespace kvplan {

namespace {

constexpr std::uint32_t kReplacement = 0xFFFD;

void append(std::uint32_t character, std::string& out) {
  constexpr std::uint32_t kOneByte = 0x80, kTwoBytes = 0x800, kThreeBytes = 0x10000;
  const auto tail = [&](unsigned shift) { out += static_cast<char>(0x80U | ((character >> shift) & 0x3FU)); };
  if (character < kOneByte) {
    out += static_cast<char>(character);
  } else if (character < kTwoBytes) {
    out += static_cast<char>(0xC0U | (character >> 6U));
    tail(0);
  } else if (character < kThreeBytes) {
    out += static_cast<char>(0xE0U | (character >> 12U));
    tail(6);
    tail(0);
  } else {
    out += static_cast<char>(0xF0U | (character >> 18U));
    tail(12);
    tail(6);
    tail(0);
  }
}

}  // namespace

void LogText::decide() {
  constexpr std::string_view kMark = "\xEF\xBB\xBF";
  if (open_.starts_with("\xFF\xFE")) {
    coding_ = Coding::kLittle;
    open_.erase(0, 2);
  } else if (open_.starts_with("\xFE\xFF")) {
    coding_ = Coding::kBig;
    open_.erase(0, 2);
  } else if (open_ != "\xFF" && open_ != "\xFE" && (open_.size() >= kMark.size() || !kMark.starts_with(open_))) {
    coding_ = Coding::kBytes;
    if (open_.starts_with(kMark)) open_.erase(0, kMark.size());
  }
}

void LogText::take_unit(std::uint32_t unit, std::string& out) {
  constexpr std::uint32_t kHigh = 0xD800, kLow = 0xDC00, kEnd = 0xE000, kFirst = 0x10000;
  const bool is_low = unit >= kLow && unit < kEnd;
  if (high_ != 0) {
    const std::uint32_t high = high_;
    high_ = 0;
    if (is_low) return append(kFirst + ((high - kHigh) << 10U) + (unit - kLow), out);
    append(kReplacement, out);
  }
  if (unit >= kHigh && unit < kLow)
    high_ = unit;
  else
    append(is_low ? kReplacement : unit, out);
}

std::string LogText::utf8(std::string_view piece) {
  open_ += piece;
  if (coding_ == Coding::kUnknown) decide();
  std::string out;
  if (coding_ == Coding::kUnknown) return out;  // possibly part of a byte order mark
  if (coding_ == Coding::kBytes) {
    out.swap(open_);
    return out;
  }
  const bool is_big = coding_ == Coding::kBig;
  std::size_t at = 0;
  for (; at + 1 < open_.size(); at += 2) {
    const auto byte = [&](std::size_t i) { return static_cast<std::uint32_t>(static_cast<unsigned char>(open_[i])); };
    take_unit(is_big ? byte(at) << 8U | byte(at + 1) : byte(at + 1) << 8U | byte(at), out);
  }
  open_.erase(0, at);
  return out;
}

}  // namespace kvplan
