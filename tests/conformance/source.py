"""Reads an engine's Python code without running it: syntax trees, annotations, and the arguments of `add_argument`."""
import ast
import functools
import glob
import os
import re

SWITCHES = {"store_true", "store_false", "store_const", "count", "help", "version"}
WRAPPERS = {"Optional", "Union", "Annotated", "A", "SkipValidation"}


@functools.lru_cache(maxsize=64)
def tree(path):
    with open(path, encoding="utf-8-sig") as f:
        return ast.parse(f.read())


def trees(source, *patterns, holding=""):
    """(path from source, tree) of every file that exists and contains one of the texts."""
    for pattern in patterns:
        for path in sorted(glob.glob(os.path.join(source, pattern), recursive=True)):
            with open(path, "rb") as f:
                if holding.encode() in f.read():
                    yield os.path.relpath(path, source), tree(path)


def name_of(node):
    """The last name of a dotted one: argparse.BooleanOptionalAction is BooleanOptionalAction."""
    return getattr(node, "id", getattr(node, "attr", ""))


def text(node, default=None):
    """A constant's value."""
    return node.value if isinstance(node, ast.Constant) else default


def texts(node):
    """The strings in a list, a tuple, a set or the keys of a dict, or in what is built from them."""
    if isinstance(node, ast.Dict):
        return [text(key) for key in node.keys if isinstance(text(key), str)]
    return [item.value for item in ast.walk(node) if isinstance(item, ast.Constant) and isinstance(item.value, str)] if node else []


def assigned(module):
    """{name: value} of the assignments at module level."""
    out = {}
    for node in module.body:
        if isinstance(node, (ast.Assign, ast.AnnAssign)) and node.value is not None:
            for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
                if isinstance(target, ast.Name):
                    out[target.id] = node.value
    return out


def classes(module):
    return {node.name: node for node in ast.walk(module) if isinstance(node, ast.ClassDef)}


def fields(cls):
    """{name: annotation} of a dataclass's fields."""
    return {node.target.id: node.annotation for node in cls.body
            if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and "ClassVar" not in ast.unparse(node.annotation)}


def hints(annotation):
    """The types of a union or of an annotated type, by their names: `list[str] | None` is list and None."""
    if isinstance(annotation, ast.Constant) and isinstance(annotation.value, str):
        return hints(ast.parse(annotation.value, mode="eval").body)
    if isinstance(annotation, ast.BinOp):
        return hints(annotation.left) | hints(annotation.right)
    if isinstance(annotation, ast.Subscript):
        outer = name_of(annotation.value)
        if outer not in WRAPPERS:
            return {outer}
        inner = annotation.slice.elts if isinstance(annotation.slice, ast.Tuple) else [annotation.slice]
        return set().union(*map(hints, inner if outer == "Union" else inner[:1]), {"None"} if outer == "Optional" else set())
    return {"None"} if isinstance(annotation, ast.Constant) else {name_of(annotation)}


def keywords(call):
    return {word.arg: word.value for word in call.keywords if word.arg}


def names_of(call):
    """The spellings of an option, those with the most dashes first."""
    return sorted((arg.value for arg in call.args if isinstance(text(arg), str) and arg.value.startswith("-")), key=lambda name: name[:2] != "--")


def literals(module, name):
    """The strings of `name = Literal[...]`, including those of the names in it."""
    known = assigned(module)
    out, todo = [], [name]
    while todo:
        for node in ast.walk(known.get(todo.pop(), ast.Constant(None))):
            if isinstance(text(node), str):
                out.append(node.value)
            elif isinstance(node, ast.Name) and node.id in known:
                todo.append(node.id)
    return out


def choices_of(source, field, *patterns):
    """What an option takes, from its call or from its field."""
    for _, module in trees(source, *patterns):
        for node in ast.walk(module):
            named = isinstance(node, ast.AnnAssign) and name_of(node.target) == field
            if named or isinstance(node, ast.Call) and "--" + field.replace("_", "-") in names_of(node):
                for word in ast.walk(node):
                    if isinstance(word, ast.keyword) and word.arg == "choices":
                        lists = [part.value for part in ast.walk(module) if isinstance(part, ast.Assign) and isinstance(word.value, ast.Name)
                                 and name_of(part.targets[0]) == word.value.id]
                        return dict.fromkeys(texts(lists[0] if lists else word.value), "")
    return {}


def constants(cls):
    """The members of an enumeration."""
    return [target.id for node in cls.body if isinstance(node, ast.Assign) for target in node.targets if isinstance(target, ast.Name)]


def models_named(source, *patterns):
    """{model type or class: the constants and functions of these files that name it}: what the engine does only for some models."""
    out = {}

    def add(where, names):
        for name in names:
            if re.fullmatch(r"[\w.-]+", name or ""):
                out.setdefault(name, set()).add(where)

    for _, module in trees(source, *patterns):
        for name, value in assigned(module).items():
            if re.search(r"ARCH|MODEL", name.upper()) and isinstance(value, (ast.Dict, ast.Set, ast.List, ast.Tuple, ast.Call)):
                add(name, texts(value))
        for function in ast.walk(module):
            if isinstance(function, ast.FunctionDef):
                for node in ast.walk(function):
                    if isinstance(node, ast.Compare) and re.search(r"model_type|arch", ast.unparse(node.left)):
                        add(function.name, [word for part in node.comparators for word in texts(part)])
    return {name: " ".join(sorted(places)) for name, places in out.items()}


def calls(tree_or_node, function):
    return [node for node in ast.walk(tree_or_node) if isinstance(node, ast.Call) and name_of(node.func) == function]


def option(names, nargs=None, action=None, also=()):
    """(name, what it takes): `flag`, `switch` (with --no-NAME), `value`, `values`, or `optional`; then its other spellings."""
    kind = "value"
    if action in ("BooleanOptionalAction", "switch"):
        kind = "switch"
    elif action in SWITCHES or nargs in (0, "0"):
        kind = "flag"
    elif nargs == "?":
        kind = "optional"
    elif nargs is not None:
        kind = "values"
    return names[0], " ".join([kind, *names[1:], *also])


def action_of(words):
    node = words.get("action")
    return text(node) or (name_of(node) if node is not None else None)
