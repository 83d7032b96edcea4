"""Shared by the Engines of all releases: simulated ranks and devices, and the bytes of the tensors that were built."""
import inspect
import re
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


def become_first_rank(args, tp, ep=None):
    """Fills in the groups of ranks that the modules of releases until 0.5.20 keep. Returns the group of the attention's ranks."""
    from sglang.srt.distributed import parallel_state
    from sglang.srt.layers import dp_attention

    ep, dp = ep or args.ep_size, args.dp_size if args.enable_dp_attention else 1
    for name, value in list(vars(parallel_state).items()):
        if value is None and re.fullmatch(r"_(DCP|(ATTN|MOE)_\w+)", name):
            setattr(parallel_state, name, Ranks(1))
    rank, size, dp_rank, *_ = dp_attention.compute_dp_attention_world_info(args.enable_dp_attention, 0, tp, args.dp_size)
    for name, ranks in (("_WORLD", tp), ("_TP", tp), ("_PP", 1), ("_MOE_EP", ep), ("_MOE_TP", tp // ep), ("_ATTN_TP", size)):
        setattr(parallel_state, name, Ranks(ranks))
    dp_attention._ENABLE_DP_ATTENTION_FLAG, dp_attention._ATTN_TP_GROUP = args.enable_dp_attention, parallel_state._ATTN_TP
    dp_attention._ATTN_TP_RANK, dp_attention._ATTN_TP_SIZE, dp_attention._ATTN_DP_RANK = rank, size, dp_rank
    dp_attention._ATTN_DP_SIZE = dp_attention._LOCAL_ATTN_DP_SIZE = dp
    dp_attention._LOCAL_ATTN_DP_RANK = 0
    return parallel_state._ATTN_TP


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
