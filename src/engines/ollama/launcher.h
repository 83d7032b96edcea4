// Ollama's own command line for a plan.
#ifndef KVPLAN_ENGINES_OLLAMA_LAUNCHER_H_
#define KVPLAN_ENGINES_OLLAMA_LAUNCHER_H_

#include "engines/launch_input.h"

namespace kvplan {

Launch ollama_launch(const LaunchInput& input);

}  // namespace kvplan

#endif  // KVPLAN_ENGINES_OLLAMA_LAUNCHER_H_
