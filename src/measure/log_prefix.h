// What surrounds a line of an engine's log: the process that printed it, and the wrapping of programs that forwarded
// it.
#ifndef KVPLAN_MEASURE_LOG_PREFIX_H_
#define KVPLAN_MEASURE_LOG_PREFIX_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace kvplan {

// "(Worker_PP0_TP1_EP1 pid=99)", "[2025-03-10 16:21:31 DP1 TP3]", "(VllmWorker rank=3 pid=105)", "[gpu_id=2]".
struct LogRanks {
  std::optional<std::uint64_t> tensor, pipeline, data, expert;
  std::optional<std::uint64_t> worker;  // the process number of a worker of V0 or Ray
  bool any() const { return tensor || pipeline || data; }
};
LogRanks ranks_of(std::string_view plain);

// The text within a JSON line ({"log": "...\n"}, {"message": ...}); nothing where the line is not JSON.
std::optional<std::string> unpacked(std::string_view line);

}  // namespace kvplan

#endif  // KVPLAN_MEASURE_LOG_PREFIX_H_
