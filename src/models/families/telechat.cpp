// China Telecom's TeleChat. Source: the checkpoints' modeling_telechat*.py.
#include "models/blocks/layers.h"
#include "models/family.h"

namespace kvplan {

namespace {

// clang-format off
constexpr Family kRows[] = {
    {.is = {"telechat telechat2 telechat3", "plain"}, .layers = read_plain},
};
// clang-format on

}  // namespace

std::span<const Family> telechat_family() {
  return kRows;
}

}  // namespace kvplan
