// A line on a terminal's standard error that shows the progress of a long run. It is overwritten, and removed at the
// end.
#pragma once

#include <chrono>
#include <string_view>

namespace kvplan {

class ProgressLine {
 public:
  ProgressLine() = default;
  ~ProgressLine();
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  // Whether to draw: standard error is a terminal, half a second has passed, and the line was not drawn just now.
  bool is_due() const;
  void show(std::string_view text);

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  std::chrono::steady_clock::time_point shown_;
  bool is_shown_ = false;
};

}  // namespace kvplan
