"""Calls the program `kvplan`, which the same wheel installed."""

import functools
import importlib.metadata
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
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


class TooLarge(KvplanError):
    """The answer goes beyond its bounds."""


class Bounds:
    """The limits of a question that a stranger asks: how many bytes it may print, the folder it runs in, and stop(), which ends it.

    Where `of_files` is set, several plans of which one fails have no answer: the row of that one would quote its file.
    """

    def __init__(self, most: int) -> None:
        self.most = most
        self.folder: Optional[str] = None
        self.of_files = False
        self._lock = threading.Lock()
        self._stopped = False
        self._process: Optional["subprocess.Popen[bytes]"] = None

    def started(self, process: "subprocess.Popen[bytes]") -> None:
        with self._lock:
            self._process = process
            if self._stopped:
                process.kill()

    def stop(self) -> None:
        with self._lock:
            self._stopped = True
            if self._process is not None:
                self._process.kill()


def run(words: Sequence[str], stdin: Optional[str] = None, bounds: Optional[Bounds] = None) -> str:
    """What the program prints; KvplanError where it has no answer."""
    # Only standard output is a pipe, so nothing waits for somebody who does not read or write.
    with tempfile.TemporaryFile() as given, tempfile.TemporaryFile() as complaints:
        given.write(b"" if stdin is None else stdin.encode("utf-8"))
        given.seek(0)
        with subprocess.Popen([program(), *words], stdin=given, stdout=subprocess.PIPE, stderr=complaints,
                              cwd=bounds.folder if bounds else None) as process:
            assert process.stdout is not None
            if bounds:
                bounds.started(process)
            said = process.stdout.read(bounds.most + 1 if bounds else -1)
            if bounds and len(said) > bounds.most:
                process.kill()
                raise TooLarge(f"kvplan: the answer is larger than {bounds.most >> 20} MiB; ask about fewer GPUs or models", 2)
            code = process.wait()
        complaints.seek(0)
        line = complaints.read(1 << 16).decode("utf-8", "replace").strip()
    # 1 is an answer: it does not fit. A list of models has one too, though a model of it failed.
    if code < 0 or (code > 1 and (not said or (bounds and bounds.of_files))):
        raise KvplanError(line or f"kvplan: ended with {code}", code)
    return said.decode("utf-8", "replace")


def _path(name: Union[str, "os.PathLike[str]"]) -> str:
    """A path or a name as an argument that cannot be taken for an option."""
    path = os.fspath(name)
    return os.path.join(".", path) if path.startswith("-") else path


def _model(name: Union[str, "os.PathLike[str]"]) -> str:
    """The same for a model. A list is refused: its lines would be printed, and looked up on the Hub."""
    path = os.fspath(name)
    if path.startswith("@") or (path.endswith(".txt") and not os.path.isdir(path)):
        raise KvplanError(f"kvplan: {path}: a list of models is for the command line; name one model", 2)
    return _path(path)


def ask(command: str, model: Optional[Model], options: Mapping[str, Value], log: Optional[str] = None,
        log_text: Optional[str] = None, form: str = "json", bounds: Optional[Bounds] = None) -> str:
    """One question to the program, as text in the form that is named."""
    words = [command, f"--format={form}", *arguments(options)]
    if not isinstance(model, Mapping):
        models = [] if model is None else [_model(model)]
        logs = [] if log is None and log_text is None else ["-" if log is None else _path(log)]
        return run([*words, *models, *logs], log_text, bounds)
    config = json.dumps(model)
    if log is None and log_text is None:
        return run([*words, "-"], config, bounds)
    # Standard input may be the log's.
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "config.json")
        with open(path, "w", encoding="utf-8") as file:
            file.write(config)
        return ask(command, path, options, log, log_text, form, bounds)


def answer(text: str) -> Answer:
    parsed: Answer = json.loads(text)
    return parsed
