"""transformers, executed: every class with its default config and every real config, on torch's meta device.

worker.py runs one model at a time in the engine's environment. This file chooses the models and combines the rows.
"""
import json
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(HERE))
import common  # noqa: E402
from workers import Answers, Workers  # noqa: E402

TORCH = "torch==2.13.0"
TOWERS = ("torchvision==0.28.0", "timm==1.0.31", "pillow==13.0.0")  # three classes build their vision tower with timm
QUANTIZERS = ("accelerate==1.15.0", "bitsandbytes==0.50.2", "torchao==0.18.0", "optimum-quanto==0.2.7")
RENAMED = {"kimi_k2": "deepseek_v3"}  # a type of remote code whose class is the library's
NOT_SHAPE = {"quantization_config", "torch_dtype", "dtype", "_name_or_path", "transformers_version", "use_cache", "auto_map"}


def source(room, release):
    return room.unpacked(f"transformers=={release}")


def prepare(room, release):
    room.install([TORCH, f"transformers=={release}"], [TORCH, *TOWERS])
    return versions(room)


def versions(room):
    return room.versions("transformers", "torch", "torchvision", "timm")


def rows(room, release, choice):
    jobs = choice.of([*default_jobs(room), *real_jobs(), *quantized_jobs()], lambda job: job["id"], kind_of)
    python = {"": room.python}
    if any(script_of(job) for job in jobs):  # the packages of quantizers need an environment of their own
        room.install([TORCH, f"transformers=={release}"], [TORCH, *TOWERS], [TORCH, *QUANTIZERS])
        python["quantized.py"] = room.python
    command = lambda script: [python[script], os.path.join(common.ADAPTERS, "transformers", script or "worker.py")]
    answers = Answers(choice.kept(room, "answers.jsonl"))
    workers = Workers(command, answers, versions(room), logs=room.folder("logs"))
    answered = workers.each(choice.in_order(jobs), asked, sent=lambda job: job, group=script_of, name=lambda job: job["id"])
    done = {job["id"]: answer for job, answer in answered}
    for job in jobs:
        yield finished(job, release, done[job["id"]])
    answers.forget()


def kind_of(job):
    return job["id"].split("/")[0]


def script_of(job):
    return "quantized.py" if kind_of(job) == "quantized" else ""


def quantized_jobs():
    """Every real config once more, for what the quantizers pack of it."""
    for job in real_jobs():
        yield {**job, "id": job["id"].replace("real/", "quantized/", 1)}


def finished(job, release, done):
    """The row of a case: what is known about it, then the worker's answer."""
    row = {"id": job["id"], "release": release, "model_type": job["model_type"]}
    if "name" in job:
        row["config"] = job["name"]
    return {**row, **done}


def default_jobs(room):
    """A job for every type with a class, and one for every default config that only runs with one or two additional keys (variants.json)."""
    types = json.loads(room.run([room.python, os.path.join(common.ADAPTERS, "transformers", "class_defaults.py")]))
    for model_type in types:
        yield {"id": "default/" + model_type, "model_type": model_type}
    with open(os.path.join(HERE, "variants.json")) as f:
        variants = json.load(f)
    for model_type in types:
        if model_type in variants:
            yield {"id": "variant/" + model_type, "model_type": model_type, "variant": variants[model_type]}


def real_jobs():
    for name, entry in common.configs().items():
        config = shape(entry["config"], {"quantization_config"})
        for part in [config, *(v for v in config.values() if isinstance(v, dict))]:
            if part.get("model_type") in RENAMED:
                part["model_type"] = RENAMED[part["model_type"]]
        yield {"id": "real/" + name, "name": name, "model_type": entry["config"].get("model_type"), "config": config}


def asked(job):
    """A real model that differs from another only in the types of its weights counts as the same model."""
    return shape(job["config"], NOT_SHAPE) if "config" in job else job


def shape(node, dropped):
    return {k: shape(v, dropped) if isinstance(v, dict) else v for k, v in node.items() if k not in dropped}
