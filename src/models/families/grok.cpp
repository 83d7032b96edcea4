// xAI's Grok. Source: SGLang models/grok.py.
#include "models/blocks/layers.h"
#include "models/family.h"

namespace kvplan {

namespace {

// clang-format off
constexpr Family kRows[] = {
    {.is = {"grok-1 grok", "plain", Arch::kGrok, "published total"}, .layers = read_plain, .tensors = {.norms = 4}},
};
// clang-format on

}  // namespace

std::span<const Family> grok_family() {
  return kRows;
}

}  // namespace kvplan
