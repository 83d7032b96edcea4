"""How much memory a model takes, in the engine you run, and why.

    >>> import kvplan
    >>> plan = kvplan.plan("Qwen3-8B", engine="vllm", gpu="h100-80gb", max_model_len="32k")
    >>> plan["verdict"]["status"], plan["kv_cache"]["reserved_bytes"]

Each function runs the command of the same name and returns its JSON as a dict with typed keys (kvplan.results). Bytes are
integers and their keys end in _bytes. A value that does not apply is None, never absent. answer.rows() is a list of flat dicts for a
data frame, and a notebook shows an answer as a table. "Does not fit" is an answer. If there is no answer, KvplanError has the
program's message and exit code.

A MODEL is a path (config.json, a folder with one, *.gguf), a name that models() lists, org/name[@revision] of the Hugging Face
Hub, an ollama tag, ollama:NAME, lmstudio:NAME, llama.cpp:NAME, or the dict of a config.json.

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
from typing import Any, Dict, List, Optional, Sequence, Tuple, TypeVar, Union, cast, overload

from kvplan import results
from kvplan._program import KvplanError, Model, Models, Value, answer, ask, program, run
from kvplan._result import Result

__all__ = ["KvplanError", "Model", "Models", "Result", "check_log", "compare", "diff", "explain", "fit", "formulas", "gpus", "models",
           "pick", "plan", "program", "results", "schema"]

_Command = Union[str, Sequence[str], None]
_Size = Union[str, int, float, None]
_Form = TypeVar("_Form", bound=Result)


def _typed(kind: "type[_Form]", text: str) -> _Form:
    """An answer in the class of its form, which is `kind` unless several models, GPUs or types were requested."""
    return cast(_Form, _classed(answer(text)))


def _table(kind: "type[_Form]", command: str, words: Tuple[str, ...]) -> _Form:
    for word in words:
        if word.startswith("-"):
            raise KvplanError(f"kvplan: {command}: {word} is not a name; {command}() takes no options", 2)
    return _typed(kind, run([command, "--json", *words]))


def _classed(data: Dict[str, Any]) -> Dict[str, Any]:
    for key in ("plans", "fits"):
        if key in data:
            data[key] = [_classed(each) for each in data[key]]
    form = next((form for key, form in results.FORMS.items() if key in data), None)
    return data if form is None else form(data)


def __getattr__(name: str) -> Any:
    if name == "__version__":
        return importlib.metadata.version("kvplan")
    raise AttributeError(f"module 'kvplan' has no attribute {name!r}")


@overload
def plan(model: Optional[Model] = None, *, command: _Command = None, engine: Optional[str] = None, gpu: Optional[str] = None,
         gpu_memory: _Size = None, gpu_count: Optional[int] = None, max_model_len: _Size = None, num_seqs: Optional[int] = None,
         weights: Optional[str] = None, kv_cache_dtype: Optional[str] = None, tensor_parallel_size: Optional[int] = None,
         **options: Value) -> results.Plan: ...
@overload
def plan(model: Models, *, engine: Optional[str] = None, gpu: Optional[str] = None,
         gpu_memory: _Size = None, gpu_count: Optional[int] = None, max_model_len: _Size = None, num_seqs: Optional[int] = None,
         weights: Optional[str] = None, kv_cache_dtype: Optional[str] = None, tensor_parallel_size: Optional[int] = None,
         **options: Value) -> results.Fleet: ...
@overload
def plan(model: Union[Model, Models], *, gpu: Union[List[str], Tuple[str, ...]], engine: Optional[str] = None,
         gpu_memory: _Size = None, gpu_count: Optional[int] = None, max_model_len: _Size = None, num_seqs: Optional[int] = None,
         weights: Optional[str] = None, kv_cache_dtype: Optional[str] = None, tensor_parallel_size: Optional[int] = None,
         **options: Value) -> results.Grid: ...


def plan(model: Any = None, *, command: Any = None, **options: Any) -> Result:
    """The memory of a model, part by part.

    model: one model, or a list of models
    command: an engine's launch command instead of a model, "vllm serve Qwen/Qwen3-8B -tp 2", or its words; with a model
        too, that one replaces the one in the command
    engine: "vllm", "sglang", "llama.cpp" ..., with a release "vllm@0.20"; without one, the minimum for the architecture
    gpu: a GPU, "h100-80gb", "2x4090"; "auto" for those of this machine; a list of GPUs for a grid
    gpu_memory: a GPU's memory instead of its name, "24GiB", or bytes
    gpu_count: number of GPUs; without a parallel size the layout that fits best is planned
    max_model_len: tokens of a sequence, 32768 or "32k" (k is 1024); "auto" for the longest that fits
    num_seqs: sequences at once, each at full length
    weights, kv_cache_dtype: types, "fp8", "q4_k_m"; without them the checkpoint's and the engine's own
    tensor_parallel_size: tensor parallel ranks

    answer["memory"] has a row for each GPU, answer["kv_cache"] the cache, answer["capacity"] how many tokens
    and sequences fit the GPU, answer["verdict"] whether it fits.

    A list of models gives a Fleet, whose answer["plans"] has a plan or an error for each. Two or more GPUs give a Grid. So do
    a folder of models, and names with commas between them.
    """
    if model is None and command is None:
        raise TypeError("plan takes a model, or an engine's launch command")
    got = _typed(results.Plan, ask("plan", model, options, launch=command))
    rows: List[Any] = got.get("rows", got.get("plans", []))
    if rows and not isinstance(model, (list, tuple)) and all("exit" in row for row in rows):  # several GPUs, and no plan
        raise KvplanError(f"kvplan: {rows[0]['error']}", rows[0]["exit"])
    if isinstance(model, (list, tuple)) and isinstance(got, results.Plan):
        return results.Fleet(schema_version=1, kvplan_version=got["kvplan_version"], plans=[got], shared_card=None)
    return got


def fit(model: Optional[Model] = None, *, command: _Command = None, engine: Optional[str] = None, gpu: Optional[str] = None,
        gpu_memory: _Size = None, max_model_len: _Size = None, num_seqs: Optional[int] = None, users: Optional[int] = None,
        **options: Value) -> results.Answers:
    """What fits a GPU: the longest context, the most sequences, the fewest GPUs, layouts.

    The options are those of plan(). Each row of answer["answers"] names the options that it changes, and has the parts of
    a plan. With users=N, answer["users"] has the GPUs and nodes for that many users at once.
    """
    given = dict(engine=engine, gpu=gpu, gpu_memory=gpu_memory, max_model_len=max_model_len, num_seqs=num_seqs, users=users, **options)
    return _typed(results.Answers, ask("fit", model, given, launch=command))


def compare(model: Optional[Model] = None, *, command: _Command = None, engine: Optional[str] = None, gpu: Optional[str] = None,
            gpu_memory: _Size = None, max_model_len: _Size = None, num_seqs: Optional[int] = None, **options: Value) -> results.Answers:
    """Weight types and KV types side by side: one row of answer["answers"] per pair, as in fit()."""
    given = dict(engine=engine, gpu=gpu, gpu_memory=gpu_memory, max_model_len=max_model_len, num_seqs=num_seqs, **options)
    return _typed(results.Answers, ask("compare", model, given, launch=command))


def explain(model: Model, **options: Value) -> str:
    """Every layer, every formula with its numbers, and where each number comes from, as Markdown."""
    return ask("explain", model, options, form="markdown")


def diff(old: Model, new: Model, **options: Value) -> results.Diff:
    """What changed between two models or plans: paths of saved plans, answers of plan(), or models planned with `options`."""
    return _typed(results.Diff, ask("diff", [old, new], options))


def pick(*, gpu: Optional[str] = None, gpu_memory: _Size = None, gpu_count: Optional[int] = None, host_memory: _Size = None,
         engine: Optional[str] = None, task: Optional[str] = None, max_model_len: _Size = None, users: Optional[int] = None,
         all: bool = False, **options: Value) -> results.Pick:
    """Models that run on a GPU, or on this machine if no GPU is given; one row of answer["picks"] per model.

    host_memory: main memory, for weights that do not fit the GPU
    task: "chat" (the default), "code", "vision", "embedding", "reranking" or "speech"
    all: also older generations
    """
    given = dict(gpu=gpu, gpu_memory=gpu_memory, gpu_count=gpu_count, host_memory=host_memory, engine=engine, task=task,
                 max_model_len=max_model_len, users=users, all=all or None, **options)
    return _typed(results.Pick, ask("pick", None, given))


def check_log(log: Union[str, "os.PathLike[str]", None] = None, model: Optional[Model] = None, *, text: Optional[str] = None,
              **options: Value) -> results.CheckLog:
    """Why an engine did not start, and how its start compares with the plan of `model`.

    log: the path of a start-up log
    text: the log itself, instead of a path
    """
    if (log is None) == (text is None):
        raise TypeError("check_log takes the path of a log, or its text")
    return _typed(results.CheckLog, ask("check-log", model, options, None if log is None else os.fspath(log), text))


def models(*words: str) -> results.Models:
    """The models that kvplan knows by name; with words, those with all of them in their name, family or task."""
    return _table(results.Models, "models", words)


def formulas(*kinds: str) -> results.Formulas:
    """The kinds of attention and the formula of each one's cache."""
    return _table(results.Formulas, "formulas", kinds)


def gpus(*names: str) -> results.Gpus:
    """The GPUs that kvplan knows; memory in bytes, bandwidth in GB/s."""
    return _table(results.Gpus, "gpus", names)


def schema() -> Dict[str, Any]:
    """The JSON Schema (2020-12) of every answer, each form under "$defs"."""
    return answer(run(["schema"]))
