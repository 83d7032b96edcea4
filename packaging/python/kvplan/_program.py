"""Calls the program `kvplan`, which the same wheel installed."""

import contextlib
import functools
import importlib.metadata
import json
import numbers
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import threading
from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple, Union

Model = Union[str, "os.PathLike[str]", Mapping[str, Any]]
Models = Union[List[Model], List[str], List["os.PathLike[str]"], List[pathlib.Path], List[Dict[str, Any]], Tuple[Model, ...]]
Value = Union[None, bool, int, float, str, "os.PathLike[str]", Sequence[Union[int, float, str]]]
Answer = Dict[str, Any]

# What a caller of this module has no use for: the answer is a dict.
_FORM = frozenset({"format", "json", "output", "color", "help"})


class KvplanError(Exception):
    """No answer: the program's error line, and its exit code.

    exit_code: 2 bad input or usage, 3 unknown architecture, 4 the Hub refuses or cannot be reached,
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
    """The path of the program: the one installed with this package, else the one in PATH."""
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

    True gives the option without a value, False its opposite (--no-...), a list its values with commas, and None
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
        elif isinstance(value, (list, tuple)):
            out.append(f"--{option}={','.join(map(_word, value))}")
        else:
            out.append(f"--{option}={_word(value)}")
    return out


def _word(value: Any) -> str:
    """A value on the command line; 1e9 becomes 1000000000, and numbers of other libraries are accepted."""
    if isinstance(value, numbers.Integral):
        return str(int(value))
    if isinstance(value, numbers.Real):
        number = float(value)
        return str(int(number)) if number.is_integer() else repr(number)
    return os.fspath(value) if isinstance(value, os.PathLike) else str(value)


class TooLarge(KvplanError):
    """The answer exceeds its limits."""


class Bounds:
    """Limits for a command from an untrusted user: the bytes it may print, the folder it runs in, and stop(), which ends it.

    If `of_files` is set and one of several plans fails, there is no answer, since its row would quote its file.
    """

    def __init__(self, most: int) -> None:
        self.most = most
        self.folder: Optional[str] = None
        self.of_files = False
        self._lock = threading.Lock()
        self._stopped = False
        self._process: Optional["subprocess.Popen[bytes]"] = None

    def environment(self) -> Dict[str, str]:
        """ollama's store is empty: an untrusted user may name its models, but not list this machine's."""
        return {**os.environ, "OLLAMA_MODELS": self.folder or os.devnull}

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
    """The program's output; KvplanError if it has no answer."""
    # Only standard output is a pipe, so nothing waits for a reader or writer.
    with tempfile.TemporaryFile() as given, tempfile.TemporaryFile() as complaints:
        given.write(b"" if stdin is None else stdin.encode("utf-8"))
        given.seek(0)
        with subprocess.Popen([program(), *words], stdin=given, stdout=subprocess.PIPE, stderr=complaints,
                              cwd=bounds.folder if bounds else None, env=bounds.environment() if bounds else None) as process:
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
    """Makes an argument of a path or a name that cannot be read as an option."""
    path = os.fspath(name)
    return os.path.join(".", path) if path.startswith("-") else path


def _model(name: Union[str, "os.PathLike[str]"]) -> str:
    """The same for a model. A list is refused, because its lines would be printed and looked up on the Hub."""
    path = os.fspath(name)
    if path.startswith("@") or (path.endswith(".txt") and not os.path.isdir(path)):
        raise KvplanError(f"kvplan: {path}: a list of models is for the command line; name one model", 2)
    return _path(path)


def ask(command: str, model: Union[Model, Models, None], options: Mapping[str, Value], log: Optional[str] = None,
        log_text: Optional[str] = None, form: str = "json", bounds: Optional[Bounds] = None,
        launch: Union[str, Sequence[str], None] = None) -> str:
    """Runs one command and returns its output in the given format.

    launch: an engine's launch command, as text or as words, instead of the model or together with it
    """
    words = [command, f"--format={form}", *arguments(options)]
    models: Sequence[Model] = model if isinstance(model, (list, tuple)) else [] if model is None else [model]
    text = launch if isinstance(launch, str) else log_text
    with contextlib.ExitStack() as stack:
        names: List[str] = []
        for one in models:
            if not isinstance(one, Mapping):
                names.append(_model(one))
            elif len(models) == 1 and text is None and log is None:
                text = json.dumps(one)
                names.append("-")
            else:  # standard input is another's
                folder = stack.enter_context(tempfile.TemporaryDirectory())
                names.append(os.path.join(folder, "config.json"))
                with open(names[-1], "w", encoding="utf-8") as file:
                    json.dump(one, file)
        if launch is not None:
            words += [f"--model-source={name}" for name in names] + (["--command=-"] if isinstance(launch, str) else ["--", *launch])
        else:
            words += names + ([] if log is None and log_text is None else ["-" if log is None else _path(log)])
        return run(words, text, bounds)


def answer(text: str) -> Answer:
    parsed: Answer = json.loads(text)
    return parsed
