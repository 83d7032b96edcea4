"""Builds a model as mlx-lm does, with lazy arrays, which take no memory: counts its parameters, its bytes, and its bytes after quantization."""
import contextlib
import io

import mlx.core as mx
from filled import is_tied
from mlx.utils import tree_flatten
from mlx_lm.convert import mixed_quant_predicate_builder
from mlx_lm.utils import _get_classes, quantize_model

RECIPES = {
    **{f"{bits}g64": {"group_size": 64, "bits": bits} for bits in (4, 8, 6, 3)},
    "4g32": {"group_size": 32, "bits": 4},
    "mxfp4": {"group_size": 32, "bits": 4, "mode": "mxfp4"},
    "nvfp4": {"group_size": 16, "bits": 4, "mode": "nvfp4"},
    "mxfp8": {"group_size": 32, "bits": 8, "mode": "mxfp8"},
    "mixed_4_6": {"group_size": 64, "bits": 4},
    "mixed_3_4": {"group_size": 64, "bits": 4},
}


def dtype_of(config):
    parts = (config, config.get("text_config") or {})
    name = next((part[key] for part in parts for key in ("dtype", "torch_dtype") if part.get(key)), None)
    return {"float16": mx.float16, "float32": mx.float32}.get(name, mx.bfloat16)


def build(config, dtype):
    """Converts the model to its checkpoint's type; what its class keeps in float32 stays float32."""
    Model, Args = _get_classes(config)
    model = Model(Args.from_dict(config))
    drop_head(model, config)
    cast = getattr(model, "cast_predicate", lambda _: True)
    model.load_weights([(name, array.astype(dtype) if cast(name) and mx.issubdtype(array.dtype, mx.floating) else array)
                        for name, array in tree_flatten(model.parameters())], strict=False)
    return model


def drop_head(model, config):
    """Removes the head of a model with tied weights: some classes always build a head, and drop it when they load a checkpoint without one."""
    arrays = dict(tree_flatten(model.parameters()))
    checkpoint = {name: array for name, array in arrays.items() if not name.endswith("lm_head.weight")}
    if is_tied(config) and len(checkpoint) < len(arrays):
        model.sanitize(checkpoint)


def sizes(model):
    """Parameters and bytes. A byte of a BitLinear has four ternary weights."""
    arrays = [array for _, array in tree_flatten(model.parameters())]
    return sum(a.size * (4 if a.dtype == mx.uint8 else 1) for a in arrays), sum(a.nbytes for a in arrays)


def quantized(model, config):
    """{recipe: bytes, or mlx-lm's error if it cannot quantize the model}"""
    out, plain = {}, model.leaf_modules()
    for name, recipe in RECIPES.items():
        try:
            if name.startswith("mixed"):
                recipe = {**recipe, "quant_predicate": mixed_quant_predicate_builder(name, model)}
            with contextlib.redirect_stdout(io.StringIO()):
                quantize_model(model, dict(config), **recipe)
            out[name] = sizes(model)[1]
        except Exception as e:
            out[name] = " ".join(f"{type(e).__name__}: {e}".split())[:160]
        model.update_modules(plain)
    return out
