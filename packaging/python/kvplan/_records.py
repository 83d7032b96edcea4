"""The files that verify writes on request: a calibration for later plans, and a row for kvplan's tests/conformance."""

import json
from typing import Any, Dict, Iterator, List, Optional

from kvplan._figures import paged
from kvplan._program import Answer

Row = Dict[str, Any]
_PRIVATE = ("_name_or_path", "transformers_version", "auto_map")
# As the rows of tests/conformance name SGLang's cards: by their memory.
_SGLANG_CARDS = {"rtx-4090": "24", "a100-40gb": "40", "l40s": "48", "h100-80gb": "80", "h200": "141", "b200": "180"}


def said(engine: str, row: Row, weights_differ: bool, budget: int) -> str:
    """The engine's figures in the form in which the program stores them; "" if there are none. `budget`: bytes that it had for its cache."""
    out: Dict[str, float] = {}
    if engine == "vllm" and "weights" in row:
        if weights_differ:
            out["weights_bytes"] = sum(row["weights"][part] for part in ("parameters", "buffers", "plain"))
        size: Row = next((plan for plan in row["plans"] if "tokens" in plan), {})
        block = block_bytes(size)
        if "tokens" in size and block:
            request = round(size["blocks"] / size["concurrency"])
            if size["tokens"] == int(size["blocks"] / request * row["max_model_len"]):
                out.update(block_bytes=block, request_blocks=request, block_tokens=paged(size["groups"]))
        if row.get("graphs", [0, 0])[1]:
            out["graph_sizes"] = row["graphs"][1]
        if "prefix_caching" in row:
            out["prefix_caching"] = int(row["prefix_caching"])
    if engine == "sglang" and weights_differ and "weights_built" in row:
        out["weights_bytes"] = row["weights_built"]["parameters"] + row["weights_built"]["buffers"]
    cell, page = row.get("cells", {}).get("_cell_size"), row.get("args", {}).get("page_size")
    if engine == "sglang" and cell and row.get("pool", {}).get("max_total_num_tokens") == int(budget / cell) // page * page:
        out["token_bytes"] = cell
    return ",".join(f"{name}={value}" for name, value in out.items())


def block_bytes(size: Row) -> Optional[int]:
    """Bytes of a block in all layers. Older releases only give them through their single group. None if the engine does not give its blocks."""
    groups = size.get("groups", [])
    block = size.get("block_bytes") or (groups[0][1] * groups[0][3] if len(groups) == 1 else 0)
    return int(block) if block and size["mem"] // block == size["blocks"] else None


def public(node: Any) -> Any:
    """A config without paths and without keys that do not affect memory."""
    if isinstance(node, dict):
        kept = {key: public(value) for key, value in node.items() if key not in _PRIVATE}
        return {key: value for key, value in kept.items() if not (isinstance(value, str) and ("/" in value or "\\" in value))}
    return [public(item) for item in node] if isinstance(node, list) else node


def options(words: List[str]) -> Iterator[Any]:
    """(field, value) of the options of a command."""
    names = [at for at, word in enumerate(words) if word.startswith("--")]
    for at, end in zip(names, [*names[1:], len(words)]):
        name, values = words[at][2:].replace("-", "_"), words[at + 1:end]
        if not values:
            yield (name[3:], False) if name.startswith("no_") else (name, True)
            continue
        try:
            yield name, json.loads(values[0])
        except ValueError:
            yield name, values[0]


def report(engine: str, release: str, plan: Answer, config: Row, words: List[str], row: Row) -> str:
    """The first line and the row of a file in testdata/conformance."""
    card, ranks = plan["request"]["gpu"], plan["request"]["tensor_parallel_size"]
    figures = {key: public(value) if isinstance(value, dict) else value
               for key, value in row.items() if key not in ("peak_bytes", "renamed") and value is not None}
    head: Row = {"config": public(config), "release": release}
    if engine == "vllm":
        args = public({key: value for key, value in options(words) if key != "tensor_parallel_size"})
        head = {"kind": "plan", **head, "card": card, "tp": ranks, "args": args}
    elif engine == "sglang":
        head = {"kind": "plan", **head, "card": _SGLANG_CARDS.get(card, card), "tp": ranks}
    elif engine == "llama.cpp":
        head = {"model": plan["model"]["name"], "release": release, "case": " ".join(word for word in words if public({"": word}))}
    elif engine == "transformers":
        head = {"id": "real/" + str(plan["model"]["name"]), "model_type": config.get("model_type"), **head}
    else:
        figures["prompt"] = {str(plan["request"]["max_model_len"]): figures.pop("cache_bytes", None)}
    lines = ({"engine": engine, "release": release, "ran_with": {engine: release}}, {**head, **figures})
    return "".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines)
