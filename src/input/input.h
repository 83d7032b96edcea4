// From what a user names (a file, a directory, standard input) to a ModelSpec.
#ifndef KVPLAN_INPUT_INPUT_H_
#define KVPLAN_INPUT_INPUT_H_

#include <string>
#include <string_view>
#include <vector>

#include "formulas/model.h"

namespace kvplan {

// What the command line says of the Hub; the environment says the rest (hub_settings.h).
struct HubOptions {
  bool offline = false;  // the caches alone
  std::string revision;  // of Hub ids that name none; "" is main
  std::string token;     // "" for the environment's
};

// A config that is read as the draft of another model: heads that guess from its hidden states are known then.
struct DraftRole {
  std::optional<DraftMethod> method;              // as asked; absent: what config and name say
  std::uint64_t hidden_size = 0, vocab_size = 0;  // of the model that it drafts for
};

struct ReadOptions {
  bool assume = false;  // plan an unknown architecture from its fields, with a warning
  HubOptions hub{};
  std::optional<DraftRole> draft{};
};

// The text of a config.json (and of the hf_quant_config.json beside it; "" for none) as a model. No files, no
// network: what tests and fuzzers call. Throws Error.
ModelSpec read_config(std::string_view text, std::string_view hf_quant_config, std::string_view source,
                      const ReadOptions& options);

// MODEL as the command line has it: a config.json, a directory with one, a *.gguf, "-", a Hub id or a model of a local
// store. Throws Error with the source set.
ModelSpec load_model(const std::string& argument, const ReadOptions& options);

// A directory of a cache: the same as a directory, but what is missing of its weights is no error: they are then what
// the index, else the config says.
ModelSpec load_snapshot(const std::string& directory, const std::string& source, const ReadOptions& options);

// What MODEL arguments stand for: a directory without a model of its own becomes the configs in it, in name order.
// A list file (@FILE, or a *.txt) stands for the MODELs that it names, a line each. `is_fleet` is set where the answer
// is a list even with one entry. Throws Error for a directory or a list with nothing.
std::vector<std::string> expand_models(const std::vector<std::string>& arguments, bool& is_fleet);

}  // namespace kvplan

#endif  // KVPLAN_INPUT_INPUT_H_
