"""Reading an engine's Python without running it: syntax trees, annotations, and what `add_argument` is given."""
import ast
import functools
import glob
import os

SWITCHES = {"store_true", "store_false", "store_const", "count", "help", "version"}
WRAPPERS = {"Optional", "Union", "Annotated", "A", "SkipValidation"}


@functools.lru_cache(maxsize=None)
def tree(path):
    with open(path, encoding="utf-8") as f:
        return ast.parse(f.read())


def trees(source, *patterns):
    """(path from source, tree) of every file that is there."""
    for pattern in patterns:
        for path in sorted(glob.glob(os.path.join(source, pattern), recursive=True)):
            yield os.path.relpath(path, source), tree(path)


def name_of(node):
    """The last name of a dotted one: argparse.BooleanOptionalAction is BooleanOptionalAction."""
    return getattr(node, "id", getattr(node, "attr", ""))


def text(node, default=None):
    """A constant's value."""
    return node.value if isinstance(node, ast.Constant) else default


def texts(node):
    """The texts of a list, a tuple, a set, the keys of a dict, or of what is built from them."""
    if isinstance(node, ast.Dict):
        return [text(key) for key in node.keys if isinstance(text(key), str)]
    return [item.value for item in ast.walk(node) if isinstance(item, ast.Constant) and isinstance(item.value, str)] if node else []


def assigned(module):
    """{name: value} of a module's own assignments."""
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
