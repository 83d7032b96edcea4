// Which engines have an option. Options that are not listed belong to all of them.
#ifndef KVPLAN_CLI_ENGINE_OPTIONS_H_
#define KVPLAN_CLI_ENGINE_OPTIONS_H_

#include <span>
#include <string>
#include <string_view>

namespace kvplan {

struct EngineOption {
  std::string_view option;   // its first name
  std::string_view engines;  // separated by spaces
};
std::span<const EngineOption> engine_options();

// Error that names the engines that have `option`, where none of `chosen` has it. The logical engine, which models no
// engine's options, lets all pass.
void check_engine_option(std::string_view option, std::span<const std::string> chosen);

}  // namespace kvplan

#endif  // KVPLAN_CLI_ENGINE_OPTIONS_H_
