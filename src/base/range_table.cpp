// Written by scripts/ranges.py on 2026-11-28 from testdata/observations: fitted, not set by hand.
#include <array>

#include "kvplan/ranges.h"

namespace kvplan {

namespace {

constexpr std::array kTermRanges{
    TermRange{"sglang card", -0.049, 0.004, 0},
    TermRange{"sglang card, unified memory", -0.128, 0.035, 0},
    TermRange{"sglang graphs", -0.303, 0.303, 128},
    TermRange{"sglang graphs until 0.5.5", -0.656, 0.656, 128},
    TermRange{"sglang weights", 0.0, 0.052, 16},
    TermRange{"vllm activation", -0.109, 0.304, 0},
    TermRange{"vllm activation until 0.16", -0.938, 0.251, 0},
    TermRange{"vllm activation until 0.8", -0.165, 0.078, 0},
    TermRange{"vllm activation, first start", -1.0, 0.088, 0},
    TermRange{"vllm activation, new runner", -0.165, 0.962, 512},
    TermRange{"vllm encoder", -2.239, 2.239, 128},
    TermRange{"vllm graphs", -0.728, 0.347, 128},
    TermRange{"vllm graphs until 0.10", -0.526, 0.512, 128},
    TermRange{"vllm graphs, Hopper", -0.267, 0.293, 128},
    TermRange{"vllm graphs, several GPUs", -1.095, 1.51, 128},
    TermRange{"vllm graphs, unified memory", -0.854, 0.268, 128},
    TermRange{"vllm outside", -0.185, 0.673, 128},
    TermRange{"vllm outside since 0.27", -0.185, 1.253, 512},
    TermRange{"vllm outside until 0.16", -0.299, 1.087, 128},
    TermRange{"vllm outside, Hopper with NVLink", -0.152, 0.152, 128},
    TermRange{"vllm outside, ROCm", -0.419, 1.604, 128},
    TermRange{"vllm outside, several GPUs", -0.419, 1.604, 128},
    TermRange{"vllm outside, unified memory", -1.32, 2.512, 128},
    TermRange{"vllm room for graphs", -0.728, 1.468, 128},
    TermRange{"vllm room for graphs, new runner", -0.728, 0.347, 128},
    TermRange{"vllm weights", 0.0, 0.011, 16},
};

}  // namespace

std::span<const TermRange> term_ranges() {
  return kTermRanges;
}

double terms_together() {
  return 0.01;
}

}  // namespace kvplan
