"""The names that a release of mlx-lm declares: lists read from the source of its wheel, without running it."""
import os

import source as read

EXPECTED = {"options": ("--model", "--port"), "options of mlx_lm.generate": ("--model", "--prompt"), "modules": ("llama", "qwen2"),
            "renamed types": ("mistral",), "caches": ("KVCache",)}


def lists(source):
    return {"options": options(source, "server"), "options of mlx_lm.generate": options(source, "generate"), "modules": modules(source),
            "renamed types": renamed(source), "caches": caches(source)}


def options(source, program):
    out = {"--help": "flag -h"}
    for _, tree in read.trees(source, f"mlx_lm/{program}.py"):
        for call in read.calls(tree, "add_argument"):
            if names := read.names_of(call):
                words = read.keywords(call)
                name, what = read.option(names, read.text(words.get("nargs")), read.action_of(words))
                out[name] = what
    return out


def modules(source):
    """Each model type is the name of a module."""
    names = (os.path.basename(path).removesuffix(".py") for path, tree in read.trees(source, "mlx_lm/models/*.py") if "Model" in read.classes(tree))
    return dict.fromkeys(names, "")


def renamed(source):
    out = {}
    for _, tree in read.trees(source, "mlx_lm/utils.py"):
        table = read.assigned(tree).get("MODEL_REMAPPING")
        out.update({read.text(key): read.text(value) for key, value in zip(table.keys, table.values)})
    return out


def caches(source):
    for _, tree in read.trees(source, "mlx_lm/models/cache.py"):
        return {name: "" for name, cls in read.classes(tree).items() if name.endswith(("Cache", "CacheList"))}
    return {}
