"""Compares the engine's figures with kvplan's plan, figure by figure, in each engine's own terms."""

import re
from typing import Any, Callable, Dict, List, NamedTuple, Sequence, Union

from kvplan._program import Answer

Value = Union[None, bool, int, float, str]
Row = Dict[str, Any]
GIB, MIB = 1 << 30, 1 << 20
FEW_KILOBYTES = 64 << 10  # of weights: scales and tables that kvplan has no line for


class Figure(NamedTuple):
    name: str
    planned: Value
    engine: Value
    slack: float = 0.0  # how far apart two numbers may be, as the engine rounds what it prints

    @property
    def is_equal(self) -> bool:
        if isinstance(self.planned, (int, float)) and isinstance(self.engine, (int, float)):
            return abs(self.planned - self.engine) <= self.slack
        return self.planned == self.engine


def _lines(plan: Answer, part: str, wanted: Callable[[str, str], bool]) -> int:
    return sum(line["bytes"] for line in plan["memory"][0]["lines"]
               if line["part"] == part and wanted(line["id"] or "", line["what"]))


def _start(plan: Answer, row: Row, later: Sequence[str] = (), by_memory: bool = False) -> Figure:
    """Whether the engine starts. If kvplan refuses something that the engine was not run far enough to check, that is not a difference. A lack of
    memory is a difference only if the engine was given the budget."""
    verdict = plan["verdict"]
    size = (row.get("plans") or [{}])[0]
    starts = "refused" not in row and "refused" not in size and "needed_gib" not in size
    if verdict["refusal"] is not None:
        return Figure("starts", starts and (verdict["refusal_code"] or "") in later, starts)
    if not by_memory:
        return Figure("starts", True, starts)
    return Figure("starts", starts if verdict["starts"] is None else verdict["starts"], starts)


# --- vLLM

_OTHER_WEIGHTS = re.compile(r"^loading|\bmtp\b|\bdraft", re.IGNORECASE)


def _of_model(line_id: str, what: str) -> bool:
    return not _OTHER_WEIGHTS.search(line_id.replace("_", " ") or what)


def paged(groups: Sequence[Sequence[Any]]) -> int:
    """The largest block of a paged group. For a model that only has states: the smallest block."""
    paged = [group[2] for group in groups if "Mamba" not in group[0]]
    return int(max(paged) if paged else min(group[2] for group in groups))


def vllm(plan: Answer, row: Row) -> List[Figure]:
    out = [_start(plan, row, ("sequences", "quantized_head"), by_memory=True)]
    if "refused" in row:
        return out
    settings, capacity, cache = plan["engine_settings"], plan["capacity"], plan["kv_cache"]
    if plan["model"]["architecture"]:
        out.append(Figure("model class", plan["model"]["architecture"], row["arch"]))
    out.append(Figure("max context", plan["request"]["max_model_len"], row["max_model_len"]))
    for name, key in (("tokens of a batch", "max_num_batched_tokens"), ("sequences of a batch", "max_num_seqs")):
        out.append(Figure(name, settings[key], row[key]))
    if "graphs" in row:
        out.append(Figure("CUDA graph sizes", settings["cuda_graph_sizes"], row["graphs"][1]))
    if row.get("only_arguments"):
        return out
    if "prefix_caching" in row and settings["prefix_caching"] is not None:
        out.append(Figure("prefix caching", settings["prefix_caching"], row["prefix_caching"]))
    weights = row["weights"]
    built = weights["parameters"] + weights["buffers"] + weights["plain"]
    out.append(Figure("weights, bytes", _lines(plan, "weights", _of_model), built, FEW_KILOBYTES))
    out.append(Figure("layers with a cache", sum(group["layers"] for group in cache["groups"]), sum(spec["layers"] for spec in row["specs"])))
    if capacity is None or not row["plans"]:
        return out
    size = row["plans"][0]
    if "tokens" not in size:
        if "needed_gib" in size:
            needed = plan["memory"][0]["kv_cache_bytes"] - _lines(plan, "kv_cache", lambda line_id, _: line_id == "encoder_cache")
            out.append(Figure("KV cache needed, GiB", round(needed / GIB, 4), size["needed_gib"], 0.00501))
        if "longest" in size:
            out.append(Figure("longest context that fits", capacity["max_model_len_by_memory"], size["longest"]))
        return out
    if len(cache["groups"]) == len(size["groups"]) == 1:
        out.append(Figure("page, bytes", cache["groups"][0]["page_bytes"], size["groups"][0][3]))
    if cache["block_size"] is not None:
        out.append(Figure("block size, tokens", cache["block_size"], paged(size["groups"])))
    out.append(Figure("blocks", capacity["num_blocks"], size["blocks"]))
    out.append(Figure("tokens", capacity["tokens"], size["tokens"]))
    out.append(Figure("concurrency", capacity["max_concurrency"], size["concurrency"], 1e-6 * size["concurrency"]))
    return out


# --- SGLang

def sglang(plan: Answer, row: Row) -> List[Figure]:
    # If the weights do not fit, there is no budget to compare what the engine makes of it.
    has_budget = plan["capacity"] is not None and plan["capacity"]["kv_cache_memory_bytes"] > 0
    # Kernels are chosen with the weights, which are not loaded.
    out = [_start(plan, row, ("quantization", "card"), by_memory=has_budget)]
    if "refused" in row:
        return out
    settings, capacity, args = plan["engine_settings"], plan["capacity"], row["args"]
    out.append(Figure("max context", plan["request"]["max_model_len"], row["model"]["context_len"]))
    out.append(Figure("memory fraction", settings["memory_fraction"], args["mem_fraction_static"], 1e-6))
    if settings["max_num_batched_tokens"] is not None:
        out.append(Figure("tokens of a chunk", settings["max_num_batched_tokens"], args["chunked_prefill_size"]))
    if args.get("decode_graph"):
        out.append(Figure("CUDA graph sizes", settings["cuda_graph_sizes"], args["decode_graph"][2]))
    out.append(Figure("page size, tokens", plan["kv_cache"]["block_size"], args["page_size"]))
    if row.get("only_arguments"):
        return out
    if "weights_built" in row:
        built = row["weights_built"]["parameters"] + row["weights_built"]["buffers"]
        planned = _lines(plan, "weights", lambda line_id, what: not (line_id.replace("_", " ") or what).startswith("loading"))
        out.append(Figure("weights, bytes", planned, built, FEW_KILOBYTES))
    if has_budget and row.get("pool"):
        out.append(Figure("tokens", capacity["tokens"], row["pool"]["max_total_num_tokens"]))
    if has_budget and "built" in row:
        table = _lines(plan, "runtime", lambda line_id, _: line_id == "request_table")
        out.append(Figure("request table, bytes", table, row["built"]["req_table_bytes"]))
    if "state_slot" in row:
        padding = _lines(plan, "kv_cache", lambda line_id, _: line_id == "state_padding_slot")
        out.append(Figure("state slot, bytes", padding, row["state_slot"]))
        out.append(Figure("state slots of a request", settings["state_slots_per_sequence"], row["mamba_ratio"]))
    return out


# --- transformers

def transformers(plan: Answer, row: Row) -> List[Figure]:
    out = [_start(plan, row)]
    if "refused" in row:
        return out
    if plan["model"]["architecture"] and not row.get("renamed"):
        out.append(Figure("model class", plan["model"]["architecture"], row["class"]))
    total = plan["model"]["parameters"]["total"]
    # Both are correct: a tensor of the checkpoint may be a buffer in the class.
    with_buffers = row["parameters"] + row["kept_buffers"]
    out.append(Figure("parameters", total, with_buffers if total == with_buffers else row["parameters"]))
    tokens = plan["request"]["max_model_len"]
    cache = next((entry for entry in row["cache"] if entry["tokens"] == tokens), None)
    if cache is not None and "source" not in cache:  # of so many tokens of an encoder as the adapter reads
        out.append(Figure("KV cache, bytes", plan["kv_cache"]["reserved_bytes"], cache.get("storage", cache["bytes"])))
    return out


# --- mlx-lm

def mlx(plan: Answer, row: Row) -> List[Figure]:
    out = [_start(plan, row, ("quantization",))]  # no weights are loaded
    if "refused" in row:
        return out
    out.append(Figure("parameters", plan["model"]["parameters"]["total"], row["params"]))
    if plan["request"]["weights_dtype"] == row["dtype"]:
        out.append(Figure("weights, bytes", plan["memory"][0]["weights_bytes"], row["weight_bytes"]))
    if "cache_bytes" in row:
        out.append(Figure("KV cache, bytes", plan["kv_cache"]["reserved_bytes"], row["cache_bytes"]))
    return out


# --- llama.cpp

def llama_cpp(plan: Answer, row: Row) -> List[Figure]:
    out = [_start(plan, row)]
    if "refused" in row:
        return out
    request, settings, parameters = plan["request"], plan["engine_settings"], plan["model"]["parameters"]
    out.append(Figure("parameters", parameters["total"] + (parameters["mtp"] or 0), row["parameters"]))
    out.append(Figure("context of all sequences", request["max_model_len"] * row["sequences"], row["n_ctx"]))
    out.append(Figure("tokens of a batch", settings["max_num_batched_tokens"], row["n_batch"]))
    out.append(Figure("tokens of a micro-batch", settings["n_ubatch"], row["n_ubatch"]))
    # The library prints two decimals. A GPU pads each quantized tensor to 512 elements, which a CPU does not.
    padded = 0 if request["kv_cache_dtype"] in ("float16", "bfloat16", "float32") else 3 * plan["model"]["num_layers"] * 544
    planned = round(plan["kv_cache"]["reserved_total_bytes"] / MIB, 2)
    out.append(Figure("KV cache, MiB", planned, round(sum(row["cache_mib"]), 2), 0.005 * (1 + len(row["cache_mib"])) + padded / MIB))
    return out


COMPARE: Dict[str, Callable[[Answer, Row], List[Figure]]] = {"vllm": vllm, "sglang": sglang, "transformers": transformers, "mlx": mlx, "llama.cpp": llama_cpp}
