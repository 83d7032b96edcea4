"""Answers cases, one JSON line after another: runs in the engine's environment, for one compute capability.

    worker.py SOURCE RELEASE < cases.jsonl > answers.jsonl        sm of the first case is that of all

Every case runs in a fork of this process: SGLang keeps what it settled in its modules and in the environment, where the
next case would find it (a Qwen3-VL on Hopper sets variables that take 1 GiB from every model after it).
"""
import contextlib
import gc
import importlib
import io
import json
import logging
import os
import signal
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
LONGEST = 900  # seconds of one case


def in_fork(function, *args):
    """What function(*args) returns in a fork; where that ends without an answer, why."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(read)
        signal.alarm(LONGEST)
        try:
            answer = function(*args)
        except BaseException as error:  # the fork must not go on with its parent's work
            answer = said(error)
        with os.fdopen(write, "w") as out:
            json.dump(answer, out, default=str)
        os._exit(0)
    os.close(write)
    with os.fdopen(read) as file:
        text = file.read()
    status = os.waitpid(child, 0)[1]
    return json.loads(text) if text else {"not_run": f"its process ended with {os.waitstatus_to_exitcode(status)}"}


def said(error):
    import words

    return {"refused": words.of(error), **({"artefact": True} if words.is_doubtful(error) else {})}


def gathered(*steps):
    """The fields that the steps yield, as far as the engine goes."""
    row = {}
    try:
        for step in steps:
            row.update(step())
    except Exception as error:
        row.update(said(error))
    return row


def plan(release, case):
    engine = release.Engine(case)
    return gathered(engine.resolve, engine.load, engine.pools)


def start(release, case):
    engine = release.Engine(case)
    row = gathered(engine.resolve, engine.load, lambda: engine.built_in(case["mem"]))
    kept = {name: row[name] for name in ("kv_dtype", "backends", "kv_pool", "not_built", "refused", "artefact") if name in row}
    return kept if "refused" in kept else {"starts": True, **kept}


def at_once(release, case):
    scheduler = importlib.import_module("at_once_" + release.__name__.removeprefix("release_"))
    engine = release.Engine(case)
    row = gathered(engine.resolve, engine.load)
    if "refused" in row:
        return {name: row[name] for name in ("refused", "artefact") if name in row}
    out = {"context_len": row["model"]["context_len"], "page_size": row["args"]["page_size"], "kv_dtype": row["kv_dtype"]}
    scheduler.without_kernels()
    asked = {name: in_fork(scheduler.ask, engine, case["mem"], name) for name in case["ask"]}
    for answer in asked.values():
        if "refused" in answer or "not_run" in answer:
            return {**out, **answer}
        out.update(answer["pools"])
    retracted = [name for name, answer in asked.items() if answer["retracted"]]
    return {**out, "at_once": {name: answer["count"] for name, answer in asked.items()},
            **({"retracted": retracted} if retracted else {})}


def launch(release, case):
    """What `python -m sglang.launch_server` does with its words until it starts processes, for each node's line."""
    import described_card

    described_card.CARD.tell(case["mib"], case["sm"], case["gpu"], case["mib"] / 1024 - case["context_gib"])
    os.environ.update(case["environment"])
    for words in case["commands"]:
        answer = in_fork(accept, words)
        if "accepted" not in answer:
            return answer
    return {"accepted": True}


def accept(command):
    from sglang.srt.server_args import prepare_server_args

    program, words = command[:3], command[3:]
    if program != ["python", "-m", "sglang.launch_server"]:
        return {"refused": f"{program} is not its program"}
    told = io.StringIO()
    try:
        with contextlib.redirect_stderr(told):
            args = prepare_server_args(words)
    except SystemExit:
        return {"refused": told.getvalue().strip().splitlines()[-1]}
    if hasattr(args, "resolve_once"):
        args.resolve_once()
    args.check_server_args()
    return {"accepted": True}


KINDS = {"plan": plan, "start": start, "at_once": at_once, "launch": launch}


def main():
    source, release_name = sys.argv[1:]
    sys.path[:0] = [HERE, source]
    import described_card

    cases = [json.loads(line) for line in sys.stdin]
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what the engine prints is no answer
    first = cases[0]
    described_card.CARD.tell(first["mib"], first["sm"], first["gpu"], first["mib"] / 1024)
    described_card.install()
    release = importlib.import_module("release_" + release_name.replace(".", "_"))
    release.import_engine()
    import torch

    torch.set_num_threads(1)
    logging.disable(logging.CRITICAL)
    gc.collect()
    gc.freeze()  # the engine collects garbage before it measures; its modules are none
    for case in cases:
        print(json.dumps(in_fork(KINDS[case["kind"]], release, case)), file=answers, flush=True)


if __name__ == "__main__":
    main()
