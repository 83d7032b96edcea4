"""Configs that leave out what mlx-lm's classes ask for: the defaults of transformers' class, of those keys alone."""
import re

from transformers import CONFIG_MAPPING


class Incomplete(Exception):
    """mlx-lm asks for a key that neither the config nor a default has."""


def filled(config, error):
    """The config with the arguments that `error` names as missing, and their names."""
    if "missing" not in str(error) or config["model_type"] not in CONFIG_MAPPING:
        raise Incomplete(error)
    names = re.findall(r"'(\w+)'", str(error))
    default = CONFIG_MAPPING[config["model_type"]]().to_dict()
    out = with_keys(config, default, names)
    for key, part in config.items():
        if isinstance(part, dict) and isinstance(default.get(key), dict):
            out[key] = with_keys(part, default[key], names)
    if out == config:
        raise Incomplete(error)
    return out, names


def with_keys(part, default, names):
    """`part` and, of the keys that it has not, those of `names`; RoPE's where older files have them."""
    rope = part.get("rope_parameters") or default.get("rope_parameters") or {}
    known = {**default, "rope_scaling": None}
    if "rope_theta" in rope:
        known["rope_theta"] = rope["rope_theta"]
    return {**{name: known[name] for name in names if name in known}, **part}
