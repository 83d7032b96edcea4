#!/usr/bin/env python3
"""Compares plans with the starts in testdata/observations/starts.jsonl, which were gathered before anything was fitted to them.

    scripts/starts.py [--kvplan build/kvplan] [--half fit|held-out] [--by engine|card|release] [--list [TERM]]

Each row is planned with its own options. A figure in the log is compared with its lines of the ledger (as in ranges.py), and the memory left for
the cache with the plan's budget. Prints the median error, the error that nine of ten stay within, and how many figures are inside their range.
Python 3, standard library only.
"""
import argparse, concurrent.futures, json, os, statistics, subprocess, tempfile

from ranges import GIB, ROOT, ROUNDED, first_rank_more, quantile, source_of, term_of

ROWS = os.path.join(ROOT, "testdata", "observations")
FIGURES = ["weights", "activation", "non_torch", "cuda_graphs", "total", "kv_budget", "kv_tokens"]


def config_of(row):
    """The config that a row names, or the one in the catalogue."""
    if "config" in row:
        config = row["config"]
    elif "file" in row:
        with open(os.path.join(ROWS, "models", row["file"] + ".json")) as file:
            config = json.load(file)
    else:
        with open(os.path.join(ROOT, "testdata", "published", row["model"].replace("/", "--") + ".json")) as file:
            config = json.load(file)["config"]
    return {key: value for key, value in {**config, **row.get("set", {})}.items() if value is not None}


def plan(kvplan, row):
    with tempfile.TemporaryDirectory() as folder:
        target = row.get("model")
        if not target or "set" in row:
            target = os.path.join(folder, "config.json")
            with open(target, "w") as file:
                json.dump(config_of(row), file)
        run = subprocess.run([kvplan, target, "--json", "--offline"] + row["args"], capture_output=True, text=True)
    if run.returncode > 1:
        return run.stderr.strip()
    return json.loads(run.stdout)


def figures(row, answer):
    """Name, printed, planned, low, high of each figure of a row."""
    engine = row["engine"]
    lines = [(line, term_of(engine, line, row["args"][1])[1]) for line in answer["memory"][0]["lines"]]
    found = {}
    for name, seen in row["gib"].items():
        if name == "kv_budget":
            capacity = answer.get("capacity") or {}
            if "--gpu" in row["args"] and capacity.get("kv_cache_memory_bytes"):
                more = first_rank_more(answer)
                found[name] = [seen] + [capacity["kv_cache_memory%s_bytes" % end] / GIB + more for end in ("", "_low", "_high")]
        elif name in ("weights", "activation", "non_torch", "cuda_graphs"):
            own = [line for line, part in lines if part == name]
            if own:
                found[name] = [seen] + [sum(line[key] for line in own) / GIB for key in ("bytes", "low_bytes", "high_bytes")]
    parts = [found[name] for name in ("weights", "activation", "non_torch", "cuda_graphs") if name in found]
    if "weights" in found and len(parts) > 2:
        found["total"] = [sum(column) for column in zip(*parts)]
    if row.get("kv_tokens") and engine == "sglang" and "--gpu" in row["args"]:
        capacity = answer["capacity"]
        found["kv_tokens"] = [row["kv_tokens"], capacity["tokens"], capacity["tokens_low"], capacity["tokens_high"]]
    return found


def key_of(row, by):
    if by == "card":
        return row["args"][row["args"].index("--gpu") + 1] if "--gpu" in row["args"] else "-"
    return row["args"][1] if by == "release" else row[by]


def table(figures):
    print("| figure | starts | sources | median error | nine of ten within | inside the range | high / low |\n|---|---:|---:|---:|---:|---:|---:|")
    for name in FIGURES:
        own = [(row, f[name]) for row, f in figures if name in f]
        if not own:
            continue
        errors = [abs(planned / seen - 1) for _, (seen, planned, _, _) in own if seen > 0]
        inside = [low - ROUNDED <= seen <= high + ROUNDED for _, (seen, _, low, high) in own]
        widths = [high / low for _, (_, _, low, high) in own if low > 0]
        print("| %s | %d | %d | %.1f %% | %.0f %% | %d | %s |" % (
            name, len(own), len({source_of(row) for row, _ in own}), 100 * statistics.median(errors) if errors else 0, 100 * quantile(errors, 0.9),
            sum(inside), "%.2f" % statistics.median(widths) if widths else "-"))


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--kvplan", default=os.path.join(ROOT, "build", "kvplan"))
    options.add_argument("--half", choices=["fit", "held-out"])
    options.add_argument("--by", choices=["engine", "card", "release", "source"])
    options.add_argument("--list", nargs="?", const="all")
    given = options.parse_args()
    with open(os.path.join(ROWS, "starts.jsonl")) as file:
        rows = [json.loads(line) for line in file]
    rows = [row for row in rows if not given.half or row["half"] == given.half.replace("-", " ")]
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        answers = list(pool.map(lambda row: plan(given.kvplan, row), rows))
    judged, verdicts = [], []
    for row, answer in zip(rows, answers):
        if isinstance(answer, str):
            print("not planned: %s %s: %s" % (row["source"], row["name"], answer[:200]))
            continue
        verdict = answer["verdict"]
        starts = verdict.get("starts") is not False and verdict.get("fits") is not False
        if "--gpu" in row["args"] and row["outcome"] != "log ends" and starts != (row["outcome"] == "started"):
            verdicts.append("wrong verdict: %s %s %s: %s, planned %s%s" % (
                row["source"], row["name"], row["path"][-40:], row["outcome"], "starts" if starts else "fails", " (close)" if verdict.get("close") else ""))
        judged.append((row, figures(row, answer)))
    for title in sorted({key_of(row, given.by) for row, _ in judged}) if given.by else [None]:
        own = [(row, found) for row, found in judged if title is None or key_of(row, given.by) == title]
        print("\n%s: %d starts of %d sources\n" % (title or given.half or "all", len(own), len({source_of(row) for row, _ in own})))
        table(own)
    print("\n".join([""] + verdicts))
    if given.list:
        for row, found in judged:
            for name, (seen, planned, low, high) in found.items():
                if given.list in ("all", name):
                    print("%-11s %-24s %-28s %-44s %8.2f %8.2f [%.2f, %.2f]%s" % (
                        name, row["source"][19:43], row["name"][:28], " ".join(row["args"][1:])[:44], seen, planned, low, high,
                        "" if low - ROUNDED <= seen <= high + ROUNDED else " OUT"))


if __name__ == "__main__":
    main()
