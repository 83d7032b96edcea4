// How an engine was started, from the figures of its log.
#pragma once

#include <string>
#include <string_view>

#include "kvplan/observation.h"

namespace kvplan {

// Stores a figure that is an option; returns whether it is only that, and no observation.
bool take_option(const LogValue& value, LogOptions& out);

// Adds what follows from several figures together.
void complete_options(const LogReading& reading, LogOptions& out);

// The release that a version means: "0.8.3" and "0.20.1.post1" unchanged, a build of main before a release
// ("0.18.1rc1.dev147") as that release, a candidate ("0.11.0rc2") as its release.
std::string release_of(std::string_view version);

// Whether release `a` is older than `b`, by their numbers.
bool is_older(std::string_view a, std::string_view b);

}  // namespace kvplan
