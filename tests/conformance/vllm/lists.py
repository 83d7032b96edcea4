"""What a release of vLLM declares: lists out of the source of its wheel, of which nothing is run."""
import ast
import os

import source as read

PARSERS = ("vllm/engine/arg_utils.py", "vllm/entrypoints/*/cli_args.py", "vllm/entrypoints/cli/serve.py")
CONFIGS = ("vllm/config.py", "vllm/config/*.py", "vllm/entrypoints/**/cli_args.py", "vllm/engine/arg_utils.py")
INVERSE = {"--enable-": "--disable-", "--disable-": "--enable-"}
EXPECTED = {"options": ("--max-model-len", "--max-num-seqs", "--port", "--chat-template", "--config")}  # else the source moved


def lists(source):
    return {"options": options(source)}


# --- options of `vllm serve`

def options(source):
    configs = {}  # class: {field: annotation}, with what it inherits
    for _, tree in read.trees(source, *CONFIGS):
        for name, cls in read.classes(tree).items():
            inherited = [configs.get(read.name_of(base), {}) for base in cls.bases]
            configs[name] = {key: value for part in [*inherited, read.fields(cls)] for key, value in part.items()}
    out = {}
    for path, tree in read.trees(source, *PARSERS):
        edits = edited(tree)
        for call in read.calls(tree, "add_argument"):
            if names := read.names_of(call):
                name, what = of_call(call, names, tree, configs)
                out[name] = what
        for name in read.classes(tree):
            if name.endswith("FrontendArgs") or name == "FrontendArgs":
                for field, annotation in configs[name].items():
                    flag = "--" + field.replace("_", "-")
                    out[flag] = of_field([flag], {**of_hints(annotation), **edits.get(field, {})})
    if paired(source):
        out = {name: with_inverse(name, what) for name, what in out.items()}
    out["--help"] = "flag -h"
    return out


def paired(source):
    """Since 0.33 the parser takes --disable-x for each switch --enable-x."""
    return any("EnableDisableAction" in read.classes(tree) for _, tree in read.trees(source, "vllm/utils/argparse_utils.py"))


def with_inverse(name, what):
    kind, *names = what.split()
    inverses = [inverse + spelling.removeprefix(prefix) for spelling in [name, *names] for prefix, inverse in INVERSE.items()
                if kind == "switch" and spelling.startswith(prefix)]
    return " ".join([kind, *names, *inverses])


def edited(tree):
    """{field: {keyword: value}} of what the frontend changes before it adds its arguments."""
    out = {}
    for node in ast.walk(tree):
        targets = node.targets if isinstance(node, (ast.Assign, ast.Delete)) else []
        for target in targets:
            if isinstance(target, ast.Subscript) and isinstance(target.value, ast.Subscript) and read.name_of(target.value.value) == "frontend_kwargs":
                value = None if isinstance(node, ast.Delete) else read.text(node.value) or read.name_of(node.value)
                out.setdefault(read.text(target.value.slice), {})[read.text(target.slice)] = value
    return out


def of_hints(annotation):
    """What vLLM's get_kwargs makes of a field's type."""
    types = read.hints(annotation)
    if types == {"bool", "str", "None"}:
        return {"nargs": "?"}
    if "bool" in types:
        return {"action": "switch"}
    return {"nargs": "+"} if types & {"list", "tuple", "set", "List", "Tuple", "Set"} and "Literal" not in types else {}


def of_field(names, words):
    return read.option(names, words.get("nargs"), words.get("action"))[1]


def of_call(call, names, tree, configs):
    words = read.keywords(call)
    given = {"nargs": read.text(words.get("nargs")), "action": read.action_of(words)}
    for word in call.keywords:
        field_of = next((node for node in ast.walk(word.value) if isinstance(node, ast.Subscript)), None)
        if word.arg is None and field_of is not None:
            holder, field = read.name_of(field_of.value), read.text(field_of.slice)
            annotation = configs.get(class_of(tree, holder), {}).get(field)
            if annotation is not None:
                given = {**of_hints(annotation), **{key: value for key, value in given.items() if value}}
    return names[0], of_field(names, given)


def class_of(tree, holder):
    """The config class of `holder = get_kwargs(CLASS)`."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and read.name_of(node.targets[0]) == holder and isinstance(node.value, ast.Call) and node.value.args:
            return read.name_of(node.value.args[0])
    return ""
