// The words of a command line, and options that several engines spell alike.
#ifndef KVPLAN_ENGINES_LAUNCH_WORDS_H_
#define KVPLAN_ENGINES_LAUNCH_WORDS_H_

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engines/launch_input.h"
#include "kvplan/quantity.h"

namespace kvplan {

// One argument after the other.
class Arguments {
 public:
  explicit Arguments(std::initializer_list<std::string_view> program);

  void add(std::string_view word) { words_.emplace_back(word); }
  void add(std::string_view option, std::uint64_t value);
  void add(std::string_view option, std::string_view value);
  void add_share(std::string_view option, double value);  // six digits at most: "0.9", "12.5"
  void add_shares(std::string_view option, const std::vector<double>& values);  // "3,1"
  void add_gib(std::string_view option, Bytes bytes);
  // Nothing for an option that was not given, or a number that is the engine's default of 1.
  void add_given(std::string_view option, const std::optional<std::uint64_t>& value);
  void add_ranks(std::string_view option, std::uint64_t ranks);
  void add_flag(std::string_view option, bool given);

  std::vector<std::string> take() { return std::move(words_); }

 private:
  std::vector<std::string> words_;
};

// Throws: the engine has no option for `what`.
[[noreturn]] void no_launch_option(std::string_view what, std::string_view why, std::string_view remedy);

// Whether a type of the cache was asked for.
bool kv_chosen(const Request& request);
// Throws where --weights asks for another type than the checkpoint's.
void check_own_weights(const LaunchInput& input);
// Throws where --attention names a kernel: no engine has that as an option.
void check_kernel(const Request& request);

// vLLM and SGLang quantize while they load to two types alone; any other must be the checkpoint's own.
void add_quantization(const LaunchInput& input, Arguments& out);
// A draft's weight type as these two spell it; empty where the draft's own is kept.
std::string_view draft_quantization(const LaunchInput& input);
// LoRA options that they spell alike.
void add_lora(const ExtrasRequest& extras, std::string_view slots, Arguments& out);

}  // namespace kvplan

#endif  // KVPLAN_ENGINES_LAUNCH_WORDS_H_
