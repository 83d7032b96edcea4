#include "kvplan/progress.h"

#include <cstdio>

#include "base/os.h"

namespace kvplan {

ProgressLine::~ProgressLine() {
  if (is_shown_) std::fputs("\r\033[K", stderr);
}

bool ProgressLine::is_due() const {
  constexpr std::chrono::milliseconds kBefore{500}, kBetween{100};
  const auto now = std::chrono::steady_clock::now();
  return now - start_ >= kBefore && now - shown_ >= kBetween && os::is_terminal(os::kErrors);
}

void ProgressLine::show(std::string_view text) {
  std::fprintf(stderr, "\r%.*s\033[K", static_cast<int>(text.size()), text.data());
  std::fflush(stderr);
  is_shown_ = true;
  shown_ = std::chrono::steady_clock::now();
}

}  // namespace kvplan
