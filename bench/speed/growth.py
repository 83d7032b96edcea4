"""How the work grows: instructions at N, 2N, 4N and 8N of one quantity, with everything else fixed. If growth is linear, one more always costs the
same. The exponent is that of the last doubling, computed from increments and not from totals, because the process's start would hide it."""
import math
import os
from dataclasses import dataclass

from cases import VERDICTS
from inputs import Inputs
from measure import Program, all_instructions

LINEAR = 1.10  # the largest exponent that passes
FLAT = 0.05    # growth over the series, as a share of its first: below it nothing grows


@dataclass
class Series:
    title: str
    counts: list
    programs: list
    seen: list = None

    def increments(self):
        steps = zip(self.counts, self.counts[1:], self.seen, self.seen[1:])
        return [(b - a) / (n - m) for m, n, a, b in steps]

    def is_flat(self):
        return abs(self.seen[-1] - self.seen[0]) <= FLAT * self.seen[0]

    def exponent(self):
        """1 for linear growth: compares the last two increments, of which the second covers twice as much."""
        before, last = self.seen[-2] - self.seen[-3], self.seen[-1] - self.seen[-2]
        return math.log2(last / before) if before > 0 and last > 0 else 0.0

    def is_linear(self):
        return self.is_flat() or self.exponent() <= LINEAR


def doublings(first):
    return [first, 2 * first, 4 * first, 8 * first]


def all_series(kvplan, configs, cards, inputs: Inputs, quick):
    def series(title, first, arguments):
        counts = doublings(first)
        return Series(title, counts, [Program("kvplan", [kvplan, *arguments(n), "--json"], good=VERDICTS) for n in counts])

    plain = os.path.join(configs, "llama-3.1-8b.json")
    hybrid = os.path.join(configs, "gemma-4-26b.json")
    vllm = ["--engine", "vllm"]
    experts = os.path.join(configs, "deepseek-v3.json")
    h100 = vllm + ["--gpu", "h100-80gb"]
    fleet = inputs.fleet(256)

    yield series("layers, listed one by one", 64, lambda n: [inputs.listed_layers(n)])
    yield series("sequences, --num-seqs", 512, lambda n: [hybrid, *vllm, "--num-seqs", str(n)])
    yield series("configs of a fleet", 32, lambda n: fleet[:n])
    if quick:
        return
    yield series("layers of one kind", 64, lambda n: [inputs.layers(n)])
    yield series("layers, vLLM on a card", 64, lambda n: [inputs.listed_layers(n), *h100])
    yield series("layers, vLLM on ever more cards", 56, lambda n: [inputs.listed_layers(n), *h100])
    yield series("layers that fit, vLLM on a card", 64, lambda n: [inputs.narrow_layers(n), *h100])
    yield series("layers, explain", 64, lambda n: ["explain", inputs.listed_layers(n)])
    yield series("layers, fit", 64, lambda n: ["fit", inputs.listed_layers(n), *h100])
    yield series("layers that fit, fit", 64, lambda n: ["fit", inputs.narrow_layers(n), *h100])
    yield series("layers, compare", 64, lambda n: ["compare", inputs.listed_layers(n), *h100])
    yield series("pipeline stages, of 512 layers", 32, lambda n: [inputs.listed_layers(512), *vllm, "-pp", str(n)])
    yield series("context, --max-model-len", 16384, lambda n: [hybrid, *vllm, "--max-model-len", str(n)])
    yield series("lengths of --seq-lens", 256,
                 lambda n: [hybrid, *vllm, "--seq-lens", ",".join(str(1000 + 17 * i) for i in range(n))])
    yield series("skipped modules of a quantized model", 4000, lambda n: [inputs.skip_list(experts, n)])
    yield series("layers, one skipped module in each", 64, lambda n: [inputs.named_layers(n)])
    yield series("configs x 3 cards", 16, lambda n: [*fleet[:n], *vllm, "--gpu", "l40s,a100-80gb,h100-80gb"])
    yield series("cards, one config", 4, lambda n: [plain, *vllm, "--gpu", ",".join(cards[:n])])
    yield series("tokens of a GGUF's vocabulary", 32768, lambda n: [inputs.gguf(n)[0]])
    yield series("tensors of a GGUF (layers)", 64, lambda n: [inputs.gguf(1024, n)[0]])


def measure(series, folder):
    programs = [program for each in series for program in each.programs]
    seen = iter(all_instructions(programs, folder))
    for each in series:
        each.seen = [next(seen) for _ in each.programs]


def table(series):
    """Lines of Markdown."""
    yield "| what grows | N | at N | 2N | 4N | 8N | one more, N to 2N | 4N to 8N | exponent |"
    yield "|---|---:|---:|---:|---:|---:|---:|---:|---|"
    for each in series:
        if None in each.seen:
            yield f"| {each.title} | {each.counts[0]:,} | a run failed | | | | | | |"
            continue
        steps = each.increments()
        exponent = "flat" if each.is_flat() else f"{each.exponent():.2f}"
        cells = " | ".join(f"{value / 1e6:,.2f}" for value in each.seen)
        yield f"| {each.title} | {each.counts[0]:,} | {cells} | {steps[0]:,.0f} | {steps[-1]:,.0f} | {exponent} |"
