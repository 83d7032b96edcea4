#!/usr/bin/env python3
"""Runs in the engine's environment: a config a line on standard input, its row a line on standard output."""
import gc
import json
import os
import signal
import sys

os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("TRANSFORMERS_VERBOSITY", "critical")

import mlx.core as mx  # noqa: E402
from caches import Caches  # noqa: E402
from filled import filled  # noqa: E402
from weights import build, dtype_of, quantized, sizes  # noqa: E402

PATIENCE = 900  # seconds of a model, after which its process ends


def row_of(config):
    """The figures, with what mlx-lm asked for and the config did not have put in; or why there are none."""
    given = []
    while True:
        try:
            row = figures(config)
            return {**row, "filled": given} if given else row
        except (Exception, SystemExit) as e:
            names, config = filled(config, str(e))
            if not names:
                return said(e)
            given += names


def said(e):
    unknown = isinstance(e, ValueError) and "not supported" in str(e)
    return {"refused" if unknown else "not_run": words(e)}


def words(e):
    return " ".join((str(e) if isinstance(e, ValueError) else f"{type(e).__name__}: {e}").split())[:200]


def figures(config):
    dtype = dtype_of(config)
    model = build(config, dtype)
    parameters, size = sizes(model)
    row = {"dtype": str(dtype).split(".")[-1], "params": parameters, "weight_bytes": size}
    caches = Caches(model)
    row["caches"] = caches.kinds()
    try:
        row.update(caches.figures())
    except Exception as e:
        row["forward_error"] = words(e)
    return {**row, "quantized": quantized(build(config, dtype), config)}  # a pass may have turned some weights into float32


def main():
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what mlx-lm prints is no answer
    for line in sys.stdin:
        signal.alarm(PATIENCE)
        print(json.dumps(row_of(json.loads(line)["config"])), file=answers, flush=True)
        gc.collect()
        mx.clear_cache()


if __name__ == "__main__":
    main()
