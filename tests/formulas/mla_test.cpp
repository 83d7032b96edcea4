#include "formulas/mla.h"

#include <doctest/doctest.h>

#include "formulas/deepseek.h"
#include "formulas/kinds.h"
#include "support/figures.h"

namespace kvplan {
namespace {

TEST_CASE("MLA: one latent and one rope key per token and layer") {
  const Mla kind{kDeepSeekV3};
  CHECK(elements(kind, 1) == 576);
  CHECK(61 * bytes(kind, 1) == 70272);  // vLLM's and SGLang's logs
  CHECK(61 * bytes(kind, 32768) == 2302672896);
  CHECK(62 * bytes(Mla{{40, 256, 32, 64, 64, 768}}, 1) == 35712);  // MiniCPM3-4B
  CHECK(kind_info(kind).name == "mla");
}

TEST_CASE("MLA: expanded, in engines that do not merge the projections") {
  CHECK(elements(Mla{kDeepSeekV3}, 1, 0, Form::kExpanded) == 128 * (128 + 64 + 128));
  CHECK(elements(Mla{{64, 512, 64, 192, 256, 2048}}, 1, 0, Form::kExpanded) == 32768);  // GLM-5
  // dots.note's sliding layers, of 550 tokens: transformers 5.23 has 1,114,112 B, executed.
  CHECK(2 * elements(Mla{{64, 1024, 64, 192, 128, 1024}, Tokens(512)}, 550) == 1114112);
}

TEST_CASE("MLA: tensor parallelism cannot split it") {
  for (const Term& term : cache_terms(Mla{kDeepSeekV3})) CHECK(term.shape.units == 1);
}

}  // namespace
}  // namespace kvplan
