"""One model of `kvplan verify` in mlx-lm: its parameters and weights with lazy arrays, and its caches after a prompt.

A case: {"folder" (of config.json), "tokens", "bits" (of the cache; 0: not quantized)}
"""
import json
import os

import isolated  # noqa: F401  (mlx prints nothing into the answer)
from worker import words


def row(case):
    from caches import Caches, prompt
    from filled import filled
    from weights import build, dtype_of, sizes

    with open(os.path.join(case["folder"], "config.json")) as f:
        config = json.load(f)
    while True:
        try:
            model = build(config, dtype_of(config))
            break
        except Exception as error:
            if isinstance(error, ValueError) and "not supported" in str(error):
                return {"refused": words(error)}
            names, config = filled(config, str(error))
            if not names:
                raise
    parameters, size = sizes(model)
    out = {"dtype": str(dtype_of(config)).split(".")[-1], "params": parameters, "weight_bytes": size}
    caches = Caches(model)
    try:
        caches.figures()
        steps = prompt(case["tokens"])
        if case["bits"]:
            caches.run_quantized(case["bits"], 64)
        out["cache_bytes"] = caches.after(steps, case["bits"])[-1]
    except Exception as error:
        out["cache_error"] = words(error)
    return out
