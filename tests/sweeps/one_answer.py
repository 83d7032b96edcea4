"""One question, one answer: every way of naming a model gives the same plan.

    one_answer.py KVPLAN SOURCE [--full] [--only WORD] [--python PYTHON]

Makes checkpoints of the same model from each bundled config: only the config; with an index; with an index and one of three
shards; with all shards; with one file. Each is named by its folder, by its config.json, through a cache of the Hub and through
a Hub on loopback. The weights in the plans may differ as much as the index differs from the config. If the files have what
the config says, the weights are equal, too. Everything else is always equal. --python is an interpreter with this program's
wheel and the packages of kvplan[mcp], for the MCP server.
"""
import json
import os
import subprocess
import sys
import tempfile

import checkpoint
import doors
import gguf
from program import Faults, Program, models, options

DIFFERENCES = (1.0, 1.003, 0.996, 1.02)  # the index against the config; the last is worth a warning
CARD = ("--gpu", "h200")
LAYOUTS = {
    "logical": [[]],
    "vllm": [[], ["-tp", "8"], ["-pp", "2"], ["-tp", "2", "-dp", "2", "--enable-expert-parallel"], ["--language-model-only"], ["--mtp"]],
    "sglang": [[], ["-tp", "8"], ["-pp", "2"], ["-tp", "4", "-dp", "4", "--enable-dp-attention", "--enable-expert-parallel"]],
    "llama.cpp": [["-ngl", "all"], ["-ngl", "10"], ["-ngl", "all", "-pp", "2"]],
    "transformers": [[], ["-pp", "2"]],
    "mlx": [[]],
}
# Figures that also depend on the weights: llama.cpp copies weights from the host, and SGLang's table of requests varies.
FOLLOWING = ("total_bytes", "activation_bytes", "runtime_bytes")
# Notes about the source of the weights, and about the copy that was read.
OF_SOURCE = ("weights_", "incomplete_copy", "stored", "hub_", "tied_head", "quant_config", "index_")


def weights(plan):
    return [gpu["weights_bytes"] for gpu in plan["memory"]]


def without_name(plan):
    """The plan without what depends on the name of its source."""
    if "error" in plan:
        return {"error": plan["error"].removeprefix("kvplan: ").removeprefix(plan.get("source", "")), "exit": plan.get("exit")}
    out = json.loads(json.dumps(plan))
    for key in ("source", "name"):
        out["model"].pop(key)
    out["notes"] = [note for note in out["notes"] if not note["code"].startswith(OF_SOURCE)]
    return out


def without_weights(plan):
    """The plan without the weights and what depends on them."""
    out = without_name(plan)
    if "error" in out:
        return out
    for key in ("total", "capacity", "verdict", "bounds", "host_memory", "notes"):
        out.pop(key, None)
    for gpu in out["memory"]:
        gpu.pop("weights_bytes")
        for key in FOLLOWING:
            gpu.pop(key)
        gpu["lines"] = [line for line in gpu["lines"] if line["part"] == "kv_cache"]
    return out


def without_sources(part):
    """A part of an answer without the texts about the source of a line's bytes."""
    if isinstance(part, list):
        return [without_sources(each) for each in part]
    if isinstance(part, dict):
        return {key: without_sources(value) for key, value in part.items() if key not in ("formula", "source")}
    return part


def differences(a, b, at=""):
    """The first places in which two answers differ."""
    if isinstance(a, dict) and isinstance(b, dict) and a.keys() == b.keys():
        return [d for key in a for d in differences(a[key], b[key], f"{at}.{key}")][:3]
    if isinstance(a, list) and isinstance(b, list) and len(a) == len(b):
        return [d for i, pair in enumerate(zip(a, b)) for d in differences(*pair, f"{at}.{i}")][:3]
    return [] if a == b else [f"{at}: {str(a)[:90]} / {str(b)[:90]}"]


# Families whose configs have no maximum length, while their GGUF files do.
NO_LENGTH = ("mamba", "rwkv7", "rwkv6")


def layers(plan):
    keys = ("kind", "count", "indices", "bytes_per_token", "bytes_per_sequence", "token_limit")
    return [[layer[key] for key in keys] for layer in plan["model"]["layers"] if layer["kind"] != "none"]


class Sweep:
    def __init__(self, given):
        self.program = Program(given.kvplan)
        self.faults = Faults()
        self.full = given.full
        self.work = tempfile.TemporaryDirectory(prefix="kvplan-names-")
        self.store = checkpoint.Store(self.work.name + "/models", self.program.environment["HF_HUB_CACHE"])
        self.hub = checkpoint.Hub(self.store.root)
        self.program.environment["HF_ENDPOINT"] = self.hub.url

    def forms(self, name, path):
        """Names of the model, grouped by their files: {kind: (how far the index is from the config, [names])}."""
        with open(path, encoding="utf-8") as file:
            config = file.read()
        code, plan = self.program.ask([path, "--mtp"])
        assert code == 0, plan
        whole = weights(plan)[0]
        computed = checkpoint.by_parts(plan)
        real = checkpoint.written_out(name, json.loads(config))
        if real is not None and not self.faults.check(
                "config against written shapes", abs(checkpoint.bytes_of(real) - (plan["model"]["parameters"]["total"] * 2)) <= (
                    json.loads(config)["vocab_size"] * json.loads(config)["hidden_size"] * 2), name):
            real = None
        tensors = real or computed
        store, out = self.store, {}
        folder = store.folder(f"{name}", config)
        out["config"] = (0, [path, folder, folder + "/config.json", store.cached(folder, name), f"hub/{name}"])
        for factor in DIFFERENCES:
            total = round(whole * factor)
            of = f"{name}-x{factor}"
            some = store.folder(of, config, index=(tensors, total))
            part = store.folder(of + "-part", config, index=(tensors, total), shards=(tensors, (1,)))
            names = [some, some + "/config.json", store.cached(some, of), f"hub/{of}", part, part + "/config.json",
                     store.cached(part, of + "-part")]
            out[f"index x{factor}"] = (abs(total - whole) / whole, names if self.full or factor in DIFFERENCES[:2] else names[:1])
        # If the head is not tied, these are the bytes that the config gives.
        for kind, files in (("shards", {"index": (computed, whole), "shards": (computed,)}), ("one file", {"single": computed})):
            of = f"{name}-{kind.replace(' ', '-')}"
            folder = store.folder(of, config, **files)
            out[kind] = (0, [folder, folder + "/config.json", store.cached(folder, of)])
            out[kind][1].extend([f"hub/{of}"] if kind == "one file" else [])
        if real is not None:
            of = f"{name}-real"
            folder = store.folder(of, config, index=(real, checkpoint.bytes_of(real)), shards=(real,))
            out["real shards"] = (1e-4, [folder, folder + "/config.json", store.cached(folder, of)])
        return out

    def plans(self, names, words):
        """An answer for each name, from one run with all of them."""
        code, fleet = self.program.ask([*names, *words])
        if "plans" not in fleet:
            return [{"error": fleet.get("error", "no plans"), "exit": code}] * len(names)
        return fleet["plans"]

    def ask_all(self, name, forms):
        everything = [n for _, names in forms.values() for n in names]
        for engine, layouts in LAYOUTS.items():
            for layout in layouts:
                words = ["--engine", engine, *layout, *CARD, "--max-model-len", "2k"]
                answers = dict(zip(everything, self.plans(everything, words)))
                if not layout:  # a fleet has no suggestions and compares no releases
                    _, alone = self.program.ask([everything[0], *words])
                    a, b = (without_name(p) for p in (alone, answers[everything[0]]))
                    for answer in (a, b):
                        answer.get("verdict", {}).update(suggestions=[], reason="")
                        if "notes" in answer:
                            answer["notes"] = [note for note in answer["notes"] if note["code"] != "releases_differ"]
                    self.faults.check("a model alone, and in a fleet", a == b, name, *words, lambda: differences(a, b))
                self.compare(name, forms, answers, words)
        for question in ("fit", "compare"):
            self.compare_answers(name, forms, question)

    def compare(self, name, forms, answers, words):
        bare = answers[forms["config"][1][0]]
        about = lambda other: f"{self.short(other)} {' '.join(words)}"  # noqa: E731
        for kind, (off, names) in forms.items():
            first = answers[names[0]]
            for other in names[1:]:
                a, b = without_name(first), without_name(answers[other])
                self.faults.check(f"{kind}: the same files, another answer", a == b, lambda: about(other), lambda: differences(a, b))
            if kind == "config":
                continue
            if "error" in bare or "error" in first:
                self.faults.check(f"{kind}: refused, or not", ("error" in bare) == ("error" in first), lambda: about(names[0]),
                                  lambda: first.get("error", bare.get("error")))
                continue
            for mine, yours in zip(weights(bare), weights(first)):
                if not self.faults.check(f"{kind}: weights", abs(yours - mine) <= (off + 1e-6) * max(mine, 1) + 64, lambda: about(names[0]),
                                         f"{mine / 2**30:.3f} GiB by the config, {yours / 2**30:.3f}"):
                    break
            a, b = without_weights(bare), without_weights(first)
            self.faults.check(f"{kind}: what has nothing to do with weights", a == b, lambda: about(names[0]), lambda: differences(a, b))
            # llama.cpp packs the buffers of its graphs, so all of them may shrink much if one shrinks a little.
            slack = 0.05 if off and "llama.cpp" in words else 1e-6
            for one, two in zip(bare["memory"], first["memory"]):
                if not self.faults.check(f"{kind}: what follows from the weights", all(
                        abs(one[key] - two[key]) <= (off + slack) * one[key] + 64 for key in FOLLOWING), lambda: about(names[0]), *(
                            f"{key} {one[key]} {two[key]}" for key in FOLLOWING)):
                    break
            if off == 0 and weights(bare) == weights(first):
                for key in ("capacity", "verdict", "total", "host_memory"):
                    a, b = without_sources(bare[key]), without_sources(first[key])
                    self.faults.check(f"{kind}: the same bytes, another {key}", a == b, lambda: about(names[0]), lambda: differences(a, b))
            if kind.startswith("index"):
                warned = any(note["level"] == "warning" and note["code"].startswith(OF_SOURCE) for note in first["notes"])
                self.faults.check("index: a warning beyond 1 % alone", warned == (off > 0.01), lambda: about(names[0]), f"{off:.3f} off")

    def compare_answers(self, name, forms, question):
        """`fit` and `compare` answer the same for names of the same files."""
        for kind, (_, names) in forms.items():
            if not self.full and kind not in ("config", "index x1.0", "shards"):
                continue
            for words in (["--engine", "vllm", *CARD], ["--engine", "vllm", *CARD, "-tp", "8"])[:2 if self.full else 1]:
                answers = []
                for other in names:
                    code, answer = self.program.ask([question, other, *words])
                    for key in ("model", "notes"):
                        answer.pop(key, None)
                    answers.append((code, {"error": "error"} if "error" in answer else answer))
                for other, answer in zip(names[1:], answers[1:]):
                    self.faults.check(f"{kind}: the same files, another {question}", answer == answers[0], self.short(other), *words,
                                      lambda: differences(answers[0][1], answer[1]))

    def quantized(self, source):
        """hf_quant_config.json is read whichever file of its checkpoint is named, unless config.json says how the weights are stored."""
        with open(source + "/testdata/quantized/nemotron-3-nano-30b-a3b-nvfp4.json", encoding="utf-8") as file:
            nano = json.load(file)
        with open(source + "/testdata/configs/llama-3.1-8b.json", encoding="utf-8") as file:
            llama = json.load(file)
        nvfp4 = {"producer": {"name": "modelopt"}, "quantization": {"quant_algo": "NVFP4", "kv_cache_quant_algo": "FP8", "group_size": 16,
                                                                    "exclude_modules": ["lm_head"]}}
        fp8 = {**llama, "quantization_config": {"quant_method": "fp8", "activation_scheme": "dynamic", "fmt": "e4m3"}}
        words = ["--gpu", "h200", "--max-model-len", "2k"]
        scales = [(f"model.layers.{i}.mlp.up_proj.weight_scale", "U8", [1 << 20]) for i in range(3)]
        for name, config, quant in (("nano", nano["config"], nano["hf_quant_config"]), ("llama", llama, nvfp4)):
            plain = self.store.folder("plain-" + name, json.dumps(config))
            folder = self.store.folder("quantized-" + name, json.dumps(config), quant=json.dumps(quant))
            whole = round(weights(self.plans([folder, folder], [])[0])[0])
            index = self.store.folder("indexed-" + name, json.dumps(config), quant=json.dumps(quant), index=(scales, whole))
            for names in ([folder, folder + "/config.json", self.store.cached(folder, "quantized-" + name)],
                          [index, index + "/config.json", self.store.cached(index, "indexed-" + name), "hub/indexed-" + name]):
                for engine, layouts in LAYOUTS.items():
                    for layout in layouts:
                        first, *others, bare = self.plans([*names, plain], ["--engine", engine, *layout, *words])
                        about = (self.short(names[0]), engine, *layout)
                        for other, answer in zip(names[1:], others):
                            a, b = without_name(first), without_name(answer)
                            self.faults.check("hf_quant_config.json: the same files, another answer", a == b, self.short(other), engine,
                                              *layout, lambda: differences(a, b))
                        if "error" in first or "error" in bare:
                            continue
                        if engine != "transformers":  # it has no quantizer for ModelOpt's files
                            self.faults.check("hf_quant_config.json is read", sum(weights(first)) < 0.6 * sum(weights(bare)), *about)
                        self.faults.check("a note names hf_quant_config.json", "hf_quant_config.json" in json.dumps(first["notes"]), *about)
        both = self.store.folder("both", json.dumps(fp8), quant=json.dumps(nvfp4))
        alone = self.store.folder("alone", json.dumps(fp8))
        for name in (both, both + "/config.json"):
            a, b = self.plans([name, alone], ["--engine", "vllm", *words])
            self.faults.check("vLLM takes the config's own quantization first", weights(a) == weights(b), self.short(name), weights(a), weights(b))

    def ggufs(self, source, only):
        """In one engine with the same types, a GGUF and its config have equal layers, bytes per token and lengths."""
        paths = models(source, only, self.full)
        for name, row in gguf.models(source).items():
            if name not in paths:
                continue
            path = f"{self.store.root}/{name}.gguf"
            gguf.write(path, row)
            for engine in LAYOUTS:
                words = ["--engine", engine, "--kv", "f16", "--max-model-len", "2k"]
                if engine in ("logical", "vllm", "sglang"):
                    words += ["--mamba-ssm-cache-dtype", "float32"]
                # transformers unpacks a GGUF to float32 unless the command names a type.
                same_type = ["--dtype", "float16"] if engine == "transformers" else []
                (code, file), (_, config) = self.program.ask([path, *words, *same_type]), self.program.ask(
                    [paths[name], *words, "--weights", "f16", "--dtype", "float16"])
                if not self.faults.check("GGUF: planned as its config is", ("error" in file) == ("error" in config), name, engine, code):
                    continue
                if "error" in file:
                    continue
                for what, of in (("layers", layers), ("bytes a token", lambda p: p["kv_cache"]["bytes_per_token"]),
                                 ("longest", lambda p: p["model"]["max_model_len"])):
                    if what == "longest" and json.load(open(paths[name], encoding="utf-8")).get("model_type") in NO_LENGTH:
                        continue
                    self.faults.check(f"GGUF: {what}", of(file) == of(config), name, engine, lambda: differences(of(config), of(file)))
                off = weights(file)[0] / weights(config)[0] - 1 if engine == "llama.cpp" else 0
                self.faults.check("GGUF: weights", abs(off) < 0.03, name, engine, f"{off:.2%} off")

    def doors(self, given):
        """Standard input, the Python package, the MCP server and the page give the same answer for the same files."""
        python = given.python or sys.executable
        names = models(given.source, given.only)
        questions, expected, pages = [], [], []
        for name in names if self.full else [n for n in names if n in ("deepseek-v3", "gemma-4-26b", "llama-3.1-8b", "qwen3-0.6b")]:
            with open(names[name], encoding="utf-8") as file:
                config = file.read()
            _, plan = self.program.ask([names[name], "--mtp"])
            total = round(weights(plan)[0] * 1.003)
            folder = self.store.folder("door-" + name, config, index=(checkpoint.by_parts(plan), total))
            index = folder + "/model.safetensors.index.json"
            for engine, layout in (("vllm", {}), ("vllm", {"tensor_parallel_size": 8}), ("sglang", {"pipeline_parallel_size": 2}),
                                   ("llama.cpp", {"n_gpu_layers": 10})):
                chosen = {"engine": engine, "gpu": "h200", "max_model_len": "2k", **layout}
                words = [f"--{key.replace('_', '-')}={value}" for key, value in chosen.items()]
                bare, *rest = (self.program.ask([each, *words])[1] for each in (names[name], folder, folder + "/config.json"))
                code, piped = self.program.ask(["-", *words], config)
                a, b = without_name(bare), without_name(piped)
                self.faults.check("standard input", a == b, name, *words, lambda: differences(a, b))
                for model, answer in ((names[name], bare), (json.loads(config), bare), (folder, rest[0]), (folder + "/config.json", rest[1])):
                    questions.append({"model": model, "options": chosen})
                    expected.append((f"{self.short(str(model))[:60]} {' '.join(words)}", answer))
                with open(index, encoding="utf-8") as file:
                    texts = {"config.json": config, "model.safetensors.index.json": file.read()}
                pages += [({"files": {f"{name}-bare.json": config}, "words": [f"{name}-bare.json", *words, "--json"]}, bare),
                          ({"files": {f"{name}/{file}": text for file, text in texts.items()}, "words": [name, *words, "--json"]}, rest[0]),
                          ({"files": {}, "words": [name + "/config.json", *words, "--json"]}, rest[0])]
        for door, ask in (("the Python package", lambda: doors.package(self.program, given.source, python, questions)),
                          ("MCP", lambda: doors.mcp(self.program, given.source, python, questions)),
                          ("the page", lambda: doors.page(self.program, given.source, [question for question, _ in pages]))):
            try:
                answers = ask()
            except doors.Skipped as why:
                print(f"SKIPPED {why}")
                continue
            right = [(" ".join(q["words"]), answer) for q, answer in pages] if door == "the page" else expected
            for (about, wanted), answer in zip(right, answers):
                a, b = without_name(wanted), without_name(answer)
                self.faults.check(door, a == b, about, lambda: differences(a, b))

    def short(self, name):
        return name.replace(self.work.name + "/models", "~")


def main():
    given = options(python=str)
    sweep = Sweep(given)
    sweep.quantized(given.source)
    sweep.ggufs(given.source, given.only)
    sweep.doors(given)
    sweep.store.clear()
    for name, path in models(given.source, given.only, given.full, given.configs).items():
        sweep.ask_all(name, sweep.forms(name, path))
        sweep.store.clear()
    sweep.hub.close()
    sweep.faults.close(sweep.program.runs)


if __name__ == "__main__":
    main()
