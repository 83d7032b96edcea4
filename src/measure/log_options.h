// What a log tells of how the engine was started, from the figures of its lines.
#ifndef KVPLAN_MEASURE_LOG_OPTIONS_H_
#define KVPLAN_MEASURE_LOG_OPTIONS_H_

#include <string>
#include <string_view>

#include "kvplan/observation.h"

namespace kvplan {

// Takes a figure that is an option; whether it is nothing else, and so no observation.
bool take_option(const LogValue& value, LogOptions& out);

// What follows from the figures together.
void complete_options(const LogReading& reading, LogOptions& out);

// The release that a version names: "0.8.3" and "0.20.1.post1" as they are, a build of main before the next release
// ("0.18.1rc1.dev147") as that one, a candidate ("0.11.0rc2") as its release.
std::string release_of(std::string_view version);

// Whether `a` is an older release than `b`, by their numbers.
bool is_older(std::string_view a, std::string_view b);

}  // namespace kvplan

#endif  // KVPLAN_MEASURE_LOG_OPTIONS_H_
