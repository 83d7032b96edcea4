// The bytes of a log as UTF-8. Redirection in PowerShell writes UTF-16, which a byte order mark tells.
#ifndef KVPLAN_MEASURE_LOG_TEXT_H_
#define KVPLAN_MEASURE_LOG_TEXT_H_

#include <cstdint>
#include <string>
#include <string_view>

namespace kvplan {

// Takes pieces that may be cut anywhere.
class LogText {
 public:
  std::string utf8(std::string_view piece);

 private:
  enum class Coding : std::uint8_t { kUnknown, kBytes, kLittle, kBig };

  void decide();
  void take_unit(std::uint32_t unit, std::string& out);

  Coding coding_ = Coding::kUnknown;
  std::string open_;        // bytes before the coding is known, or the first byte of a unit
  std::uint32_t high_ = 0;  // a surrogate whose other half is to come
};

}  // namespace kvplan

#endif  // KVPLAN_MEASURE_LOG_TEXT_H_
