"""Answers one case of `kvplan verify`, in the engine's environment: JSON on standard input, JSON on standard output.

    ask.py ENGINE < case > answer

The answer has the engine's figures, or "refused" (the engine's message), "not_run" (the reason), "broken": what the
environment lacks, or "missed": a name in the engine's code that these scripts use and this release lacks.
"""
import ctypes
import importlib
import json
import os
import re
import resource
import signal
import sys
import traceback

HERE = os.path.dirname(os.path.abspath(__file__))
ANSWERS = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)  # what the engine prints is no answer
CLOSED = ("socket.connect", "socket.sendto", "socket.getaddrinfo")
LONGEST = 300
PR_SET_PDEATHSIG = 1
NEEDS_CODE = "the model needs code of its repository, which verify never runs"
LACKING = re.compile(r"'(\w*Config)' object has no attribute '(\w+)'")
UNKNOWN_TYPE = re.compile(r"model type `([\w.-]+)` but Transformers does not recognize")
UNKNOWN_CLASS = re.compile(r"architectures? .* (?:is|are) not supported")
PROCESSOR = re.compile(r"load (?:the|image) processor")
REMOTE = re.compile(r"trust_remote_code|custom code|remote code", re.IGNORECASE)


def seal():
    """Blocks network access in this process, and ends the process when its parent ends."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)

    def refuse(event, arguments):
        if event in CLOSED:
            raise OSError("kvplan verify asks the engine without a network")

    sys.addaudithook(refuse)


def one_line(error):
    text = re.sub(r"(/[\w.+-]+){2,}/?", "PATH", f"{type(error).__name__}: {error}")
    return " ".join(re.sub(r"0x[0-9a-f]{6,}", "ADDRESS", text).split())[:LONGEST]


def raised_here(error):
    """Whether these scripts raised the error, not the engine: the release has moved a name that they use."""
    frames = traceback.extract_tb(error.__traceback__)
    return bool(frames) and frames[-1].filename.startswith(HERE + os.sep)


def place(error):
    """The last line of code that ran before the error, as FILE:LINE."""
    frames = traceback.extract_tb(error.__traceback__)
    return f"{os.path.basename(frames[-1].filename)}:{frames[-1].lineno}" if frames else ""


def names_code(case):
    """Whether the config names classes of its repository."""
    try:
        with open(os.path.join(case["folder"], "config.json"), encoding="utf-8") as f:
            return bool(json.load(f).get("auto_map"))
    except FileNotFoundError:
        return False


def answer_of(engine, case):
    sys.path[:0] = [os.path.join(HERE, engine)]
    sys.path.append(HERE)
    try:
        row = importlib.import_module("single").row(case)
        unknown = names_code(case) and UNKNOWN_CLASS.search(row.get("refused", ""))
        remote = REMOTE.search(row.get("not_run", "") + row.get("refused", ""))
        return {"not_run": NEEDS_CODE} if unknown or remote else row
    except (Exception, SystemExit) as error:
        words = one_line(error)
        if PROCESSOR.search(words) and not names_code(case):
            return {"not_run": "its class reads files of a processor and a tokenizer, which verify does not have"}
        if REMOTE.search(words):
            return {"not_run": NEEDS_CODE}
        if lacking := LACKING.search(words):
            return {"not_run": f"the config has no {lacking[2]}, which {lacking[1]} needs"}
        if unknown := UNKNOWN_TYPE.search(str(error)):
            return {"not_run": f"its transformers does not know model type {unknown[1]}"}
        own = {"mlx": "mlx_lm"}.get(engine, engine)
        if isinstance(error, ModuleNotFoundError) and (error.name or own).split(".")[0] != own:
            return {"broken": f"no package {error.name}"}
        absent = isinstance(error, AttributeError) and getattr(error, "obj", error) is None  # a file that the folder lacks
        moved = raised_here(error) or isinstance(error, (ImportError, AttributeError, TypeError)) and not absent
        return {"missed" if moved else "not_run": f"{words} ({place(error)})"}


def main():
    seal()
    case = json.load(sys.stdin)
    if os.environ.get("KVPLAN_VERIFY_TRACE"):
        sys.excepthook = lambda *error: traceback.print_exception(*error)
    answer = answer_of(sys.argv[1], case)
    answer["peak_bytes"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
    json.dump(answer, ANSWERS, default=str)
    ANSWERS.flush()
    os._exit(0)  # threads of the engine's are not waited for


if __name__ == "__main__":
    main()
