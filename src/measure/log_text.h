// The bytes of a log as UTF-8. Redirection in PowerShell writes UTF-16 with a byte order mark.
#pragma once

#include <cstdint>
#include <optional>
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
  void take_unit(char32_t unit, std::string& out);

  Coding coding_ = Coding::kUnknown;
  std::string open_;   // bytes before the coding is known, or the first byte of a unit
  char32_t high_ = 0;  // a surrogate whose other half is to come
};

// "(Worker_PP0_TP1_EP1 pid=99)", "[2025-03-10 16:21:31 DP1 TP3]", "(VllmWorker rank=3 pid=105)", "[gpu_id=2]".
struct LogRanks {
  std::optional<std::uint64_t> tensor, pipeline, data, expert;
  std::optional<std::uint64_t> worker;  // the process number of a worker of V0 or Ray
  bool any() const { return tensor || pipeline || data; }
};
LogRanks ranks_of(std::string_view plain);

// The text within a JSON line ({"log": "...\n"}, {"message": ...}); nothing if the line is not JSON.
std::optional<std::string> unpacked(std::string_view line);

}  // namespace kvplan
