"""SGLang: the Python of a release's wheel, run on the CPU for a card that is told to it. README.md says what that covers."""
import hashlib
import itertools
import json
import os
import subprocess
import sys
import threading

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import cases  # noqa: E402  (beside this file)
import common  # noqa: E402
from workers import COUNT  # noqa: E402

TORCH = "torch==2.13.0"
# What the release's wheel asks for; where it names no version (compressed-tensors of 0.5.8), the newest of November 2026.
ASKED_FOR = {"0.5.23": ("transformers==5.19.0", "compressed-tensors==0.18.0"),
             "0.5.8": ("transformers==4.57.1", "compressed-tensors==0.20.0")}
# Of the wheel's requirements, those that its memory code imports; the rest is stood in for (described_card.py).
PACKAGES = """IPython aiohttp dill distro einops fastapi gguf interegular msgspec nvidia-ml-py openai orjson
partial_json_parser pillow prometheus-client psutil pybase64 pydantic python-dateutil python-multipart pyzmq requests
sentencepiece setproctitle tiktoken uvicorn uvloop watchfiles xxhash zstandard""".split()
REPORTED = ("torch", "transformers", "compressed-tensors")


def prepare(room, release):
    if not os.path.exists(os.path.join(HERE, f"release_{release.replace('.', '_')}.py")):
        raise common.Failure(f"nothing here runs SGLang {release}; tests/conformance/sglang/README.md says what a release takes")
    room.unpacked(f"sglang=={release}")
    room.pip(TORCH, *ASKED_FOR.get(release, ASKED_FOR["0.5.23"]), *PACKAGES)
    return {"sglang": release, **room.versions(*REPORTED)}


class Answers:
    """What was answered before: a run that was broken off goes on where it stopped, as long as no script has changed."""

    def __init__(self, path):
        self.path, self.lock = path, threading.Lock()
        scripts = sorted(name for name in os.listdir(HERE) if name.endswith(".py") and name not in ("harness.py", "cases.py"))
        self.code = hashlib.sha256(b"".join(open(os.path.join(HERE, name), "rb").read() for name in scripts)).hexdigest()
        self.known = {line["key"]: line["row"] for line in common.read_rows(path)} if os.path.exists(path) else {}

    def key(self, case, files):
        text = json.dumps([case, files.get(case["config"]), self.code])
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    def put(self, key, row):
        with self.lock, open(self.path, "a") as f:
            self.known[key] = row
            f.write(json.dumps({"key": key, "row": row}) + "\n")

    def forget(self):
        if os.path.exists(self.path):
            os.remove(self.path)


def ask(room, release, todo, answers, progress):
    """One process for cases of one compute capability; where it dies, that case is marked and another process goes on."""
    command = ["nice", "-n", "5", room.python, os.path.join(HERE, "worker.py"), os.path.join(room.path, "source"), release]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1"}
    while todo:
        log = os.path.join(room.folder("logs"), f"{threading.current_thread().name}.txt")
        with open(log, "a") as err, subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=err, text=True,
                                                      env=environment) as process:
            with process.stdin:
                process.stdin.writelines(json.dumps(case) + "\n" for _, case in todo)
            answered = 0
            for line in process.stdout:
                key, case = todo[answered]
                answers.put(key, json.loads(line))
                answered += 1
                progress.next(f"{case['kind']} {case['config']} {case['card']}")
        if answered == 0:
            raise common.Failure(f"the worker of SGLang {release} ended at its start; see {log}")
        if answered < len(todo):
            answers.put(todo[answered][0], {"not_run": f"its process ended with {process.returncode}"})
            answered += 1
        todo = todo[answered:]


def of_one_card(todo):
    """Cases by compute capability: SGLang asks its platform once."""
    by_capability = sorted(todo, key=lambda pair: pair[1]["sm"])
    return [list(group) for _, group in itertools.groupby(by_capability, key=lambda pair: pair[1]["sm"])]


def ask_all(room, release, todo, answers):
    progress, failures = common.Progress(len(todo)), []

    def run(share):
        try:
            ask(room, release, share, answers, progress)
        except common.Failure as failure:
            failures.append(failure)

    for group in of_one_card(todo):
        threads = [threading.Thread(target=run, args=(group[i::COUNT],), name=f"worker-{i}") for i in range(COUNT) if group[i::COUNT]]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    if failures:
        raise failures[0]


def head_of(case, release):
    """What the row says of its case: no folders, and of the settings only those that are not the engine's defaults."""
    out = {"kind": case["kind"], "config": case["config"], "release": release}
    names = {"plan": ("gpu", "mib", "sm", "card", "tp", "context_gib", "given"), "start": ("card", "tp", "given"),
             "at_once": ("card", "tp", "mem", "given", "prefix_caching")}[case["kind"]]
    return {**out, **{name: case[name] for name in names if case.get(name) not in (None, {})}}


def rows(room, release, only):
    asked, files = cases.of_release()
    wanted = [case for case in asked if common.wanted(case["config"], only)]
    answers = Answers(os.path.join(room.path, "answers.jsonl"))
    for case in wanted:
        case["folder"] = os.path.join(room.folder("configs"), case["config"].replace("/", "--"))
    for name in {case["config"] for case in wanted}:
        common.write_config(room.folder("configs"), name, files[name])
    keys = [answers.key(case, files) for case in wanted]
    ask_all(room, release, [pair for pair in zip(keys, wanted) if pair[0] not in answers.known], answers)
    for key, case in zip(keys, wanted):
        yield {**head_of(case, release), **answers.known[key]}
    if not only:
        common.write_options("sglang", release, options_of(room))
        answers.forget()


def options_of(room):
    return json.loads(room.run([room.python, os.path.join(HERE, "options.py"), os.path.join(room.path, "source")]))


CARDS = {"h100-80gb": "80", "a100-80gb": "a100", "b200": "180", "rtx-4090": "24"}  # as kvplan names those of cases.py


def launches(room, release, wanted):
    """(case, what the engine says of its lines) in the order of the cases."""
    answers = Answers(os.path.join(room.path, "launched.jsonl"))
    asked = [cases.on(CARDS[case["card"]], tp=1, **{k: v for k, v in case.items() if k != "card"}) for case in wanted]
    keys = [answers.key(case, {}) for case in asked]
    ask_all(room, release, [pair for pair in zip(keys, asked) if pair[0] not in answers.known], answers)
    for key, case in zip(keys, wanted):
        yield case, answers.known[key]
