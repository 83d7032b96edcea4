"""Builds a model on the meta device, with its true layers and shapes, and measures its weights and its cache."""
import copy
import os
import re
import traceback

import torch
import transformers
from filled import filled, filled_static

STATIC = 5000  # tokens of the static cache


def all_experts(model):
    """Chooses the experts' code path that reads no tensor values."""
    for module in model.modules():
        if hasattr(getattr(module, "config", None), "_experts_implementation_internal"):
            try:
                module.config._experts_implementation_internal = "batched_mm"
            except Exception:  # a config that lets nothing be set
                pass


def build(config, name, attention=None, dtype=torch.bfloat16):
    kwargs = {"attn_implementation": attention} if attention else {}
    with torch.device("meta"):
        model = getattr(transformers, name)._from_config(copy.deepcopy(config), dtype=dtype, **kwargs)
    all_experts(model)
    return model.eval()


def parameters(model):
    return sum(p.numel() for p in model.parameters())  # a tied tensor is given once


def kept_buffers(model):
    kept = set(model.state_dict())
    return sum(b.numel() for name, b in model.named_buffers() if name in kept)


def first(x=None, *_, hidden_states=None, **__):
    return hidden_states if x is None else x


def shorten(model):
    """Replaces norms, MLPs and experts by functions that return their input: they do not use the cache, and take half of the time on the meta
    device."""
    for module in model.modules():
        if type(module).__name__.endswith(("RMSNorm", "LayerNorm", "MLP", "Experts")):
            module.forward = first


def windows(config):
    names = ("sliding_window", "attention_chunk_size", "attention_window_size", "window_size", "sliding_window_size")
    found = [getattr(part, name, None) for part in (config.get_text_config(decoder=True), config) for name in names]
    return [w for w in found if isinstance(w, int) and not isinstance(w, bool) and w > 1]


def lengths(config, real):
    """Token counts at which the cache is measured. Plain layers grow linearly, and states have a constant part. A window is measured after it is
    full and one token was decoded alone: until then its view covers the whole prompt."""
    text = config.get_text_config(decoder=True)
    kinds = getattr(text, "layer_types", None) or ["mamba"]
    states = any(word in kind for kind in kinds for word in ("linear", "conv", "hybrid", "mamba"))
    out = ([1] if states or real else []) + [100]
    edge = windows(config)
    if getattr(text, "compress_rates", None) or getattr(text, "compress_ratios", None):
        out += [1000, 1001] if edge else []
    elif edge:
        out += [max(edge) + 37, max(edge) + 38]
    return out


def caches(model, config, name, wanted, dtype=torch.bfloat16):
    """(entries, the reason if they are incomplete). Tries the shortened model, then the whole one, then without fused attention, then the same
    with fewer tokens."""
    shorten(model)
    done, why = [], None
    for points, again in ((wanted, None), (wanted, {}), (wanted, {"attention": "eager"}), ([100], {"attention": "eager"})):
        try:
            if again is not None:
                model = build(config, name, dtype=dtype, **again)
            for entry in filled(model, config, [n for n in points if n not in [e["tokens"] for e in done]]):
                done.append(entry)
            return done, None
        except Exception as e:
            why = words(e)
            if any(entry["tokens"] >= 100 for entry in done):
                break
    return done, why


def words(e):
    """An error on one line with the place in the model, without parts that differ between runs."""
    places = traceback.extract_tb(e.__traceback__)
    place = next((p for p in reversed(places) if "/models/" in p.filename), places[-1] if places else None)
    text = re.sub(r"0x[0-9a-f]+", "0x", " ".join(f"{type(e).__name__}: {e}".split()))
    text = re.sub(r"/\S*/site-packages/", "", text)
    return text[:200] + (f" @{os.path.basename(place.filename)}:{place.lineno}" if place else "")


def measured(config, name, real, static):
    try:
        model = build(config, name)
    except Exception:
        model = build(config, name, "eager")
    row = {"parameters": parameters(model), "kept_buffers": kept_buffers(model)}
    row["cache"], why = caches(model, config, name, lengths(config, real))
    if not row["cache"]:
        del row["cache"]
    elif any("doubtful" in entry for entry in row["cache"]):
        row["artefact"] = True
    if why:
        row["cache_error"] = why
    if static:
        row.update(static_cache(config, name))
    return row


def static_cache(config, name):
    for short in (True, False):
        model = build(config, name)
        if short:
            shorten(model)
        try:
            return {"static": filled_static(model, config, STATIC)}
        except Exception as e:
            why = words(e)
    return {"static_error": why}
