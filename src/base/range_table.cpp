// Written by scripts/ranges.py on 2026-11-24 from testdata/observations: fitted, not set by hand.
#include <array>

#include "kvplan/ranges.h"

namespace kvplan {

namespace {

constexpr std::array kTermRanges{
    TermRange{"sglang card", -0.049, 0.003, 0},
    TermRange{"sglang graphs", -0.187, 0.187, 128},
    TermRange{"sglang weights", 0.0, 0.078, 16},
    TermRange{"vllm activation", -0.191, 0.83, 0},
    TermRange{"vllm activation until 0.15", -0.165, 0.167, 0},
    TermRange{"vllm encoder", -0.867, 2.244, 128},
    TermRange{"vllm graphs", -0.867, 0.888, 128},
    TermRange{"vllm graphs until 0.11", -0.789, 0.254, 128},
    TermRange{"vllm graphs, several GPUs", -0.867, 2.853, 128},
    TermRange{"vllm graphs, unified memory", -1.281, 0.888, 128},
    TermRange{"vllm outside", -0.277, 0.277, 128},
    TermRange{"vllm outside until 0.15", -0.449, 1.63, 128},
    TermRange{"vllm outside, ROCm", -0.419, 1.604, 128},
    TermRange{"vllm outside, several GPUs", -1.604, 1.604, 128},
    TermRange{"vllm outside, unified memory", -1.32, 2.512, 128},
    TermRange{"vllm room for graphs", -0.867, 3.572, 128},
    TermRange{"vllm room for graphs, new runner", -0.867, 0.888, 128},
    TermRange{"vllm weights", 0.0, 0.011, 16},
};

}  // namespace

std::span<const TermRange> term_ranges() {
  return kTermRanges;
}

double terms_together() {
  return 0.21;
}

}  // namespace kvplan
