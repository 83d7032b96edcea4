"""SGLang: the Python code of a release's wheel, run on the CPU with a described GPU. README.md explains what this covers."""
import json
import os
import re
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import cases  # noqa: E402  (beside this file)
import common  # noqa: E402
import lists  # noqa: E402
from workers import Answers, Workers  # noqa: E402

TORCH = "torch==2.13.0"
STATED = re.compile(r"(?!transformers$|compressed-tensors$).*")  # of what the wheel asks for, these decide on memory
# The wheel's requirements that its memory code imports. The other packages are replaced by stubs (described_card.py).
PACKAGES = """IPython aiohttp dill distro einops fastapi gguf interegular msgspec nvidia-ml-py openai orjson
partial_json_parser pillow prometheus-client psutil pybase64 pydantic python-dateutil python-multipart pyzmq requests
sentencepiece setproctitle tiktoken uvicorn uvloop watchfiles xxhash zstandard""".split()
REPORTED = ("torch", "transformers", "compressed-tensors")


def source(room, release):
    return room.unpacked(f"sglang=={release}")


def prepare(room, release):
    room.install([TORCH, *common.requirements(source(room, release), "sglang", STATED, ("transformers", "compressed-tensors")), *PACKAGES])
    return {"sglang": release, **room.versions(*REPORTED)}


def workers(room, release, answers):
    def command(group):
        gpu, mib, sm = group
        return [room.python, os.path.join(common.ADAPTERS, "sglang", "worker.py"), os.path.join(room.path, "source"), gpu, str(mib), *map(str, sm)]

    return Workers(command, answers, room.versions(*REPORTED), {**os.environ, "OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1"}, room.folder("logs"))


# SGLang detects its platform once, so each compute capability has its own process.
OF_CAPABILITY = {tuple(sm): (gpu, mib, tuple(sm)) for mib, sm, gpu, _ in reversed(cases.CARDS.values())}


def answered(room, release, answers, wanted, files):
    """(case, answer). If this release registers the case's class but cannot import it here, the answer is marked as an artefact."""
    registered = set(lists.classes(os.path.join(room.path, "source")))
    for case, answer in as_said(room, release, answers, wanted, files):
        row = {key: value for key, value in answer.items() if key != "unregistered"}
        yield case, {**row, "artefact": True} if registered & set(answer.get("unregistered", ())) else row


def as_said(room, release, answers, wanted, files):
    return workers(room, release, answers).each(
        wanted, asked=lambda case: [{k: v for k, v in case.items() if k != "folder"}, files.get(case["config"])], sent=lambda case: case,
        group=lambda case: OF_CAPABILITY[tuple(case["sm"])], name=lambda case: f"{case['kind']} {case['config']} {case['card']}")


def head_of(case, release):
    """What the row says about its case: no folders, and only settings that are not the engine's defaults."""
    out = {"kind": case["kind"], "config": case["config"], "release": release}
    names = {"plan": ("gpu", "mib", "sm", "card", "tp", "context_gib", "given"), "start": ("card", "tp", "given"),
             "at_once": ("card", "tp", "mem", "given", "prefix_caching")}[case["kind"]]
    return {**out, **{name: case[name] for name in names if case.get(name) not in (None, {})}}


def rows(room, release, choice):
    asked, files = cases.of_release()
    wanted = choice.of(asked)
    for case in wanted:
        case["folder"] = common.write_config(room.folder("configs"), case["config"], files[case["config"]])
    answers = Answers(choice.kept(room, "answers.jsonl"))
    said = {json.dumps(case): answer for case, answer in answered(room, release, answers, choice.in_order(wanted), files)}
    for case in wanted:
        yield {**head_of(case, release), **said[json.dumps(case)]}
    if not choice.is_part:
        common.write_options("sglang", release, options_of(room))
    answers.forget()


def options_of(room):
    return json.loads(room.run([room.python, os.path.join(common.ADAPTERS, "sglang", "options.py"), os.path.join(room.path, "source")]))


CARDS = {"h100-80gb": "80", "a100-80gb": "a100", "b200": "180", "rtx-4090": "24"}  # as kvplan names those of cases.py


def launches(room, release, wanted):
    """Yields (case, result) in the order of the cases."""
    answers = Answers(os.path.join(room.path, "launched.jsonl"))
    asked = [cases.on(CARDS[case["card"]], tp=1, **{k: v for k, v in case.items() if k != "card"}) for case in wanted]
    yield from zip(wanted, (answer for _, answer in answered(room, release, answers, asked, {})))
