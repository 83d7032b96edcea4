"""Calls the program `kvplan`, which the same wheel installed."""

import functools
import importlib.metadata
import json
import os
import shutil
import subprocess
import sys
import tempfile
from typing import Any, Dict, List, Mapping, Optional, Sequence, Union

Model = Union[str, "os.PathLike[str]", Mapping[str, Any]]
Value = Union[None, bool, int, float, str, "os.PathLike[str]", Sequence[Union[int, float, str]]]
Answer = Dict[str, Any]

# What a caller of this module has no use for: the answer is a dict.
_FORM = frozenset({"format", "json", "output", "color", "help"})


class KvplanError(Exception):
    """No answer: the program's one line, and its exit code.

    exit_code: 2 bad input or usage, 3 an architecture that is not known, 4 the Hub refuses or cannot be reached,
    5 no device to measure on.
    """

    def __init__(self, line: str, exit_code: int) -> None:
        super().__init__(line, exit_code)
        self.line = line
        self.exit_code = exit_code

    def __str__(self) -> str:
        return self.line


@functools.lru_cache(maxsize=None)
def program() -> str:
    """The path of the program: the one that was installed with this package, else the one that PATH names."""
    name = "kvplan.exe" if sys.platform == "win32" else "kvplan"
    try:
        files = importlib.metadata.distribution("kvplan").files or []
    except importlib.metadata.PackageNotFoundError:
        files = []
    for file in files:
        if file.name == name and file.parent.name in ("bin", "Scripts"):
            return os.path.normpath(file.locate())
    found = shutil.which(name)
    if found is None:
        raise FileNotFoundError("the program kvplan is not installed; pip install kvplan brings it")
    return found


def arguments(options: Mapping[str, Value]) -> List[str]:
    """The command line of keyword options: max_model_len="32k" is --max-model-len 32k.

    True gives the option alone, False its opposite (--no-...), a list its values with commas between them, and None
    nothing.
    """
    out: List[str] = []
    for name, value in options.items():
        if name in _FORM:
            raise TypeError(f"{name}: the answer is a dict, whose form is fixed")
        option = name.replace("_", "-")
        if value is None:
            continue
        if isinstance(value, bool):
            out.append(f"--{option}" if value else f"--no-{option}")
        elif isinstance(value, (str, int, float, os.PathLike)):
            out.append(f"--{option}={os.fspath(value) if isinstance(value, os.PathLike) else value}")
        else:
            out.append(f"--{option}={','.join(map(str, value))}")
    return out


def run(words: Sequence[str], stdin: Optional[str] = None) -> str:
    """What the program prints; KvplanError where it has no answer."""
    given: Dict[str, Any] = {"stdin": subprocess.DEVNULL} if stdin is None else {"input": stdin}
    done = subprocess.run([program(), *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8",
                          errors="replace", **given)
    said: str = done.stdout
    # 1 is an answer: it does not fit. A list of models has one too, though a model of it failed.
    if done.returncode not in (0, 1) and not said:
        raise KvplanError(done.stderr.strip() or f"kvplan: ended with {done.returncode}", done.returncode)
    return said


def _path(name: Union[str, "os.PathLike[str]"]) -> str:
    """A path or a name as an argument that cannot be taken for an option."""
    path = os.fspath(name)
    return os.path.join(".", path) if path.startswith("-") else path


def ask(command: str, model: Optional[Model], options: Mapping[str, Value], log: Optional[str] = None,
        log_text: Optional[str] = None, form: str = "json") -> str:
    """One question to the program, as text in the form that is named."""
    words = [command, f"--format={form}", *arguments(options)]
    if not isinstance(model, Mapping):
        models = [] if model is None else [_path(model)]
        logs = [] if log is None and log_text is None else ["-" if log is None else _path(log)]
        return run([*words, *models, *logs], log_text)
    config = json.dumps(model)
    if log is None and log_text is None:
        return run([*words, "-"], config)
    # Standard input may be the log's.
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "config.json")
        with open(path, "w", encoding="utf-8") as file:
            file.write(config)
        return ask(command, path, options, log, log_text, form)


def answer(text: str) -> Answer:
    parsed: Answer = json.loads(text)
    return parsed
