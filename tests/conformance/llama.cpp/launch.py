"""Reads the words of a llama-server command from each line of standard input, and prints what its own parser reads.

The parser is in the library of PyPI's xllamacpp. The result is read through xllamacpp's Python object of parameters, so that a library with another
layout is noticed. Each case runs in a fork, because some words end the process.
"""
import ctypes
import os
import sys
import tempfile

import xllamacpp

SOURCE = os.path.abspath(__file__).rsplit("/tests/", 1)[0]
sys.path.append(os.path.join(SOURCE, "packaging", "python", "kvplan", "adapters"))
from isolated import serve  # noqa: E402

PARSE = "_Z19common_params_parseiPPcR13common_params13llama_examplePFviS0_E"
HEAD = object.__basicsize__  # of a Python object, before the parameters
PROGRAMS = range(64)
CONTEXT, SLOTS = 8192, 3


def parser():
    with open("/proc/self/maps") as f:
        path = next(line.split()[-1] for line in f if "xllamacpp.abi3" in line)
    function = getattr(ctypes.PyDLL(path), PARSE)
    function.restype = ctypes.c_bool
    return function


def parsed(function, program, words):
    """The parameters, or None if the parser rejects the words."""
    params = xllamacpp.CommonParams()
    arguments = (ctypes.c_char_p * (len(words) + 1))(*[word.encode() for word in words], None)
    taken = function(len(words), arguments, ctypes.c_void_p(id(params) + HEAD), program, None)
    return params if taken else None


def told_in_fork(work):
    """(whether work() returned true, the fork's standard error)"""
    with tempfile.TemporaryFile("w+") as told:
        child = os.fork()
        if child == 0:
            os.dup2(told.fileno(), 1)
            os.dup2(told.fileno(), 2)
            os._exit(0 if work() else 1)
        status = os.waitpid(child, 0)[1]
        told.seek(0)
        return status == 0, told.read()


def server(function):
    """The number of llama-server among the programs, the only one that accepts this option."""
    def is_server(program):
        params = parsed(function, program, ["llama-server", "-c", str(CONTEXT), "-np", str(SLOTS), "--slot-save-path", "/tmp"])
        return params is not None and (params.n_ctx, params.n_parallel) == (CONTEXT, SLOTS)

    found = [program for program in PROGRAMS if told_in_fork(lambda program=program: is_server(program))[0]]
    if len(found) != 1:
        sys.exit(f"{len(found)} programs take --slot-save-path: which is the server is not known")
    return found[0]


def answer(function, program, case):
    for words in case["commands"]:
        if words[0] != "llama-server":
            return {"refused": f"{words[0]} is not its program"}
        taken, told = told_in_fork(lambda words=words: parsed(function, program, words) is not None)
        if not taken:
            return {"refused": " ".join(told.split())[:300]}
    return {"accepted": True}


if __name__ == "__main__":
    taken_by = parser()
    number = server(taken_by)
    serve(lambda case: answer(taken_by, number, case), lambda error: {"not_run": f"{type(error).__name__}: {error}"})
