#!/usr/bin/env python3
"""Fits the ranges of estimates to recorded figures, and tests the result.

    scripts/ranges.py [--kvplan build/kvplan] [--write | --check]

Every row of testdata/observations/{vllm,sglang,llama.cpp}.json is planned, and every start of starts.jsonl in the half to fit to; each printed
figure is compared with its line of the ledger. At most fifteen errors per source and term count, spread from the smallest to the largest. An error
is (printed - planned) / (planned + floor), because even a tiny part is some MiB off. A term's range is from the 5 % to the 95 % point of its
errors, each side by itself, as in conformal prediction: of n errors, the one with rank 0.95 (n + 1). If n is too small for that, it is 1.5 times
the largest error. With fewer than ten figures this applies to both sides, except for figures that are computed from shapes. Zero is always inside.

The test is cross-validation over sources: all figures of one thread or log are left out, the ranges and one factor per term are fitted to the
others, and the left-out figures are compared with them. A row with a `reason` is not explained by any rule: it is tested, but not used for fitting.
The rules themselves were written with most of these logs at hand, which no script can undo.

--write writes src/base/range_table.cpp and testdata/observations/cross-validation.md; --check fails if the latter would change.
Python 3, standard library only.
"""
import argparse, datetime, json, math, os, re, statistics, subprocess, sys, tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
ROWS = os.path.join(ROOT, "testdata", "observations")
TABLE = os.path.join(ROOT, "src", "base", "range_table.cpp")
PAGE = os.path.join(ROWS, "cross-validation.md")
GIB = 2.0**30
FLOORS = {"vllm activation": 0, "vllm activation, first start": 0, "vllm activation until 0.16": 0, "vllm activation until 0.8": 0, "vllm weights": 16, "sglang weights": 16, "sglang card": 0, "sglang card, unified memory": 0,
          "vllm activation, new runner": 512, "vllm outside since 0.27": 512}  # MiB; of the others 128
ONE_WAY = {"vllm activation, new runner", "vllm outside since 0.27"}  # a first start, whatever it compiles, adds to a plan of a later one
MIXED = {"vllm activation, first start"}                          # later starts are in it too: no factor is both's
# The memory of GB10's 121.69 GiB that was not free when an engine started, in five logs (sglang: "avail mem";
# MiaAI-Lab/GLM-5.3-Flash-EXL3-2x-DGX-Sparks#47), and the planned value (src/engines/sglang/card.cpp).
HOSTS, HOST, SHARED = [7.2, 9.96, 11.7, 19.5, 20.4], 10, 121.69
SIDE = 0.95                                                      # of one side: nine of ten inside
EXTREME = 1.5
MANY = 10                                                        # with fewer both sides reach as far as the further
FEW = 6                                                          # with fewer figures a term takes its neighbour's errors too
NEIGHBOURS = {"vllm activation": "vllm activation until 0.8", "vllm activation, first start": "vllm activation, new runner", "vllm activation, new runner": "vllm activation until 0.8",
              "vllm outside since 0.27": "vllm outside", "vllm graphs, unified memory": "vllm graphs",
              "vllm graphs, several GPUs": "vllm graphs", "vllm graphs, Hopper": "vllm graphs", "vllm outside, ROCm": "vllm outside, several GPUs",
              "vllm outside, unified memory": "vllm outside, several GPUs", "vllm room for graphs": "vllm graphs", "vllm encoder": "vllm graphs",
              "vllm room for graphs, new runner": "vllm graphs"}
FROM_ONE = 15                                                    # errors of a term that one source may give
ROUNDED = 0.005                                                  # GiB, half of a log's last digit


def plan(kvplan, row):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "config.json")
        with open(path, "w") as file:
            json.dump(row["config"], file)
        run = subprocess.run([kvplan, path, "--json"] + row["args"], capture_output=True, text=True)
    if run.returncode > 1:
        sys.exit("%s: %s" % (row["name"], run.stderr.strip()))
    return json.loads(run.stdout)


def term_of(engine, line, engine_word=""):
    """The term of the table that gave a line its range, and the figure of a log to which the line belongs."""
    what, part = line["what"], line["part"]
    if part == "weights":
        return engine + " weights", "weights"
    release = re.search(r"@0\.(\d+)", engine_word)
    minor = int(release.group(1)) if engine == "vllm" and release else 99
    if line["id"] == "cuda_graphs":
        shares = engine == "vllm" and "unified memory" in line["source"]
        several = "on several GPUs" in line["source"]
        if engine == "sglang":  # since then only weak references to what a graph returns are kept
            return "sglang graphs" + ("" if "* 310 KiB" in line["formula"] else " until 0.5.5"), "cuda_graphs"
        return engine + " graphs" + (", unified memory" if shares else " until 0.10" if minor <= 10 else
                                     ", Hopper" if "splits' outputs" in line["formula"] and minor >= 18 else
                                     ", several GPUs" if several else ""), "cuda_graphs"
    if "beyond what they take" in what:
        new = ", new runner" if "whole graphs" in line["formula"] else ""
        return engine + " room for graphs" + new, "activation"
    if "encoder" in what and part == "activation":
        return engine + " encoder", "activation"
    if "indexer" in what:
        return "vllm indexer", "activation" if part == "activation" else "non_torch"
    if "first start" in what:
        return engine + " activation, first start", "activation"
    if part == "activation":
        new = ", new runner" if "gpu/model_runner.py" in line["source"] else ""
        until = " until 0.8" if minor <= 8 else " until 0.16" if minor <= 16 else new
        return engine + " activation" + (until if engine == "vllm" else ""), "activation"
    if part == "runtime":
        if "host takes" in what:
            return "vllm outside, unified memory", "non_torch"
        if "ROCm" in line["formula"]:
            return "vllm outside, ROCm", "non_torch"
        if "2112 MiB" in line["formula"]:
            return "vllm outside, Hopper with NVLink", "non_torch"
        if "communication" in what:
            return engine + " outside, several GPUs", "non_torch"
        since = " since 0.27" if "kept by its allocator" in what else ""
        return engine + " outside" + (" until 0.16" if minor <= 16 else since), "non_torch"
    return None, None


class Figure:
    """A printed figure, with the plan's lines that correspond to it."""

    def __init__(self, row, name, seen):
        self.row, self.name, self.seen = row, name, seen
        self.parts = {}  # term -> planned GiB
        self.low = self.high = None

    @property
    def planned(self):
        return sum(self.parts.values())

    @property
    def term(self):
        """The least certain of several terms."""
        vague = [term for word in ("encoder", "room") for term in self.parts if word in term]
        return vague[0] if vague else next(iter(self.parts), None)

    def error(self, factor=1.0):
        base = self.parts[self.term]
        return (self.seen - self.planned - base * (factor - 1)) / (base * factor + FLOORS.get(self.term, 128) / 1024)


def first_rank_more(answer):
    """GiB that the first rank has more for the cache than the fullest rank: logs print the first rank's, plans the fullest's."""
    taken = [rank["weights_bytes"] + rank["activation_bytes"] + rank["runtime_bytes"] for rank in answer["memory"]]
    return (max(taken) - taken[0]) / GIB


def source_of(row):
    """All figures of one thread belong together. A log without an address is a separate group."""
    return row["source"] if row["source"].startswith("http") else row["name"]


def to_fit(engine):
    """The starts in starts.jsonl to which ranges may be fitted, as rows of this script."""
    with open(os.path.join(ROWS, "starts.jsonl")) as file:
        rows = [json.loads(line) for line in file]
    known = ("weights", "activation", "non_torch", "cuda_graphs", "kv_budget")
    return [{"name": row["name"], "source": row["source"], "start": row, "args": row["args"],
             "gib": {name: row["gib"][name] for name in known if name in row["gib"] and (name != "kv_budget" or "--gpu" in row["args"])},
             **({"reason": row["reason"]} if "reason" in row else {}), **({"kv_tokens": row["kv_tokens"]} if engine == "sglang" and "kv_tokens" in row and "--gpu" in row["args"] else {})}
            for row in rows if row["engine"] == engine and row["half"] == "fit" and row["outcome"] == "started"]


def read(kvplan):
    import starts
    figures, cards = [], []
    for engine in ("vllm", "sglang", "llama.cpp"):
        with open(os.path.join(ROWS, engine + ".json")) as file:
            rows = json.load(file)
        for row in rows + to_fit(engine):
            row["engine"], row["fold"] = engine, source_of(row)
            answer = plan(kvplan, row) if "config" in row else starts.plan(kvplan, row["start"])
            row["starts"] = answer["verdict"]["starts"]
            lines = answer["memory"][0]["lines"]
            for name, seen in row["gib"].items():
                figure = Figure(row, name, seen)
                if name == "kv_budget":
                    capacity = answer["capacity"]
                    more = first_rank_more(answer)
                    figure.parts = {"budget": capacity["kv_cache_memory_bytes"] / GIB + more}
                    figure.low = capacity["kv_cache_memory_low_bytes"] / GIB + more
                    figure.high = capacity["kv_cache_memory_high_bytes"] / GIB + more
                    cards.append(figure)
                    continue
                for line in lines:
                    term, part = term_of(engine, line, row["args"][1])
                    if part == name:
                        figure.parts[term] = figure.parts.get(term, 0) + line["bytes"] / GIB
                figure.low = sum(line["low_bytes"] for line in lines if term_of(engine, line)[1] == name) / GIB
                figure.high = sum(line["high_bytes"] for line in lines if term_of(engine, line)[1] == name) / GIB
                figures.append(figure)
            if "kv_tokens" in row:
                capacity = answer["capacity"]
                figure = Figure(row, "kv_tokens", row["kv_tokens"])
                figure.parts = {"tokens": capacity["tokens"]}
                figure.low, figure.high = capacity["tokens_low"], capacity["tokens_high"]
                # How much more of the GPU must have been free for the printed tokens, as a fraction.
                budget = capacity["kv_cache_memory_bytes"]
                free = (budget + answer["memory"][0]["weights_bytes"]) / answer["engine_settings"]["memory_fraction"]
                figure.of_card = (row["kv_tokens"] / capacity["tokens"] - 1) * budget / free
                cards.append(figure)
    return figures, cards


def point(errors, side):
    """The distance on one side of zero that 95 of 100 figures stay within."""
    reach = sorted(max(side * error, 0.0) for error in errors)
    rank = math.ceil(SIDE * (len(reach) + 1))
    return reach[rank - 1] if rank <= len(reach) else EXTREME * reach[-1]


def fit(errors, term):
    """Both ends of the range. Weights are never less than their tensors."""
    if term.endswith("weights"):
        return 0.0, point(errors, 1)
    below, above = point(errors, -1), point(errors, 1)
    if len(errors) < MANY and FLOORS.get(term, 128) and term not in ONE_WAY:  # too few to say which side they fall on; shapes are counted
        below = above = max(below, above)
    return -min(below, 1.0) if not FLOORS.get(term, 128) else -below, above  # nothing takes less than nothing


def fit_all(figures):
    by_source = {}
    for figure in figures:
        if "reason" not in figure.row:
            by_source.setdefault((figure.term, figure.row["fold"]), []).append(figure.error())
    errors = {}
    for (term, _), own in by_source.items():
        own.sort()
        few = own if len(own) <= FROM_ONE else [own[i * (len(own) - 1) // (FROM_ONE - 1)] for i in range(FROM_ONE)]
        errors.setdefault(term, []).extend(few)
    own = dict(errors)
    for term, neighbour in NEIGHBOURS.items():
        most = max([len(seen) for (name, _), seen in by_source.items() if name == term], default=0)
        if len(own.get(term, [])) < FEW or (not FLOORS.get(term, 128) and 2 * most > len(own[term])):  # or most are one source's
            errors[term] = own.get(term, []) + own.get(neighbour, [])
    table = {term: fit(seen, term) for term, seen in errors.items() if seen}
    for term in table:
        if len({fold for name, fold in by_source if name == term}) == 1 and term not in NEIGHBOURS and not term.endswith("weights"):
            reach = EXTREME * max(-table[term][0], table[term][1])  # one source says little of others
            table[term] = -reach, reach
    for term in ONE_WAY & table.keys():  # how much less a later start may take its neighbour says as well
        table[term] = fit(errors[term] + own.get(NEIGHBOURS[term], []), term)[0], table[term][1]
    return table


def factor_of(figures):
    """One factor per term, if there are figures for it."""
    ratios = [f.seen / f.planned for f in figures
              if f.planned > 0 and f.seen > 0 and len(f.parts) == 1 and "reason" not in f.row]
    return statistics.median(ratios) if len(ratios) >= 5 else 1.0


def quantile(values, share):
    values = sorted(values)
    return values[min(len(values) - 1, int(share * len(values)))] if values else math.nan


def together(figures, table):
    """The mean product of two errors of one start, divided by the mean square of one error. Both are in units of their term's range."""
    rows = {}
    squares, products = [], []
    for figure in figures:
        if figure.term not in table:
            continue
        low, high = table[figure.term]
        error = figure.error()
        reach = high if error > 0 else -low
        rows.setdefault(id(figure.row), []).append(error / reach if reach else 0.0)
    for errors in rows.values():
        squares += [error * error for error in errors]
        products += [a * b for i, a in enumerate(errors) for b in errors[:i]]
    if not products or not squares:
        return 0.0
    return min(max(statistics.mean(products) / statistics.mean(squares), 0.0), 1.0)


def ends(figure, table, factor=1.0):
    """The range of a figure by a table: the term's own, and the planned ranges of the figure's other terms."""
    base = figure.parts[figure.term] * factor
    scale = base + FLOORS.get(figure.term, 128) / 1024
    low, high = table.get(figure.term, (0, 0))
    value = figure.planned + figure.parts[figure.term] * (factor - 1)
    return value, -low * scale, high * scale


def judge(figures):
    """Leaves out each source in turn. Returns the result for each term and for the totals."""
    out, totals = {}, []
    for fold in sorted({f.row["fold"] for f in figures}):
        kept = [f for f in figures if f.row["fold"] != fold]
        table = fit_all(kept)
        factors = {t: 1.0 if t in ONE_WAY | MIXED else factor_of([f for f in kept if f.term == t]) for t in table}
        rho = together(kept, table)
        left = [f for f in figures if f.row["fold"] == fold]
        rows = {}
        for f in left:
            value, below, above = ends(f, table, 1.0)
            refitted = ends(f, table, factors.get(f.term, 1.0))[0]
            inside = value - below - ROUNDED <= f.seen <= value + above + ROUNDED
            out.setdefault(f.term, []).append((f, refitted, inside, below + above))
            rows.setdefault(id(f.row), []).append((f, refitted, below, above))
        for parts in rows.values():
            if not any(f.name == "weights" for f, *_ in parts) or len(parts) < 2:
                continue
            seen = sum(f.seen for f, *_ in parts)
            value = sum(refitted if f.name != "weights" else f.planned for f, refitted, *_ in parts)
            planned = sum(f.planned for f, *_ in parts)
            def reach(distances):
                return math.sqrt((1 - rho) * sum(d * d for d in distances) + rho * sum(distances) ** 2)
            below, above = reach([p[2] for p in parts]), reach([p[3] for p in parts])
            inside = planned - below - ROUNDED <= seen <= planned + above + ROUNDED
            totals.append((parts[0][0].row, seen, value, planned, inside, below + above))
    return out, totals


def percent(value):
    return "-" if value != value else "%.1f %%" % (100 * value)


def report(figures, cards, table, rho):
    terms, totals = judge(figures)
    lines = ["| term | figures | sources | median error | nine of ten within | inside the range | median width |",
             "|---|---:|---:|---:|---:|---:|---:|"]
    everything = []
    for term in sorted(terms):
        rows = terms[term]
        errors = [abs(value / f.seen - 1) for f, value, _, _ in rows if f.seen > 0]
        widths = [width / f.planned for f, _, _, width in rows if f.planned > 0]
        inside = [x for _, _, x, _ in rows]
        everything += inside
        lines.append("| %s | %d | %d | %s | %s | %d of %d | %s |" % (
            term, len(rows), len({f.row["fold"] for f, *_ in rows}), percent(statistics.median(errors)),
            percent(quantile(errors, 0.9)), sum(inside), len(inside), percent(statistics.median(widths))))
    errors = [abs(value / seen - 1) for _, seen, value, _, _, _ in totals]
    widths = [width / planned for _, _, _, planned, _, width in totals]
    inside = [x for *_, x, _ in totals]
    lines.append("| total without the cache | %d | %d | %s | %s | %d of %d | %s |" % (
        len(totals), len({row["fold"] for row, *_ in totals}), percent(statistics.median(errors)),
        percent(quantile(errors, 0.9)), sum(inside), len(inside), percent(statistics.median(widths))))
    for name, title in (("kv_budget", "vLLM: room for the cache from the card alone"),
                        ("kv_tokens", "SGLang: tokens from the card alone")):
        rows = [f for f in cards if f.name == name]
        errors = [abs(f.planned / f.seen - 1) for f in rows]
        slack = ROUNDED if name == "kv_budget" else 0
        inside = [f.low - slack <= f.seen <= f.high + slack for f in rows]
        everything += inside
        lines.append("| %s (as planned) | %d | %d | %s | %s | %d of %d | %s |" % (
            title, len(rows), len({f.row["fold"] for f in rows}), percent(statistics.median(errors)),
            percent(quantile(errors, 0.9)), sum(inside), len(inside),
            percent(statistics.median([(f.high - f.low) / f.planned for f in rows]))))
    lines.append("| all figures | %d | | | | %d of %d (%s) | |" % (
        len(everything), sum(everything), len(everything), percent(sum(everything) / len(everything))))
    started = {id(f.row): f.row for f in cards}.values()
    flipped = [row["name"] for row in started if row["starts"] is not True]
    lines.append("\n%d of these logs are starts on a known card; %s." % (
        len(started), "kvplan says of each that it starts" if not flipped else
        "of %d kvplan says that it does not: %s" % (len(flipped), ", ".join(flipped))))
    return "\n".join(lines) + "\n"


def as_source(table, rho):
    rows = "".join('    TermRange{"%s", %.3f, %.3f, %d},\n' % (t, *table[t], FLOORS.get(t, 128)) for t in sorted(table))
    rows = re.sub(r"(?<=[0-9])0+(?=[,}])", "", re.sub(r"-0\.000(?=,)", "0.000", rows)).replace("0.,", "0,")
    return '''// Written by scripts/ranges.py on %s from testdata/observations: fitted, not set by hand.
#include <array>

#include "kvplan/ranges.h"

namespace kvplan {

namespace {

constexpr std::array kTermRanges{
%s};

}  // namespace

std::span<const TermRange> term_ranges() {
  return kTermRanges;
}

double terms_together() {
  return %.2f;
}

}  // namespace kvplan
''' % (datetime.date.today().isoformat(), rows, rho)


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--kvplan", default=os.path.join(ROOT, "build", "kvplan"))
    options.add_argument("--write", action="store_true")
    options.add_argument("--check", action="store_true")
    options.add_argument("--list", action="store_true", help="every figure")
    given = options.parse_args()
    figures, cards = read(given.kvplan)
    figures = [f for f in figures if f.parts and not f.row["engine"] == "llama.cpp"]
    table = fit_all(figures)
    table["sglang card"] = fit([f.of_card for f in cards if f.name == "kv_tokens"], "sglang card")
    table["sglang card, unified memory"] = fit([(HOST - taken) / SHARED for taken in HOSTS], "sglang card, unified memory")
    rho = together(figures, table)
    if given.list:
        for f in figures + cards:
            print("%-44s %-12s %-28s seen %.2f planned %.2f [%.2f, %.2f]%s" % (
                f.row["name"][:44], f.name, f.term, f.seen, f.planned, f.low, f.high,
                "" if f.low - ROUNDED <= f.seen <= f.high + ROUNDED else "  OUT"))
    page = report(figures, cards, table, rho)
    print(page)
    print("errors of one start go together by %.2f" % rho)
    if given.write:
        with open(TABLE, "w") as file:
            file.write(as_source(table, rho))
        with open(PAGE, "w") as file:
            file.write(page)
    if given.check:
        with open(PAGE) as file:
            if file.read() != page:
                sys.exit("ranges.py: %s is not what kvplan says today; run scripts/ranges.py --write" % PAGE)


if __name__ == "__main__":
    main()
