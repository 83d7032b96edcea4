// China Telecom's TeleChat. Source: the checkpoints' modeling_telechat*.py.
#include "models/blocks/layers.h"
#include "models/family.h"

namespace kvplan {

namespace {

// clang-format off
constexpr Family kRows[] = {
    {.is = {"telechat telechat2", "plain", Arch::kOther, "executed class"}, .layers = read_plain},
    {.is = {"telechat3", "plain"}, .layers = read_plain, .tensors = {.may_have_more = true}},
};
// clang-format on

}  // namespace

std::span<const Family> telechat_family() {
  return kRows;
}

}  // namespace kvplan
