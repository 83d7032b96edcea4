"""How much memory a model takes, in the engine you run, and why.

    >>> import kvplan
    >>> plan = kvplan.plan("org/name", engine="vllm", gpu="h100-80gb", max_model_len="32k")
    >>> plan["verdict"]["status"], plan["kv_cache"]["reserved_bytes"]

Each function asks the program of the same name, and returns what it prints with --json as a dict. Bytes are integers,
and their keys end in _bytes; what does not apply is None, never absent. schema() is the JSON Schema of every answer. That
a model does not fit is an answer; where there is none, KvplanError has the program's line and its exit code.

A MODEL is a path (config.json, a folder with one, *.gguf), a name (org/name[@revision] of the Hugging Face Hub,
ollama:NAME, lmstudio:NAME, llama.cpp:NAME), or the dict of a config.json.

Every option of the program is a keyword: --kv-cache-dtype fp8 is kv_cache_dtype="fp8". True gives an option without a value
(enforce_eager=True), False its opposite (enable_prefix_caching=False), a list several values.
"""

import sys

# "python -m kvplan..." looks for modules in the current folder first, which may be somebody else's checkout.
if sys.argv[:1] == ["-m"] and not sys.flags.isolated and not getattr(sys.flags, "safe_path", False):
    if any(word.startswith(("kvplan", "-mkvplan")) for word in getattr(sys, "orig_argv", ())):
        del sys.path[0]

import importlib.metadata
import os
from typing import Any, Optional, Union

from kvplan._program import Answer, KvplanError, Model, Value, answer, ask, program, run

__all__ = ["Answer", "KvplanError", "Model", "check_log", "compare", "explain", "fit", "gpus", "plan", "program", "schema"]


def __getattr__(name: str) -> Any:
    if name == "__version__":
        return importlib.metadata.version("kvplan")
    raise AttributeError(f"module 'kvplan' has no attribute {name!r}")


def plan(
    model: Model,
    *,
    engine: Optional[str] = None,
    gpu: Optional[str] = None,
    gpu_memory: Union[str, int, None] = None,
    gpu_count: Optional[int] = None,
    max_model_len: Union[str, int, None] = None,
    num_seqs: Optional[int] = None,
    weights: Optional[str] = None,
    kv_cache_dtype: Optional[str] = None,
    tensor_parallel_size: Optional[int] = None,
    **options: Value,
) -> Answer:
    """The memory of a model, part by part.

    engine: "vllm", "sglang", "llama.cpp" ..., with a release "vllm@0.20"; without one, what the architecture needs
    gpu: a card, "h100-80gb", "2x4090"; "auto" for those of this machine
    gpu_memory: the memory of a card instead, "24GiB", or bytes
    gpu_count: cards; without a parallel size the layout that fits best is planned
    max_model_len: tokens of a sequence, 32768 or "32k" (k is 1024); "auto" for the most that fit
    num_seqs: live sequences, each at full length
    weights, kv_cache_dtype: types, "fp8", "q4_k_m"; as the checkpoint and the engine have them where not given
    tensor_parallel_size: tensor parallel ranks

    answer["memory"] has a row for each GPU, answer["kv_cache"] the cache, answer["capacity"] what fits the card in tokens
    and sequences, answer["verdict"] whether it fits. A folder of models gives {"plans": [...]}.
    """
    given = dict(engine=engine, gpu=gpu, gpu_memory=gpu_memory, gpu_count=gpu_count, max_model_len=max_model_len,
                 num_seqs=num_seqs, weights=weights, kv_cache_dtype=kv_cache_dtype,
                 tensor_parallel_size=tensor_parallel_size, **options)
    return answer(ask("plan", model, given))


def fit(
    model: Model,
    *,
    engine: Optional[str] = None,
    gpu: Optional[str] = None,
    gpu_memory: Union[str, int, None] = None,
    max_model_len: Union[str, int, None] = None,
    num_seqs: Optional[int] = None,
    **options: Value,
) -> Answer:
    """What fits a card: the longest context, the most sequences, the fewest GPUs, layouts.

    The options are those of plan(). Each row of answer["answers"] names the options that it changes, and has the parts of
    a plan.
    """
    given = dict(engine=engine, gpu=gpu, gpu_memory=gpu_memory, max_model_len=max_model_len, num_seqs=num_seqs, **options)
    return answer(ask("fit", model, given))


def compare(
    model: Model,
    *,
    engine: Optional[str] = None,
    gpu: Optional[str] = None,
    gpu_memory: Union[str, int, None] = None,
    max_model_len: Union[str, int, None] = None,
    num_seqs: Optional[int] = None,
    **options: Value,
) -> Answer:
    """Weight types and KV types side by side: a row of answer["answers"] for each pair, as fit() has them."""
    given = dict(engine=engine, gpu=gpu, gpu_memory=gpu_memory, max_model_len=max_model_len, num_seqs=num_seqs, **options)
    return answer(ask("compare", model, given))


def explain(model: Model, **options: Value) -> str:
    """Every layer and formula with its numbers put in and where each came from: text, in the Markdown of the program."""
    return ask("explain", model, options, form="markdown")


def check_log(
    log: Union[str, "os.PathLike[str]", None] = None,
    model: Optional[Model] = None,
    *,
    text: Optional[str] = None,
    **options: Value,
) -> Answer:
    """Why an engine did not start, and how its start compares with the plan of `model`.

    log: the path of a start-up log
    text: the log itself, instead of a path
    """
    if (log is None) == (text is None):
        raise TypeError("check_log takes the path of a log, or its text")
    return answer(ask("check-log", model, options, None if log is None else os.fspath(log), text))


def gpus() -> Answer:
    """The catalogue of cards; bytes of memory, GB/s of bandwidth."""
    return answer(run(["gpus", "--json"]))


def schema() -> Answer:
    """The JSON Schema (2020-12) of every answer, each form under "$defs"."""
    return answer(run(["schema"]))
