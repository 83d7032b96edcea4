// A draft model's cache in addition to the model's: two layouts of one engine, queried together.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "engines/engine.h"

namespace kvplan {

// `load_of` gives the draft's load for the model's; it must not decrease as the load grows. Both layouts have the same
// number of GPUs.
std::unique_ptr<CacheLayout> with_draft(std::unique_ptr<CacheLayout> main, std::unique_ptr<CacheLayout> draft,
                                        std::function<Load(const Load&)> load_of, Template label);

}  // namespace kvplan
