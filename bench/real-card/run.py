#!/usr/bin/env python3
"""Measures eight architectures with 1 to 60 GiB of cache on a real GPU and writes the results.

    bench/real-card/run.py [--kvplan build/kvplan] [--device cuda:0] [--out testdata/measured]

Each GPU and driver has one file with a line for each measurement; testdata/measured/README.md explains the lines. If PyTorch is installed, tensors
of the same shapes are measured with it too (compare_torch.py). Exit code 1 if a measurement is off by more than 1 %, or the context by more than 10
% after one calibration; 5 without a device.
"""
import argparse
import datetime
import json
import os
import re
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
# Model, engine, tokens per sequence: one case for every form of cache that an engine stores.
MODELS = [
    ("llama-3.1-8b", "vllm", 16384),         # grouped-query attention, a tensor for each layer
    ("llama-3.1-8b", "transformers", 16384),  # the same, K and V apart
    ("mixtral-8x7b", "sglang", 16384),
    ("deepseek-v3", "vllm", 16384),          # latents
    ("deepseek-v3.2", "vllm", 16384),        # latents and index keys
    ("gpt-oss-20b", "vllm", 16384),          # windows beside full layers: one pool of two groups
    ("gemma-4-26b", "vllm", 16384),
    ("qwen3.5-27b", "sglang", 16384),        # states beside attention
    ("falcon-h1-1.5b", "transformers", 16384),
    ("mamba-2.8b", "transformers", 4096),    # states alone
    ("kimi-linear-48b", "vllm", 16384),
    ("qwen3-0.6b", "llama.cpp", 16384),      # one buffer for all layers
]
TARGETS_GIB = [1, 4, 16, 30, 60]


def kvplan(binary, arguments):
    done = subprocess.run([binary, *arguments, "--json"], capture_output=True, text=True, check=False)
    if done.returncode == 5:
        print(done.stderr.strip(), file=sys.stderr)
        sys.exit(5)
    if not done.stdout:
        return done.returncode, None, done.stderr.strip()
    return done.returncode, json.loads(done.stdout), done.stderr.strip()


def options(model, engine, tokens, sequences):
    out = [f"{ROOT}/testdata/configs/{model}.json", "--engine", engine, "--num-seqs", str(sequences)]
    # llama.cpp takes the total over all slots.
    return out + (["-c", str(tokens * sequences)] if engine == "llama.cpp" else ["--max-model-len", str(tokens)])


def sequences_for(binary, model, engine, tokens, target):
    """The number of sequences whose cache is nearest to `target` bytes; at most 256, as in engines."""
    low, high = 1, 256
    while low < high:
        middle = (low + high + 1) // 2
        _, plan, _ = kvplan(binary, options(model, engine, tokens, middle))
        if plan and plan["kv_cache"]["reserved_bytes"] <= target:
            low = middle
        else:
            high = middle - 1
    return low


def torch_bytes(model, tokens, sequences, device):
    script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "compare_torch.py")
    done = subprocess.run([sys.executable, script, f"{ROOT}/testdata/configs/{model}.json", str(tokens), str(sequences),
                           device], capture_output=True, text=True, check=False)
    return json.loads(done.stdout) if done.returncode == 0 else None


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--kvplan", default=f"{ROOT}/build/kvplan")
    parser.add_argument("--device", default="cuda:0")
    parser.add_argument("--out", default=f"{ROOT}/testdata/measured")
    parser.add_argument("--most-gib", type=float, default=60)
    arguments = parser.parse_args()
    rows, bad = [], 0
    with tempfile.TemporaryDirectory() as folder:
        calibration = f"{folder}/calibration.json"
        for model, engine, tokens in MODELS:
            seen = set()
            for target in [t for t in TARGETS_GIB if t <= arguments.most_gib]:
                sequences = sequences_for(arguments.kvplan, model, engine, tokens, target << 30)
                if sequences in seen:
                    continue
                seen.add(sequences)
                extra = ["--calibration", calibration] if os.path.exists(calibration) else []
                _, plan, errors = kvplan(arguments.kvplan, options(model, engine, tokens, sequences) + extra + [
                    "--measure", "--device", arguments.device, "--save-calibration", calibration])
                if plan is None:
                    print(f"{model} {engine}: {errors}", file=sys.stderr)
                    bad += 1
                    continue
                found = plan["measurement"]
                row = {
                    "date": datetime.date.today().isoformat(), "card": found["device"]["name"],
                    "driver": found["device"]["driver"], "model": model, "engine": engine,
                    "engine_version": plan["request"]["engine_version"], "max_model_len": found["max_model_len"],
                    "num_seqs": found["num_seqs"], "scaled": found["scaled"],
                    "planned_bytes": found["planned_bytes"], "measured_bytes": found["measured_bytes"],
                    "rounding_bytes": sum(line["rounding_bytes"] for line in found["lines"]),
                    "buffers": sum(line["buffers"] for line in found["lines"]),
                    "granularity_bytes": found["device"]["granularity_bytes"],
                    "nominal_bytes": found["device"]["nominal_bytes"], "usable_bytes": found["device"]["usable_bytes"],
                    "context_bytes": found["device"]["context_bytes"],
                    "planned_context_bytes": found["planned_context_bytes"],
                    "bandwidth_gb_s": found["bandwidth_gb_s"]["mean"] if found["bandwidth_gb_s"] else None,
                    "status": found["status"], "torch_bytes": None,
                }
                if engine == "transformers":
                    row["torch_bytes"] = torch_bytes(model, found["max_model_len"], found["num_seqs"],
                                                     arguments.device)
                # The engine's line for the context and its libraries. After one calibration it is the measured value.
                context, planned = row["context_bytes"], row["planned_context_bytes"]
                off_context = extra and context and planned and abs(planned / context - 1) > 0.10
                # Whole granules are explained, and up to two of them per line may be in memory that the driver already
                # has.
                granules = row["rounding_bytes"] + 2 * len(found["lines"]) * row["granularity_bytes"]
                off = abs(row["measured_bytes"] - row["planned_bytes"]) > 0.01 * row["planned_bytes"] + granules
                # PyTorch's tensors of the same shapes, rounded to 512 B, with no other tensors in between.
                off_torch = row["torch_bytes"] and abs(row["torch_bytes"]["allocated"] - row["planned_bytes"]) > 0.001 * row["planned_bytes"]
                bad += bool(found["status"] != "agrees" or off or off_context or off_torch)
                rows.append(row)
                print(f"{model:18} {engine:12} {found['planned_bytes'] / 2**30:7.2f} GiB planned "
                      f"{found['measured_bytes'] / 2**30:7.2f} measured {100 * found['difference']:+.3f} % "
                      f"{found['status']}{' CONTEXT' if off_context else ''}", flush=True)
    if rows:
        name = re.sub(r"[^a-z0-9]+", "-", f"{rows[0]['card']} {rows[0]['driver']}".lower()).strip("-")
        os.makedirs(arguments.out, exist_ok=True)
        path = os.path.join(arguments.out, f"{name}.jsonl")
        with open(path, "w", encoding="utf-8") as file:
            file.writelines(json.dumps(row) + "\n" for row in rows)
        print(f"{len(rows)} measurements in {path}, {bad} bad")
    sys.exit(1 if bad or not rows else 0)


main()
