// An engine's own command line: its programs, its containers, and the effect of each option on memory. Rows of options
// are text files (ENGINE/options.txt), because an engine has hundreds of options and they change with every release.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace kvplan {

// How an option affects the plan.
enum class OptionEffect : std::uint8_t {
  kPlanned,  // kvplan has an option for it
  kNone,     // it does not affect memory
  kSecret,   // it does not affect memory, and its value is a secret that is never printed
  kSmall,    // not modelled; its effect is smaller than the plan's range
  kLess,     // not modelled; it can only lower the GPU memory
  kHost,     // not modelled; it affects main memory
  kMore,     // not modelled; it can raise the GPU memory, so there is no verdict
  kFile,     // it names a file with more options, which kvplan does not read
};

enum class OptionValue : std::uint8_t {
  kNone,
  kOne,
  kTwo,
  kPerhaps,  // one word, unless the next word is an option
  kList,     // one or more words
  kCount,    // "32k" is 32,000, "32K" is 32,768
  kJson,     // a JSON object; its members are also options ("--speculative-config.method")
};

struct EngineOption {
  std::vector<std::string_view> names;     // the first one is the option's own name; "$NAME" is an environment variable
  std::vector<std::string_view> negative;  // names that switch the option off
  std::vector<std::string_view> values;    // the values that the row is for
  OptionValue value = OptionValue::kNone;
  bool negatable = false;  // argparse's switch, which also has a form "--no-NAME"
  OptionEffect effect = OptionEffect::kNone;
  std::string_view
      target;  // for kPlanned: kvplan's option; "@..." for an effect that has none (command_reader.h); or ""
  std::string_view constant;  // the value of kvplan's option, if it does not depend on the command's value
  bool passes_value = false;  // the command's value is passed on
};

// An engine's rows, parsed. A member of a JSON object that has no row uses the row "OPTION.*", or else the object's
// row.
class EngineOptions {
 public:
  EngineOptions() = default;
  explicit EngineOptions(std::span<const std::string_view> lines);

  std::span<const EngineOption> rows() const { return rows_; }
  // The row with this name, and whether the name switches the option off. Null if the parser has no such option.
  std::pair<const EngineOption*, bool> find(std::string_view name) const;
  // The row for this value of an option, if it has one.
  const EngineOption& of_value(const EngineOption& row, std::string_view value) const;
  // Names that begin with `text`: argparse accepts a unique prefix.
  std::vector<std::string_view> beginning_with(std::string_view text) const;
  // The engine's option with the effect of this kvplan option and value; null if there is none.
  const EngineOption* for_target(std::string_view option, std::string_view value) const;

 private:
  std::vector<EngineOption> rows_;
};

struct CommandSettings;

struct EngineCommand {
  // The words that start the engine, the first one without its folder: "vllm serve", "-m sglang.launch_server".
  std::span<const std::string_view> programs;
  // Parts of the names of its container images. With `images`, the arguments follow the image's name. With
  // `images_with_program`, the program's name comes first.
  std::string_view images = "", images_with_program = "";
  std::span<const std::string_view> (*options)() = nullptr;
  // Lines "NAMES LACKED FIRST LAST DROPPED" for options that not all releases have. Null if the releases are not known.
  std::span<const std::string_view> (*option_releases)() = nullptr;
  std::string_view package = "";   // of PyPI
  std::string_view server = "";    // the one of `programs` whose models other commands use
  bool takes_model = false;        // the first word that is not an option is the model
  bool takes_beginnings = false;   // argparse accepts prefixes: "--mem-fraction" for "--mem-fraction-static"
  bool takes_underscores = false;  // "--max_model_len" is "--max-model-len"
  bool uses_visible_gpus = false;  // it uses all visible GPUs; no option gives their number
  // Completes what no single option determines: the engine's defaults for a server, and options that depend on each
  // other.
  void (*complete)(CommandSettings& settings) = nullptr;
};

// A kvplan option and value that mean the same as an option of a command.
struct CommandSetting {
  std::string option, value;
};

// A command's settings as kvplan's options.
struct CommandSettings {
  std::string program, release;  // "llama-server"; "" if no release is named
  std::string model;
  std::vector<CommandSetting> settings;

  const std::string* find(std::string_view option) const;
  void set(std::string_view option, std::string_view value);
  void remove(std::string_view option);
};

EngineCommand vllm_command();
EngineCommand sglang_command();
EngineCommand llama_cpp_command();
EngineCommand mlx_command();
EngineCommand tensorrt_llm_command();
EngineCommand mistralrs_command();
EngineCommand ollama_command();

std::span<const std::string_view> vllm_option_lines();
std::span<const std::string_view> sglang_option_lines();
std::span<const std::string_view> llama_cpp_option_lines();
std::span<const std::string_view> mlx_option_lines();
std::span<const std::string_view> tensorrt_llm_option_lines();
std::span<const std::string_view> mistralrs_option_lines();
std::span<const std::string_view> ollama_option_lines();
std::span<const std::string_view> vllm_option_releases();
std::span<const std::string_view> sglang_option_releases();
std::span<const std::string_view> llama_cpp_option_releases();

}  // namespace kvplan
