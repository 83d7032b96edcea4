#include "formulas/linear.h"

#include <doctest/doctest.h>

#include "support/figures.h"

namespace kvplan {
namespace {

TEST_CASE("linear: gated delta net, the state of Qwen3.5-27B") {
  const Linear kind{Linear::Rule::kGatedDeltaNet, 16, 128, 48, 128, 4};
  CHECK(48 * bytes(kind, 262144, k16BitState32) == 153944064);
  CHECK(elements(kind, 1) == 3 * 10240 + 48 * 128 * 128);
  CHECK(kind.variant() == "gated_delta_net");
}

TEST_CASE("linear: KDA's state is float32 with any model type") {
  const Linear kind{Linear::Rule::kKda, 32, 128, 32, 128, 4};  // Kimi-Linear-48B
  CHECK(20 * bytes(kind, 1) == 20 * (3 * 3 * 4096 * 2 + 32 * 128 * 128 * 4));
  CHECK(kind.variant() == "kda");
}

TEST_CASE("linear: lightning attention has no convolution") {
  const Linear kind{Linear::Rule::kLightning, 16, 128, 16, 128, 0};  // Ring-mini-linear
  CHECK(16 * bytes(kind, 1) == 8388608);
  CHECK(16 * bytes(kind, 1, k16BitState32) == 16777216);
  CHECK(kind.variant() == "lightning");
  CHECK(kind.symbols().size() == 4);
  CHECK(Linear{Linear::Rule::kGatedDeltaNet, 16, 128, 16, 128, 1}.symbols().size() ==
        5);  // a convolution with one column keeps nothing
  CHECK(Linear{Linear::Rule::kGatedDeltaNet, 16, 128, 16, 128, 1}.terms(Form::kCompact).size() == 3);  // q and k, v
  CHECK(kind.terms(Form::kCompact).size() == 1);
}

TEST_CASE("linear: mLSTM keeps a matrix, a normalizer and a maximum for each head") {
  const Linear kind{Linear::Rule::kMlstm, 8, 256, 8, 512, 0};  // xLSTM-7B
  CHECK(bytes(kind, 1) == 8 * (256 * 512 + 256 + 1) * 4);
}

}  // namespace
}  // namespace kvplan
