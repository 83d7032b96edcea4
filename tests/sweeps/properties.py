"""Properties that every plan has: random models, engines, GPUs, layouts and options.

    properties.py KVPLAN SOURCE [--full] [--seed N] [--only WORD] [--count N]

A plan that fits is within its budget. Plan, `fit`, `compare` and every row of a fleet agree with each other. Each suggestion and
each answer of `fit` gives the promised result if it is planned again. A larger request never needs less memory.
"""
import collections
import csv
import io
import json
import os
import random
import tempfile

from program import Faults, Program, models, options

ENGINES = ["logical", "vllm", "vllm", "vllm", "vllm@0.8", "vllm@0.20", "vllm@0.26", "sglang", "sglang", "sglang@0.4.9", "llama.cpp",
           "llama.cpp", "transformers", "mlx", "tensorrt-llm", "mistralrs", "ollama"]
CARDS = ["h100-80gb", "h200", "b200", "a100-80gb", "l4", "t4", "v100-32gb", "rtx-4090", "rtx-3060", "mi300x-192gb", "m3-max-128gb"]
LENGTHS = [1, 17, 448, 1000, 2048, 4096, 10000, 32768, 131072, 262144]
SEQUENCES = [1, 2, 3, 7, 16, 64, 200, 1000]
KV = ["fp8", "bf16", "fp16", "q8_0", "int8", "nvfp4", "fp8_e5m2"]
WEIGHTS = ["bf16", "fp8", "int8", "int4", "awq", "gptq", "nvfp4", "mxfp4", "q4_k_m"]
STATED = ("--avg-len", "--seq-lens", "--shared-prefix")
LIMITS = ("--max-vram", "--min-context", "--min-seqs")
LAYOUT = ("-tp", "-pp", "-dp", "-dcp", "--enable-expert-parallel", "--enable-dp-attention", "--gpu-count", "--tensor-split")
# Spellings of the same option: one replaces the other.
REPLACED = {"--tensor-parallel-size": "-tp", "--pipeline-parallel-size": "-pp", "--data-parallel-size": "-dp", "--kv": "--kv-cache-dtype",
            "--decode-context-parallel-size": "-dcp", "--context": "--max-model-len", "-c": "--max-model-len",
            "--ctx-size": "--max-model-len", "--context-length": "--max-model-len", "-np": "--num-seqs", "--parallel": "--num-seqs"}
# Engines with a pool of the same size on each GPU. In other engines the stage with the largest cache may not have the largest weights.
POOLS = ("vllm", "sglang", "tensorrt-llm")
# The exit code of each verdict, if a GPU or a limit is given.
EXITS = {"fits": 0, "partly_on_cpu": 0, "does_not_fit": 1, "unknown": 1}


def words(model, given):
    """A command line: {option: value, or None for a flag}."""
    return [model] + [word for option, value in given.items() for word in ([option] if value is None else [option, str(value)])]


def changed(given, changes):
    """The options, changed as an answer says."""
    out = dict(given)
    for option, value in changes.items():
        name = REPLACED.get(option, option)
        if name in LAYOUT:
            out.pop("--gpu-count", None)
        for old in [o for o in out if REPLACED.get(o, o) == name]:
            del out[old]
        out[option] = None if value in ("", None, True) else value
    return out


class Generator:
    """Random plans, which are the same for the same seed."""

    def __init__(self, seed, paths):
        self.random = random.Random(seed)
        self.paths = list(paths)

    def chance(self, share):
        return self.random.random() < share

    def next(self):
        pick, chance = self.random.choice, self.chance
        engine = pick(ENGINES)
        base = engine.split("@")[0]
        out = {"--engine": engine}
        if chance(0.85):
            out["--max-model-len"] = pick(LENGTHS)
        if chance(0.6):
            out["--num-seqs"] = pick(SEQUENCES)
        where = self.random.random()
        if where < 0.75:
            out["--gpu"] = pick(CARDS)
        elif where < 0.9:
            out["--gpu-memory"] = pick(["12GiB", "24GiB", "80GiB", "192GiB"])
        layout = self.random.random()
        if layout < 0.15:
            out["-tp"] = pick([2, 4, 8])
        elif layout < 0.22:
            out["-pp"] = pick([2, 3])
        elif layout < 0.28 and base in ("vllm", "sglang"):
            out.update({"-tp": 2, "-dp": 2})
            if base == "sglang":
                out["--enable-dp-attention"] = None
            if chance(0.5):
                out["--enable-expert-parallel"] = None
        elif layout < 0.38 and "--gpu" in out:
            out["--gpu-count"] = pick([2, 4, 8])
        if chance(0.25):
            out["--kv-cache-dtype"] = pick(KV)
        if chance(0.25):
            out["--weights"] = pick(WEIGHTS)
        for option, share, values in (("--avg-len", 0.06, [100, 1000, 5000]), ("--shared-prefix", 0.05, [64, 1000]),
                                      ("--seq-lens", 0.04, ["100,2000,30", "4000,17"]), ("--max-num-seqs", 0.05, [8, 256]),
                                      ("--max-num-batched-tokens", 0.06, [512, 2048, 16384]), ("--max-vram", 0.05, ["16GiB", "80GiB"]),
                                      ("--reserve", 0.06, ["1GiB", "5%"]), ("--min-context", 0.02, [8192]), ("--min-seqs", 0.02, [4])):
            if chance(share):
                out[option] = pick(values)
        if base in ("vllm", "sglang"):
            if chance(0.1):
                out["--gpu-memory-utilization"] = pick(["0.5", "0.8", "0.95"])
            if chance(0.08):
                out["--kv-cache-memory-bytes"] = pick(["1GiB", "6GiB", "40GiB"])
        if base == "vllm":
            for flag in ("--enforce-eager", "--language-model-only", "--mtp"):
                if chance(0.05):
                    out[flag] = None
        if base == "llama.cpp":
            if chance(0.2):
                out["-ngl"] = pick([0, 10])
            for flag in ("-kvu", "--swa-full", "-nkvo"):
                if chance(0.08):
                    out[flag] = None
        # By default layers that do not fit move to main memory, so a larger request may need less of a GPU.
        if base in ("llama.cpp", "ollama"):
            out.setdefault("-ngl", "all" if base == "llama.cpp" else 999)
        # Encoder-decoders, states and windows have separate rules, so they are chosen more often.
        paths = [p for p in self.paths if chance(0.3) or any(word in p for word in ("whisper", "t5", "mamba", "gemma"))]
        return pick(paths or self.paths), out


class Properties:
    def __init__(self, given, paths):
        self.program = Program(given.kvplan)
        self.faults = Faults()
        self.made = Generator(given.seed, paths)
        self.work = tempfile.TemporaryDirectory(prefix="kvplan-properties-")
        _, cards = self.program.ask(["gpus"])
        self.memory = {alias: card["memory_bytes"] for card in cards["gpus"] for alias in [card["name"], *card["aliases"]]}

    def plan(self, model, given):
        """The exit code and the plan; None if kvplan has no plan for the question."""
        code, answer = self.program.ask(words(model, given))
        return (code, answer) if code in (0, 1) else (code, None)

    def say(self, model, given):
        return lambda: " ".join(map(str, [os.path.basename(model), *words("", given)[1:]]))

    # One plan.

    def sums(self, plan, said):
        check = self.faults.check
        low = high = total = 0
        for gpu in plan["memory"]:
            parts = collections.Counter()
            for line in gpu["lines"]:
                parts[line["part"]] += line["bytes"]
                low, high = low + line["low_bytes"], high + line["high_bytes"]
                check("a line within its range", line["low_bytes"] <= line["bytes"] <= line["high_bytes"], said, line["id"])
            for part in ("weights", "kv_cache", "activation", "runtime"):
                check("lines add up to their part", parts[part] == (gpu[part + "_bytes"] or 0), said, part)
            check("parts add up to the total", sum(parts.values()) == gpu["total_bytes"], said)
            total += gpu["total_bytes"]
        whole = plan["total"]  # errors of several lines rarely add up: its range is narrower than theirs
        check("GPUs add up", whole["bytes"] == total and low <= whole["low_bytes"] <= total <= whole["high_bytes"] <= high, said, whole,
              total, low, high)
        cache = plan["kv_cache"]
        gap = sum(row["bytes"] for row in cache["gap"])
        check("the gap adds up", cache["logical_bytes_per_gpu"] + gap == cache["reserved_bytes"], said)

    def verdict(self, plan, code, given, said):
        """The exit code and the verdict agree with the plan's own numbers."""
        check, verdict, capacity = self.faults.check, plan["verdict"], plan["capacity"]
        status = verdict["status"]
        judged = any(option in given for option in ("--gpu", "--gpu-memory", "--kv-cache-memory-bytes", *LIMITS))
        refused = verdict["refusal"] is not None  # by a class or a length, which needs no card
        check("exit code", code == (EXITS[status] if judged or refused else 0), said, status, code)
        check("a verdict needs a card or a limit", judged or refused or status == "unknown", said, status)
        if verdict["refusal"] is not None:
            check("a refusal does not start", status == "does_not_fit" and verdict["starts"] is False, said, verdict)
        asked = plan["request"]["num_seqs"]
        if capacity:  # null: without an end
            most, longest = (capacity[key] if capacity[key] is not None else 1 << 62 for key in ("max_num_seqs", "max_model_len"))
        length = min(plan["request"]["max_model_len"], plan["model"]["max_model_len"] or 1 << 62)
        stated = any(option in given for option in STATED)
        kind = "FITS with stated lengths" if stated else "FITS"
        if status in ("fits", "partly_on_cpu"):
            check("FITS: it starts", verdict["starts"] is not False, said)
            check("FITS: nothing short", (verdict["headroom_bytes"] or 0) >= 0, said, verdict["headroom_bytes"])
            card = self.memory.get(given.get("--gpu", "").split("x")[-1]) or self.size(given.get("--gpu-memory"))
            if card:
                fullest = max(gpu["total_bytes"] for gpu in plan["memory"])
                check(f"{kind}: a GPU within its memory", fullest <= card, said, fullest / 2**30, card / 2**30)
            if capacity and (given["--engine"].split("@")[0] in POOLS or len(plan["memory"]) == 1):
                budget = capacity["kv_cache_memory_bytes"]
                outside = sum(row["bytes"] for row in plan["kv_cache"]["gap"] if row["reason"] in ("dummy page", "padding slot of the state pool"))  # SGLang adds them
                held = plan["kv_cache"]["reserved_bytes"] - outside
                over = budget // 1000 if given["--engine"].startswith("sglang") else 0  # its division into pools is not exact
                check(f"{kind}: the cache within its budget", held <= budget + over, said, held, budget)
                if not stated:
                    check("FITS: as many sequences as fit", asked <= most, said, asked, most)
                    check("FITS: as long as fits", length <= longest, said, length, longest)
            if verdict["runs_at_once"] is not None and "--seq-lens" not in given:
                check("FITS: all run at once", verdict["runs_at_once"] >= asked, said, verdict["runs_at_once"], asked)
        elif status == "does_not_fit" and capacity and verdict["refusal"] is None and not stated and not any(
                option in given for option in (*LIMITS, "--reserve", "--kv-cache-memory-bytes")):
            check("DOES NOT FIT: the capacity says so", asked > most or length > longest, said,
                  f"{asked} of {most}, {length} of {longest}")
        if capacity and plan["model"]["max_model_len"]:
            check("the longest is at most the model's maximum", longest <= plan["model"]["max_model_len"], said, longest,
                  plan["model"]["max_model_len"])

    def size(self, text):
        return int(text.removesuffix("GiB")) << 30 if text else None

    # Two plans.

    def budget(self, model, given, plan, said):
        """The capacity is the same whether the budget comes from a GPU or is given in bytes."""
        if not plan["capacity"] or not plan["capacity"]["kv_cache_memory_bytes"] or "--kv-cache-memory-bytes" in given:
            return
        other = {k: v for k, v in self.fixed_layout(given, plan).items() if k != "--reserve"}
        other["--kv-cache-memory-bytes"] = plan["capacity"]["kv_cache_memory_bytes"]
        _, again = self.plan(model, other)
        if again is None:
            return
        # If activations or tables grow with the request, fewer tokens fit a GPU than its budget alone would allow.
        exact = given["--engine"].startswith("vllm")
        for key in ("max_model_len", "max_num_seqs"):
            a, b = (p["capacity"][key] if p["capacity"][key] is not None else 1 << 62 for p in (plan, again))
            if not exact and (len(plan["memory"]) > 1 or plan["verdict"]["status"] != "fits"):
                continue
            # The other parts grow with the length, so a longer context leaves less for the cache, and a shorter one more.
            shorter = exact and key == "max_model_len" and b < plan["request"]["max_model_len"]
            holds = a >= b if shorter else a <= b if not exact or key == "max_model_len" else a == b
            self.faults.check(f"a budget from a card, or in bytes: {key}", holds, said, a, b)
        keys = ("kv_cache_memory_bytes", "num_blocks", "tokens", "max_concurrency")
        a, b = ({key: p["capacity"][key] for key in keys} for p in (plan, again))
        self.faults.check("a budget from a card, or in bytes", a == b, said, a, b)
        if not any(o in given for o in (*LIMITS, "--reserve")) and plan["verdict"]["status"] == "fits":
            self.faults.check("a budget from a card, or in bytes: the verdict", again["verdict"]["status"] == "fits", said,
                              again["verdict"]["reason"])

    def suggestions(self, model, given, plan, said):
        for row in plan["verdict"]["suggestions"]:
            code, again = self.plan(model, changed(given, row["changes"]))
            check, about = self.faults.check, (said, row["changes"])
            if not check("a suggestion can be planned", again is not None, *about, code):
                continue
            check("a suggestion fits", again["verdict"]["status"] in ("fits", "partly_on_cpu") and code == 0, *about,
                  again["verdict"]["reason"])
            check("a suggestion starts", again["verdict"]["refusal"] is None, *about, again["verdict"]["refusal"])
            check("a suggestion's total", again["total"]["bytes"] == row["total_bytes"] or
                  max(g["total_bytes"] for g in again["memory"]) == row["total_bytes"], *about, row["total_bytes"], again["total"]["bytes"])

    def monotone(self, model, given, plan, said):
        for option, least in (("--max-model-len", 1), ("--num-seqs", 1)):
            before = plan["request"][option[2:].replace("-", "_")] or least
            if option == "--num-seqs" and "-kvu" in given:  # they divide one pool, and leave the rest of the division
                continue
            more = before + self.made.random.choice([1, 15, before, 3 * before])
            fixed = {k: v for k, v in self.fixed_layout(given, plan).items() if k not in ("--min-context", "--min-seqs")}
            fixed[option] = more
            _, again = self.plan(model, fixed)
            if again is None:
                continue
            for name, of in (("logical KV", lambda p: p["kv_cache"]["logical_bytes"]), ("reserved KV", lambda p: p["kv_cache"]["reserved_bytes"]),
                             ("the total", lambda p: p["total"]["bytes"])):
                # For a longer context llama.cpp's graphs may need less, and so may kernels that vLLM chooses for a length that it refuses.
                if name == "the total" and (given["--engine"].startswith("llama.cpp") or again["verdict"]["refusal"]):
                    continue
                self.faults.check(f"more of {option} never needs less: {name}", of(again) >= of(plan), said, f"{before} to {more}:", of(plan),
                                  of(again))
            if any(o in given for o in LIMITS):
                continue
            self.faults.check(f"more of {option} never begins to fit",
                              not (plan["verdict"]["status"] == "does_not_fit" and again["verdict"]["status"] == "fits"), said,
                              f"{before} to {more}", plan["verdict"]["reason"])

    def boundary(self, model, given, plan, said):
        """The request that the capacity names fits, and one more token or sequence does not."""
        capacity, verdict = plan["capacity"], plan["verdict"]
        if not capacity or verdict["refusal"] or verdict["status"] == "unknown" or any(o in given for o in (*LIMITS, *STATED, "--reserve", "-kvu")):
            return
        fixed = self.fixed_layout(given, plan)
        for option, key in (("--num-seqs", "max_num_seqs"), ("--max-model-len", "max_model_len")):
            most = capacity[key]
            if not most or most > 1 << 40:
                continue
            end = plan["model"]["max_model_len"] if option == "--max-model-len" else None
            code, at = self.plan(model, changed(fixed, {option: most}))
            if at and not at["verdict"]["refusal"] and "--kv-cache-memory-bytes" not in given:  # a GPU may have less than that
                self.faults.check(f"capacity: {option} of {key} fits", at["verdict"]["status"] in ("fits", "partly_on_cpu"), said, most, at["verdict"]["reason"])
                self.verdict(at, code, given, lambda: f"{said()} {option} {most}")
            code, more = self.plan(model, changed(fixed, {option: most + 1}))
            if more and not (end and most >= end):
                self.faults.check(f"capacity: {option} beyond {key} does not fit", more["verdict"]["status"] != "fits", said, most + 1)

    def fixed_layout(self, given, plan):
        """The options with the plan's layout in place of the number of GPUs."""
        out = {k: v for k, v in given.items() if k != "--gpu-count"}
        request = plan["request"]
        if "--gpu-count" in given:
            out.update({"-tp": request["tensor_parallel_size"], "-pp": request["pipeline_parallel_size"]})
            for option, key in (("-dp", "data_parallel_size"), ("-dcp", "decode_context_parallel_size")):
                if request[key] > 1:
                    out[option] = request[key]
            if request["enable_expert_parallel"]:
                out["--enable-expert-parallel"] = None
            if request.get("enable_dp_attention", given["--engine"].startswith("sglang") and request["data_parallel_size"] > 1):
                out["--enable-dp-attention"] = None
        return out

    # Other questions.

    def fit(self, model, given, plan, said):
        code, answer = self.program.ask(["fit", *words(model, given)])
        if "answers" not in answer:
            self.faults.check("fit answers what plan answers", code not in (2, 3) or "fit" in answer["error"], said, answer)
            return
        check, longest = self.faults.check, None
        for row in answer["answers"]:
            name, changes = row["name"], row["changes"]
            if changes is None or row["verdict"]["status"] != "fits":
                continue
            if not check("fit: a change is a value", all(isinstance(v, str) and v != "any" for v in changes.values()), said, name, changes):
                continue
            about = (said, name, changes)
            again_given = changed(given, changes)
            code, again = self.plan(model, again_given)
            if not check("fit: an answer can be planned", again is not None, *about, code):
                continue
            check(f"fit: {name} fits", again["verdict"]["status"] == "fits", *about, again["verdict"]["reason"])
            check(f"fit: {name} has the total it states", again["total"]["bytes"] == row["total"]["bytes"], *about, row["total"]["bytes"],
                  again["total"]["bytes"])
            option = {"longest_context": "--max-model-len", "most_sequences": "--num-seqs"}.get(name)
            key = next((o for o in changes if REPLACED.get(o, o) == option), None) if option else None
            if key is None:
                continue
            most = int(changes[key])
            fixed = self.fixed_layout(again_given, again)
            fixed[key] = most + 1
            _, more = self.plan(model, fixed)
            at_end = option == "--max-model-len" and again["model"]["max_model_len"] is not None and most >= again["model"]["max_model_len"]
            endless = option == "--max-model-len" and again["kv_cache"]["bytes_per_token"] == 0  # states and windows
            if more is not None and not at_end and not endless:
                check(f"fit: one more than {name} does not fit", more["verdict"]["status"] != "fits", *about, f"{most + 1} fits, too")
            if name == "longest_context" and not longest:
                longest = most
        same = plan["capacity"] and longest and not any(o in given for o in (*STATED, *LIMITS, "--gpu-count", "--kv-cache-memory-bytes"))
        if same and plan["verdict"]["refusal"] is None and plan["capacity"]["max_model_len"] is not None:
            check("plan and fit name one longest context", longest == plan["capacity"]["max_model_len"], said, longest,
                  plan["capacity"]["max_model_len"])

    def compare(self, model, given, plan, said):
        asked = {k: v for k, v in given.items() if k not in ("--weights", "--kv-cache-dtype")}
        _, answer = self.program.ask(["compare", *words(model, asked)])
        if "answers" not in answer:
            return
        rows = answer["answers"]
        for row in self.made.random.sample(rows, min(3, len(rows))):
            if row["changes"] is None:
                continue
            code, again = self.plan(model, changed(asked, row["changes"]))
            about = (said, row["name"], row["changes"])
            if not self.faults.check("compare: a row can be planned", again is not None, *about, code):
                continue
            for key in ("kv_cache", "total", "capacity"):
                self.faults.check(f"compare: a row has its plan's {key}", row[key] == again[key], *about, row[key], again[key])
            for key in ("status", "starts", "refusal", "headroom_bytes"):
                self.faults.check(f"compare: a row has its plan's {key}", row["verdict"][key] == again["verdict"][key], *about,
                                  row["verdict"][key], again["verdict"][key])

    def rows(self, model, given, said):
        """Each row of a fleet on two GPUs (CSV) gives the same plan if it is planned again."""
        if "--gpu" not in given or given["--engine"].startswith("mlx"):
            return
        cards = f"{given['--gpu']},{self.made.random.choice(CARDS)}"
        code, out, _ = self.program.run([*words(model, {**given, "--gpu": cards}), "--format", "csv"])
        if code not in (0, 1):
            return
        columns = {"engine": "--engine", "max_model_len": "--max-model-len", "num_seqs": "--num-seqs", "gpu": "--gpu",
                   "tensor_parallel_size": "-tp", "pipeline_parallel_size": "-pp", "data_parallel_size": "-dp",
                   "decode_context_parallel_size": "-dcp", "enable_expert_parallel": "--enable-expert-parallel",
                   "enable_dp_attention": "--enable-dp-attention"}
        for row in csv.DictReader(io.StringIO(out)):
            if row["error"]:
                continue
            again_given = {k: v for k, v in given.items() if k not in LAYOUT}
            for column, option in columns.items():
                value = row.get(column, "")
                if value == "true":
                    again_given[option] = None
                elif value not in ("", "false", "1") or (option in again_given and value):
                    again_given[option] = value
            if "@" in given["--engine"]:
                again_given["--engine"] = given["--engine"]
            # No column has the cap on requests if kvplan lowered it so that the engine starts.
            command = row["command"].split()
            if "--max-num-seqs" in command:
                again_given["--max-num-seqs"] = command[command.index("--max-num-seqs") + 1]
            code, again = self.plan(row["source"], again_given)
            if not self.faults.check("a row can be planned", again is not None, said, row, code):
                continue
            fullest = max(gpu["total_bytes"] for gpu in again["memory"])
            self.faults.check("a row has its plan's total", str(fullest) == row["total_bytes"], said, row, fullest)
            self.faults.check("a row has its plan's verdict", again["verdict"]["status"] == row["verdict"], said, row,
                              again["verdict"]["status"])
            for column, key in (("longest_context", "max_model_len"), ("most_sequences", "max_num_seqs")):
                # A row without a verdict has no figures of what fits.
                if again["capacity"] and row.get(column) and row["verdict"] != "unknown":
                    self.faults.check(f"a row has its plan's {column}", str(again["capacity"][key]) == row[column], said, row[column],
                                      again["capacity"][key])

    def declared(self, model, given, said):
        """A requested weight type is refused if the same type in the config is refused."""
        with open(model, encoding="utf-8") as file:
            config = json.load(file)
        if "quantization_config" in config or given["--engine"].split("@")[0] not in ("vllm", "sglang"):
            return
        kind = self.made.random.choice(list(DECLARED))
        other = {k: v for k, v in given.items() if k not in ("--weights", *LAYOUT, *LIMITS)}
        other["--gpu"] = self.made.random.choice(["v100-32gb", "t4", "rtx-3060", "l4", "h100-80gb", "b200", "gtx-1080-ti"])
        path = self.work.name + "/config.json"
        with open(path, "w", encoding="utf-8") as file:
            json.dump({**config, "quantization_config": DECLARED[kind]}, file)
        _, declared = self.plan(path, other)
        _, asked = self.plan(model, {**other, "--weights": kind})
        if declared is None or asked is None:
            return
        a, b = declared["verdict"]["refusal"], asked["verdict"]["refusal"]
        self.faults.check("a weight type, declared or asked for", (a is None) == (b is None), said, f"{kind} on {other['--gpu']}: declared {a}, asked for {b}")

    def once(self):
        model, given = self.made.next()
        said = self.say(model, given)
        code, plan = self.plan(model, given)
        self.faults.check("an exit code of the contract", code in (0, 1, 2, 3), said, code)
        if plan is None:
            return False
        self.sums(plan, said)
        self.verdict(plan, code, given, said)
        self.budget(model, given, plan, said)
        self.suggestions(model, given, plan, said)
        self.monotone(model, given, plan, said)
        self.boundary(model, given, plan, said)
        if self.made.chance(0.3):
            self.fit(model, given, plan, said)
        if self.made.chance(0.3):
            self.compare(model, given, plan, said)
        if self.made.chance(0.3):
            self.rows(model, given, said)
        if self.made.chance(0.3):
            self.declared(model, given, said)
        return True


# How a config declares weights of each type.
DECLARED = {
    "awq": {"quant_method": "awq", "bits": 4, "group_size": 128, "zero_point": True, "version": "gemm"},
    "gptq": {"quant_method": "gptq", "bits": 4, "group_size": 128, "desc_act": False, "sym": True},
    "fp8": {"quant_method": "fp8", "activation_scheme": "dynamic", "fmt": "e4m3"},
    "nvfp4": {"quant_method": "modelopt", "quant_algo": "NVFP4", "config_groups": {"group_0": {
        "weights": {"num_bits": 4, "type": "float", "group_size": 16, "dynamic": False}, "targets": ["Linear"]}}, "ignore": ["lm_head"]},
}


def main():
    given = options(count=int)
    test = Properties(given, models(given.source, given.only, given.full, given.configs).values())
    count = given.count or (1500 if given.full else 250)
    while count > 0:
        count -= test.once()
    test.faults.close(test.program.runs)


if __name__ == "__main__":
    main()
