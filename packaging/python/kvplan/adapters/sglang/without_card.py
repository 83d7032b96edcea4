"""Shared by the Engines of all releases: simulated ranks and devices, and the bytes of the tensors that were built."""
import inspect
import types

import torch
from described_card import on_meta
from torch.overrides import TorchFunctionMode


def fitting(function, **given):
    """Calls a function with those of the arguments that it takes in this release; its other arguments are None."""
    takes = inspect.signature(function).parameters
    wanted = {name: None for name, its in takes.items() if its.default is its.empty and its.kind in (its.KEYWORD_ONLY, its.POSITIONAL_OR_KEYWORD)}
    any_name = any(its.kind is its.VAR_KEYWORD for its in takes.values())
    return function(**{**wanted, **{name: value for name, value in given.items() if any_name or name in takes}})


class Ranks(types.SimpleNamespace):
    """A process group whose first rank is this process; unset attributes are None."""

    def __init__(self, size):
        in_torch = types.SimpleNamespace(rank=lambda: 0, size=lambda: size)
        super().__init__(world_size=size, size=size, rank_in_group=0, rank=0, ranks=list(range(size)), is_first_rank=True,
                         is_last_rank=True, device_group=in_torch)

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return None


class OnMeta(TorchFunctionMode):
    """Puts tensors that a model creates on the GPU by name on the meta device, like its others."""

    def __torch_function__(self, function, kinds, args=(), kwargs=None):
        return function(*map(on_meta, args), **{k: on_meta(v) for k, v in (kwargs or {}).items()})


def name_of(dtype):
    return str(dtype).split(".")[-1]


def nbytes(tensor):
    return tensor.numel() * tensor.element_size()


def held(item, seen):
    """Bytes of all tensors below an object of the memory code, each counted once."""
    if isinstance(item, torch.Tensor):
        if id(item) in seen:
            return 0
        seen.add(id(item))
        return nbytes(item)
    if isinstance(item, (list, tuple)):
        return sum(held(one, seen) for one in item)
    if isinstance(item, dict):
        return sum(held(one, seen) for one in item.values())
    if type(item).__module__.startswith("sglang.srt.mem_cache") and id(item) not in seen:
        seen.add(id(item))
        return sum(held(one, seen) for one in getattr(item, "__dict__", {}).values())
    return 0
