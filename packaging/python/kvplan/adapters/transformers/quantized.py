#!/usr/bin/env python3
"""What the quantizers of transformers pack: each builds the model on the meta device, replaces its modules, and is asked for every parameter.
Runs like worker.py, in an environment that has the quantizers' packages."""
import math
import os
import sys

sys.path.append(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import imports  # noqa: F401  (first)
import bitsandbytes  # noqa: F401  (before torch claims to have a GPU)
import torch
import transformers
from class_defaults import CONFIG_MAPPING, CONFIG_MAPPING_NAMES, class_name
from isolated import serve
from measured import build, words
from torchao.quantization import Int8WeightOnlyConfig
from transformers.quantizers.auto import AutoHfQuantizer
from transformers.quantizers.quantizers_utils import get_module_from_name

MEMORY = 12 << 30
PLAIN = 2  # bytes of an element that stays in 16 bit
TYPES = {  # kvplan's name of the type: its quantizer, and the bytes of a packed matrix
    "bnb-nf4-single": (lambda: transformers.BitsAndBytesConfig(load_in_4bit=True), lambda n, _: math.ceil(n / 2) + 4 * math.ceil(n / 64)),
    "bnb-int8": (lambda: transformers.BitsAndBytesConfig(load_in_8bit=True), lambda n, shape: n + 4 * shape[0]),
    "quanto-int8": (lambda: transformers.QuantoConfig(weights="int8"), lambda n, shape: n + 2 * shape[0]),
    "int8": (lambda: transformers.TorchAoConfig(Int8WeightOnlyConfig()), lambda n, shape: n + 2 * shape[0]),
    "fp8-block": (lambda: transformers.FineGrainedFP8Config(), None),  # its scales are parameters
}


def true_shape(model, name, param):
    module, _ = get_module_from_name(model, name)
    return (getattr(module, "out_features", param.shape[0]), getattr(module, "in_features", param.numel() // param.shape[0]))


def bytes_of(model, quantizer, packed):
    total = 0
    for name, param in model.named_parameters():
        if name in model.all_tied_weights_keys:
            continue
        if quantizer.param_needs_quantization(model, name):
            total += packed(param.numel(), true_shape(model, name, param)) if packed else param.numel() * param.element_size()
        else:
            total += param.numel() * (4 if name.endswith("scale_inv") else PLAIN)
    return total


def quantized(given, config, name):
    out = {}
    for kind, (asked, packed) in TYPES.items():
        try:
            quantizer = AutoHfQuantizer.from_config(asked(), pre_quantized=False)
            model = build(config, name)
            quantizer.preprocess_model(model=model, dtype=torch.bfloat16, device_map={"": 0}, checkpoint_files=None)
            out[kind] = int(bytes_of(model, quantizer, packed))
        except Exception as e:
            out[kind] = words(e)
    return out


def row_of(job):
    given = job["config"]
    kind = given.get("model_type")
    if kind not in CONFIG_MAPPING_NAMES:
        return {"not_run": f"the library has no class for model type {kind}"}
    wanted = (given.get("architectures") or [None])[0]
    name = wanted if wanted and hasattr(transformers, wanted) else class_name(kind)
    try:
        return {"class": name, "quantized": quantized(given, CONFIG_MAPPING[kind].from_dict(given), name)}
    except Exception as e:
        return {"not_run": words(e)}


def main():
    torch.set_num_threads(1)
    torch.cuda.is_available = lambda: True  # as on a GPU: nothing is allocated there
    serve(row_of, lambda error: {"not_run": words(error)}, MEMORY)


if __name__ == "__main__":
    main()
