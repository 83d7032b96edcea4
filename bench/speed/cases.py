"""The cases: a question to kvplan, and the commands of the other programs for the same file."""
import os
from dataclasses import dataclass, field

from inputs import Inputs
from measure import Program
from peers import bare_python, curl, jq

VERDICTS = (0, 1)  # it fits, it does not
VLLM = ["--engine", "vllm", "--gpu", "h100-80gb"]


@dataclass
class Case:
    title: str
    kvplan: Program
    others: list = field(default_factory=list)
    is_plan: bool = False   # of one model: the goals of a plan hold
    peak_limit: int = 10    # MiB


class Cases:
    def __init__(self, kvplan, nothing, configs, inputs: Inputs):
        self.kvplan, self.nothing, self.configs, self.inputs = kvplan, nothing, configs, inputs

    def ask(self, *arguments, environment=None):
        return Program("kvplan", [self.kvplan, *arguments, "--json"], environment or {}, VERDICTS)

    def bundled(self, name):
        return os.path.join(self.configs, name + ".json")

    def case(self, title, command, files, **more):
        others = [self.nothing, jq(*files), bare_python(*files)]
        return Case(title, command, [each for each in others if each], **more)

    def plan(self, path, title=None):
        limit = 32 if os.path.getsize(path) > 1e6 else 6
        return self.case(title or f"plan, {os.path.basename(path)}", self.ask(path), [path],
                         is_plan=limit == 6, peak_limit=limit)

    def local(self):
        """All programs that read config.json files."""
        plain = self.bundled("llama-3.1-8b")
        files = sorted(os.path.join(self.configs, name) for name in os.listdir(self.configs) if name.endswith(".json"))
        largest = max(files, key=os.path.getsize)
        layers = self.inputs.listed_layers(512)
        skips = self.inputs.skip_list(self.bundled("deepseek-v3"), 30000)
        yield self.plan(plain)
        yield self.plan(self.bundled("deepseek-v3"))
        yield self.case("plan for vLLM on a card", self.ask(plain, *VLLM), [plain], is_plan=True, peak_limit=6)
        yield self.plan(largest, f"plan of the largest, {os.path.basename(largest)}")
        yield self.case(f"plan, 512 listed layers, {os.path.getsize(layers) / 1e3:.0f} KB", self.ask(layers), [layers])
        yield self.plan(skips, f"plan, 30,000 skipped modules, {os.path.getsize(skips) / 1e6:.1f} MB")
        yield self.case("compare", self.ask("compare", plain, *VLLM), [plain])
        yield self.case("fit, 4 cards", self.ask("fit", plain, *VLLM, "--gpu-count", "4"), [plain])
        yield self.case(f"fleet, {len(files)} models", self.ask(*files), files)
        cards = "rtx-4090,l40s,h100-80gb,a100-80gb"
        yield self.case(f"fleet, {len(files)} models x 4 cards x 2 types",
                        self.ask(*files, "--engine", "vllm", "--gpu", cards, "--weights", "bf16,fp8"), files)

    def vocabulary(self, tokens, readers):
        path, header = self.inputs.gguf(tokens)
        others = [self.nothing, bare_python(path), *readers.programs(path, header)]
        return Case(f"GGUF, {tokens // 1024}k tokens, a header of {header / 1e6:.0f} MB", self.ask(path), others)

    def hub(self, address):
        """The user's caches are not used. The first case starts with an empty cache each time."""
        away = {"HF_ENDPOINT": address, "HF_HOME": self.inputs.path("no-such-folder"), "HF_HUB_CACHE": "",
                "HUGGINGFACE_HUB_CACHE": "", "HF_HUB_OFFLINE": "", "TRANSFORMERS_OFFLINE": "", "HF_TOKEN": "",
                "http_proxy": "", "HTTP_PROXY": "", "all_proxy": "", "ALL_PROXY": ""}
        cache = self.inputs.path("hub-cache")
        python = bare_python(address + "/org/model")
        python.environment = {"http_proxy": "", "HTTP_PROXY": "", "all_proxy": "", "ALL_PROXY": ""}
        empty = {**away, "KVPLAN_CACHE": os.path.join(cache, "{run}")}
        kept = {**away, "KVPLAN_CACHE": os.path.join(cache, "kept")}
        others = [each for each in (self.nothing, curl(address + "/org/model"), python) if each]
        yield Case("Hub, two requests to loopback", self.ask("org/model", environment=empty), others)
        yield Case("Hub, again: one request", self.ask("org/model", environment=kept), others)
        yield Case("Hub, --offline", self.ask("org/model", "--offline", environment=kept), [self.nothing])
