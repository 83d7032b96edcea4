#!/usr/bin/env python3
"""Runs in the engine's environment: reads a config per line from standard input and writes its row as a line. Each config has its own fork
(isolated.py), which imports mlx, because mlx's threads do not survive a fork."""
import os
import sys

os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("TRANSFORMERS_VERBOSITY", "critical")

sys.path.append(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import isolated  # noqa: E402  (in the folder above)
from filled import filled  # noqa: E402


def row_of(config):
    """The figures, from the config with the keys added that mlx-lm requires; or the reason why there are none."""
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
    from caches import Caches
    from weights import build, dtype_of, quantized, sizes

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


if __name__ == "__main__":
    isolated.serve(lambda job: row_of(job["config"]), said)
