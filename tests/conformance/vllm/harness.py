"""vLLM: the Python code of the release's CUDA wheel, run on the CPU with a simulated GPU. README.md explains what this covers."""
import ast
import json
import os
import re
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import cases  # noqa: E402  (beside this file)
import common  # noqa: E402
from workers import Answers, Workers  # noqa: E402

TORCH, TRITON = "torch==2.13.0", "triton==3.9.0"
PYTHON_ONLY = (".so", ".h", ".hpp", ".cuh", ".cu", ".inl", ".cpp", "vllm-rs")
# The wheel's requirements that need CUDA, or are installed above.
LEFT_OUT = re.compile(r"torch|torchaudio|torchvision|torchcodec|PyNvVideoCodec|flashinfer.*|apache-tvm.*|tilelang|nvidia.*|nvtx"
                      r"|fastsafetensors|instanttensor|quack.*|tokenspeed.*|humming.*|xformers|ray|cupy.*|bitsandbytes", re.IGNORECASE)
REPORTED = ("torch", "transformers", "compressed-tensors", "triton")
# Tokens that a class looks for next to its config.
ADDED_TOKENS = {"Dots3NoteForCausalLM": {"<|imgpad|>": 0, "<|audio_comp_start|>": 1, "<|audio_comp_pad|>": 2, "<|audio_comp_end|>": 3}}
# The registry's lists of classes that generate text.
GENERATING = ("_TEXT_GENERATION_MODELS", "_MULTIMODAL_MODELS", "_TRANSFORMERS_SUPPORTED_MODELS")


def source(room, release):
    return room.unpacked(f"vllm=={release}", PYTHON_ONLY)


def prepare(room, release):
    needed = [TORCH, TRITON, *common.requirements(source(room, release), "vllm", LEFT_OUT)]
    room.install(needed, ["--no-deps", "timm==1.0.31"])  # the vision tower of Gemma 3n; torchvision is stubbed
    return {"vllm": release, **room.versions(*REPORTED)}


def known_classes(source, lists=GENERATING):
    with open(os.path.join(source, "vllm", "model_executor", "models", "registry.py")) as f:
        tree = ast.parse(f.read())
    out = set()
    for node in tree.body:
        target = node.target if isinstance(node, ast.AnnAssign) else node.targets[0] if isinstance(node, ast.Assign) else None
        if getattr(target, "id", None) in lists and isinstance(node.value, ast.Dict):
            out |= {key.value for key in node.value.keys if isinstance(key, ast.Constant)}
    return out


def with_flashinfer(case):
    """Starts with FlashInfer, which vLLM's images have. If one rank starts, the case also runs without FlashInfer, because some results depend on
    it."""
    return (True, False) if case["kind"] == "start" and case["tp"] == 1 else (True,)


def merged(row, other):
    """A start with FlashInfer, together with the same start without it."""
    if ("starts" in row) != ("starts" in other):
        return {**row, "artefact": True, "without_flashinfer": other.get("refused", other.get("not_run", "starts"))}
    return {**row, "without_flashinfer": other["backends"]} if row.get("backends") != other.get("backends") else row


def marked(row, classes, dropped):
    """Transformers' class stands in for one that the release never had. Whether it starts depends on the installed
    transformers and on what this run leaves out: loading the weights, and a forward pass."""
    stands_in = str(row.get("arch")).startswith("Transformers") and not dropped.union([row["arch"]]) & set(classes)
    return {**row, "artefact": True} if stands_in else row


def options_of(row):
    """The options of every program, then those that only AsyncEngineArgs has: the server's."""
    if "options" not in row:
        raise common.Failure(f"the parser of the release did not answer: {row}")
    return {**row["options"], **{name: {**option, "of": "AsyncEngineArgs"} for name, option in row["of_the_server_too"].items()}}


def written(room, name, entry):
    path = common.write_config(room.folder("configs"), name, entry)
    for architecture in entry["config"].get("architectures", []):
        if architecture in ADDED_TOKENS:
            with open(os.path.join(path, "added_tokens.json"), "w") as f:
                json.dump(ADDED_TOKENS[architecture], f)
    return path


def workers(room, release, answers):
    source = os.path.join(room.path, "source")

    def command(group):
        card, flashinfer = group
        return [room.python, os.path.join(common.ADAPTERS, "vllm", "worker.py"), source, release, card, str(int(flashinfer)), room.folder("cache")]

    return Workers(command, answers, room.versions(*REPORTED), logs=room.folder("logs"))


def rows(room, release, choice):
    """The rows of the cases and of the options, in order."""
    dropped = known_classes(source(room, release), ("_PREVIOUSLY_SUPPORTED_MODELS",))
    asked, files = cases.of_release(known_classes(source(room, release)))
    wanted = choice.of(asked)
    paths = {name: written(room, name, files[name]) for name in {c["config"] for c in wanted} - {None}}
    jobs = [(case, flashinfer) for case in wanted for flashinfer in with_flashinfer(case)]
    answers = Answers(choice.kept(room, "answers.jsonl"))
    answered = workers(room, release, answers).each(
        choice.in_order(jobs), asked=lambda job: [job[0], files.get(job[0]["config"])],
        sent=lambda job: {**job[0], "config": paths.get(job[0]["config"])}, group=lambda job: (job[0]["card"], job[1]),
        name=lambda job: f"{job[0]['kind']} {job[0]['config']} {job[0]['card']}")
    said = {(json.dumps(case), flashinfer): answer for (case, flashinfer), answer in answered}
    for case in wanted:
        found = said[json.dumps(case), True]
        found = found if isinstance(found, list) else [found]  # of a process that ended: one row
        if case["kind"] == "options":
            if not choice.is_part:
                common.write_options("vllm", release, options_of(found[0]))
            continue
        if False in with_flashinfer(case):
            other = said[json.dumps(case), False]
            found = [merged(found[0], other[0] if isinstance(other, list) else other)]
        head = {k: v for k, v in case.items() if k != "mem"}
        classes = files[case["config"]]["config"].get("architectures", ()) if case["config"] else ()
        for row in found:
            yield {**head, "release": release, **marked(row, classes, dropped)}
    answers.forget()


CARDS = {"h100-80gb": "h100", "a100-80gb": "a100"}  # as kvplan names those of card.py


def launches(room, release, cases):
    """Yields (case, result) in the order of the cases."""
    answers = Answers(os.path.join(room.path, "launched.jsonl"))
    for case, answer in workers(room, release, answers).each(
            cases, sent=lambda case: {**case, "config": case["folder"]}, group=lambda case: (CARDS.get(case["card"], case["card"]), True),
            name=lambda case: case["config"]):
        yield case, answer[0] if isinstance(answer, list) else answer
