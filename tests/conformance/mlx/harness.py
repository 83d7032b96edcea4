"""mlx-lm, executed: each model at full size with lazy arrays, its caches, its weights in 16 bit and quantized."""
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(HERE))
import common  # noqa: E402
from workers import Workers, scripts  # noqa: E402

MLX = {"0.32.2": "0.32.4"}  # the mlx that an mlx-lm was published beside
TRANSFORMERS = "5.23.0"  # whose class defaults are run, and fill in what a config leaves out


def prepare(room, release):
    mlx = MLX.get(release, max(MLX.values()))
    room.pip(f"mlx=={mlx}", f"mlx-cpu=={mlx}", f"mlx-lm=={release}", f"transformers=={TRANSFORMERS}")
    return versions(room)


def versions(room):
    return room.versions("mlx-lm", "mlx", "transformers")


def rows(room, release, only):
    configs = {**{name: entry["config"] for name, entry in common.configs().items()}, **common.defaults(TRANSFORMERS)}
    jobs = [{"name": name, "config": config} for name, config in configs.items() if common.wanted(name, only)]
    progress = common.Progress(len(jobs))
    command = [room.python, os.path.join(HERE, "worker.py")]
    with Workers(command, None if only else room.folder("rows"), [scripts(HERE), versions(room)]) as workers:
        for job, done in workers.each(jobs, lambda job: job["config"]):
            progress.next(job["name"])
            yield {"config": job["name"], "release": release, **done}


def launches(room, release, cases):
    """(case, what the engine says of its lines) in the order of the cases."""
    with Workers([room.python, os.path.join(HERE, "launch.py")]) as workers:
        yield from workers.each(cases)
