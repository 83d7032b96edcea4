"""The bytes of a cache: of its tensors and of the storage under them, layer by layer."""
from collections import defaultdict

import torch
from transformers import EncoderDecoderCache


def tensors(node, seen, depth=0):
    """The tensors of an object, each once, without scalars for bookkeeping."""
    if id(node) in seen or depth > 8:
        return
    seen.add(id(node))
    if isinstance(node, torch.Tensor):
        if node.dim() > 0:
            yield node
        return
    for value in parts(node):
        yield from tensors(value, seen, depth + 1)


def parts(node):
    if isinstance(node, (list, tuple)):
        return node
    if isinstance(node, dict) or callable(getattr(node, "items", None)) and callable(getattr(node, "keys", None)):
        return list(node.values())
    plain = isinstance(node, (torch.nn.Module, torch.device, torch.dtype, type)) or type(node).__name__.endswith("Config")
    return list(vars(node).values()) if hasattr(node, "__dict__") and not plain else ()


def layers_of(cache):
    """(the part of the cache, the layer). A cache without layers counts as one layer."""
    if isinstance(cache, EncoderDecoderCache):
        return [(":" + part, layer) for part, half in (("self", cache.self_attention_cache), ("cross", cache.cross_attention_cache))
                for layer in half.layers]
    layers = getattr(cache, "layers", None)
    return [("", layer) for layer in layers] if isinstance(layers, list) else [("", cache)]


def in_modules(model):
    """States that the modules store themselves (RecurrentGemma)."""
    for module in model.modules():
        for name, value in vars(module).items():
            if isinstance(value, torch.Tensor) and value.dim() > 0 and "state" in name:
                yield "", value


class Count:
    """Sums over a cache and the states beside it."""

    def __init__(self, cache, model):
        self.bytes = self.storage = 0
        self.rows = []  # a row for each layer
        seen = set()
        for part, layer in layers_of(cache):
            named = vars(layer) if hasattr(layer, "__dict__") and not isinstance(layer, (list, tuple, dict)) else {"": layer}
            self.add(type(layer).__name__ + part, [(name, t) for name, value in named.items() for t in tensors(value, seen)])
        for what, more in ((type(cache).__name__ + ":beside", [("", t) for t in tensors(cache, seen)]),
                           ("in modules", list(in_modules(model)))):
            if more:
                self.add(what, more)

    def add(self, what, named):
        sizes = defaultdict(int)
        for name, t in named:
            key = f"{str(t.dtype).removeprefix('torch.')}:{list(t.shape)}"
            sizes[key if what.endswith((":beside", "in modules")) else f"{name}:{key}"] += t.numel() * t.element_size()
            self.storage += t.untyped_storage().nbytes()
        self.bytes += sum(sizes.values())
        self.rows.append((what, sum(sizes.values()), tuple(key for key, size in sizes.items() if size)))

    def layers(self):
        """Groups equal layers, with their range."""
        equal = defaultdict(list)
        for i, row in enumerate(self.rows):
            equal[row].append(i)
        return [{"class": what, "layers": ranges(of), "bytes": size, "tensors": list(keys)} for (what, size, keys), of in equal.items()]


def ranges(numbers):
    """Writes 0,1,2,5 as 0-2,5."""
    runs = []
    for n in numbers:
        if runs and n == runs[-1][1] + 1:
            runs[-1][1] = n
        else:
            runs.append([n, n])
    return ",".join(f"{low}-{high}" if high > low else f"{low}" for low, high in runs)
