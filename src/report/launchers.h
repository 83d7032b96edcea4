// How each engine is started: its own spelling of every option that moves bytes.
#ifndef KVPLAN_REPORT_LAUNCHERS_H_
#define KVPLAN_REPORT_LAUNCHERS_H_

#include <string>
#include <string_view>
#include <vector>

#include "plan/plan.h"

namespace kvplan {

struct Launcher {
  std::string_view engine;
  std::string_view image;
  // Error for what the engine has no option for: the command would be another deployment than the plan.
  std::vector<std::string> (*arguments)(const ModelSpec& model, const Plan& plan);
};

// Error where the plan's engine has none.
const Launcher& launcher_of(const Plan& plan);

}  // namespace kvplan

#endif  // KVPLAN_REPORT_LAUNCHERS_H_
