"""One model of `kvplan verify` in transformers: its class on the meta device, and the cache that generate() fills.

A case: {"folder" (of config.json), "tokens"}
"""
import json
import os

import imports  # noqa: F401  (first)
import torch
import transformers
from class_defaults import CONFIG_MAPPING, CONFIG_MAPPING_NAMES, class_name
from measured import build, caches, kept_buffers, parameters


def row(case):
    torch.set_num_threads(1)
    with open(os.path.join(case["folder"], "config.json")) as f:
        given = json.load(f)
    kind = given.get("model_type")
    if kind not in CONFIG_MAPPING_NAMES:
        return {"refused": f"the library has no class for model type {kind}"}
    given.pop("quantization_config", None)  # the model is built in 16 bit, as its class has it
    wanted = (given.get("architectures") or [None])[0]
    name = wanted if wanted and hasattr(transformers, wanted) else class_name(kind)
    if name is None:
        return {"refused": f"the library has no class that generates text for model type {kind}"}
    config = CONFIG_MAPPING[kind].from_dict(given)
    try:
        model = build(config, name)
    except Exception:
        model = build(config, name, "eager")
    out = {"class": name, "parameters": parameters(model), "kept_buffers": kept_buffers(model)}
    out["cache"], out["cache_error"] = caches(model, config, name, [case["tokens"]])
    return out
