"""Runs each case in a separate process, forked from one that has imported the engine, so that cases cannot affect each other.

An engine process serves one model, so its settings stay in its modules' tables, in os.environ and in its own arguments,
where they would affect the next model.
"""
import json
import os
import resource
import signal
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
LONGEST = 1800  # seconds of one case
ANSWERS = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)  # what the engine prints, from its import on, is no answer


def in_fork(function, *args, failed, memory=None):
    """Runs function(*args) in a fork and returns its result, or failed(error). If the fork ends without an answer, returns {"died": signal}, or
    {"not_run": reason} if it took too long or exited. `memory`: limit of its address space in bytes."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        try:  # whatever happens, the fork must not go on with its parent's work
            os.close(read)
            signal.alarm(LONGEST)
            if memory:
                resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
            try:
                answer = function(*args)
            except BaseException as error:
                answer = failed(error)
            with os.fdopen(write, "w") as out:
                json.dump(answer, out, default=str)
            os._exit(0)
        finally:
            os._exit(1)
    os.close(write)
    with os.fdopen(read) as file:
        text = file.read()
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if code == 0:
        return json.loads(text)
    if code == -signal.SIGALRM:
        return {"not_run": f"slower than {LONGEST} s"}
    return {"died": -code} if code < 0 else {"not_run": f"its process ended with {code}"}


def scripts_used():
    """The scripts of these folders that this process has imported, by their path relative to this folder."""
    files = (getattr(module, "__file__", None) for module in list(sys.modules.values()))
    return sorted({os.path.relpath(file, HERE) for file in files if file and os.path.abspath(file).startswith(HERE + os.sep)})


def serve(function, failed, memory=None):
    """Reads one case per line from standard input and writes one line of {"answer", "scripts"} for each to standard output."""
    worker = os.path.relpath(os.path.abspath(sys.argv[0]), HERE)

    def whole(case):
        try:
            answer = function(case)
        except BaseException as error:
            answer = failed(error)
        return {"answer": answer, "scripts": sorted({worker, *scripts_used()})}

    for line in sys.stdin:
        print(json.dumps(in_fork(whole, json.loads(line), failed=failed, memory=memory)), file=ANSWERS, flush=True)
