// From what a user names (a file, a directory, standard input) to a ModelSpec.
#ifndef KVPLAN_SOURCES_LOAD_H_
#define KVPLAN_SOURCES_LOAD_H_

#include <string>
#include <string_view>
#include <vector>

#include "formulas/model.h"
#include "models/read.h"

namespace kvplan {

// What the command line says of the Hub; the environment says the rest (hub_settings.h).
struct HubOptions {
  bool offline = false;  // the caches alone
  std::string revision;  // of Hub ids that name none; "" is main
  std::string token;     // "" for the environment's
};

struct SourceOptions {
  ReadOptions read{};
  HubOptions hub{};
};

// MODEL as the command line has it: a config.json, a directory with one, a *.gguf, "-", a Hub id or a model of a local
// store. Throws Error with the source set.
ModelSpec load_model(const std::string& argument, const SourceOptions& options);

// The header of `path` (one file of a split set stands for all). Throws Error.
ModelSpec load_gguf(const std::string& path, const ReadOptions& options);

// A directory of a cache: the same as a directory, but what is missing of its weights is no error: they are then what
// the index, else the config says.
ModelSpec load_snapshot(const std::string& directory, const std::string& source, const SourceOptions& options);

// What MODEL arguments stand for: a directory without a model of its own becomes the configs in it, in name order.
// A list file (@FILE, or a *.txt) stands for the MODELs that it names, a line each. `is_fleet` is set where the answer
// is a list even with one entry. Throws Error for a directory or a list with nothing.
std::vector<std::string> expand_models(const std::vector<std::string>& arguments, bool& is_fleet);

}  // namespace kvplan

#endif  // KVPLAN_SOURCES_LOAD_H_
