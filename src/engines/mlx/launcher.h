// mlx-lm's own command line for a plan.
#ifndef KVPLAN_ENGINES_MLX_LAUNCHER_H_
#define KVPLAN_ENGINES_MLX_LAUNCHER_H_

#include "engines/launch_input.h"

namespace kvplan {

Launch mlx_launch(const LaunchInput& input);

}  // namespace kvplan

#endif  // KVPLAN_ENGINES_MLX_LAUNCHER_H_
