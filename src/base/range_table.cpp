// Written by scripts/ranges.py on 2026-11-23 from testdata/observations: fitted, not set by hand.
#include <array>

#include "kvplan/ranges.h"

namespace kvplan {

namespace {

constexpr std::array kTermRanges{
    TermRange{"sglang card", -0.049, 0.003, 0},
    TermRange{"sglang graphs", -0.187, 1.39, 128},
    TermRange{"sglang weights", 0.0, 0.078, 16},
    TermRange{"vllm activation", -0.165, 0.564, 0},
    TermRange{"vllm activation until 0.15", -0.165, 0.078, 0},
    TermRange{"vllm encoder", -0.578, 0.524, 128},
    TermRange{"vllm graphs", -0.867, 0.786, 128},
    TermRange{"vllm outside", -0.373, 2.465, 128},
    TermRange{"vllm outside, ROCm", -1.163, 0.671, 128},
    TermRange{"vllm outside, several GPUs", -1.163, 0.671, 128},
    TermRange{"vllm outside, unified memory", -1.32, 2.626, 128},
    TermRange{"vllm room for graphs", -0.578, 4.362, 128},
    TermRange{"vllm room for graphs, new runner", -0.867, 0.786, 128},
    TermRange{"vllm weights", 0.0, 0.012, 16},
};

}  // namespace

std::span<const TermRange> term_ranges() {
  return kTermRanges;
}

double terms_together() {
  return 0.15;
}

}  // namespace kvplan
