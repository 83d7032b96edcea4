// What most files read, compiled once for the build's speed. Every file still includes what it uses: the presets
// `clang` and `tidy` build without this.
#ifndef KVPLAN_PRECOMPILED_H_
#define KVPLAN_PRECOMPILED_H_

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include "engines/engine.h"
#include "formulas/model.h"
#include "kvplan/request.h"
#include "plan/plan.h"

#endif  // KVPLAN_PRECOMPILED_H_
