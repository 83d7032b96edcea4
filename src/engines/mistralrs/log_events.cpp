// Lines of mistral.rs's log. Source: mistralrs-core/src/pipeline/loaders/auto_device_map.rs.
#include "engines/log_lines.h"

namespace kvplan {

namespace {

using enum LogEventId;

constexpr LogTemplate kEvents[] = {
    {"This model does not fit on the devices [{devices:text}], and exceeds total capacity by {missing:size}",
     kDoesNotFitDevices},
    {"This model does not fit on the devices [{devices:text}]", kDoesNotFitDevices},
    // These tell which engine wrote the log.
    {"mistralrs_core", kMark},
};

}  // namespace

const std::span<const LogTemplate> kMistralRsLogEvents = kEvents;

}  // namespace kvplan
