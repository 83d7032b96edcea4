#include "engines/log_lines.h"
namespace kvplan {
const std::span<const LogTemplate> kSystemLogEvents;
}  // namespace kvplan
