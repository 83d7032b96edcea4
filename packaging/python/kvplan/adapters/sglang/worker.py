"""Answers cases for one compute capability, in the engine's environment, each in a fork (isolated.py): a Qwen3-VL on
Hopper sets variables that take 1 GiB from every model after it.

    worker.py SOURCE GPU MIB MAJOR MINOR < cases > answers
"""
import contextlib
import gc
import importlib
import io
import json
import logging
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.append(os.path.dirname(HERE))
from isolated import in_fork, serve  # noqa: E402  (in the folder above)


def said(error):
    import words

    return {"refused": words.of(error), **({"artefact": True} if words.is_doubtful(error) else {})}


def gathered(*steps):
    """The fields from each step, up to the step that fails."""
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
    scheduler = importlib.import_module("at_once_" + release.__name__)
    engine = release.Engine(case)
    row = gathered(engine.resolve, engine.load)
    if "refused" in row:
        return {name: row[name] for name in ("refused", "artefact") if name in row}
    out = {"context_len": row["model"]["context_len"], "page_size": row["args"]["page_size"], "kv_dtype": row["kv_dtype"]}
    scheduler.without_kernels()
    asked = {name: in_fork(scheduler.ask, engine, case["mem"], name, failed=said) for name in case["ask"]}
    for answer in asked.values():
        if "refused" in answer or "not_run" in answer:
            return {**out, **answer}
        out.update(answer["pools"])
    retracted = [name for name, answer in asked.items() if answer["retracted"]]
    return {**out, "at_once": {name: answer["count"] for name, answer in asked.items()},
            **({"retracted": retracted} if retracted else {})}


def launch(release, case):
    """Does what `python -m sglang.launch_server` does with a command before it starts processes, for each node's command."""
    import described_card

    described_card.CARD.tell(case["mib"], case["sm"], case["gpu"], case["mib"] / 1024 - case["context_gib"])
    os.environ.update(case["environment"])
    for words in case["commands"]:
        answer = in_fork(accept, words, failed=said)
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


def adapter(source):
    """The class that builds the pools: a configurator, or in older releases the runner."""
    configurator = os.path.join(source, "sglang", "srt", "mem_cache", "kv_cache_configurator.py")
    return "of_configurator" if os.path.exists(configurator) else "of_runner"


def marked(row, folder):
    """The row, with those of the model's classes that SGLang has not registered: without an error, SGLang runs such a model with transformers'
    code. Either this release lacks the class, or its module cannot be imported with the substitutes."""
    from sglang.srt.models.registry import ModelRegistry

    with open(os.path.join(folder, "config.json")) as f:
        named = json.load(f).get("architectures") or ()
    missing = sorted(set(named) - set(ModelRegistry.get_supported_archs()))
    return {**row, "unregistered": missing} if missing else row


KINDS = {"plan": plan, "start": start, "at_once": at_once, "launch": launch}


def main():
    source, gpu, mib, *capability = sys.argv[1:]
    sys.path[:0] = [HERE, source]
    import described_card

    described_card.CARD.tell(int(mib), tuple(map(int, capability)), gpu, int(mib) / 1024)
    described_card.install()
    release = importlib.import_module(adapter(source))
    release.import_engine()
    import torch

    torch.set_num_threads(1)
    logging.disable(logging.CRITICAL)
    gc.collect()
    gc.freeze()  # the engine collects garbage before it measures; its modules are none
    serve(lambda case: marked(KINDS[case["kind"]](release, case), case["folder"]), said)


if __name__ == "__main__":
    main()
