"""Adds keys that a config lacks and mlx-lm's classes require, with the defaults of transformers' class."""
import re

from transformers import CONFIG_MAPPING

# Used if neither the config nor transformers' class has them.
NOTHING_OF_MEMORY = {"rope_scaling": None, "rope_theta": 10000.0, "rope_local_base_freq": 10000.0, "partial_rotary_factor": 0.5,
                     "rotary_emb_base": 10000.0, "rotary_pct": 0.5, "n_ctx": 1024}


def filled(config, error):
    """(names, config): the keys that `error` reports as missing and whose value is known, and the config with them."""
    asked = re.findall(r"'(\w+)'", error) if "required positional argument" in error else re.findall(r"(\w+) is missing", error)
    known = CONFIG_MAPPING[config["model_type"]]().to_dict() if asked and config["model_type"] in CONFIG_MAPPING else {}
    whole = {**known, **config}
    out, names = with_keys(config, known, asked, whole)
    for key, part in config.items():
        if key.endswith("_config") and isinstance(part, dict) and isinstance(known.get(key), dict):
            out[key], more = with_keys(part, known[key], asked, whole)
            names = sorted({*names, *more})
    return names, out


def with_keys(part, known, asked, whole):
    """`part` with those keys of `asked` that it lacks and that have a default, and the names of these keys."""
    rope = part.get("rope_parameters") or known.get("rope_parameters") or {}
    known = {**NOTHING_OF_MEMORY, **rope, **known, **{key: whole[key] for key in ("tie_word_embeddings",) if key in whole}}
    more = {name: known[name] for name in asked if name not in part and name in known}
    return {**part, **more}, sorted(more)


def is_tied(config):
    """Whether the head shares the embedding's weights: as the config says, else its text part, else transformers' class."""
    key, kind = "tie_word_embeddings", config["model_type"]
    known = CONFIG_MAPPING[kind]().to_dict() if kind in CONFIG_MAPPING else {}
    return next((part[key] for part in (config, config.get("text_config") or {}, known) if key in part), False)
