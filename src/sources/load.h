// Loads a ModelSpec from what a user names: a file, a directory, standard input, a model of the Hub or of a store.
#pragma once

#include <string>
#include <vector>

#include "formulas/model.h"
#include "models/read.h"

namespace kvplan {

// The command line's settings for the Hub; the environment has others (hub_settings.h).
struct HubOptions {
  bool offline = false;  // only the caches
  std::string revision;  // for Hub ids that give none; "" is main
  std::string token;     // "" for the environment's
};

struct SourceOptions {
  ReadOptions read{};
  HubOptions hub{};
};

// Loads a MODEL of the command line: a config.json, a directory with one, a *.gguf, "-", a Hub id, a model of a local
// store or of the built-in catalogue. Throws Error with the source set.
ModelSpec load_model(const std::string& name, const SourceOptions& options);

// Reads the header of `path` (any file of a split set means the set). Throws Error.
ModelSpec load_gguf(const std::string& path, const ReadOptions& options);

// Loads a directory of a cache, where missing weight files are not an error: their sizes then come from the index,
// else from the config.
ModelSpec load_snapshot(const std::string& directory, const std::string& source, const SourceOptions& options);

// Expands MODEL arguments: a directory that has no model becomes the configs in it, by name; a list (@FILE)
// becomes the MODELs on its lines. `is_fleet` is set if the answer is a list even if it has one entry. Throws
// Error for an empty directory or list.
std::vector<std::string> expand_models(const std::vector<std::string>& arguments, bool& is_fleet);

}  // namespace kvplan
