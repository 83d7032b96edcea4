#!/usr/bin/env python3
"""Prints the names of the options that an engine's own parser declares, one per line, from its source.

    engine_options.py vllm|sglang|mlx|tensorrt-llm|llama.cpp SOURCE > testdata/options/ENGINE-RELEASE.txt

SOURCE is the unpacked wheel of a Python engine, or llama.cpp's folder. The script runs no code of them.
"""
import ast
import pathlib
import re
import sys


def trees(source, pattern):
    for path in sorted(source.glob(pattern)):
        yield ast.parse(path.read_text())


def fields(tree):
    """The fields of a class, each of which is an option with its name."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef):
            for field in node.body:
                if isinstance(field, ast.AnnAssign) and not field.target.id.startswith("_"):
                    yield field


def added_arguments(tree):
    for call in ast.walk(tree):
        if isinstance(call, ast.Call) and getattr(call.func, "attr", "") == "add_argument":
            yield from (a.value for a in call.args if isinstance(a, ast.Constant) and isinstance(a.value, str))


def mlx(source):
    for tree in trees(source, "mlx_lm/server.py"):
        yield from added_arguments(tree)


def vllm(source):
    for pattern in ("vllm/engine/arg_utils.py", "vllm/entrypoints/**/cli_args.py"):
        for tree in trees(source, pattern):
            yield from added_arguments(tree)
    for tree in trees(source, "vllm/entrypoints/**/cli_args.py"):
        yield from ("--" + field.target.id.replace("_", "-") for field in fields(tree))


def sglang(source):
    for tree in trees(source, "sglang/srt/arg_groups/fields/*.py"):
        for field in fields(tree):
            yield "--" + field.target.id.replace("_", "-")
            for word in ast.walk(field.annotation):
                if isinstance(word, ast.keyword) and word.arg == "aliases":
                    yield from (alias.value for alias in word.value.elts)


def llama_cpp(source):
    text = (source / "common/arg.cpp").read_text()
    for option in text.split("add_opt(common_arg(")[1:]:
        if "arg_removed(" not in option:
            names = re.search(r"\{[^{}]*\}(,\s*\{[^{}]*\})?", option)  # those that switch it off come second
            yield from re.findall(r'"(-[^"]+)"', names.group())


def tensorrt_llm(source):
    """The options of trtllm-serve, which click declares as decorators of one function."""
    for tree in trees(source, "tensorrt_llm/commands/serve.py"):
        for function in ast.walk(tree):
            if not isinstance(function, ast.FunctionDef) or function.name != "serve":
                continue
            for decorator in function.decorator_list:
                yield from (a.value for a in decorator.args if isinstance(a, ast.Constant) and isinstance(a.value, str))


def main():
    engine, source = sys.argv[1], pathlib.Path(sys.argv[2])
    names = {"vllm": vllm, "sglang": sglang, "mlx": mlx, "tensorrt-llm": tensorrt_llm,
             "llama.cpp": llama_cpp}[engine](source)
    print("\n".join(sorted({name for name in names if name.startswith("-")})))


if __name__ == "__main__":
    main()
