// Arguments of a command line, and options that several engines spell in the same way.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engines/launch_input.h"
#include "kvplan/launch.h"
#include "kvplan/quantity.h"

namespace kvplan {

// "3,1"
std::string shares_text(const std::vector<double>& shares);

// The arguments of one command.
class Arguments {
 public:
  Arguments(std::initializer_list<std::string_view> program) : words_(program.begin(), program.end()) {}
  explicit Arguments(std::vector<std::string> words) : words_(std::move(words)) {}

  void add(std::string_view word) { words_.emplace_back(word); }
  void add(std::string_view option, std::string_view value) {
    words_.insert(words_.end(), {std::string(option), std::string(value)});
  }
  void add(std::string_view option, std::uint64_t value) { add(option, std::to_string(value)); }
  void add_share(std::string_view option, double value);  // six digits at most: "0.9", "12.5"
  void add_shares(std::string_view option, const std::vector<double>& values) { add(option, shares_text(values)); }
  void add_gib(std::string_view option, Bytes bytes) { add_share(option, static_cast<double>(bytes.count()) / kGiB); }
  // Adds nothing if the option was not given or is 1, the engine's default.
  void add_given(std::string_view option, const std::optional<std::uint64_t>& value) {
    if (value) add(option, *value);
  }
  void add_ranks(std::string_view option, std::uint64_t ranks) {
    if (ranks > 1) add(option, ranks);
  }
  void add_flag(std::string_view option, bool given) {
    if (given) add(option);
  }
  void add_revision(const LaunchInput& input) {  // the Hub repository's, if one is named
    if (!input.model.revision.empty()) add("--revision", input.model.revision);
  }

  std::vector<std::string> take() { return std::move(words_); }

 private:
  std::vector<std::string> words_;
};

// The launch of an engine that loads the checkpoint's directory. The commands are added later.
Launch launch_from_checkpoint(const LaunchInput& input, const ServerImage& container);

inline constexpr std::uint64_t kGpusOfNode = 8;
// A number of nodes with the same number of GPUs each.
struct Nodes {
  std::uint64_t count = 1, gpus_each = 1;
};
Nodes nodes_of(std::uint64_t gpus);

// Whether the plan's context is longer than the model's own maximum.
bool is_beyond(const LaunchInput& input);
// The config keys with which YaRN reaches the plan's context, as a JSON object. Empty if the model's rotation is not
// plain RoPE. `rope_key` is the name of these settings in the engine's transformers.
std::string yarn_override(const LaunchInput& input, std::string_view rope_key);
// The plan's context as a multiple of the model's own maximum, rounded up: "4", "1.25".
std::string stretch_factor(const LaunchInput& input);
// A remark on a context that YaRN cannot reach.
std::string beyond_remark(const LaunchInput& input);

// Throws an Error: the engine has no option for `what`.
[[noreturn]] void no_launch_option(std::string_view what, std::string_view why, std::string_view remedy);

// Whether a type of the cache was requested.
bool kv_chosen(const Request& request);
// Throws if --attention names a kernel, because no engine has an option for that.
void check_kernel(const Request& request);

// Adds the weight types that vLLM and SGLang make while loading.
void add_quantization(const LaunchInput& input, Arguments& out);
// A draft's weight type in the spelling of vLLM and SGLang; empty if the draft keeps its own.
std::string_view draft_quantization(const LaunchInput& input);
// The environment variable for the layers of each pipeline stage, if the request names them.
void add_partition(std::string_view variable, const Parallel& parallel, Launch& launch);
// LoRA options that vLLM and SGLang spell in the same way.
void add_lora(const ExtrasRequest& extras, std::string_view slots, Arguments& out);

}  // namespace kvplan
