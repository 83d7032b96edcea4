"""One model of `kvplan verify` in transformers: its class on the meta device, and the cache that generate() fills.

A case: {"folder" (of config.json), "tokens", "dtype"}
"""
import json
import os

import imports  # noqa: F401  (first)
import torch
import transformers
from class_defaults import CONFIG_MAPPING, CONFIG_MAPPING_NAMES, class_name, encoder_only
from measured import build, caches, kept_buffers, parameters


def steps(tokens):
    """The prompt and one token that is decoded alone: until then the view of a window covers the whole prompt."""
    return [tokens - 1, tokens] if tokens > 1 else [tokens]


def row(case):
    torch.set_num_threads(1)
    with open(os.path.join(case["folder"], "config.json")) as f:
        given = json.load(f)
    kind = given.get("model_type")
    if kind not in CONFIG_MAPPING_NAMES:
        return {"not_run": f"the library has no class for model type {kind}"}
    given.pop("quantization_config", None)  # the model is built in 16 bit, as its class has it
    dtype = getattr(torch, case["dtype"] or "bfloat16", torch.bfloat16)
    wanted = (given.get("architectures") or [None])[0]
    name = wanted if wanted and hasattr(transformers, wanted) else class_name(kind)
    if name is None:
        return {"not_run": f"the library has no class that generates text for model type {kind}"}
    config = CONFIG_MAPPING[kind].from_dict(given)
    try:
        model = build(config, name, dtype=dtype)
    except Exception:
        model = build(config, name, "eager", dtype)
    out = {"class": name, "renamed": wanted not in (None, name),  # the config names a class of its repository's code
           "parameters": parameters(model), "kept_buffers": kept_buffers(model)}
    out["cache"], out["cache_error"] = ([], None) if encoder_only(config) else caches(model, config, name, steps(case["tokens"]), dtype)
    return out
