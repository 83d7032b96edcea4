#!/usr/bin/env python3
"""Prints which model classes the releases of vLLM or SGLang gained and lost: the lines of registry.txt.

    scripts/engine_classes.py ENGINE FOLDER

FOLDER has wheels, unpacked: vllm-0.33.0, sglang-0.5.23 and transformers-5.19.0 for each release. A class counts from the
first release whose transformers runs it, if that is older than the engine's own class, and is lost only where transformers
does not run it either. No code of the wheels is run.
"""
import ast
import glob
import os
import re
import sys

OTHERS = re.compile("For(SequenceClassification|TokenClassification|Reward|Embedding|Retrieval|Score|Ranking)|Model$|Wrapper"
                    "|ForMaskedLM|RNNT|MTP|NextN|[Ee]agle|DFlash|DSpark|Assistant|MindSpore|Contriever|TTS|^Prithvi|^Terratorch")
VLLM_TABLES = re.compile("_(TEXT_GENERATION|EMBEDDING|CROSS_ENCODER|MULTIMODAL|LATE_INTERACTION|REWARD|TOKEN_CLASSIFICATION"
                         "|SEQUENCE_CLASSIFICATION)_MODELS")
# Many vLLM releases set no upper bound for transformers. These are the newest releases in its images, by minor release.
VLLM_LIBRARY = {8: "4.48.3", 9: "4.51.1", 10: "4.54.1", 11: "4.56.1", 19: "4.57.6", 24: "5.5.4", 29: "5.10.4", 31: "5.16.1",
                32: "5.17.0", 33: "5.19.0", 99: "5.20.0"}


def order(text):
    return [int(n) for n in re.findall(r"\d+", text)]


def tree(path):
    with open(path, encoding="utf-8-sig") as f:
        return ast.parse(f.read())


def own_classes(engine, folder):
    if engine == "vllm":
        tables = [node for node in tree(f"{folder}/vllm/model_executor/models/registry.py").body
                  if isinstance(node, ast.Assign) and VLLM_TABLES.fullmatch(getattr(node.targets[0], "id", ""))]
        return {key.value for node in tables for key in node.value.keys if key is not None}
    out = set()
    for path in glob.glob(f"{folder}/sglang/srt/models/**/*.py", recursive=True):
        for node in tree(path).body:
            if isinstance(node, ast.Assign) and any(getattr(target, "id", "") == "EntryClass" for target in node.targets):
                out |= {name.id for name in ast.walk(node.value) if isinstance(name, ast.Name)}
    return out


def library_classes(folder):
    """Classes that support other attention backends (is_backend_compatible; since 5.0 also _can_set_attn_implementation)."""
    out = set()
    newer = order(os.path.basename(folder))[0] >= 5
    for path in glob.glob(f"{folder}/transformers/models/*/modeling_*.py"):
        with open(path, encoding="utf-8") as f:
            text = f.read()
        classes = {node.name: node for node in ast.parse(text).body if isinstance(node, ast.ClassDef)}
        settable = newer and ("ALL_ATTENTION_FUNCTIONS.get_interface(" in text
                              or not re.search(r"^class \w*Attention\w*\(nn\.Module\):", text, re.M))

        def flagged(name):
            if name not in classes:
                return False
            for node in classes[name].body:
                if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "_supports_attention_backend":
                    return bool(getattr(node.value, "value", False))
            return any(flagged(getattr(base, "id", "")) for base in classes[name].bases)

        out |= {name for name in classes if settable or flagged(name)}
    return out


def library_of(engine, folder, release):
    if engine == "vllm":
        return next(version for minor, version in VLLM_LIBRARY.items() if order(release)[1] < minor)
    with open(glob.glob(f"{folder}/*.dist-info/METADATA")[0], encoding="utf-8") as f:
        return re.search(r"transformers==([\d.]+)", f.read())[1]


def main():
    engine, root = sys.argv[1:]
    releases = sorted((os.path.basename(path).split("-", 1)[1] for path in glob.glob(f"{root}/{engine}-*")), key=order)
    known = {os.path.basename(path).split("-", 1)[1]: path for path in glob.glob(f"{root}/transformers-*")}
    own, library, cache = {}, {}, {}
    for release in releases:
        folder = f"{root}/{engine}-{release}"
        wanted = library_of(engine, folder, release)
        nearest = min((v for v in known if order(v) >= order(wanted)), key=order)
        own[release] = own_classes(engine, folder)
        library[release] = cache.setdefault(nearest, None) or library_classes(known[nearest])
        cache[nearest] = library[release]
    rows = {release: (set(), set()) for release in releases}
    for name in sorted(set().union(*own.values())):
        if OTHERS.search(name):
            continue
        having = [release for release in releases if name in own[release]]
        first = next(release for release in releases if name in own[release] or name in library[release])
        if first != releases[0]:
            rows[first][0].add(name)
        later = releases[releases.index(having[-1]) + 1:]
        if later and not any(name in library[release] for release in later):
            rows[later[0]][1].add(name)
    for release, (gains, losses) in rows.items():
        if gains or losses:
            print(release, "gains", *sorted(gains), "loses", *sorted(losses))


if __name__ == "__main__":
    main()
