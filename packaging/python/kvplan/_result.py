"""Methods of every answer: rows for a data frame, and a table in a notebook."""

import html
from typing import Any, Dict, Iterator, List, Mapping, Union

Cell = Union[None, bool, int, float, str]
Row = Dict[str, Cell]

# Keys of the lists whose entries are the rows of an answer without plans.
_LISTS = ("picks", "models", "gpus", "engines", "rules", "dtypes", "kinds", "changes", "lines")
_MOST_SHOWN = 200  # rows in a notebook


def _flat(data: Mapping[str, Any], prefix: str = "") -> Row:
    """An object's values; nested objects get joined names, and a list of words becomes one text."""
    row: Row = {}
    for key, value in data.items():
        if isinstance(value, Mapping):
            row.update(_flat(value, f"{prefix}{key}_"))
        elif not isinstance(value, list):
            row[prefix + key] = value
        elif not any(isinstance(each, (Mapping, list)) for each in value):
            row[prefix + key] = " ".join(map(str, value))
    return row


def _planned(answer: Mapping[str, Any], part: Mapping[str, Any]) -> Row:
    """A plan, or one plan of an answer (the answer has the model and the request). Memory is that of the fullest GPU."""
    model, request, capacity, bounds = answer["model"], answer["request"], part["capacity"] or {}, part.get("bounds") or {}
    gpu = max(part["memory"], key=lambda each: int(each["total_bytes"]))
    row: Row = {"source": model["source"]}
    if part is not answer:
        row.update(answer=part["name"], changes=" ".join(f"{option} {value}".strip() for option, value in part["changes"].items()),
                   layout=part["layout"])
    row.update({key: request[key] for key in ("engine", "engine_version", "gpu")})
    if part is answer:
        row.update({key: request[key] for key in ("gpu_count", "max_model_len", "num_seqs", "tensor_parallel_size",
                                                  "pipeline_parallel_size", "data_parallel_size")})
    row.update(weights_dtype=part.get("weights_dtype", request["weights_dtype"]),
               kv_cache_dtype=part.get("kv_cache_dtype", request["kv_cache_dtype"]), parameters=model["parameters"]["total"])
    row.update({key: gpu[key] for key in ("weights_bytes", "kv_cache_bytes", "activation_bytes", "runtime_bytes", "total_bytes")})
    row.update(headroom_bytes=part["verdict"]["headroom_bytes"], verdict=part["verdict"]["status"], close=part["verdict"]["close"],
               longest_context=capacity.get("max_model_len"), most_sequences=capacity.get("max_num_seqs"))
    if part is answer:
        row.update(tokens_per_s=bounds.get("tokens_per_s"), tokens_per_s_batch=bounds.get("tokens_per_s_batch"))
    row["command"] = part["command"]
    return row


def _rows(data: Mapping[str, Any]) -> Iterator[Row]:
    if "plans" in data or "fits" in data:
        for each in data.get("plans", data.get("fits", ())):
            yield from _rows(each)
    elif "cards" in data:
        for row in data["rows"]:
            for cell in row.get("cells", [{}]):
                one = {**{key: value for key, value in row.items() if key != "cells"}, "error": row.get("error"), **cell}
                verdict = one.pop("verdict", None) or {}
                one["longest_context"], one["most_sequences"] = one.pop("max_model_len", None), one.pop("max_num_seqs", None)
                one["max_model_len"] = one.pop("planned_model_len", row.get("max_model_len"))
                yield _flat({**one, "headroom_bytes": verdict.get("headroom_bytes"), "verdict": verdict.get("status"),
                             "close": verdict.get("close")})
    elif "answers" in data:
        yield from (_planned(data, part) for part in data["answers"])
    elif "kv_cache" in data:
        yield _planned(data, data)
    else:
        key = next((key for key in _LISTS if key in data), None)
        yield from ([_flat(data)] if key is None else map(_flat, data[key]))


class Result(Dict[str, Any]):
    """An answer: the program's JSON as a dict, whose keys have types in kvplan.results."""

    def rows(self) -> List[Row]:
        """Flat dicts for pandas.DataFrame: one per plan, answer, pair of model and GPU, or table row.

        Bytes of memory are those of the fullest GPU.
        """
        return list(_rows(self))

    def _repr_html_(self) -> str:
        """A table for a notebook. A single row is shown as a column; columns without values are left out."""
        rows = self.rows()
        names = [name for name in dict.fromkeys(name for row in rows for name in row) if any(row.get(name) is not None for row in rows)]
        shown = rows[:_MOST_SHOWN]
        if len(rows) == 1:
            lines = [[_title(name), _shown(name, rows[0][name])] for name in names]
        else:
            lines = [[_title(name) for name in names]] + [[_shown(name, row.get(name)) for name in names] for row in shown]
        cells = "".join("<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in line) + "</tr>" for line in lines)
        more = f"<p>{len(rows) - len(shown)} more rows: rows()</p>" if len(rows) > len(shown) else ""
        return f"<table>{cells}</table>{more}"


def _title(name: str) -> str:
    return (name[: -len("_bytes")] + " GiB" if name.endswith("_bytes") else name).replace("_", " ")


def _shown(name: str, value: Cell) -> str:
    if value is None:
        return ""
    if isinstance(value, (bool, str)):
        return str(value)
    return f"{value / 2**30:,.2f}" if name.endswith("_bytes") else f"{value:,.6g}" if isinstance(value, float) else f"{value:,}"
