"""kvplan verify: the plan beside the code of the engine that is installed.

    kvplan verify MODEL --engine E [--python PATH] [--json] [--save-calibration FILE] [--report FILE] [options of a plan]
    kvplan verify [--python PATH] [--json] ... -- COMMAND

Runs the installed engine's own arguments, model class and cache planning on a simulated GPU. You need no GPU, no weights and
no network, and no code of the model's repository runs. Nothing in the environment changes. Exit code 0: the engine agrees
with the plan. 1: it differs. 5: there is no engine to ask.
"""

import json
import os
import pathlib
import re
import shlex
import signal
import sys
from typing import Any, Dict, List, NamedTuple, NoReturn, Optional, Sequence, Tuple

from kvplan._engine import ENDING, ENGINES, Installed, NothingToAsk, ask, called, find
from kvplan._figures import COMPARE, Figure
from kvplan._program import Answer, KvplanError, answer, run
from kvplan._records import report, said

USAGE = 2
NOTHING = 5
DESCRIBED = "h100-80gb"  # where the plan names no card
CARDS = {"h100-80gb": "NVIDIA H100 80GB HBM3", "a100-80gb": "NVIDIA A100-SXM4-80GB", "a100-40gb": "NVIDIA A100-SXM4-40GB",
         "rtx-4090": "NVIDIA GeForce RTX 4090", "h200": "NVIDIA H200", "b200": "NVIDIA B200", "l40s": "NVIDIA L40S"}
ROPE_FACTORS = {"yarn": {"beta_fast": 32.0, "beta_slow": 1.0}, "llama3": {"low_freq_factor": 1.0, "high_freq_factor": 4.0}}
BESIDE = ("hf_quant_config.json", "preprocessor_config.json", "processor_config.json")  # what some classes read
OWN = ("--python", "--save-calibration", "--report")


class Asked(NamedTuple):
    """The command line."""

    words: List[str]  # options of a plan, and the MODEL
    command: List[str]  # after --
    engine: Optional[str]
    python: Optional[str]
    save: Optional[str]
    report: Optional[str]
    as_json: bool


def refuse(what: str, remedy: str) -> NoReturn:
    raise KvplanError(f"kvplan: verify: {what}; {remedy}", USAGE)


def parse(words: Sequence[str]) -> Asked:
    before, command = list(words), []
    if "--" in before:
        at = before.index("--")
        before, command = before[:at], before[at + 1:]
    own: Dict[str, Optional[str]] = dict.fromkeys((*OWN, "--engine"))
    kept: List[str] = []
    as_json = False
    while before:
        word = before.pop(0)
        name, equals, value = word.partition("=")
        if name in own:
            if not equals:
                if not before:
                    refuse(f"{name} has no value", "see kvplan verify --help")
                value = before.pop(0)
            own[name] = value
        elif word in ("--json", "--format=json"):
            as_json = True
        elif word == "--format" and before:
            as_json = before.pop(0) == "json" or refuse("it has the forms table and json", "use --json")
        else:
            kept.append(word)
    engine, python, save, report = own["--engine"], own["--python"], own["--save-calibration"], own["--report"]
    if not command and not kept:
        refuse("no MODEL given", "give a config.json, a directory or a Hub id; see kvplan verify --help")
    return Asked(kept, command, engine, python, save, report, as_json)


class Planned:
    """kvplan's plan for the installed release, and the command that it would start."""

    def __init__(self, asked: Asked, text: Optional[str], engine: str, release: str) -> None:
        self.asked, self.text = asked, text
        self.words = [f"--engine={engine}@{release}".rstrip("@"), *asked.words]
        self.plan = self.ask()
        if "plans" in self.plan:
            refuse("it takes one MODEL, one GPU and one engine", "run it once for each")
        needs_card = engine in ("vllm", "sglang") and self.plan["capacity"] is None
        if needs_card:
            self.words.append(f"--gpu={DESCRIBED}")
            self.plan = self.ask()

    def run(self, form: str) -> str:
        tail = ["--", *self.asked.command] if self.asked.command else []
        return run(["plan", f"--format={form}", *self.words, *tail], self.text)

    def ask(self) -> Answer:
        return answer(self.run("json"))

    def command(self) -> Tuple[List[str], Dict[str, str]]:
        """The words of the first node's command, and the environment variables before them."""
        try:
            line = self.run("args").splitlines()[0]
        except KvplanError as error:
            raise NothingToAsk(f"there is no command to ask it with: {error.line.split(': ', 2)[-1]}") from None
        words, variables = shlex.split(line), {}
        while re.match(r"[A-Z_0-9]+=", words[0]):
            name, _, value = words.pop(0).partition("=")
            variables[name] = value
        return words, variables


# --- the model's files

def files_of(plan: Answer, text: Optional[str]) -> Dict[str, str]:
    """config.json, and the files beside it that engines read before weights."""
    source = plan["model"]["source"]
    if text is not None:
        return {"config.json": text}
    if any(note["code"] == "catalogue" for note in plan["notes"]):
        kept, quantized, *_ = run(["verify", "--said=files", source]).split("\n") + [""]
        files = {"config.json": json.dumps(with_rope_factors(json.loads(kept)))}
        return {**files, "hf_quant_config.json": quantized} if quantized else files
    path = pathlib.Path(source)
    if plan["request"]["engine"] == "llama.cpp":
        return {}  # it reads the GGUF where it lies
    if path.suffix == ".gguf":
        raise NothingToAsk("a GGUF has no config.json, which the engine reads; name the model's folder")
    folder = path if path.is_dir() else path.parent
    config = path / "config.json" if path.is_dir() else path
    if not config.is_file():
        cached = in_cache(source)
        if cached is None:
            raise NothingToAsk(f"{source}: its config.json is not on this machine; download it, or name a config.json or a folder")
        folder, config = cached, cached / "config.json"
    beside = [folder / name for name in BESIDE if config.name == "config.json" and (folder / name).is_file()]
    return {"config.json": config.read_text(encoding="utf-8"), **{file.name: file.read_text(encoding="utf-8") for file in beside}}


def with_rope_factors(node: Any) -> Any:
    """The catalogue leaves out what no memory depends on. Engines do not start without some of it."""
    if isinstance(node, list):
        return [with_rope_factors(item) for item in node]
    if not isinstance(node, dict):
        return node
    factors = ROPE_FACTORS.get(node.get("rope_type") or node.get("type") or "", {})
    return {**factors, **{key: with_rope_factors(value) for key, value in node.items()}}


def in_cache(source: str) -> Optional[pathlib.Path]:
    """The newest snapshot of a Hub id in the Hugging Face tools' cache, or in kvplan's own."""
    name, _, revision = source.partition("@")
    if not re.fullmatch(r"[\w.-]+/[\w.-]+", name):
        return None
    home = pathlib.Path(os.environ.get("HF_HOME") or pathlib.Path.home() / ".cache" / "huggingface")
    own = pathlib.Path(os.environ.get("KVPLAN_CACHE") or pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "kvplan")
    hubs = [pathlib.Path(os.environ.get("HF_HUB_CACHE") or home / "hub"), *sorted((own / "hub").glob("*"))]
    model = "models--" + name.replace("/", "--")
    for hub in hubs:
        ref = hub / model / "refs" / (revision or "main")
        commit = ref.read_text().strip() if ref.is_file() else revision
        for folder in sorted((hub / model / "snapshots").glob((commit or "*") + "*")):
            if (folder / "config.json").is_file():
                return folder
    return None


# --- the request to the engine

def card_of(plan: Answer) -> Dict[str, Any]:
    name = plan["request"]["gpu"] or DESCRIBED
    row = answer(run(["gpus", "--json", name]))["gpus"][0]
    capability = row.get("compute_capability")
    if row["vendor"] != "NVIDIA" or not capability:
        raise NothingToAsk(f"{name} cannot be simulated; use an NVIDIA GPU, --gpu {DESCRIBED}")
    memory = plan["request"]["gpu_memory_bytes"] or row["usable_bytes"] or row["memory_bytes"]
    return {"name": CARDS.get(name, "NVIDIA " + name.upper().replace("-", " ")), "capability": capability, "memory": memory,
            "mib": row["memory_bytes"] >> 20}


def ranks_of(plan: Answer) -> Dict[str, int]:
    request = plan["request"]
    others = [request[key] for key in ("pipeline_parallel_size", "data_parallel_size", "decode_context_parallel_size")]
    return {"tensor": request["tensor_parallel_size"], "others": int(any(size > 1 for size in others) or request["enable_expert_parallel"])}


def served(words: List[str], program: Sequence[str], option: Optional[str]) -> List[str]:
    """The command's words after the program, with the model replaced by its future folder."""
    if words[:len(program)] != list(program):
        raise NothingToAsk(f"{' '.join(words[:3])} is not a command that it can be asked with; write {' '.join(program)}")
    rest = words[len(program):]
    at = rest.index(option) + 1 if option else 0
    return [*rest[:at], "{MODEL}", *rest[at + 1:]]


def vllm_case(planned: Planned) -> Dict[str, Any]:
    words, variables = planned.command()
    if planned.plan["verdict"]["refusal_code"] == "max_model_len":  # the command has what would cure it
        variables = {}
        if "--hf-overrides" in words:
            at = words.index("--hf-overrides")
            words = words[:at] + words[at + 2:]
    capacity = planned.plan["capacity"]
    # In the second budget one sequence fits, so that there are blocks to calibrate with.
    budgets = [share * capacity["kv_cache_memory_bytes"] for share in (1, 64)] if capacity else []
    return {"card": card_of(planned.plan), "words": served(words, ("vllm", "serve"), None), "environment": variables,
            "ranks": ranks_of(planned.plan), "mem": budgets}


def sglang_case(planned: Planned) -> Dict[str, Any]:
    """Simulates the plan's weights and the free memory before they load, from which the plan's budget follows."""
    plan, (words, variables) = planned.plan, planned.command()
    card, weights = card_of(plan), plan["memory"][0]["weights_bytes"]
    fraction, capacity = plan["engine_settings"]["memory_fraction"], plan["capacity"]
    free = ((capacity["kv_cache_memory_bytes"] if capacity else 0) + weights) / fraction / (1 << 30)
    return {"card": card, "words": served(words, ("python", "-m", "sglang.launch_server"), "--model-path"),
            "environment": variables, "ranks": ranks_of(plan), "free": free, "weights": weights, "fraction": fraction}


def transformers_case(planned: Planned) -> Dict[str, Any]:
    return {"tokens": planned.plan["request"]["max_model_len"], "dtype": planned.plan["model"]["dtype"]}


def mlx_case(planned: Planned) -> Dict[str, Any]:
    request = planned.plan["request"]
    bits = re.fullmatch(r"int(\d)", request["kv_cache_dtype"] or "")
    return {"tokens": request["max_model_len"], "bits": int(bits[1]) if bits else 0}


def llama_cpp_case(planned: Planned) -> Dict[str, Any]:
    source = pathlib.Path(planned.plan["model"]["source"])
    if not source.is_file() or source.suffix == ".json":
        raise NothingToAsk("llama.cpp reads a GGUF file; name one on this machine")
    return {"model": str(source.resolve()), "words": planned.command()[0][1:]}


CASES = {"vllm": vllm_case, "sglang": sglang_case, "transformers": transformers_case, "mlx": mlx_case, "llama.cpp": llama_cpp_case}


# --- the answer

def number(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    return f"{value:,.4f}" if isinstance(value, float) else "-" if value is None else str(value)


def difference(figure: Figure) -> str:
    planned, engine = figure.planned, figure.engine
    if isinstance(planned, bool) or isinstance(engine, bool) or not isinstance(planned, (int, float)) or not isinstance(engine, (int, float)) or not engine:
        return ""
    return f"{100 * (planned - engine) / engine:+.2f} %"


def meaning(name: str, plan: Answer, row: Dict[str, Any], differing: Sequence[Figure]) -> List[str]:
    """What each difference means for the verdict, one sentence each."""
    found = {figure.name: figure for figure in differing}
    status = plan["verdict"]["status"]
    out: List[str] = []
    if "starts" in found:
        size = (row.get("plans") or [{}])[0]
        words = row.get("refused") or size.get("refused") or f"the cache needs {size.get('needed_gib')} GiB"
        if found["starts"].planned:
            return [f"{name} does not start, which the plan does not say: {words}"]
        return [f"The plan says that {name} does not start ({plan['verdict']['refusal'] or plan['verdict']['reason']}), and it accepts the model."]
    if "weights, bytes" in found and isinstance(found["weights, bytes"].planned, int):
        more = int(found["weights, bytes"].engine or 0) - found["weights, bytes"].planned
        out.append(f"{name}'s weights take {abs(more) / (1 << 30):.2f} GiB {'more' if more > 0 else 'less'}, and its KV cache gets that much {'less' if more > 0 else 'more'}.")
    for cache, unit in (("KV cache, bytes", 1), ("KV cache, MiB", 1 << 20)):
        if cache in found:
            gib = (float(found[cache].engine or 0) - float(found[cache].planned or 0)) * unit / (1 << 30)
            out.append(f"{name}'s KV cache takes {abs(gib):.2f} GiB {'more' if gib > 0 else 'less'} than the plan has.")
    if "concurrency" in found and isinstance(found["concurrency"].engine, (int, float)):
        at_once, wanted = int(found["concurrency"].engine), plan["request"]["num_seqs"]
        fits = at_once >= wanted
        out.append(f"In this budget {name} runs {at_once:,} sequences of {plan['request']['max_model_len']:,} tokens at once: "
                   + ("the verdict stays." if fits == (status == "fits") else "the verdict changes: " + ("it fits." if fits else "it does not fit.")))
    return out or ["The verdict does not rest on these figures."]


class Verified:
    """A table of the engine's figures and the plan's."""

    def __init__(self, engine: str, installed: Installed, planned: Planned, case: Dict[str, Any], config: str, row: Dict[str, Any]) -> None:
        self.engine, self.installed, self.planned, self.row = engine, installed, planned, row
        self.case, self.config = case, config
        self.name, self.plan = called(engine), planned.plan
        self.figures = COMPARE[engine](self.plan, row)
        given = [*planned.asked.words, *planned.asked.command]
        if "--max-num-seqs" in case.get("words", []) and not any(word.startswith("--max-num-seqs") for word in given):
            # The command has the cap with which it starts, not the plan's default.
            self.figures = [figure for figure in self.figures if figure.name not in ("sequences of a batch", "CUDA graph sizes")]
        self.differing = [figure for figure in self.figures if not figure.is_equal]
        self.known = [note["message"] for note in self.plan["notes"] if note["code"] in ("known_error", "unknown_latents")]
        self.meaning = meaning(self.name, self.plan, row, self.differing) if self.differing else []

    @property
    def agrees(self) -> bool:
        return not self.differing

    def not_asked(self) -> List[str]:
        out = []
        if self.engine in ("vllm", "sglang"):
            out.append("activations, the bytes of CUDA graphs and the driver's memory, which need a real GPU")
        if self.engine == "llama.cpp":
            out.append("compute buffers and the placement of layers, which need a real GPU")
        if self.row.get("cache_error"):
            out.append(f"the KV cache, as the model's own pass ended with {self.row['cache_error']}")
        if self.row.get("not_built"):
            out.append(f"weights, as the class was not built: {self.row['not_built']}")
        if self.row.get("only_arguments"):
            out.append("weights and cache of pipeline, data, context or expert parallel ranks")
        return out

    def as_json(self) -> Answer:
        figures = [{"name": it.name, "planned": it.planned, "engine": it.engine, "equal": it.is_equal} for it in self.figures]
        return {"schema_version": 1, "kvplan_version": self.plan["kvplan_version"], "engine": self.engine, "release": self.installed.release,
                "model": self.plan["model"]["name"], "gpu": self.plan["request"]["gpu"], "agrees": self.agrees, "figures": figures,
                "meaning": self.meaning, "known": self.known, "not_asked": self.not_asked(), "refused": self.row.get("refused"),
                "peak_bytes": self.row["peak_bytes"]}

    def save(self, path: str) -> None:
        """Stores the engine's figures for later plans; the program writes the file."""
        budget = (self.plan["capacity"] or {}).get("kv_cache_memory_bytes") or 0
        figures = said(self.engine, self.row, any(it.name == "weights, bytes" for it in self.differing), budget)
        if not figures:
            print(f"kvplan: verify: {self.name} said nothing that a later plan could use: {path} is as it was", file=sys.stderr)
            return
        tail = ["--", *self.planned.asked.command] if self.planned.asked.command else []
        run(["verify", f"--said={figures}", f"--save-calibration={path}", *self.planned.words, *tail], self.planned.text)

    def write_report(self, path: str) -> None:
        config = json.loads(self.config)
        text = report(self.engine, self.installed.release, self.plan, config, self.case.get("words", []), self.row)
        try:
            pathlib.Path(path).write_text(text, encoding="utf-8")
        except OSError as error:
            refuse(f"--report {path}: {error.strerror}", "name another file")

    def text(self) -> str:
        release = f"{self.name} {self.installed.release}"
        count = f"{len(self.figures)} figure" + "s" * (len(self.figures) != 1)
        refused = self.row.get("refused") or (self.row.get("plans") or [{}])[0].get("refused")
        if self.agrees and refused:
            lines = [f"{release} refuses to start, as the plan says: {refused}"]
        elif self.agrees:
            lines = [f"{release} agrees with the plan ({count})"]
        else:
            lines = [f"{release} differs from the plan in {len(self.differing)} of {count}", "", *self.table(), "", *self.meaning]
        lines += [f"kvplan knows of it: {sentence}" for sentence in self.known if self.differing]
        lines += [f"Not asked: {what.rstrip('.')}." for what in self.not_asked()]
        return "\n".join(lines) + "\n"

    def table(self) -> List[str]:
        rows = [("", "plan", self.name, "")] + [(it.name, number(it.planned), number(it.engine), difference(it)) for it in self.differing]
        wide = [max(len(row[column]) for row in rows) for column in range(4)]
        return [f"  {row[0]:<{wide[0]}}  {row[1]:>{wide[1]}}  {row[2]:>{wide[2]}}  {row[3]}".rstrip() for row in rows]


def engine_of(asked: Asked, text: Optional[str]) -> Tuple[str, Optional[str]]:
    """The engine's name and the requested release."""
    given, _, release = (asked.engine or "").partition("@")
    if not given:
        tail = ["--", *asked.command] if asked.command else []
        given = answer(run(["plan", "--json", *asked.words, *tail], text))["request"]["engine"]
    name = {"mlx-lm": "mlx", "mlx_lm": "mlx", "llamacpp": "llama.cpp"}.get(given.lower(), given.lower())
    if name not in ENGINES:
        raise NothingToAsk(f"{given} cannot be asked; these can: " + ", ".join(ENGINES) + " (--engine)")
    return name, release or None


def build_of(package: str) -> str:
    """llama.cpp's build in llama-cpp-py-sync (0.11739). llama-cpp-python does not name its build: "", the newest that kvplan knows."""
    build = re.fullmatch(r"0\.(\d{4,})(\.\d+)*", package)
    return "b" + build[1] if build else ""


def verify(asked: Asked) -> Verified:
    text = sys.stdin.read() if "-" in asked.words else None
    engine, wanted = engine_of(asked, text)
    installed = find(engine, asked.python)
    found = re.match(r"\d+(\.\d+)*(\.post\d+)?", installed.release)
    if found is None:
        raise NothingToAsk(f"{called(engine)} {installed.release} is no release; install one")
    release = found[0] if engine != "llama.cpp" else build_of(found[0])
    if wanted and not (release + ".").startswith(wanted + "."):
        raise NothingToAsk(f"{called(engine)} {installed.release} is installed, not {wanted}; name its Python with --python")
    planned = Planned(asked, text, engine, release)
    case = {"release": installed.release, **CASES[engine](planned)}
    files = files_of(planned.plan, text)
    return Verified(engine, installed, planned, case, files.get("config.json", "{}"), ask(engine, installed, case, files))


def interrupt(number: int, frame: object) -> None:
    """Handles a signal so that the engine's process and folder are removed."""
    raise KeyboardInterrupt


def main(words: Optional[Sequence[str]] = None) -> int:
    given = list(sys.argv[1:] if words is None else words)
    if "--help" in given or "-h" in given:
        print(__doc__.strip())
        return 0
    ended = [(number, signal.signal(number, interrupt)) for number in ENDING]
    try:
        asked = parse(given)
        verified = verify(asked)
        if asked.report:
            verified.write_report(asked.report)
        if asked.save:
            verified.save(asked.save)
    except NothingToAsk as error:
        print(f"kvplan: verify: {error}", file=sys.stderr)
        return NOTHING
    except KvplanError as error:
        print(error.line, file=sys.stderr)
        return error.exit_code
    except KeyboardInterrupt:
        return 130
    finally:
        for number, before in ended:
            signal.signal(number, before)
    print(json.dumps(verified.as_json(), indent=2) + "\n" if asked.as_json else verified.text(), end="")
    return 0 if verified.agrees else 1


if __name__ == "__main__":
    sys.exit(main())
