// An engine's start-up log as observations: each known line becomes figures with their line number. Survives any text:
// journald, docker and compose prefixes, ANSI colour, interleaved ranks, cut lines.
#ifndef KVPLAN_MEASURE_LOG_READER_H_
#define KVPLAN_MEASURE_LOG_READER_H_

#include <string_view>

#include "kvplan/observation.h"

namespace kvplan {

LogReading read_log(std::string_view text);

}  // namespace kvplan

#endif  // KVPLAN_MEASURE_LOG_READER_H_
