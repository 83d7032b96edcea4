#include "engines/vllm_memory.h"

#include <algorithm>

#include "engines/vllm_rules.h"

namespace kvplan {

std::vector<LedgerLine> vllm_overhead(const OverheadInput& in) {
  const EngineInput& input = *in.engine;
  const Bytes floor = Bytes(vllm_batched_tokens(input.request)) * input.model.hidden_size * 2;
  return {{Section::kActivation, "activation peak", floor, floor, floor * 4, "", ""},
          {Section::kRuntime, "outside PyTorch", Bytes(1 << 28), Bytes(1 << 27), Bytes(1 << 29), "", ""}};
}

}  // namespace kvplan
