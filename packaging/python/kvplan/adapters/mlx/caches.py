"""Measures caches: runs one token through the model, then replays the shapes that each cache was given with more tokens."""
import mlx.core as mx
from mlx_lm.generate import maybe_quantize_kv_cache
from mlx_lm.models import cache as C
from mlx_lm.models.cache import make_prompt_cache

LENGTHS = (1, 255, 256, 257, 1000, 5000, 40000)
DECODED = 1000  # tokens that are replayed one by one, at most
QUANTIZED = (257, 5000)
ROTATING = 4096  # --max-kv-size
ROTATED = (1000, 5000, 40000)
CHUNK = 2048  # tokens of a prompt that generate_step takes at once
GROWING = (C.KVCache, C.RotatingKVCache, C.ChunkedKVCache, C.ConcatenateKVCache)
SEEN = {}  # id of a cache: shapes and types of the keys and values that it was given


def watch(cls):
    plain = cls.update_and_fetch

    def update_and_fetch(self, keys, values):
        SEEN[id(self)] = (keys.shape, keys.dtype, values.shape, values.dtype)
        return plain(self, keys, values)

    cls.update_and_fetch = update_and_fetch


for growing in GROWING:
    watch(growing)


def leaves(item):
    if isinstance(item, (list, tuple)):
        for one in item:
            yield from leaves(one)
    elif isinstance(item, C.CacheList):
        yield from leaves(item.caches)
    elif item is not None:
        yield item


def fresh(leaf):
    if isinstance(leaf, C.RotatingKVCache):
        return C.RotatingKVCache(leaf.max_size, leaf.keep)
    if isinstance(leaf, C.ChunkedKVCache):
        return C.ChunkedKVCache(leaf.chunk_size)
    return type(leaf)()


def kind(leaf):
    name = type(leaf).__name__
    if isinstance(leaf, C.RotatingKVCache):
        return f"{name}({leaf.max_size},{leaf.keep})"
    return f"{name}({leaf.chunk_size})" if isinstance(leaf, C.ChunkedKVCache) else name


def prompt(length):
    """The steps of generate_step: all tokens but the last in chunks, then the last."""
    return [min(CHUNK, length - 1 - at) for at in range(0, length - 1, CHUNK)] + [1]


def replay(cache, seen, steps, bits=0, group=64):
    """Bytes after each step."""
    k_shape, k_type, v_shape, v_type = seen
    out = []
    for step in steps:
        if isinstance(cache, C.ChunkedKVCache):
            cache.maybe_trim_front()
        cache.update_and_fetch(mx.zeros((*k_shape[:2], step, k_shape[3]), k_type), mx.zeros((*v_shape[:2], step, v_shape[3]), v_type))
        if bits and hasattr(cache, "to_quantized"):
            cache = cache.to_quantized(group_size=group, bits=bits)
        out.append(cache.nbytes)
    return out


def end_and_most(sizes):
    """Bytes at the end, and the most after any step if that is more."""
    return sizes[-1] if max(sizes) == sizes[-1] else [sizes[-1], max(sizes)]


class Caches:
    """The caches that mlx-lm makes for a model."""

    def __init__(self, model):
        self.model, self.cache = model, make_prompt_cache(model)

    def kinds(self):
        out = {}
        for leaf in leaves(self.cache):
            out[kind(leaf)] = out.get(kind(leaf), 0) + 1
        return out

    def figures(self):
        SEEN.clear()
        self.model(mx.zeros((1, 1), mx.int32), cache=self.cache)
        fixed = [leaf for leaf in leaves(self.cache) if id(leaf) not in SEEN]
        self.states = sum(leaf.nbytes for leaf in fixed)
        self.groups = {}  # equal caches: one of them, what it saw, whether mlx-lm can quantize them where they stand, how many
        whole = {id(c) for c in self.cache if hasattr(c, "to_quantized")}
        for leaf in leaves(self.cache):
            if id(leaf) in SEEN:
                key = (kind(leaf), SEEN[id(leaf)], id(leaf) in whole)
                self.groups.setdefault(key, [leaf, *key[1:], 0])[-1] += 1
        out = {"shapes": self.shapes()}
        if fixed:
            out.update(states=sorted({type(leaf).__name__ for leaf in fixed}), state_bytes=self.states)
        out["prompt"] = {n: end_and_most(self.after(prompt(n))) for n in LENGTHS}
        decoded = self.after([1] * DECODED)
        out["decode"] = {n: end_and_most(decoded[:n]) for n in LENGTHS if n <= DECODED}
        for bits in (4, 8):
            for group in (64, 32):
                out[f"kv{bits}g{group}"] = self.quantized(bits, group)
        if not hasattr(self.model, "make_cache"):
            out[f"max_kv_size_{ROTATING}"] = {n: self.rotated(n) for n in ROTATED}
        return out

    def after(self, steps, bits=0, group=64):
        """Bytes of all caches after each of the steps."""
        total = [self.states] * len(steps)
        for leaf, seen, whole, count in self.groups.values():
            sizes = replay(fresh(leaf), seen, steps, bits if whole else 0, group)
            total = [before + count * size for before, size in zip(total, sizes)]
        return total

    def rotated(self, tokens):
        """With --max-kv-size, which models that make their own caches ignore."""
        return self.states + sum(count * replay(C.RotatingKVCache(ROTATING, 4), seen, prompt(tokens))[-1]
                                 for _, seen, _, count in self.groups.values())

    def quantized(self, bits, group):
        """{tokens: bytes}, or the reason why mlx-lm does not run this model with quantized caches."""
        try:
            self.run_quantized(bits, group)
            return {n: self.after(prompt(n), bits, group)[-1] for n in QUANTIZED}
        except Exception as e:
            return " ".join(f"{type(e).__name__}: {e}".split())[:160]

    def run_quantized(self, bits, group):
        """As generate_step does with --kv-bits: quantizes after each step the caches that support it."""
        cache = make_prompt_cache(self.model)
        for step in (1, 2, 1):
            self.model(mx.zeros((1, step), mx.int32), cache=cache)
            maybe_quantize_kv_cache(cache, 0, group, bits)

    def shapes(self):
        """{kind: [caches, heads and width of K, heads and width of V, type]}"""
        out = {}
        for leaf, (k, k_type, v, _), _, count in self.groups.values():
            out.setdefault(kind(leaf), []).append([count, k[1], k[3], v[1], v[3], str(k_type).split(".")[-1]])
        return out
