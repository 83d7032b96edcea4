"""mlx-lm, executed: each model at full size with lazy arrays, its caches, its weights in 16 bit and quantized."""
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(HERE))
import common  # noqa: E402
from workers import Answers, Workers  # noqa: E402

MLX = {"0.32.2": "0.32.4"}  # the mlx that an mlx-lm was published beside
TRANSFORMERS = "5.23.0"  # whose class defaults are run, and fill in what a config leaves out


def source(room, release):
    return room.unpacked(f"mlx-lm=={release}")


def prepare(room, release):
    mlx = MLX.get(release, max(MLX.values()))
    room.install([f"mlx=={mlx}", f"mlx-cpu=={mlx}", f"mlx-lm=={release}", f"transformers=={TRANSFORMERS}"])
    return versions(room)


def versions(room):
    return room.versions("mlx-lm", "mlx", "transformers")


def workers(room, answers, script):
    command = [room.python, os.path.join(common.ADAPTERS, "mlx", script)]
    return Workers(lambda group: command, answers, versions(room), logs=room.folder("logs"))


def rows(room, release, choice):
    configs = {**{name: entry["config"] for name, entry in common.configs().items()}, **common.defaults(TRANSFORMERS)}
    jobs = choice.of([{"name": name, "config": config} for name, config in configs.items()], lambda job: job["name"])
    answers = Answers(choice.kept(room, "answers.jsonl"))
    done = {job["name"]: answer for job, answer in workers(room, answers, "worker.py").each(
        choice.in_order(jobs), lambda job: job["config"], sent=lambda job: job, name=lambda job: job["name"])}
    for job in jobs:
        yield {"config": job["name"], "release": release, **done[job["name"]]}
    answers.forget()


def launches(room, release, cases):
    """Yields (case, result) in the order of the cases."""
    yield from workers(room, Answers(None), "launch.py").each(cases)
