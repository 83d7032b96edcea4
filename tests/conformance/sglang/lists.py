"""What a release of SGLang declares: lists out of the source of its wheel, of which nothing is run."""
import ast

import source as read

PARSER = "sglang/srt/server_args.py"
FIELDS = (PARSER, "sglang/srt/arg_groups/fields/*.py")
ACTIONS = (PARSER, "sglang/srt/arg_groups/argparse_actions.py")
EXPECTED = {"options": ("--max-running-requests", "--port", "--reasoning-parser")}  # else the source moved


def lists(source):
    return {"options": options(source)}


# --- options of `python -m sglang.launch_server`

def options(source):
    actions = {name: cls for _, tree in read.trees(source, *ACTIONS) for name, cls in read.classes(tree).items()}
    out = {"--help": "flag -h"}
    for _, tree in read.trees(source, *FIELDS):
        for cls in read.classes(tree).values():
            for field in cls.body:
                if isinstance(field, ast.AnnAssign) and isinstance(field.annotation, ast.Subscript) and read.name_of(field.annotation.value) == "A":
                    out.update(of_field(field, actions))
    for _, tree in read.trees(source, PARSER):
        for function in ast.walk(tree):
            if isinstance(function, ast.FunctionDef) and function.name == "add_cli_args":
                out.update(added(function, actions))
    return out


def added(function, actions):
    for call in read.calls(function, "add_argument"):
        if names := read.names_of(call):
            yield of_words(names, read.keywords(call), actions)


def of_field(field, actions):
    """The option of `name: A[TYPE, Arg(...)]`."""
    kind, *more = field.annotation.slice.elts
    calls = [node for node in more if isinstance(node, ast.Call) and read.name_of(node.func) == "Arg"]
    words = read.keywords(calls[0]) if calls else {}
    if not (calls or any(isinstance(node, (ast.Constant, ast.BinOp, ast.JoinedStr)) for node in more)) or read.text(words.get("no_cli")):
        return
    names = [read.text(words.get("cli_name")) or "--" + field.target.id.replace("_", "-"), *read.texts(words.get("aliases"))]
    types = read.hints(kind) - {"None"}
    if "action" not in words and "type_parser" not in words and types & {"List", "list"}:
        words = {"nargs": ast.Constant("+"), **words}
    if "action" not in words and types == {"bool"}:
        words = {**words, "action": ast.Constant("store_true")}
    if isinstance(words.get("action_kwargs"), ast.Dict):
        words.update({read.text(key): value for key, value in zip(words["action_kwargs"].keys, words["action_kwargs"].values)})
    yield of_words(names, words, actions)


def of_words(names, words, actions):
    name, what = read.option(names, read.text(words.get("nargs")), read.action_of(words))
    action = actions.get(read.action_of(words))
    if action is None:
        return name, what
    kind, *also = what.split()
    if "nargs" not in words:
        kind = "flag" if takes_nothing(action) else "value"
    if refuses(action, words):
        kind = "removed"
    return name, " ".join([kind, *also])


def takes_nothing(action):
    """Whether an action's own constructor says that no value follows."""
    for function in action.body:
        if isinstance(function, ast.FunctionDef) and function.name == "__init__":
            arguments = function.args.args
            defaults = dict(zip((a.arg for a in arguments[len(arguments) - len(function.args.defaults):]), function.args.defaults))
            given = [read.keywords(call).get("nargs") for call in read.calls(function, "__init__")]
            return any(read.text(value) == 0 for value in [defaults.get("nargs"), *given])
    return False


def refuses(action, words):
    """Whether the parser knows the option only to say what replaced it."""
    said = [node for node in action.body if isinstance(node, ast.FunctionDef) and node.name == "__call__"]
    raises = any(isinstance(statement, ast.Raise) for function in said for statement in function.body)
    return raises or "error_message" in words
