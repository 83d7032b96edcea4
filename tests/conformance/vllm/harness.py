"""vLLM: the Python of the release's CUDA wheel, run on the CPU for a card that is played to it. README.md says what that covers."""
import ast
import glob
import hashlib
import json
import os
import re
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import cases  # noqa: E402  (beside this file)
import common  # noqa: E402
from workers import COUNT  # noqa: E402

TORCH, TRITON = "torch==2.13.0", "triton==3.9.0"
TRANSFORMERS = {"0.26.0": "5.12.1"}  # of releases that the newest is too new for
NEWEST_TRANSFORMERS = "5.19.0"
PYTHON_ONLY = (".so", ".h", ".hpp", ".cuh", ".cu", ".inl", ".cpp", "vllm-rs")
# Of the wheel's requirements: what needs CUDA, or is installed above.
LEFT_OUT = re.compile(r"torch|torchaudio|torchvision|torchcodec|transformers|PyNvVideoCodec|flashinfer.*|apache-tvm.*|tilelang|nvidia.*|nvtx"
                      r"|fastsafetensors|instanttensor|quack.*|tokenspeed.*|humming.*", re.IGNORECASE)
REPORTED = ("torch", "transformers", "compressed-tensors", "triton")
ANSWERING = ("worker.py", "card.py", "stubs.py", "plan.py", "at_once.py", "options.py", "launch.py")  # run in the environment
BATCH = 200  # cases of one process, whose imports take as long as twenty
# The registry's lists of classes that generate text.
GENERATING = ("_TEXT_GENERATION_MODELS", "_MULTIMODAL_MODELS", "_TRANSFORMERS_SUPPORTED_MODELS")


def requirements(source):
    """The wheel's own, without lower bounds: those move with every release and say nothing of memory."""
    with open(glob.glob(os.path.join(source, "vllm-*.dist-info", "METADATA"))[0]) as f:
        asked = [line.removeprefix("Requires-Dist:").strip() for line in f if line.startswith("Requires-Dist:")]
    for line in asked:
        spec, _, marker = line.partition(";")
        if "extra ==" in marker or LEFT_OUT.fullmatch(re.match(r"[\w.-]+", spec)[0]):
            continue
        spec = re.sub(r"(>=|!=)[^,]+,?", "", spec).strip(" ,")
        yield spec + (";" + marker if marker else "")


def prepare(room, release):
    source = room.unpacked(f"vllm=={release}", PYTHON_ONLY)
    transformers = TRANSFORMERS.get(release, NEWEST_TRANSFORMERS)
    room.pip(TORCH, TRITON, f"transformers=={transformers}", *requirements(source))
    room.pip("--no-deps", "timm==1.0.31")  # the vision tower of Gemma 3n; torchvision is stubbed
    return {"vllm": release, **room.versions(*REPORTED)}


def known_classes(source):
    with open(os.path.join(source, "vllm", "model_executor", "models", "registry.py")) as f:
        tree = ast.parse(f.read())
    out = set()
    for node in tree.body:
        target = node.target if isinstance(node, ast.AnnAssign) else node.targets[0] if isinstance(node, ast.Assign) else None
        if getattr(target, "id", None) in GENERATING and isinstance(node.value, ast.Dict):
            out |= {key.value for key in node.value.keys if isinstance(key, ast.Constant)}
    return out


class Answers:
    """Rows of cases that were asked before: a run that was broken off goes on where it stopped."""

    def __init__(self, path, files):
        self.path, self.files, self.lock = path, files, threading.Lock()
        self.code = hashlib.sha256(b"".join(open(os.path.join(HERE, f), "rb").read() for f in ANSWERING)).hexdigest()
        self.known = {row["key"]: row["rows"] for row in common.read_rows(path)} if os.path.exists(path) else {}

    def key(self, case, flashinfer):
        text = json.dumps([case, flashinfer, self.files.get(case["config"]), self.code])
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    def get(self, case, flashinfer):
        return self.known.get(self.key(case, flashinfer))

    def put(self, case, flashinfer, rows):
        with self.lock, open(self.path, "a") as f:
            key = self.key(case, flashinfer)
            self.known[key] = rows
            f.write(json.dumps({"key": key, "rows": rows}) + "\n")

    def forget(self):
        os.remove(self.path)


class Engine:
    """Worker processes of a release."""

    def __init__(self, room, release, paths, answers, progress):
        self.room, self.release, self.paths, self.answers, self.progress = room, release, paths, answers, progress
        self.lock = threading.Lock()

    def command(self, card, flashinfer):
        return ["nice", "-n", "5", self.room.python, os.path.join(HERE, "worker.py"), os.path.join(self.room.path, "source"),
                self.release, card, "1" if flashinfer else "0", self.room.folder("cache")]

    def ask(self, batch):
        """One process for the cases of one card; where it dies, that case is marked and another goes on."""
        card, flashinfer, asked = batch
        asked = list(asked)
        while asked:
            with open(os.path.join(self.room.folder("logs"), f"{card}-{int(flashinfer)}.txt"), "a") as log, \
                    subprocess.Popen(self.command(card, flashinfer), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log,
                                     text=True) as process:
                threading.Thread(target=self.feed, args=(process.stdin, asked), daemon=True).start()
                answered = 0
                for line in process.stdout:
                    self.take(asked[answered], flashinfer, json.loads(line))
                    answered += 1
            if answered == 0:
                raise common.Failure(f"the worker of vLLM {self.release} ended at its start; see {log.name}")
            if answered < len(asked):
                self.take(asked[answered], flashinfer, [{"not_run": f"the process ended with {process.returncode}"}])
                answered += 1
            asked = asked[answered:]

    def feed(self, stdin, asked):
        with stdin:
            for case in asked:
                stdin.write(json.dumps({**case, "config": self.paths.get(case["config"])}) + "\n")

    def take(self, case, flashinfer, rows):
        self.answers.put(case, flashinfer, rows)
        with self.lock:
            self.progress.next(f"{case['kind']} {case['config']} {case['card']}")


def with_flashinfer(case):
    """FlashInfer is there, as in vLLM's images. Where one rank starts, the same without it too: it decides some of that."""
    return (True, False) if case["kind"] == "start" and case["tp"] == 1 else (True,)


def batches(wanted, answers):
    """Cases without an answer, of one card and FlashInfer, a batch at a time."""
    groups = {}
    for case in wanted:
        for flashinfer in with_flashinfer(case):
            if answers.get(case, flashinfer) is None:
                groups.setdefault((case["card"], flashinfer), []).append(case)
    for (card, flashinfer), asked in groups.items():
        for i in range(0, len(asked), BATCH):
            yield card, flashinfer, asked[i:i + BATCH]


def merged(case, answers):
    """A start with FlashInfer, beside the same without."""
    row = dict(answers.get(case, True)[0])
    if False not in with_flashinfer(case):
        return row
    other = answers.get(case, False)[0]
    if ("starts" in row) != ("starts" in other):
        row["artefact"] = True
        row["without_flashinfer"] = other.get("refused", other.get("not_run", "starts"))
    elif row.get("backends") != other.get("backends"):
        row["without_flashinfer"] = other["backends"]
    return row


def options_of(row):
    """Those of every program, then those that only AsyncEngineArgs has: the server's."""
    if "options" not in row:
        raise common.Failure(f"the parser of the release did not answer: {row}")
    return {**row["options"], **{name: {**option, "of": "AsyncEngineArgs"} for name, option in row["of_the_server_too"].items()}}


def rows(room, release, only):
    source = os.path.join(room.path, "source")
    asked, files = cases.of_release(known_classes(source))
    wanted = [case for case in asked if common.wanted(case["config"] or case["kind"], only)]
    answers = Answers(os.path.join(room.path, "answers.jsonl"), files)
    todo = list(batches(wanted, answers))
    paths = {name: common.write_config(room.folder("configs"), name, files[name]) for name in {c["config"] for c in wanted} - {None}}
    engine = Engine(room, release, paths, answers, common.Progress(sum(len(batch) for _, _, batch in todo)))
    with ThreadPoolExecutor(COUNT) as pool:
        list(pool.map(engine.ask, todo))
    for case in wanted:
        if case["kind"] == "options":
            common.write_options("vllm", release, options_of(answers.get(case, True)[0]))
            continue
        head = {k: v for k, v in case.items() if k != "mem"}
        found = [merged(case, answers)] if case["kind"] == "start" else answers.get(case, True)
        for row in found:
            yield {**head, "release": release, **row}
    answers.forget()


CARDS = {"h100-80gb": "h100", "a100-80gb": "a100"}  # as kvplan names those of card.py


def launches(room, release, cases):
    """(case, what the engine says of its lines) in the order of the cases."""
    asked = [{**case, "card": CARDS.get(case["card"], case["card"])} for case in cases]
    answers = Answers(os.path.join(room.path, "launched.jsonl"), {})
    todo = [(case["card"], True, case) for case in asked if answers.get(case, True) is None]
    groups = [(card, True, [case for other, _, case in todo if other == card]) for card in sorted({card for card, _, _ in todo})]
    engine = Engine(room, release, {case["config"]: case["folder"] for case in cases}, answers, common.Progress(len(todo)))
    with ThreadPoolExecutor(COUNT) as pool:
        list(pool.map(engine.ask, groups))
    for case, one in zip(cases, asked):
        yield case, answers.get(one, True)[0]
