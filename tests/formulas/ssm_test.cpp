#include "formulas/ssm.h"

#include <doctest/doctest.h>

#include "formulas/kinds.h"
#include "support/figures.h"

namespace kvplan {
namespace {

TEST_CASE("SSM: llama.cpp's recurrent-state buffers, float32") {
  Ssm mamba;  // mamba-2.8b: 23.75 MiB
  mamba.version = Ssm::Version::kMamba1;
  mamba.d_inner = 5120;
  mamba.d_state = 16;
  mamba.conv_kernel = 4;
  CHECK(elements(mamba, 1) == 3 * 5120 + 16 * 5120);
  CHECK(64 * bytes(mamba, 32768, k32Bit) == 24903680);
  CHECK(mamba.variant() == "mamba1");

  Ssm mamba2;  // mamba2-2.7b: 163.94 MiB
  mamba2.d_inner = 5120;
  mamba2.d_state = 128;
  mamba2.conv_kernel = 4;
  mamba2.num_heads = 80;
  mamba2.head_dim = 64;
  mamba2.n_groups = 1;
  CHECK(64 * bytes(mamba2, 32768, k32Bit) == 171900928);
  CHECK(mamba2.variant() == "mamba2");
  CHECK(kind_info(mamba2).name == "ssm");
}

TEST_CASE("SSM: the state may be float32 where the convolution is not") {
  Ssm falcon;  // Falcon-H1-1.5B
  falcon.d_inner = 3072;
  falcon.d_state = 256;
  falcon.conv_kernel = 4;
  falcon.num_heads = 48;
  falcon.head_dim = 64;
  falcon.n_groups = 1;
  CHECK(24 * bytes(falcon, 1) == 38264832);
  CHECK(24 * bytes(falcon, 1, k16BitState32) == 76013568);
  falcon.conv_over_groups = false;
  CHECK(elements(falcon, 1) == 3 * 3072 + 3072 * 256);
}

TEST_CASE("SSM: the cache does not grow") {
  Ssm kind;
  kind.num_heads = kind.head_dim = kind.d_state = kind.n_groups = 2;
  kind.conv_kernel = 4;
  CHECK(elements(kind, 0) == elements(kind, 1 << 20));
}

}  // namespace
}  // namespace kvplan
