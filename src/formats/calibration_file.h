// Reads a calibration file that --save-calibration wrote.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "kvplan/calibration.h"

namespace kvplan {

// Throws Error(kBadInput) for text that is not a calibration.
Calibration parse_calibration(std::string_view text);
Calibration load_calibration(const std::string& path);  // the same, with the source set

// The path of the user's own calibration: $XDG_CONFIG_HOME/kvplan/calibration.json, else
// ~/.config/kvplan/calibration.json; "" if neither folder is known.
std::string default_calibration_path();

// The calibration that --calibration names: a file, "none", or "" for the default file if it exists. Null for none.
std::shared_ptr<const Calibration> choose_calibration(const std::string& named);

}  // namespace kvplan
