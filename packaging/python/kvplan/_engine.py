"""Finds an engine in a Python environment and runs its own code there, in a separate process and folder."""

import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
from typing import Any, Dict, List, NamedTuple, Optional

ADAPTERS = pathlib.Path(__file__).parent / "adapters"
# kvplan's name of each engine: its modules, their packages, its usual name.
ENGINES = {"vllm": ("vllm", "vllm", "vLLM"), "sglang": ("sglang", "sglang", "SGLang"),
           "transformers": ("transformers", "transformers", "transformers"), "mlx": ("mlx_lm", "mlx-lm", "mlx-lm"),
           "llama.cpp": ("llama_cpp,llama_cpp_py_sync", "llama-cpp-python,llama-cpp-py-sync", "llama.cpp")}
ENDING = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]
LONGEST = 600.0  # seconds of a probe or an answer
FIND = """
import importlib.metadata, importlib.util, json, site, sys
release = None
for module, package in zip(sys.argv[1].split(","), sys.argv[2].split(",")):
    found = importlib.util.find_spec(module)
    if found is not None and found.origin is not None:
        release = importlib.metadata.version(package)
        break
print(json.dumps({"release": release, "base": site.getuserbase()}))
"""
# An engine keeps caches in these places; each becomes a folder that is removed with the process.
PLACES = ("HOME", "TMPDIR", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "HF_HOME", "VLLM_CACHE_ROOT", "VLLM_CONFIG_ROOT",
          "TRITON_CACHE_DIR", "TORCHINDUCTOR_CACHE_DIR", "FLASHINFER_WORKSPACE_BASE", "CUDA_CACHE_PATH", "MPLCONFIGDIR",
          "SGLANG_CACHE_DIR", "TILELANG_CACHE_DIR")
FIXED = {"HF_HUB_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1", "CUDA_VISIBLE_DEVICES": "", "PYTHONDONTWRITEBYTECODE": "1",
         "PYTHONHASHSEED": "0", "OMP_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false", "VLLM_NO_USAGE_STATS": "1"}
SECRETS = ("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN", "HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE", "TRANSFORMERS_CACHE")


class NothingToAsk(Exception):
    """One line: why the engine gives no answer, and what to do."""


class Installed(NamedTuple):
    python: str
    release: str
    user_base: str


def called(engine: str) -> str:
    return ENGINES[engine][2]


def _process(words: List[str], given: str, environment: Dict[str, str], folder: str) -> "subprocess.CompletedProcess[str]":
    """Runs a command and everything that it starts to the end. After LONGEST seconds all of it is killed."""
    with tempfile.TemporaryFile("w+") as stdin, tempfile.TemporaryFile("w+") as stdout, tempfile.TemporaryFile("w+", errors="replace") as stderr:
        stdin.write(given)
        stdin.seek(0)
        child = None
        caught: List[int] = []
        held = [(number, signal.signal(number, lambda number, _: caught.append(number))) for number in ENDING if signal.getsignal(number) is not None]
        try:
            try:  # a signal waits until the new process is known, or it would outlive this one
                child = subprocess.Popen(words, stdin=stdin, stdout=stdout, stderr=stderr, cwd=folder, env=environment,
                                         start_new_session=sys.platform != "win32")
            finally:
                for number, before in held:
                    signal.signal(number, before)
            if caught:
                raise KeyboardInterrupt
            code = child.wait(LONGEST)
        except subprocess.TimeoutExpired:
            raise NothingToAsk(f"no answer within {LONGEST:.0f} seconds; try again on a machine with less to do") from None
        finally:
            if child is not None:
                _end(child)
        stdout.seek(0)
        stderr.seek(0)
        return subprocess.CompletedProcess(words, code, stdout.read(), stderr.read()[-4000:])


def _end(child: "subprocess.Popen[bytes]") -> None:
    """Ends the process and its group, because an engine may have started other processes."""
    try:
        if sys.platform != "win32":
            os.killpg(child.pid, signal.SIGKILL)
        elif child.poll() is None:
            child.kill()
    except (ProcessLookupError, PermissionError):
        pass
    child.wait()


def _last(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1][:300] if lines else "it said nothing"


def find(engine: str, python: Optional[str]) -> Installed:
    """The engine's release in that Python; in this Python if none is named."""
    module, package, name = ENGINES[engine]
    path = python or sys.executable
    with tempfile.TemporaryDirectory() as folder:
        try:
            done = _process([path, "-c", FIND, module, package], "", {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}, folder)
        except OSError as error:
            raise NothingToAsk(f"--python {path}: {error.strerror or error}; name a Python that has {name}") from None
    if done.returncode != 0:
        raise NothingToAsk(f"the environment of {path} is broken: {_last(done.stderr)}; reinstall {package} there")
    try:
        said = json.loads(done.stdout)
    except ValueError:
        raise NothingToAsk(f"--python {path} is no Python: it answers {_last(done.stdout)[:60]!r}; name one that has {name}") from None
    if said["release"] is None:
        raise NothingToAsk(f"{name} is not installed for {path}; name a Python that has it with --python, or pip install kvplan there")
    return Installed(path, said["release"], said["base"] or "")


def ask(engine: str, installed: Installed, case: Dict[str, Any], files: Dict[str, str]) -> Dict[str, Any]:
    """The engine's answer to a case. `files` is the model's folder, by name. Nothing is left behind."""
    with tempfile.TemporaryDirectory(prefix="kvplan-verify-") as folder:
        environment = {name: value for name, value in os.environ.items() if name not in SECRETS}
        for name in PLACES:
            environment[name] = os.path.join(folder, name.lower())
            os.mkdir(environment[name])
        environment.update(FIXED, PYTHONUSERBASE=installed.user_base)
        model = os.path.join(folder, "model")
        os.mkdir(model)
        for name, text in files.items():
            pathlib.Path(model, name).write_text(text, encoding="utf-8")
        words = [word.replace("{MODEL}", model) for word in case.get("words", [])]
        sent = {**case, "words": words, "folder": model, "cache": environment["VLLM_CACHE_ROOT"]}
        done = _process([installed.python, str(ADAPTERS / "ask.py"), engine], json.dumps(sent), environment, folder)
    name = called(engine)
    if os.environ.get("KVPLAN_VERIFY_TRACE"):
        print(done.stderr, file=sys.stderr)
    if done.returncode < 0:
        raise NothingToAsk(f"{name}'s process was killed by signal {-done.returncode}; it needs about 2 GB of memory")
    try:
        answer: Dict[str, Any] = json.loads(done.stdout)
    except ValueError:
        raise NothingToAsk(f"{name} {installed.release} ended with {done.returncode} and no answer: {_last(done.stderr)}") from None
    if "not_run" in answer:
        raise NothingToAsk(f"{name} {installed.release} cannot be asked about this model: {answer['not_run']}")
    if "broken" in answer:
        raise NothingToAsk(f"the environment of {name} {installed.release} is broken: {answer['broken']}; install it for {installed.python}")
    if "missed" in answer:
        raise NothingToAsk(f"{name} {installed.release} is not as kvplan's adapter expects: {answer['missed']}; please report it")
    return answer
