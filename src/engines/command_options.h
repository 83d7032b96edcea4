// An engine's own command line: its programs, its containers, and what each option of its parser does to memory. Rows
// of options are text (ENGINE/options.txt), because an engine has hundreds of them and they change with every release.
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
  kNone,     // it changes no memory
  kSecret,   // the same, and its value is never printed
  kSmall,    // not modelled; it changes less than the plan's range
  kLess,     // not modelled; it can only lower the memory of a GPU
  kHost,     // not modelled; it changes main memory
  kMore,     // not modelled, and it can raise the memory of a GPU: no verdict
  kFile,     // it names a file with more options, which is not read
};

enum class OptionValue : std::uint8_t {
  kNone,
  kOne,
  kTwo,
  kPerhaps,  // one, unless the next word is an option
  kList,     // one or more words
  kCount,    // "32k" is 32,000, "32K" is 32,768
  kJson,     // an object; its members are also options ("--speculative-config.method")
};

struct EngineOption {
  std::vector<std::string_view> names;     // the first is its own; "$NAME" is a variable of the environment
  std::vector<std::string_view> negative;  // names that switch it off
  std::vector<std::string_view> values;    // of a row only for these values
  OptionValue value = OptionValue::kNone;
  bool negatable = false;  // argparse's switch with "--no-NAME"
  OptionEffect effect = OptionEffect::kNone;
  std::string_view
      target;  // kPlanned: kvplan's option, "@..." for what is not an option (command_reader.h), "" for none
  std::string_view constant;  // and its value, if it does not depend on the command's
  bool passes_value = false;  // the command's value is passed on
};

// Its rows, parsed. A member of a JSON object without a row uses the row "OPTION.*", else its object's row.
class EngineOptions {
 public:
  EngineOptions() = default;
  explicit EngineOptions(std::span<const std::string_view> lines);

  std::span<const EngineOption> rows() const { return rows_; }
  // The row of a name, and whether the name switches it off; null if the parser has no such option.
  std::pair<const EngineOption*, bool> find(std::string_view name) const;
  // The row for this value of an option, if it has one.
  const EngineOption& of_value(const EngineOption& row, std::string_view value) const;
  // Names that begin with `text`: argparse accepts a unique prefix.
  std::vector<std::string_view> beginning_with(std::string_view text) const;
  // The engine's own option for one of kvplan's with this value; null: it has none.
  const EngineOption* for_target(std::string_view option, std::string_view value) const;

 private:
  std::vector<EngineOption> rows_;
};

struct CommandSettings;

struct EngineCommand {
  // The words that start it, the first without its folder: "vllm serve", "-m sglang.launch_server".
  std::span<const std::string_view> programs;
  // Parts of the names of its containers. For `images` the arguments follow the image; `images_with_program` also need
  // the program's name.
  std::string_view images = "", images_with_program = "";
  std::span<const std::string_view> (*options)() = nullptr;
  // Lines "NAMES LACKED FIRST LAST DROPPED" for options that not all releases have; null: not known.
  std::span<const std::string_view> (*option_releases)() = nullptr;
  std::string_view package = "";   // of PyPI
  std::string_view server = "";    // of `programs`, the one that other commands name the models for
  bool takes_model = false;        // the first word that is not an option is the model
  bool takes_beginnings = false;   // argparse: "--mem-fraction" for "--mem-fraction-static"
  bool takes_underscores = false;  // "--max_model_len" is "--max-model-len"
  bool uses_visible_gpus = false;  // without a number
  // What no single option gives: the engine's defaults for a server, options that depend on each other.
  void (*complete)(CommandSettings& settings) = nullptr;
};

// kvplan's option and value for an option of a command.
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
